"""One partition's log: stored batches with offsets, epochs, open and aborted transactions. Loop thread only.

Replicas are not simulated: all of them share this log, whichever broker leads.
"""

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from kcli.core.records.batch import RecordBatch
from tests.fake.markers import marker, sealed
from tests.fake.mishaps import Mishaps
from tests.fake.producer_states import ProducerStates

_LOG_APPEND_TIME = 0x08
_ATTRIBUTES_AT, _MAX_TIMESTAMP_AT = 21, 35
UNDEFINED = -1


@dataclass(frozen=True, slots=True)
class Aborted:
    """An aborted transaction in the index that fetches with read_committed get."""

    producer_id: int
    first_offset: int
    last_offset: int


class PartitionLog:
    """Offsets from ``start_offset`` (inclusive) to ``end_offset`` (exclusive). ``local_start``: the first that is on the
    leader's disk, ``tiered_end``: the last that is in remote storage (−1: none); both only matter to ListOffsets.
    """

    def __init__(self) -> None:
        self.start_offset = 0
        self.epochs: list[tuple[int, int]] = []
        self.high_watermark_cap: int | None = None
        self.mishaps = Mishaps()
        self.local_start = 0
        self.tiered_end = UNDEFINED
        self._clear()

    def _clear(self) -> None:
        self.batches: list[RecordBatch] = []
        self._last_offsets: list[int] = []
        self.end_offset = 0
        self.open_transactions: dict[int, int] = {}
        self.aborted: list[Aborted] = []
        self.producers = ProducerStates()

    @property
    def high_watermark(self) -> int:
        cap = self.high_watermark_cap
        return self.end_offset if cap is None else min(cap, self.end_offset)

    @property
    def last_stable_offset(self) -> int:
        """Where the first open transaction begins, else the high watermark."""
        return min([self.high_watermark, *self.open_transactions.values()])

    # --- writing -----------------------------------------------------------------------------------

    def append(
        self, raw: bytes | memoryview, leader_epoch: int, append_time: int | None = None
    ) -> RecordBatch:
        """Stores a batch that was checked. ``append_time`` makes it LogAppendTime."""
        stored = bytearray(raw)
        struct.pack_into(">q", stored, 0, self.end_offset)
        struct.pack_into(">i", stored, 12, leader_epoch)
        if append_time is not None:
            (attributes,) = struct.unpack_from(">h", stored, _ATTRIBUTES_AT)
            struct.pack_into(">h", stored, _ATTRIBUTES_AT, attributes | _LOG_APPEND_TIME)
            struct.pack_into(">q", stored, _MAX_TIMESTAMP_AT, append_time)
            batch = RecordBatch(memoryview(sealed(stored)))
        else:
            batch = RecordBatch(memoryview(bytes(stored)))
        if batch.producer_id >= 0 and not batch.is_control:
            self.producers.appended(batch)
        for kept in self.mishaps.stored(batch, self.end_offset):
            self._place(kept)
        return batch

    def mark(
        self, producer_id: int, epoch: int, *, committed: bool, leader_epoch: int, now_ms: int
    ) -> RecordBatch:
        """Ends a producer's transaction here with a marker."""
        return self.append(marker(producer_id, epoch, committed=committed, now_ms=now_ms), leader_epoch)

    def begin_epoch(self, epoch: int) -> None:
        """A leader with a new epoch takes over."""
        if not self.epochs or self.epochs[-1][0] < epoch:
            self.epochs.append((epoch, self.end_offset))

    def truncate(self, offset: int) -> None:
        """Drops the batches that reach ``offset`` or beyond, as an unclean election does."""
        kept = [b for b in self.batches if b.last_offset < offset]
        end = kept[-1].next_offset if kept else min(offset, self.start_offset)
        self._clear()
        for batch in kept:
            self._store(batch)
        self.end_offset = end
        self.start_offset = min(self.start_offset, end)
        self.epochs = [entry for entry in self.epochs if entry[1] < end] or self.epochs[:1]

    def replace(self, batches: list[RecordBatch]) -> None:
        """Has these batches instead; the end stays where it is."""
        end = self.end_offset
        self._clear()
        for batch in batches:
            self._store(batch)
        self.end_offset = end

    def delete_before(self, offset: int) -> None:
        """DeleteRecords: readers begin at ``offset``; batches wholly below it are gone."""
        self.start_offset = max(self.start_offset, offset)
        gone = bisect_left(self._last_offsets, self.start_offset)
        del self.batches[:gone], self._last_offsets[:gone]
        self.aborted = [a for a in self.aborted if a.last_offset >= self.start_offset]

    def place(self, batch: RecordBatch) -> None:
        """Stores a batch as it is, gaps and all: what a compacted or mirrored log looks like."""
        self._store(batch)

    def _store(self, batch: RecordBatch) -> None:
        if batch.producer_id >= 0 and not batch.is_control:
            self.producers.appended(batch)
        self._place(batch)

    def _place(self, batch: RecordBatch) -> None:
        self.batches.append(batch)
        self._last_offsets.append(batch.last_offset)
        self.end_offset = batch.next_offset
        if batch.producer_id < 0:
            return
        if batch.is_control:
            self._end_transaction(batch)
        elif batch.is_transactional:
            self.open_transactions.setdefault(batch.producer_id, batch.base_offset)

    def _end_transaction(self, batch: RecordBatch) -> None:
        first = self.open_transactions.pop(batch.producer_id, None)
        self.producers.marked(batch.producer_id, batch.producer_epoch)
        if first is not None and not is_commit(batch):
            self.aborted.append(Aborted(batch.producer_id, first, batch.base_offset))

    # --- reading -----------------------------------------------------------------------------------

    def read(self, offset: int, upto: int, max_bytes: int, *, whole_first: bool, partial: bool) -> bytes:
        """Batches from the one that holds ``offset`` up to offset ``upto``, at most ``max_bytes``.

        ``whole_first`` gives the first batch whole whatever its size; ``partial`` cuts the last one off.
        """
        room = max_bytes
        parts: list[bytes | memoryview] = []
        for batch in self.from_offset(offset):
            if batch.base_offset >= upto:
                break
            if batch.size <= room or (whole_first and not parts):
                parts.append(batch.raw)
                room -= batch.size
                continue
            if partial and parts and room > 0:
                parts.append(batch.raw[:room])
            break
        return b"".join(parts)

    def from_offset(self, offset: int) -> Iterator[RecordBatch]:
        """The batch that holds ``offset`` (or the next one) and all behind it."""
        first = bisect_left(self._last_offsets, offset)
        for index in range(first, len(self.batches)):
            yield self.batches[index]

    def aborted_between(self, offset: int, end: int) -> list[Aborted]:
        """Aborted transactions that have something in ``offset`` to ``end`` (exclusive)."""
        return [a for a in self.aborted if a.last_offset >= offset and a.first_offset < end]

    def find_timestamp(self, timestamp: int) -> tuple[int, int, int] | None:
        """(offset, timestamp, leader epoch) of the first record that is not older."""
        for batch in self.from_offset(self.start_offset):
            if batch.max_timestamp < timestamp:
                continue
            for record in batch.records():
                if record.timestamp >= timestamp and record.offset >= self.start_offset:
                    return record.offset, record.timestamp, batch.leader_epoch
        return None

    def newest_timestamp(self) -> tuple[int, int, int] | None:
        """(offset, timestamp, leader epoch) of the first record with the highest timestamp."""
        newest = max(self.batches, key=lambda b: b.max_timestamp, default=None)
        if newest is None:
            return None
        for record in newest.records():
            if record.timestamp == newest.max_timestamp:
                return record.offset, record.timestamp, newest.leader_epoch
        return newest.last_offset, newest.max_timestamp, newest.leader_epoch

    def epoch_end(self, asked: int) -> tuple[int, int]:
        """(epoch, end offset) of the newest epoch that is not above ``asked`` (KIP-101, KIP-320)."""
        if asked == UNDEFINED or not self.epochs:
            return UNDEFINED, UNDEFINED
        numbers = [epoch for epoch, _ in self.epochs]
        if asked == numbers[-1]:
            return asked, self.end_offset
        above = bisect_right(numbers, asked)
        if above == len(numbers):
            return UNDEFINED, UNDEFINED
        start_of_next = self.epochs[above][1]
        return (numbers[above - 1] if above else asked), start_of_next

    def epoch_at(self, offset: int) -> int:
        """The leader epoch under which ``offset`` was or would be written."""
        fitting = [epoch for epoch, start in self.epochs if start <= offset]
        return fitting[-1] if fitting else UNDEFINED


def is_commit(batch: RecordBatch) -> bool:
    """What a control batch says."""
    record = next(batch.records())
    return record.key is not None and struct.unpack(">hh", record.key[:4])[1] == 1
