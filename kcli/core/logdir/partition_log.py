"""One partition from its files: where a record is, what is in a range, transactions, epochs.

    with PartitionLog.open("/data/kafka/orders-3") as log:
        for segment, (position, batch) in log.batches(log.start_offset, log.end_offset):
            print(segment.path, position, batch.base_offset)

An index is a hint: the batch that it names is looked at, and where it is not the right one, or there is no index, the log
is read.
"""

import os
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Container, Iterator
from types import TracebackType
from typing import Self

from kcli.core.classes import NamedTuple
from kcli.core.errors import (
    ConfigError,
    CorruptRecordsError,
    DamagedFileError,
    KcliError,
    NotFoundError,
    printable,
)
from kcli.core.kernels.shapes import Scanned
from kcli.core.kernels.varint import INT64_MAX
from kcli.core.logdir import aborted_index, leader_epochs, offset_index, producer_snapshot, time_index
from kcli.core.logdir.aborted_index import Aborted
from kcli.core.logdir.folders import PartitionFolder, find, read_entries, read_file
from kcli.core.logdir.leader_epochs import EpochStart
from kcli.core.logdir.offset_index import OffsetIndex
from kcli.core.logdir.segment_files import SegmentFile, choose_files
from kcli.core.logdir.time_index import TimeIndex
from kcli.core.logdir.transactions import Ended, Transactions, markers_in
from kcli.core.records.isolation import is_abort_marker
from kcli.core.records.segment import Placed, Segment, Tail
from kcli.core.records.view import BatchView
from kcli.core.types import TopicPartition

_OPEN = 4
"""Segments that stay open."""


class Place(NamedTuple):
    """A batch: the number of its segment in ``PartitionLog.files``, and its position there."""

    segment: int
    position: int


class TimedOffset(NamedTuple):
    """A record found by its time."""

    offset: int
    timestamp: int
    leader_epoch: int


class OpenTransaction(NamedTuple):
    """A transaction without a marker up to the end of the log."""

    producer_id: int
    first_offset: int


class PartitionLog:
    """A partition that is open. Segments are opened when they are read, and only a few stay so.

    ``end_offset`` is behind the last whole batch, ``last_epoch`` the leader epoch of that (−1 without one, or in an old
    format); ``tail`` is what follows it in the last segment. ``others`` are ``.log`` files that do not count
    (``segment_files``). ``refresh`` looks again at a folder whose broker runs. ``unclear``: damage, by file, that may
    hide where transactions begin and end, of those that were looked for.
    """

    def __init__(self, folder: PartitionFolder) -> None:
        self.folder = folder
        self.files: tuple[SegmentFile, ...] = ()
        self.others: tuple[SegmentFile, ...] = ()
        self.start_offset = self.end_offset = 0
        self.last_epoch = -1
        self.tail: Tail | None = None
        self._committing: Container[int] | None = None
        self._segments: OrderedDict[str, Segment] = OrderedDict()
        self._indexes: dict[str, OffsetIndex] = {}
        self._times: dict[str, TimeIndex] = {}
        self._ended: dict[str, Ended] = {}
        self.unclear: dict[str, DamagedFileError] = {}
        self.refresh()

    @classmethod
    def open(cls, *paths: str | os.PathLike[str]) -> Self:
        """The partition that is in these paths: its folder, or ``.log`` files of it. NotFoundError if there is none.

        ConfigError if there are several, as in a log directory.
        """
        found = find(paths)
        if len(found.partitions) == 1:
            return cls(found.partitions[0])
        where = ", ".join(printable(os.fspath(path)) for path in paths)
        if not found.partitions:
            why = "; ".join(missing.why for missing in found.missing)
            raise NotFoundError(
                f"{where}: no partition", why=why, do="name the folder of a partition, as orders-3"
            )
        raise ConfigError(
            f"{where}: {len(found.partitions)} partitions", why="one is needed", do="name its folder"
        )

    def refresh(self) -> None:
        """Reads anew which segments there are, and where the last one ends."""
        self.close()
        self.files, self.others = choose_files(self.folder.path, self.folder.files)
        base = self.files[0].base_offset if self.files else 0
        self.end_offset, self.last_epoch, self.tail = base, -1, None
        for number in reversed(range(len(self.files))):
            if self._find_end(number):
                break
        self.start_offset = min(max(base, self.folder.log_start), self.end_offset)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def release(self) -> None:
        """Closes the segments, which are opened anew when they are read; what was found out stays known."""
        self._segments.clear()

    def close(self) -> None:
        """Closes what nobody reads; views of batches stay valid."""
        self._segments.clear()
        self._indexes.clear()
        self._times.clear()
        self._ended.clear()
        self.unclear.clear()

    @property
    def tp(self) -> TopicPartition:
        """The partition."""
        return self.folder.tp

    @property
    def high_watermark(self) -> int:
        """By the checkpoint, within the log; ``end_offset`` without one."""
        known = self.folder.high_watermark
        return self.end_offset if known < 0 else min(max(known, self.start_offset), self.end_offset)

    def segment(self, number: int) -> Segment:
        """The segment ``files[number]``, open. FileGoneError if it is not there any more."""
        file = self.files[number]
        found = self._segments.pop(file.name, None)
        if found is None:
            found = Segment.open(os.path.join(self.folder.path, file.name), base_offset=file.base_offset)
        self._segments[file.name] = found
        while len(self._segments) > _OPEN:
            self._segments.popitem(last=False)
        return found

    # --- places ---

    def locate(self, offset: int) -> Place | None:
        """The batch that has ``offset``, or the first one behind it; None if there is none up to ``end_offset``.

        DamagedFileError if the batch that should have it is damaged.
        """
        if offset >= self.end_offset or not self.files:
            return None
        first = max(0, bisect_right(self.files, offset, key=lambda file: file.base_offset) - 1)
        for number in range(first, len(self.files)):
            segment = self.segment(number)
            position = self._position(segment, number, offset)
            if position is not None:
                return Place(number, position)
        return None

    def reach(self, offset: int) -> int:
        """How far reading up to ``offset`` gets: behind the last batch that ends there or before, as what lies between
        may be compacted away. ``offset`` itself where damage hides that.
        """
        try:
            for number in reversed(range(len(self.files))):
                segment, then = self.segment(number), -1
                if segment.base_offset < offset:
                    for found in segment.scan(self._start_before(segment, number, offset - 1), until=offset):
                        then = found.next_offset
                if then >= 0:
                    return max(then, self.start_offset)
        except DamagedFileError:
            return offset
        return self.start_offset

    def _position(self, segment: Segment, number: int, offset: int) -> int | None:
        """The position of the first batch that ends at ``offset`` or later; None without one."""
        at = self._start_before(segment, number, offset)
        while True:
            try:
                for found in segment.scan(at, until=offset, after=segment.base_offset):
                    at = found.end
            except DamagedFileError as damage:
                if not 0 <= damage.next_offset <= offset:
                    raise
                follows = segment.resync(damage.position + 1, damage.offset)
                if follows is None:
                    raise
                at = follows.position
                continue
            if segment.batch_at(at, verify=False) is None:
                self._whole(segment, number, at, offset)
                return None
            if segment.batch_at(at) is None:  # damaged: its offsets may be, too
                follows = segment.resync(at + 1)
                if follows is not None and follows.batch.base_offset <= offset:
                    at = follows.position
                    continue
            return at

    def _start_before(self, segment: Segment, number: int, offset: int) -> int:
        """The position of a batch that begins at ``offset`` or before it, by the index if that is right."""
        for position in self.index(number).places_before(offset):
            batch = segment.batch_at(position)
            if batch is not None and segment.base_offset <= batch.base_offset <= offset:
                return position
        return 0

    def index(self, number: int) -> OffsetIndex:
        """The offset index of a segment as it is; an empty one where there is none that can be read."""
        file = self.files[number]
        found = self._indexes.get(file.name)
        if found is None:
            path = self._beside(file, offset_index.SUFFIX)
            found = self._indexes[file.name] = OffsetIndex(read_entries(path), file.base_offset, path)
        return found

    def time_index(self, number: int) -> TimeIndex:
        """The time index of a segment as it is; an empty one where there is none that can be read."""
        file = self.files[number]
        found = self._times.get(file.name)
        if found is None:
            path = self._beside(file, time_index.SUFFIX)
            found = self._times[file.name] = TimeIndex(read_entries(path), file.base_offset, path)
        return found

    def _beside(self, file: SegmentFile, suffix: str) -> str:
        return os.path.join(self.folder.path, file.beside(suffix))

    def _content(self, path: str) -> bytes:
        try:
            return read_file(path) or b""
        except KcliError:
            return b""

    def _find_end(self, number: int) -> bool:
        """Finds the end of a segment: False if it has no batch."""
        segment = self.segment(number)
        if not self.end_offset or number == len(self.files) - 1:
            self.end_offset = max(self.end_offset, self.files[number].base_offset)
        begins = segment.base_offset
        at, then, epoch = self._start_before(segment, number, INT64_MAX), begins, -1
        while True:
            try:
                for found in segment.scan(at, after=then, verify=True):
                    at, then, epoch = found.end, found.next_offset, found.epoch
                tail = segment.tail(at, then)
                break
            except DamagedFileError as damage:
                follows = segment.resync(damage.position + 1, damage.offset)
                if follows is None:
                    tail = None
                    break
                at = follows.position
        if number == len(self.files) - 1:
            self.tail = tail
        if then == begins:
            return False
        self.end_offset, self.last_epoch = max(then, self.end_offset), epoch
        return True

    # --- ranges ---

    def batches(self, start: int, stop: int, *, verify: bool = False) -> Iterator[tuple[Segment, Placed]]:
        """The batches with offsets from ``start`` up to, not including, ``stop``, lazily; also control batches."""
        stop = min(stop, self.end_offset)
        place = self.locate(start) if start < stop else None
        if place is None:
            return
        for number in range(place.segment, len(self.files)):
            if self.files[number].base_offset >= stop:
                return
            segment, behind = self.segment(number), self._behind(number)
            at, then = place.position if number == place.segment else 0, segment.base_offset
            for placed in segment.batches(at, verify=verify, after=then):
                if placed.batch.last_offset >= behind:
                    raise _beyond(segment, placed, then, behind)
                if placed.batch.base_offset >= stop:
                    return
                yield segment, placed
                at, then = placed.position + placed.batch.size, placed.batch.next_offset
                if then >= stop:
                    return
            self._whole(segment, number, at, then)

    def scan(self, start: int, stop: int, *, verify: bool = False) -> Iterator[tuple[Segment, Scanned]]:
        """What the headers of these batches say, in stretches (``Segment.scan``); the last may reach beyond ``stop``."""
        stop = min(stop, self.end_offset)
        place = self.locate(start) if start < stop else None
        if place is None:
            return
        for number in range(place.segment, len(self.files)):
            if self.files[number].base_offset >= stop:
                return
            segment, behind = self.segment(number), self._behind(number)
            at, then = place.position if number == place.segment else 0, segment.base_offset
            for found in segment.scan(at, verify=verify, until=min(stop, behind), after=then):
                yield segment, found
                at, then = found.end, found.next_offset
                if then >= stop:
                    return
            last = segment.batch_at(at, verify=False)
            if last is not None and last.last_offset >= behind:
                raise _beyond(segment, Placed(at, last), then, behind)
            if last is not None and last.last_offset >= stop:
                if last.base_offset < stop:
                    for found in segment.scan(at, at + 1, verify=verify):
                        yield segment, found
                return
            self._whole(segment, number, at, then)

    def check(self, offset: int, place: Place, end: int) -> bool:
        """Compares the offsets of the batches from the place of ``offset`` up to a position of its segment with those
        around them: no checksum covers them. DamagedFileError for one that is too low, or too high. True if none is of a
        transaction.
        """
        segment, behind = self.segment(place.segment), min(self._behind(place.segment), self.end_offset)
        at, then, plain = place.position, segment.base_offset, True
        try:
            for found in segment.scan(at, end + 1, after=then, until=behind):  # and the batch that follows
                at, then, plain = found.end, found.next_offset, plain and not found.events
        except DamagedFileError as damage:
            low = segment.batch_at(damage.position)
            following = None if low is None else segment.batch_at(damage.position + low.size)
            if low is None or (
                following is not None and low.last_offset < damage.offset < following.base_offset
            ):
                raise
            # Not this one has the wrong offset, as far as can be told, but one before it, which is too high.
            at, then, behind = place.position, segment.base_offset, low.base_offset
            for found in segment.scan(at, damage.position, until=behind):
                at, then = found.end, found.next_offset
        last = segment.batch_at(at, verify=False) if at <= end else None
        if last is not None and last.last_offset >= behind:
            follows = segment.resync(at + last.size)
            if follows is not None:
                behind = min(behind, follows.batch.base_offset)
            raise _beyond(segment, Placed(at, last), max(then, offset), behind)
        return plain

    def _behind(self, number: int) -> int:
        """Where the segment after this one begins: what is in this one has lower offsets."""
        return self.files[number + 1].base_offset if number + 1 < len(self.files) else INT64_MAX

    def _whole(self, segment: Segment, number: int, at: int, then: int) -> None:
        """Bytes behind the last batch are damage where another segment follows."""
        if number < len(self.files) - 1:
            tail = segment.tail(at, then)
            if tail is not None:
                behind = self._behind(number)
                raise DamagedFileError(segment.path, at, why=tail.why, offset=then, next_offset=behind)

    # --- times ---

    def offset_for_time(self, timestamp: int) -> TimedOffset | None:
        """The first record from ``start_offset`` on with this timestamp or a later one, as a broker finds it.

        It looks only in the first segment whose largest timestamp is as late, also where that is the timestamp of a
        record below ``start_offset`` (LogSegment.findOffsetByTimestamp): None if that has no such record.
        """
        for number in range(len(self.files)):
            segment = self.segment(number)
            if self._behind(number) > self.start_offset:
                at = self._after_earlier(segment, number, timestamp)
                found = self._first_since(segment, at, timestamp)
                if found is not None:
                    return found
            if segment.base_offset < self.start_offset and self._has_since(segment, number, timestamp):
                return None
        return None

    def _has_since(self, segment: Segment, number: int, timestamp: int) -> bool:
        """Whether a batch of a segment has such a timestamp, also one below ``start_offset``."""
        at = self._after_earlier(segment, number, timestamp, segment.base_offset)
        for found in segment.scan(at, since=timestamp):
            at = found.end
        return segment.batch_at(at, verify=False) is not None

    def latest_time(self) -> TimedOffset | None:
        """The record with the highest timestamp, the first of them; None in a log without records."""
        best: tuple[int, Segment, int] | None = None
        cut: TimedOffset | None = None
        for number in self._numbers():
            segment = self.segment(number)
            at = self._after_earlier(segment, number, INT64_MAX)
            batch = segment.batch_at(at, verify=False)
            if batch is not None and batch.base_offset < self.start_offset:
                cut = max(self._records_since(segment, at, batch, -1), key=_newest, default=None)
                at += batch.size
            for found in segment.scan(at):
                if best is None or found.highest > best[0]:
                    best = found.highest, segment, found.highest_at
        if best is None or (cut is not None and cut.timestamp >= best[0]):
            return cut
        return self._first_since(best[1], best[2], best[0])

    def _numbers(self) -> range:
        """The numbers of the segments that have something from ``start_offset`` on."""
        first = bisect_right(self.files, self.start_offset, key=lambda file: file.base_offset) - 1
        return range(max(0, first), len(self.files))

    def _after_earlier(self, segment: Segment, number: int, timestamp: int, start: int | None = None) -> int:
        """A position before which nothing from ``start_offset`` (or ``start``) on has such a time, by the time index if
        it is right.
        """
        if start is None:
            start = max(self.start_offset, self.files[number].base_offset)
        entry = self.time_index(number).before(timestamp)
        if entry is not None and entry.offset > start:
            at = self._position(segment, number, entry.offset)
            batch = None if at is None else segment.batch_at(at)
            if at is not None and batch is not None:
                begins = batch.base_offset <= entry.offset
                if begins and batch.max_timestamp == entry.timestamp:
                    return at
        return self._position(segment, number, start) or 0

    def _first_since(self, segment: Segment, at: int, timestamp: int) -> TimedOffset | None:
        """The first such record from the position ``at`` on; one batch after the other is opened until one has it."""
        while True:
            for found in segment.scan(at, since=timestamp):
                at = found.end
            batch = segment.batch_at(at, verify=False)
            if batch is None:
                return None
            record = next(self._records_since(segment, at, batch, timestamp), None)
            if record is not None:
                return record
            at += batch.size

    def _records_since(
        self, segment: Segment, at: int, batch: BatchView, timestamp: int
    ) -> Iterator[TimedOffset]:
        """Those of a batch at a position with such a time; also the record of a control batch, as a broker finds it."""
        try:
            columns = batch.columns()
        except CorruptRecordsError as error:
            raise DamagedFileError(
                segment.path, at, why=error.why, offset=batch.base_offset, next_offset=batch.next_offset
            ) from error
        appended = batch.timestamp_type == 1
        for delta, time in zip(columns.offset_deltas, columns.timestamp_deltas, strict=True):
            when = batch.max_timestamp if appended else batch.base_timestamp + time
            if when >= timestamp and batch.base_offset + delta >= self.start_offset:
                yield TimedOffset(batch.base_offset + delta, when, batch.leader_epoch)

    # --- epochs ---

    def epochs(self) -> tuple[EpochStart, ...]:
        """The leader epochs: of the checkpoint, if it agrees with the log, else of the batches."""
        stored = self.stored_epochs()
        written = [entry for entry in stored if entry.start_offset < self.end_offset]
        last = written[-1].epoch if written else -1
        if stored and self.last_epoch in (last, -1) and all(map(self._is_epoch, stored)):
            return stored
        found: list[EpochStart] = []
        for _, some in self.scan(self.start_offset, self.end_offset):
            if some.epoch >= 0 and (not found or some.epoch > found[-1].epoch):
                found.append(EpochStart(some.epoch, some.first_offset))
        return tuple(found)

    def stored_epochs(self) -> tuple[EpochStart, ...]:
        """The leader epochs of the checkpoint as it is; empty if there is none that can be read."""
        path = os.path.join(self.folder.path, leader_epochs.NAME)
        try:
            return leader_epochs.parse_leader_epochs(self._content(path), path)
        except DamagedFileError:
            return ()

    def _is_epoch(self, entry: EpochStart) -> bool:
        """Does an epoch begin there? Compaction may have left a later one; old formats do not say."""
        if not self.start_offset < entry.start_offset < self.end_offset:
            return entry.start_offset <= self.end_offset
        place = self.locate(entry.start_offset)
        batch = None if place is None else self.segment(place.segment).batch_at(place.position, verify=False)
        return batch is not None and (batch.leader_epoch >= entry.epoch or batch.leader_epoch < 0)

    # --- transactions ---

    def aborted(self, start: int, stop: int) -> list[Aborted]:
        """The aborted transactions with records from ``start`` up to, not including, ``stop``, as a broker lists them."""
        place = self.locate(start)
        if place is None or not any(found.events for _, found in self.scan(start, stop)):
            return []
        aborted: list[Aborted] = []
        for number in range(place.segment, len(self.files)):
            ended = self.ended(number)
            aborted += [one for one in ended.aborted if one.last_offset >= start and one.first_offset < stop]
            if self._behind(number) >= stop and all(first >= stop for first in ended.open.values()):
                break  # none of those that were open at the end is open any more
        if self._committing is not None:
            aborted += [
                Aborted(one.producer_id, one.first_offset, self.end_offset, self.end_offset)
                for one in self.open_transactions()
                if one.producer_id not in self._committing and one.first_offset < stop
            ]
        return aborted

    def ended(self, number: int) -> Ended:
        """The transactions whose marker is in a segment, and those that are open at its end.

        By the transaction index and the producer snapshot at its end if they are right, else by its batches.
        """
        name = self.files[number].name
        found = self._ended.get(name)
        if found is None:
            found = self._stored_ended(number) or self._scanned_ended(number)
            self._ended[name] = found
        return found

    def _stored_ended(self, number: int) -> Ended | None:
        """As the files beside a segment have it; None where they are missing, or not right."""
        if number + 1 >= len(self.files):
            return None
        file = self.files[number]
        path = self._beside(file, aborted_index.SUFFIX)
        entries, error = aborted_index.read_aborted_index(self._content(path), path)
        still = self._open_at(self.files[number + 1].base_offset)
        if not entries or error is not None or still is None:
            return None
        segment = self.segment(number)
        if not all(self._is_aborted(segment, number, entry) for entry in entries):
            return None
        if self._is_aborted_after(segment, number, entries[-1].last_offset):
            return None  # the index is older than the log
        return Ended(tuple(entries), still)

    def _is_aborted_after(self, segment: Segment, number: int, offset: int) -> bool:
        """Is there an abort marker behind the one at ``offset``?"""
        at = self._position(segment, number, offset + 1)
        try:
            for found in [] if at is None else segment.scan(at):
                for position in markers_in(found.events):
                    batch = segment.batch_at(position)
                    if batch is not None and is_abort_marker(batch):
                        return True
        except CorruptRecordsError:
            return True
        return False

    def _is_aborted(self, segment: Segment, number: int, entry: Aborted) -> bool:
        """Is there such a marker, and does a transaction of that producer begin there, if it begins in this segment?"""
        if not segment.base_offset <= entry.last_offset < self.files[number + 1].base_offset:
            return False
        try:
            marker = self._batch_with(segment, number, entry.last_offset)
            if marker is None or marker.producer_id != entry.producer_id or not is_abort_marker(marker):
                return False
        except CorruptRecordsError:
            return False
        return self.begins(number, entry)

    def begins(self, number: int, entry: Aborted) -> bool:
        """Does a transaction of that producer begin at its first offset? Not judged if that is not in this segment."""
        segment = self.segment(number)
        if entry.first_offset < max(segment.base_offset, self.start_offset):
            return True
        try:
            first = self._batch_with(segment, number, entry.first_offset)
        except CorruptRecordsError:
            return False
        return (
            first is not None
            and first.base_offset == entry.first_offset
            and first.producer_id == entry.producer_id
            and first.is_transactional
        )

    def _batch_with(self, segment: Segment, number: int, offset: int) -> BatchView | None:
        at = self._position(segment, number, offset)
        batch = None if at is None else segment.batch_at(at)
        return batch if batch is not None and batch.base_offset <= offset else None

    def _scanned_ended(self, number: int) -> Ended:
        """By the batches, from the last segment on whose open transactions are known before it begins."""
        first = number
        before = self._open_before(first)
        while before is None:
            first -= 1
            before = self._open_before(first)
        for one in range(first, number + 1):
            followed = Transactions(before)
            segment = self.segment(one)
            at = 0
            while True:
                try:
                    for found in segment.scan(at):
                        followed.add(segment, found.events)
                    break
                except DamagedFileError as damage:
                    if followed.seen:
                        self.unclear.setdefault(segment.path, damage)
                    follows = segment.resync(damage.position + 1, damage.offset)
                    if follows is None:
                        break
                    at = follows.position
            ended = self._ended[self.files[one].name] = followed.ended()
            before = ended.open
        return ended

    def _open_before(self, number: int) -> dict[int, int] | None:
        """Transactions open where a segment begins, if that is known: first offset by producer."""
        if not number:
            return self._open_at(self.files[0].base_offset) or {}
        known = self._ended.get(self.files[number - 1].name)
        return known.open if known else self._open_at(self.files[number].base_offset)

    def _open_at(self, offset: int) -> dict[int, int] | None:
        """Transactions open at an offset by the producer snapshot there; None without one that is right."""
        path = os.path.join(self.folder.path, f"{offset:020d}{producer_snapshot.SUFFIX}")
        try:
            producers = producer_snapshot.parse_producer_snapshot(self._content(path), path)
        except DamagedFileError:
            return None
        return {one.producer_id: one.first_offset for one in producers if 0 <= one.first_offset < offset}

    def open_transactions(self) -> list[OpenTransaction]:
        """Those without a marker up to ``end_offset``, in the order of their first offsets."""
        if not self.files:
            return []
        still = self.ended(len(self.files) - 1).open
        return sorted((OpenTransaction(*one) for one in still.items()), key=lambda one: one.first_offset)

    def end_transactions(self, committing: Container[int]) -> None:
        """From now on the transactions that are open at the end are taken as ended there, as their coordinator would end
        them: those of the producers in ``committing`` are committed, the others aborted. For a log that nobody writes.
        """
        self._committing = committing

    @property
    def last_stable_offset(self) -> int:
        """The first offset of the first open transaction, or ``end_offset``."""
        if self._committing is not None:
            return self.end_offset
        return min((one.first_offset for one in self.open_transactions()), default=self.end_offset)


def _newest(one: TimedOffset) -> int:
    return one.timestamp


def _beyond(segment: Segment, placed: Placed, offset: int, behind: int) -> DamagedFileError:
    why = f"{placed.batch.extent}, and what follows begins at offset {behind}"
    return DamagedFileError(segment.path, placed.position, why=why, offset=offset, next_offset=behind)
