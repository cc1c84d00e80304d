"""``kcli segments list``: list what log directories have."""

from __future__ import annotations

import click

from kcli.commands.segments._paths import check_paths, path_arguments, topic_option
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option

BY = ("topic", "partition", "segment")


@command(
    "list",
    exits={5: "a segment is damaged; the others are listed", 6: "a file or folder could not be read"},
    examples=(
        ("kcli segments list /data/kafka", "the partitions of a broker, with sizes, offsets and times"),
        ("kcli segments list /data/kafka-1 /data/kafka-2 --by topic", "the topics on two disks"),
        ("kcli segments list /data/kafka/orders-3 --by segment", "the segments of a partition"),
    ),
)
@path_arguments
@option(
    "--by",
    type=click.Choice(BY),
    default="partition",
    metavar="topic|partition|segment",
    help="a line for each topic, partition or segment (default: partition)",
)
@topic_option
@pass_invocation
def list_segments(inv: Invocation, paths: tuple[str, ...], by: str, topics: tuple[str, ...]) -> int:
    """List topics, partitions or segments: sizes, first and last offsets and times.

    Only the headers of some batches and the ends of indexes are read. END-OFFSET is behind the last whole batch.
    """
    check_paths(paths)
    from kcli.commands.segments import _listing as run  # core is loaded when the command runs

    return run.list_segments(inv, paths, by, topics)
