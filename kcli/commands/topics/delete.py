"""``kcli topics delete``: delete topics with all their records."""

import click

from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import TOPIC, option
from kcli.commands.shared.usage import usage


@command(
    "delete",
    reads=("XDG_STATE_HOME",),
    exits={1: "a named topic does not exist, or none matches"},
    examples=(
        ("kcli topics delete scratch", "after its name is typed"),
        ("kcli topics delete scratch --yes", "in a script"),
        ("kcli topics delete --match 'test-*' --dry-run", "all that match, with their last writes"),
        ("kcli topics delete scratch --dry-run", "only show what would be deleted"),
    ),
)
@click.argument("names", nargs=-1, type=TOPIC, metavar="[TOPIC…]")
@option("--match", metavar="GLOB", help="all topics whose names match this shell pattern")
@option("--if-exists", is_flag=True, help="a topic that does not exist is not an error")
@pass_invocation
def delete_topics(inv: Invocation, names: tuple[str, ...], match: str | None, if_exists: bool) -> int:
    """Delete topics with all their records.

    The records cannot be restored, so each name has to be typed, or --yes or --confirm NAME given. An internal topic,
    such as __consumer_offsets, requires --confirm NAME: --yes is not enough. All questions are asked before the first
    topic is deleted.

    With --match there is one plan, with the records and the last write of each topic, and one question: the pattern
    has to be typed, or given by --confirm. Internal topics and kcli's own never match.

    `kcli undo ID` creates a topic again, empty, with the partitions and the configuration that a journal on this
    machine has.
    """
    from kcli.flows.topics.delete import TopicDeletion  # clients are loaded when the command runs

    if bool(names) == (match is not None):
        raise usage(
            "topics delete: TOPIC and --match together" if names else "topics delete: missing argument TOPIC",
            why="each has a question of its own" if names else "it is required without --match",
            do="name topics, or use --match GLOB: `kcli topics list --match GLOB` lists those that match",
        )
    return run_change(inv, TopicDeletion(names, match, may_lack=if_exists))
