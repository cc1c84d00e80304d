"""``kcli topics list``: list topics."""

from typing import Any

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation


@command(
    "list",
    examples=(
        ("kcli topics list --match 'orders*'", "by a shell pattern"),
        ("kcli topics list -o name", "one name a line, for scripts"),
        ("kcli topics list --internal -o wide", "the cluster's own topics too, with their ids"),
        ("kcli topics list --with-size", "how much of the brokers' disks each uses"),
    ),
)
@click.option("--match", metavar="GLOB", help="only names that match this shell pattern")
@click.option(
    "--internal", is_flag=True, help="show the cluster's own topics too, such as __consumer_offsets"
)
@click.option("--with-size", is_flag=True, help="show the size on the brokers' disks, in bytes")
@pass_invocation
def list_topics(inv: Invocation, /, **flags: Any) -> int:
    """List topics.

    UNDER-REPLICATED counts partitions with fewer replicas in sync than they should have. SIZE-BYTES is the sum of the
    leaders' logs, DISK-BYTES (-o wide) that of all replicas.
    """
    from kcli.commands.topics import _tables as run  # clients are loaded when the command runs

    return run.list_topics(inv, **flags)
