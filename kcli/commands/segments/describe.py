"""``kcli segments describe``: describe partitions by their files."""

from __future__ import annotations

from kcli.commands.segments._paths import check_paths, path_arguments, topic_option
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation


@command(
    "describe",
    exits={
        5: "a segment is damaged; the other partitions are described",
        6: "a file or folder could not be read",
    },
    examples=(
        (
            "kcli segments describe /data/kafka/orders-3",
            "offsets, epochs, producers, compression, sizes of batches",
        ),
        ("kcli segments describe /data/kafka -t '__*' -o json", "internal topics of a broker, for scripts"),
    ),
)
@path_arguments
@topic_option
@pass_invocation
def describe_segments(inv: Invocation, paths: tuple[str, ...], topics: tuple[str, ...]) -> int:
    """Describe partitions: offsets and checkpoints, leader epochs, producers, open transactions, compression, sizes.

    The headers of all batches are read, not their records: `kcli segments verify` compares checksums. Checkpoints are
    those of the broker's last seconds. Holes are offsets without a record: compaction leaves them. Whether the topic is
    compacted is in the metadata log, which is read if a path has it.
    """
    check_paths(paths)
    from kcli.commands.segments import _listing as run  # core is loaded when the command runs

    return run.describe_segments(inv, paths, topics)
