"""``kcli groups list``: list groups of all kinds."""

import click

from kcli.commands.groups._options import TYPES, internal_option
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import TOPIC, OfferedType, option

STATES = OfferedType(
    "states",
    (
        "stable", "empty", "dead", "preparingrebalance", "completingrebalance", "assigning", "reconciling", "notready",
    ),
)  # fmt: skip
SORTS = ("group", "type", "state", "coordinator", "lag")


@command(
    "list",
    examples=(
        ("kcli groups list", "all groups"),
        ("kcli groups list --state stable,empty --match 'bill*'", "by state and shell pattern"),
        ("kcli groups list --topic orders -o name", "the groups that read a topic, one name per line"),
        ("kcli groups list --sort lag", "the group that is furthest behind comes first"),
    ),
)
@option(
    "--state",
    "states",
    type=STATES,
    metavar="STATE[,…]",
    help="only groups in these states, for example stable,empty",
)
@option(
    "--type", "types", type=TYPES, metavar="TYPE[,…]", help="only classic, consumer, share or streams groups"
)
@option("--match", metavar="GLOB", help="only names that match this shell pattern")
@option(
    "--topic",
    type=TOPIC,
    metavar="TOPIC",
    help="only groups with offsets of this topic, or members subscribed to it",
)
@internal_option()
@option("--with-lag", is_flag=True, help="show how many records each group is behind")
@option(
    "--sort",
    type=click.Choice(SORTS),
    default="group",
    help="sort order; lag puts the largest first (default: group)",
)
@pass_invocation
def list_groups(
    inv: Invocation,
    /,
    states: str | None,
    types: str | None,
    match: str | None,
    topic: str | None,
    internal: bool,
    with_lag: bool,
    sort: str,
) -> int:
    """List groups.

    All types: classic, consumer (KIP-848), share and streams groups. A group that has only committed offsets has no
    protocol type. LAG-RECORDS is the sum over the partitions for which the group has committed an offset, or has a
    start offset.
    """
    from kcli.commands.groups import _listing  # clients are loaded when the command runs

    return _listing.list_groups(inv, states, types, match, topic, internal, with_lag or sort == "lag", sort)
