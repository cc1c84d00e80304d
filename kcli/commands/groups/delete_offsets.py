"""``kcli groups delete-offsets``: delete committed offsets of a group."""

import click

from kcli.commands.groups._options import topics_option
from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import GROUP
from kcli.commands.shared.params import TopicPartitions


@command(
    "delete-offsets",
    reads=("XDG_STATE_HOME",),
    examples=(
        ("kcli groups delete-offsets billing -t orders", "all partitions of a topic"),
        (
            "kcli groups delete-offsets billing -t orders:0,2-4 -t refunds --yes",
            "some of one, all of another",
        ),
        ("kcli groups delete-offsets billing -t orders --dry-run", "only show what would be lost"),
    ),
)
@click.argument("name", type=GROUP, metavar="GROUP")
@topics_option("the topic, or some of its partitions", required=True)
@pass_invocation
def delete_offsets(inv: Invocation, name: str, scopes: tuple[TopicPartitions, ...]) -> int:
    """Delete committed offsets of a group.

    The name of the group has to be typed, unless --yes or --confirm NAME is given. Where the group has members, offsets
    of topics that a member reads are refused: exit code 7. The offsets are kept in a journal on this machine, from which
    `kcli undo ID` restores them.
    """
    from kcli.flows.groups.delete_offsets import OffsetDeletion  # clients are loaded when the command runs

    return run_change(inv, OffsetDeletion(name, [(scope.topic, scope.partitions) for scope in scopes]))
