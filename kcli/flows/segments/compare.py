"""``segments verify --compare``: the replicas of one partition, batch by batch, up to the first difference.

Replicas have the same batches, byte by byte, below the high watermark, except that the cleaner of each broker works in
its own time: of a compacted topic, records are compared instead.
"""

from collections.abc import Iterator
from itertools import zip_longest

from kcli.core.classes import NamedTuple
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
    """Two folders, the offsets that both have, and the first difference in them; ``ahead`` is how much one has beyond.

    ``compared`` are batches, or records of a compacted topic.
    """

    one: PartitionFolder
    other: PartitionFolder
    start: int
    stop: int
    compared: int
    difference: Difference | None
    ahead: int


def compare(one: PartitionFolder, other: PartitionFolder, *, compacted: bool) -> Comparison:
    """Compares what both have; raises for damage. ``compacted``: a record that only one has is no difference."""
    with PartitionLog(one) as first, PartitionLog(other) as second:
        start = max(first.start_offset, second.start_offset)
        stop = min(first.end_offset, second.end_offset)
        ahead = max(first.end_offset, second.end_offset) - stop
        compared, difference = 0, None
        if start < stop and compacted:
            for found in _same_offsets(_records(first, start, stop), _records(second, start, stop)):
                compared += 1
                if found is not None:
                    difference = found
                    break
        elif start < stop:
            for mine, theirs in zip_longest(_places(first, start, stop), _places(second, start, stop)):
                difference = _difference(mine, theirs, stop)
                if difference is not None:
                    break
                compared += 1
    return Comparison(one, other, start, stop, compared, difference, ahead)


class _Found(NamedTuple):
    offset: int
    place: Place
    record: tuple[object, ...]


def _records(log: PartitionLog, start: int, stop: int) -> Iterator[_Found]:
    for place in _places(log, start, stop):
        for record in place.batch.records():
            if start <= record.offset < stop:
                content = (record.timestamp, record.key, record.value, record.headers, place.batch.is_control)
                yield _Found(record.offset, place, content)
        place.batch.forget_payload()


def _same_offsets(mine: Iterator[_Found], theirs: Iterator[_Found]) -> Iterator[Difference | None]:
    """For each offset that both have, None or what differs."""
    one, other = next(mine, None), next(theirs, None)
    while one is not None and other is not None:
        if one.offset < other.offset:
            one = next(mine, None)
        elif other.offset < one.offset:
            other = next(theirs, None)
        else:
            same = one.record == other.record
            yield None if same else Difference(one.offset, "the records differ", one.place, other.place)
            one, other = next(mine, None), next(theirs, None)


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
        return Difference(
            there.batch.base_offset, "one replica has a batch that the other has not", mine, theirs
        )
    one, other = mine.batch, theirs.batch
    if one.raw == other.raw:
        return None
    offset = min(one.base_offset, other.base_offset)
    if one.base_offset != other.base_offset or one.last_offset != other.last_offset:
        why = (
            f"a batch has the offsets {one.base_offset} to {one.last_offset}, "
            f"the other {other.base_offset} to {other.last_offset}"
        )
    elif one.leader_epoch != other.leader_epoch:
        why = f"leader epoch {one.leader_epoch} and {other.leader_epoch}"
    elif one.producer_id != other.producer_id:
        why = f"producer {one.producer_id} and {other.producer_id}"
    elif one.crc != other.crc:
        why = f"checksum {one.crc:08x} and {other.crc:08x}"
    else:
        why = "the bytes of the batches"
    return Difference(offset, why, mine, theirs)
