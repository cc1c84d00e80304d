"""``kcli topics delete``: delete topics with all their records."""

import click

from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import TOPIC


@command(
    "delete",
    reads=("XDG_STATE_HOME",),
    exits={1: "a named topic does not exist"},
    examples=(
        ("kcli topics delete scratch", "after its name is typed"),
        ("kcli topics delete scratch --yes", "in a script"),
        ("kcli topics delete scratch --dry-run", "only show what would be deleted"),
    ),
)
@click.argument("names", nargs=-1, required=True, type=TOPIC, metavar="TOPIC…")
@pass_invocation
def delete_topics(inv: Invocation, names: tuple[str, ...]) -> int:
    """Delete topics with all their records.

    The records cannot be restored, so each name has to be typed, or --yes or --confirm NAME given. An internal topic,
    such as __consumer_offsets, requires --confirm NAME: --yes is not enough. All questions are asked before the first
    topic is deleted. `kcli undo ID` creates a topic again, empty, with the partitions and the configuration that a
    journal on this machine has.
    """
    from kcli.flows.topics.delete import TopicDeletion  # clients are loaded when the command runs

    return run_change(inv, TopicDeletion(names))
