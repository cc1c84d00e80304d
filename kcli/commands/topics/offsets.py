"""``kcli topics offsets``: show first and end offsets, or the offsets at a time."""

from typing import Any

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option
from kcli.commands.shared.params import OFFSET, TOPIC_PARTITIONS, TopicPartitions, partitions_option


@command(
    "offsets",
    examples=(
        ("kcli topics offsets orders", "first offset, end and number of offsets of every partition"),
        ("kcli topics offsets orders:0,2-4 payments", "some of the partitions of a topic"),
        ("kcli topics offsets orders --time @-1h", "the first record of the last hour"),
        ("kcli topics offsets orders --time latest-tiered", "the last record in remote storage"),
    ),
)
@click.argument("names", nargs=-1, type=TOPIC_PARTITIONS, metavar="[TOPIC…]")
@option("--match", metavar="GLOB", help="all topics whose names match this shell pattern")
@partitions_option("only these partitions, as in 0,2,5-7")
@option("--internal", is_flag=True, help="the cluster's own topics too, such as __consumer_offsets")
@option(
    "--time",
    "when",
    type=OFFSET,
    metavar="SPEC",
    help="earliest, latest, max-timestamp, earliest-local, latest-tiered, earliest-pending-upload, or a time: the "
    "offset of the first record that is not older",
)
@pass_invocation
def topic_offsets(
    inv: Invocation,
    names: tuple[TopicPartitions, ...],
    match: str | None,
    partitions: tuple[int, ...] | None,
    internal: bool,
    when: Any,
) -> int:
    """Show the offsets of topics, by partition.

    Without a TOPIC and --match: of all topics but the cluster's own. The special offsets are explained in
    `kcli help offsets`; a broker that does not know one is an error: exit code 7, or 6 where others do.
    """
    from kcli.commands.topics import _offset_tables as run  # clients are loaded when the command runs

    chosen = run.ChosenPartitions(names, match, partitions, internal)
    return run.topic_offsets(inv, chosen, when)
