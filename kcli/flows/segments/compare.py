"""``segments verify --compare``: the replicas of one partition, batch by batch, up to the first difference.

Replicas have the same batches, byte by byte, below the high watermark, except that the cleaner of each broker works in its
own time: of a compacted topic, records are compared instead.
"""

from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from kcli.core.kernels.varint import INT64_MAX
from kcli.core.logdir.folders import PartitionFolder
from kcli.core.logdir.partition_log import PartitionLog
from kcli.core.records.segment import Segment
from kcli.core.records.view import BatchView

_EPOCH = slice(12, 16)


class Place(NamedTuple):
    """A batch in a replica."""

    path: str
    position: int
    batch: BatchView


class Difference(NamedTuple):
    """The first difference of two replicas. Each side is None where the replica has ended."""

    offset: int
    why: str
    one: Place | None
    other: Place | None


class Comparison(NamedTuple):
    """Two folders, the offsets that both have, and the first difference in them; ``ahead`` is how much one has beyond."""

    one: PartitionFolder
    other: PartitionFolder
    start: int
    stop: int
    batches: int
    difference: Difference | None
    ahead: int


def compare(one: PartitionFolder, other: PartitionFolder) -> Comparison:
    """Compares what both have; raises for damage."""
    with PartitionLog(one) as first, PartitionLog(other) as second:
        start = max(first.start_offset, second.start_offset)
        stop = min(first.end_offset, second.end_offset)
        ahead = max(first.end_offset, second.end_offset) - stop
        compared, difference = 0, None
        if start < stop:
            for mine, theirs in zip_longest(_places(first, start, stop), _places(second, start, stop)):
                difference = _difference(mine, theirs, stop)
                if difference is not None:
                    break
                compared += 1
    return Comparison(one, other, start, stop, compared, difference, ahead)


def _places(log: PartitionLog, start: int, stop: int) -> Iterator[Place]:
    segment: Segment
    for segment, placed in log.batches(start, min(stop, INT64_MAX), verify=True):
        if placed.batch.next_offset > start:
            yield Place(segment.path, placed.position, placed.batch)


def _difference(mine: Place | None, theirs: Place | None, stop: int) -> Difference | None:
    if mine is None or theirs is None:
        there = mine or theirs
        assert there is not None
        if there.batch.base_offset >= stop:
            return None
        return Difference(there.batch.base_offset, "one replica has a batch that the other has not", mine, theirs)
    one, other = mine.batch, theirs.batch
    if one.raw == other.raw:
        return None
    offset = min(one.base_offset, other.base_offset)
    if one.base_offset != other.base_offset or one.last_offset != other.last_offset:
        why = f"a batch has the offsets {one.base_offset} to {one.last_offset}, the other {other.base_offset} to {other.last_offset}"
    elif one.leader_epoch != other.leader_epoch:
        why = f"leader epoch {one.leader_epoch} and {other.leader_epoch}"
    elif one.producer_id != other.producer_id:
        why = f"producer {one.producer_id} and {other.producer_id}"
    elif one.crc != other.crc:
        why = f"checksum {one.crc:08x} and {other.crc:08x}"
    else:
        why = "the bytes of the batches"
    return Difference(offset, why, mine, theirs)
