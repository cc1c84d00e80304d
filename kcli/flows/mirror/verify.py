"""Compares partitions of two clusters: digests of all records, and where they first differ.

Both sides are read at the same time and only digests are kept, so memory does not grow with the topics. Where a chunk
differs, that chunk alone is read again, record by record.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.errors import CorruptRecordsError, KcliError, StoppedError
from kcli.core.types import Record, TopicPartition
from kcli.flows.mirror.digest import Chunk, PartitionDigest
from kcli.flows.stop import Stop
from kcli.output.progress import counted

_POLL = 0.2  # seconds
_FIELDS = ("timestamp", "key", "value", "headers")


class Extent(NamedTuple):
    """The offsets of one partition from ``start`` up to, not including, ``stop``."""

    tp: TopicPartition
    start: int
    stop: int


class Pair(NamedTuple):
    """What should hold the same records."""

    source: Extent
    target: Extent


class Difference(NamedTuple):
    """The first records that differ; an offset is None where that side has no record left to compare."""

    source_offset: int | None
    target_offset: int | None
    what: str


@dataclass(slots=True)
class Comparison:
    """The result for one pair. ``error``: it could not be read to its end; ``difference`` None and no error: equal."""

    pair: Pair
    source_records: int = 0
    target_records: int = 0
    source_digest: str = ""
    target_digest: str = ""
    difference: Difference | None = None
    error: KcliError | None = None

    @property
    def equal(self) -> bool:
        """Whether all records of both sides are the same, in the same order."""
        return self.error is None and self.difference is None and self.source_digest == self.target_digest


class _Side:
    """One cluster of a comparison: reads all its extents and computes their digests."""

    def __init__(self, consumer: Consumer, extents: Sequence[Extent], *, timestamps: bool) -> None:
        self._consumer = consumer
        self.digests = {extent.tp: PartitionDigest(timestamps=timestamps) for extent in extents}
        self.errors: dict[TopicPartition, KcliError] = {}
        self.records = 0
        consumer.assign({e.tp: Span(e.start, e.stop) for e in extents if e.start < e.stop})

    @property
    def done(self) -> bool:
        """Whether everything was read, or cannot be."""
        assigned = self._consumer.assignment
        return all(tp in self.errors or self._consumer.state(tp).reached_stop for tp in assigned)

    def read(self) -> None:
        """Reads what arrives within a moment."""
        try:
            batches = self._consumer.poll(_POLL)
        except KcliError as error:
            failed = [tp for tp in self._consumer.assignment if self._consumer.state(tp).error is error]
            if not failed:
                raise  # it is no error of a partition
            self.errors |= dict.fromkeys(failed, error)
            return
        for one in batches:
            if one.tp in self.errors:
                continue
            digest = self.digests[one.tp]
            before = digest.records
            try:
                digest.update(one.batch, one.first, one.stop)
            except StoppedError:
                return
            except CorruptRecordsError as error:
                self.errors[one.tp] = error.in_partition(one.tp)
                self._consumer.pause(one.tp)
            one.batch.forget_payload()  # a poll returns many batches
            self.records += digest.records - before


@dataclass(slots=True)
class Progress:
    """Records read so far on each side, and how many there are at most (offsets)."""

    source: int
    target: int
    total: int


def compare(
    source: Consumer,
    target: Consumer,
    pairs: Sequence[Pair],
    *,
    timestamps: bool,
    stop: Stop,
    progress: Callable[[Progress], None],
    locate: bool = True,
) -> list[Comparison]:
    """Compares all pairs; returns early when ``stop`` is requested, then with pairs that are neither equal nor differ.

    The consumers must have no group. Errors of single partitions are in the results. Without ``locate``, a difference
    is that of a chunk, which is not read again.
    """
    left = _Side(source, [pair.source for pair in pairs], timestamps=timestamps)
    right = _Side(target, [pair.target for pair in pairs], timestamps=timestamps)
    total = sum(pair.source.stop - pair.source.start for pair in pairs)
    while not stop and not (left.done and right.done):
        side = left if right.done or (not left.done and left.records <= right.records) else right
        side.read()
        progress(Progress(left.records, right.records, total))
    found = [_result(pair, left, right) for pair in pairs]
    if not stop:
        for one in found:
            chunks = _first_difference(left.digests[one.pair.source.tp], right.digests[one.pair.target.tp])
            if one.error is None and chunks is not None:
                one.difference = (
                    _locate(source, target, one.pair, *chunks, timestamps=timestamps)
                    if locate
                    else _chunk_difference(*chunks)
                )
    return found


def _result(pair: Pair, left: _Side, right: _Side) -> Comparison:
    one, two = left.digests[pair.source.tp], right.digests[pair.target.tp]
    one.finish()
    two.finish()
    return Comparison(
        pair,
        one.records,
        two.records,
        one.hexdigest,
        two.hexdigest,
        error=left.errors.get(pair.source.tp) or right.errors.get(pair.target.tp),
    )


def _first_difference(one: PartitionDigest, two: PartitionDigest) -> tuple[Chunk | None, Chunk | None] | None:
    """The first chunks that differ; None for a side that has no such chunk, and None if none differs."""
    for a, b in zip_longest(one.chunks, two.chunks):
        if a is None or b is None or a.digest != b.digest:
            return a, b
    return None


def _chunk_difference(one: Chunk | None, two: Chunk | None) -> Difference:
    """The difference of two chunks: their first offsets, and the range in which the first record that differs is."""
    if one is None or two is None:
        what = f"has no record for offset {one.first:,} of the source" if one else "has records too many"
    elif one.records != two.records:
        what = f"has {counted(two.records, 'record')} where the source has {one.records:,}"
    else:
        what = f"has other records: at least one of {one.records:,}"
    if one is not None and two is not None:
        what += f", within offsets {one.first:,} to {one.last:,} of the source"
    return Difference(
        None if one is None else one.first, None if two is None else two.first, f"the target {what}"
    )


def _locate(
    source: Consumer,
    target: Consumer,
    pair: Pair,
    one: Chunk | None,
    two: Chunk | None,
    *,
    timestamps: bool,
) -> Difference | None:
    """Reads two chunks again, record by record; None if they are equal now."""
    for a, b in zip_longest(_records(source, pair.source.tp, one), _records(target, pair.target.tp, two)):
        if a is None or b is None:
            what = "has no record for it" if b is None else "has a record too many"
            source_offset = None if a is None else a.offset
            target_offset = None if b is None else b.offset
            return Difference(source_offset, target_offset, f"the target {what}")
        for name in _FIELDS[0 if timestamps else 1 :]:
            if getattr(a, name) != getattr(b, name):
                return Difference(a.offset, b.offset, f"different {name}")
    return None


def _records(consumer: Consumer, tp: TopicPartition, chunk: Chunk | None) -> Iterator[Record]:
    if chunk is not None:
        consumer.assign({tp: Span(chunk.first, chunk.last + 1)})
        yield from consumer
