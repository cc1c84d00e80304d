"""``kcli segments verify``: check that logs are whole, and that replicas are equal."""

from __future__ import annotations

import click

from kcli.commands.segments._paths import check_paths, path_arguments, topic_option
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option


@command(
    "verify",
    exits={
        5: "something is damaged, or replicas differ: file, position and offset are on stderr",
        6: "a file or folder could not be read",
    },
    examples=(
        ("kcli segments verify /data/kafka", "every partition of a broker"),
        ("kcli segments verify /mnt/snapshot/orders-3 -o json", "one partition, with each finding as JSON"),
        (
            "kcli segments verify /mnt/b1/data -t orders --compare /mnt/b2/data",
            "the replicas of two brokers: the first difference",
        ),
    ),
)
@path_arguments
@option(
    "--compare",
    metavar="DIR",
    type=click.Path(),
    help="compare with the replicas of the same partitions in the log directory of another broker",
)
@topic_option
@pass_invocation
def verify_segments(
    inv: Invocation, paths: tuple[str, ...], compare: str | None, topics: tuple[str, ...]
) -> int:
    """Check that logs are whole: checksums, offsets, indexes, epochs, transactions, snapshots, checkpoints.

    All batches are read. Damage is exit code 5, each with file, byte and offset, and what it affects.

    The checksum and the header of every batch are right; offsets rise, and none is missing within and between segments
    unless the topic is compacted; the entries of .index, .timeindex and .txnindex agree with the log, and
    leader-epoch-checkpoint has the epochs of the batches; .snapshot files and partition.metadata are whole; the log
    reaches its checkpoints.

    Whether a topic is compacted is in the metadata log: name the log directories of a controller as well. Without it,
    missing offsets are a note. A last batch that is not whole, at the end of the last segment, is a note too: a broker
    that was killed leaves one, and cuts it off when it starts. What could not be read is exit code 6.

    --compare compares the batches of two replicas, with checksums, where both have them; of compacted topics the records.
    A difference above the high watermark is a note: it was not acknowledged by all replicas.
    """
    check_paths(paths)
    from kcli.commands.segments import _verifying as run  # core is loaded when the command runs

    if compare is not None:
        return run.compare_segments(inv, paths, compare, topics)
    return run.verify_segments(inv, paths, topics)
