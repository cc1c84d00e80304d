"""``kcli topics list``: list topics."""

from typing import Any

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option

SORTS = ("name", "partitions", "under-replicated", "size", "disk")


@command(
    "list",
    examples=(
        ("kcli topics list --match 'orders*'", "by a shell pattern"),
        ("kcli topics list -o name", "one name a line, for scripts"),
        ("kcli topics list --internal -o wide", "the cluster's own topics too, with their ids"),
        ("kcli topics list --sort size", "how much of the brokers' disks each uses, the largest first"),
    ),
)
@option("--match", metavar="GLOB", help="only names that match this shell pattern")
@option("--internal", is_flag=True, help="show the cluster's own topics too, such as __consumer_offsets")
@option("--with-size", is_flag=True, help="show the size on the brokers' disks, in bytes")
@option(
    "--sort",
    type=click.Choice(SORTS),
    default="name",
    help="sort order; all but name put the largest first, and size and disk show it (default: name)",
)
@pass_invocation
def list_topics(inv: Invocation, /, **flags: Any) -> int:
    """List topics.

    UNDER-REPLICATED counts partitions with fewer replicas in sync than they should have. SIZE-BYTES (--sort size) is the
    sum of the leaders' logs: one replica of each partition; DISK-BYTES (-o wide, --sort disk) that of all replicas.
    """
    from kcli.commands.topics import _tables as run  # clients are loaded when the command runs

    return run.list_topics(inv, **flags)
