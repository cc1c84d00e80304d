"""Checks the bytes of one segment against themselves and against its indexes, at the speed of checksums.

The kernel ``check_log`` takes batches as long as all agrees; :class:`Walk` looks at the batch at which it stopped, notes
what is wrong, and lets it continue behind that. Bytes are read into a buffer, not mapped: a broker may cut the file
meanwhile. Runs in any thread.
"""

import os
from collections.abc import Callable
from struct import Struct

from kcli.core.classes import NamedTuple, dataclass, field
from kcli.core.errors import CorruptRecordsError
from kcli.core.kernels.active import check_log, crc32c
from kcli.core.kernels.shapes import LogState
from kcli.core.kernels.varint import INT64_MAX
from kcli.core.records.batch import CRC_START, HEADER_SIZE, LENGTH_END, MAGIC, RecordBatch
from kcli.core.records.isolation import is_abort_marker
from kcli.core.records.legacy import LegacyBatch
from kcli.core.records.view import BatchView
from kcli.flows.segments.finding import DAMAGE, NOTE, Finding
from kcli.output.progress import counted

PIECE = 1 << 20
"""Bytes that are read at once: they stay in the caches of a processor."""
SPARSE = 1 << 20
"""A broker that appends what it fetched from a leader, 1 MiB by default, makes one entry for it; so does the cleaner."""
INTERVAL = 4096
"""The default of index.interval.bytes."""

_FRAME = Struct(">qi")
_EPOCH_FRAME = Struct(">qii")
_MAGIC_AT = 16
_SMALLEST = {0: 26, 1: 34, MAGIC: HEADER_SIZE}
_ENTRY = Struct(">ii")
_TIME_ENTRY = Struct(">qi")
_LARGE = 64 << 20
_NO_EPOCH = -2  # no batch has it: the first one is looked at
_MOST_GAPS = 1000
_FARTHEST = 1 << 40  # offsets by which a batch may be behind the one before
_REBUILT = "a broker with this file begins to read at a wrong place"


class Marker(NamedTuple):
    """An abort marker in the log."""

    offset: int
    producer_id: int


class Gap(NamedTuple):
    """Offsets without a batch: from ``first`` up to, not including, ``stop``; the next batch is at ``position``."""

    first: int
    stop: int
    position: int


@dataclass(slots=True)
class Segment:
    """What a walk gets: the file, and its indexes as bytes without preallocated zeros; None where there is no file.

    ``contiguous``: no offset may be missing. ``active``: a broker appends, or appended, to it.
    """

    path: str
    base_offset: int
    active: bool
    contiguous: bool
    entries: bytes | None = None
    times: bytes | None = None
    interval: int = INTERVAL
    index_path: str = ""
    time_path: str = ""


@dataclass(slots=True)
class Facts:
    """What a walk found out. ``next_offset`` is behind the last batch, the base offset if there is none."""

    path: str
    base_offset: int
    next_offset: int
    size: int = 0
    first_offset: int = -1
    batches: int = 0
    records: int = 0
    missing_offsets: int = 0
    max_timestamp: int = -1
    epochs: list[tuple[int, int]] = field(default_factory=list)
    """Leader epoch, and the base offset of the first batch that has it."""
    aborts: list[Marker] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


class Walk:
    """One walk through one segment."""

    def __init__(self, segment: Segment, descriptor: int, stopped: Callable[[], bool]) -> None:
        self.segment = segment
        self.facts = Facts(segment.path, segment.base_offset, segment.base_offset)
        self._descriptor = descriptor
        self._stopped = stopped
        self._buffer = bytearray(PIECE)
        self._misplaced = False
        self._beyond = segment.base_offset + (1 << 31)
        self._noted: dict[tuple[str, str, str], int] = {}
        self._size = self.facts.size = os.fstat(descriptor).st_size
        self._entries = segment.entries or b""
        self._times = segment.times or b""
        self._limit = max(SPARSE, 16 * segment.interval) if segment.entries is not None else 1 << 62
        self._state = LogState(0, -1, _NO_EPOCH, 0, 0, 0, 0, 0, 0, -1)

    def run(self) -> Facts:
        """Reads it all."""
        wanted = PIECE
        while self._state.at < self._size and not self._stopped():
            at = self._state.at
            piece = self._read(at, wanted)
            if not piece:
                break
            wanted = PIECE
            while True:
                self._check(piece, at)
                raw = self._whole(piece, at)
                if raw is None:
                    break
                self._look(raw)
            left = at + len(piece) - self._state.at
            if left and at + len(piece) < self._size:
                if self._state.at == at:  # larger than the piece
                    wanted = self._needed(piece)
                if wanted:
                    continue
            if left or not wanted:
                wanted = PIECE
                self._strange(bytes(piece[len(piece) - left :][:HEADER_SIZE]))
        self._finish()
        return self.facts

    def _check(self, piece: memoryview, at: int) -> None:
        segment, state = self.segment, self._state
        self._state = LogState(
            *check_log(
                piece,
                at,
                state,
                self._entries,
                self._times,
                segment.base_offset,
                segment.contiguous,
                self._limit,
            )
        )

    def _read(self, at: int, size: int) -> memoryview:
        if size > len(self._buffer):
            self._buffer = bytearray(size)
        elif size == PIECE and len(self._buffer) > 4 * PIECE:
            self._buffer = bytearray(PIECE)
        view = memoryview(self._buffer)
        piece = view[: os.preadv(self._descriptor, [view[:size]], at)]
        if len(piece) < size:
            self._size = at + len(piece)  # also where the file was cut meanwhile
        return piece

    def _whole(self, piece: memoryview, at: int) -> memoryview | None:
        """The batch at which the kernel has stopped; None if what is there is none, or goes beyond the piece."""
        start = self._state.at - at
        if len(piece) - start < LENGTH_END + 5:
            return None
        size = LENGTH_END + _FRAME.unpack_from(piece, start)[1]
        smallest = _SMALLEST.get(piece[start + _MAGIC_AT])
        if smallest is None or not smallest <= size <= len(piece) - start:
            return None
        return piece[start : start + size]

    def _needed(self, piece: memoryview) -> int:
        """How much is to be read for the batch that the piece begins with; 0 if that is none."""
        if len(piece) < LENGTH_END + 5:
            return 0
        size = LENGTH_END + int(_FRAME.unpack_from(piece)[1])
        smallest = _SMALLEST.get(piece[_MAGIC_AT])
        at = self._state.at
        if smallest is None or not smallest <= size <= self._size - at:
            return 0
        return 0 if size > _LARGE and not self._sound(at, size) else size

    # --- a batch with which something is to be noted ---

    def _look(self, raw: memoryview) -> None:
        """Notes what there is to be noted of one batch, and takes it."""
        at = self._state.at
        try:
            batch: BatchView = RecordBatch(raw) if raw[_MAGIC_AT] == MAGIC else LegacyBatch(raw)
            batch.verify_crc()
        except CorruptRecordsError as error:
            self._damaged(raw, error)
            return
        self._misplaced = False
        self._follow(batch)
        base, last = batch.base_offset, batch.last_offset
        if self._misplaced:
            base, last = self._start(), min(self._start() + batch.last_offset_delta, self._beyond - 1)
        if self.facts.first_offset < 0:
            self.facts.first_offset = base
        state = self._state
        self._judge_entries(at, base)
        state = self._state
        highest = max(state.max_timestamp, batch.max_timestamp) if batch.count else state.max_timestamp
        self._judge_times(base, last, batch.max_timestamp, highest)
        if batch.is_control:
            self._note_marker(batch)
        elif batch.count < last - base + 1:
            self._hollow(batch)
        missing = last - base + 1 - batch.count + (max(0, base - state.then) if state.then >= 0 else 0)
        self._state = self._state._replace(
            at=at + len(raw),
            then=min(INT64_MAX, max(state.then, last + 1)),
            batches=state.batches + 1,
            records=state.records + (0 if batch.is_control else batch.count),
            missing=min(INT64_MAX, state.missing + max(0, missing)),
            max_timestamp=highest,
        )

    def _follow(self, batch: BatchView) -> None:
        """Does the batch follow the one before?"""
        state, base = self._state, batch.base_offset
        if base < self.segment.base_offset:
            self._damage(
                "order", base, f"a batch begins at offset {base}, the segment at {self.segment.base_offset}",
                f"{counted(batch.count, 'record')} at offsets that are another segment's",
            )  # fmt: skip
        elif batch.last_offset >= self._beyond:
            self._damage(
                "header", self._start(),
                f"a batch has the offsets {base} to {batch.last_offset}, those of the segment end before {self._beyond}",
                f"{counted(batch.count, 'record')} with wrong offsets",
            )  # fmt: skip
            self._misplaced = True
        elif state.then >= 0 and base < state.then:
            gap = next((one for one in self.facts.gaps if one.first <= base < one.stop), None)
            if gap is not None:
                self.facts.gaps.remove(gap)
                why = f"a batch with the offsets {base} to {batch.last_offset} is behind that with {state.then - 1}"
                meaning = f"{counted(batch.count, 'record')} out of order: a consumer may skip or repeat them"
            else:
                why = f"a batch begins at offset {base}, the one before it ends at {state.then - 1}"
                meaning = f"{counted(batch.count, 'record')} with offsets that others have too"
            self._damage("order", base, why, meaning)
        elif base > self._start() and self._is_misplaced(batch):
            why = f"its base offset is {base}, the batches around it say {self._start()}"
            self._damage("header", self._start(), why, f"{counted(batch.count, 'record')} with wrong offsets")
            self._misplaced = True
        elif self.segment.contiguous and state.then >= 0 and base > state.then:
            self._gap(Gap(state.then, base, state.at))
        if self.facts.first_offset < 0:
            self.facts.first_offset = self._start() if self._misplaced else base
        epoch = batch.leader_epoch
        if epoch != state.epoch:
            if state.epoch == self._next(batch)[1]:
                why = f"its leader epoch is {epoch}, the batches around it have {state.epoch}"
                self._damage(
                    "leader epochs", base, why, "followers and consumers that compare epochs may refuse it"
                )
                return
            if epoch < state.epoch and epoch >= 0:
                self._damage(
                    "leader epochs", base, f"leader epoch {epoch} comes behind {state.epoch}",
                    "followers and consumers that compare epochs truncate, or refuse, what is behind it",
                )  # fmt: skip
            else:
                self.facts.epochs.append((epoch, base))
            self._state = state._replace(epoch=epoch)

    def _is_misplaced(self, batch: BatchView) -> bool:
        """Whether the next batch says that the base offset of this one, which is too high, is wrong."""
        then, following = self._start(), self._next(batch)[0]
        if self.segment.contiguous:
            return following == then + batch.last_offset_delta + 1
        return then < following <= batch.base_offset

    def _next(self, batch: BatchView) -> tuple[int, int]:
        """Base offset and leader epoch of the batch behind this one; −1 and −3 if there is none."""
        head = os.pread(self._descriptor, _MAGIC_AT + 1, self._state.at + batch.size)
        if not self._plausible(head) or head[_MAGIC_AT] != MAGIC:
            return -1, -3
        base, _, epoch = _EPOCH_FRAME.unpack_from(head)
        return base, epoch

    def _gap(self, gap: Gap) -> None:
        self.facts.gaps.append(gap)
        if len(self.facts.gaps) >= _MOST_GAPS:
            self.segment.contiguous = False

    def _hollow(self, batch: BatchView) -> None:
        if self.segment.contiguous:
            lacking = batch.last_offset - batch.base_offset + 1 - batch.count
            self._gap(Gap(batch.base_offset, batch.base_offset + lacking, self._state.at))

    def _note_marker(self, batch: BatchView) -> None:
        try:
            if batch.is_transactional and is_abort_marker(batch):
                self.facts.aborts.append(Marker(batch.base_offset, batch.producer_id))
        except CorruptRecordsError as error:
            self._damage("header", batch.base_offset, str(error), "the end of a transaction cannot be read")

    def _judge_entries(self, at: int, base: int) -> None:
        """The entries of the offset index up to this batch."""
        path = self.segment.index_path
        count = len(self._entries) // _ENTRY.size
        entry, indexed_at = self._state.entry, self._state.indexed_at
        while entry < count:
            relative, position = _ENTRY.unpack_from(self._entries, entry * _ENTRY.size)
            offset = self.segment.base_offset + relative
            if position > at:
                break
            if position < at:
                self._stale(
                    path, entry * _ENTRY.size, offset, f"it names byte {position}, at which no batch begins"
                )
            elif offset < base:
                why = f"it names byte {position} for offset {offset}, the batch there begins at {base}"
                self._stale(path, entry * _ENTRY.size, offset, why)
                indexed_at = at
            else:
                indexed_at = at
                self._judge_entry_before(entry, base)
            entry += 1
        if at - indexed_at > self._limit:
            why = f"bytes {indexed_at} to {at} of the log have no entry"
            self._note(
                DAMAGE, "index entries", path, entry * _ENTRY.size, base, why,
                "fetches from there read the log from the entry before: slow, but right",
            )  # fmt: skip
            indexed_at = at
        self._state = self._state._replace(entry=entry, indexed_at=indexed_at)

    def _judge_entry_before(self, entry: int, base: int) -> None:
        """What an entry covers ends where the next one begins."""
        if entry:
            relative, position = _ENTRY.unpack_from(self._entries, (entry - 1) * _ENTRY.size)
            offset = self.segment.base_offset + relative
            if offset >= base:
                why = f"it names byte {position} for offset {offset}; the next entry is of the batch from {base} on"
                self._stale(self.segment.index_path, (entry - 1) * _ENTRY.size, offset, why)

    def _judge_times(self, base: int, last: int, own: int, highest: int) -> None:
        """The entries of the time index up to this batch."""
        count = len(self._times) // _TIME_ENTRY.size
        entry = self._state.time_entry
        while entry < count:
            timestamp, relative = _TIME_ENTRY.unpack_from(self._times, entry * _TIME_ENTRY.size)
            offset = self.segment.base_offset + relative
            if offset > last:
                break
            if offset < base:
                why = f"it names offset {offset}, which no batch has"
                self._stale_time(entry, offset, why)
            elif timestamp != highest or own != highest:
                why = (
                    f"it has timestamp {timestamp} for offset {offset}; the highest up to there is {highest}"
                )
                self._stale_time(entry, offset, why)
            entry += 1
        self._state = self._state._replace(time_entry=entry)

    # --- what is no sound batch ---

    def _damaged(self, raw: memoryview, error: CorruptRecordsError) -> None:
        """A batch that has its bytes, but whose checksum or header is wrong: is there one behind it?"""
        at, size = self._state.at, len(raw)
        base, start = int(_FRAME.unpack_from(raw)[0]), self._start()
        if not start <= base < start + _FARTHEST:
            base = start
        behind = os.pread(self._descriptor, LENGTH_END + 5, at + size)
        if at + size == self._size and self.segment.active and raw[size - 8 :] == bytes(8):
            self._tail(at, f"the last batch ends in zeros: {error.why or error}")
            return
        if behind and not self._plausible(behind):
            self._strange(bytes(raw[:HEADER_SIZE]), error)
            return
        rule = "checksum" if "checksum" in str(error) else "header"
        delta = 0
        if raw[_MAGIC_AT] == MAGIC and len(raw) >= HEADER_SIZE:
            batch = RecordBatch(raw)
            delta = batch.last_offset_delta
            delta = max(0, min(delta, batch.count - 1) if self.segment.contiguous else delta)
        start = self._start()
        if not start <= base < self._beyond - delta:
            base = start  # it is what is damaged
        elif self._state.then < 0:
            start = base
        then = int(_FRAME.unpack_from(behind)[0]) if behind else self._beyond
        if not start < then < self._beyond:
            then = min(base + delta + 1, self._beyond)
        self._damage(
            rule, start, error.why or str(error),
            f"the records at offsets {start} to {max(start, then - 1)} cannot be read",
        )  # fmt: skip
        self._skip(at + size, then, start)

    def _plausible(self, head: bytes) -> bool:
        """Whether these bytes may begin a batch."""
        if len(head) < LENGTH_END + 5:
            return False
        base, length = _FRAME.unpack_from(head)
        smallest = _SMALLEST.get(head[_MAGIC_AT])
        return smallest is not None and length + LENGTH_END >= smallest and base >= 0

    def _strange(self, head: bytes, error: CorruptRecordsError | None = None) -> None:
        """What is at the current position is no batch: the tail, or bytes between two batches."""
        at = self._state.at
        found = self._resync(at + 1)
        start = self._start()
        left = self._size - at
        if found is not None:
            position, base = found
            why = f"{position - at} bytes are no batch; the next one begins at byte {position}"
            if error is not None:
                why = f"{error.why or error}; the next batch that is whole begins at byte {position}"
            rule = "checksum" if error is not None and "checksum" in str(error) else "header"
            meaning = f"the records at offsets {start} to {base - 1} cannot be read"
            self._damage(rule, start, why, meaning if base > start else "no record, as far as offsets say")
            self._skip(position, base, start)
            return
        cut = self._cut(head)
        if self.segment.active and (cut or self._is_zero(at)):
            self._tail(at, cut or f"{counted(left, 'byte')} are zero")
        else:
            rule = "torn tail" if cut else "foreign bytes"
            why = cut or f"{counted(left, 'byte')} at the end are no batch"
            if error is not None:
                rule, why = "checksum", error.why or str(error)
            self._damage(rule, start, why, f"a reader stops at offset {start}; what was behind it is lost")
        self._state = self._state._replace(at=self._size)

    def _cut(self, head: bytes) -> str:
        """Why the last batch is not whole, in words; empty if it is no batch."""
        left = self._size - self._state.at
        if len(head) < LENGTH_END + 5:
            return "" if head == bytes(len(head)) else f"{left} bytes of the header of a batch"
        base, length = _FRAME.unpack_from(head)
        if self._plausible(head) and base >= self._start() and length + LENGTH_END > left:
            return f"{left} of the {length + LENGTH_END} bytes of a batch"
        return ""

    def _is_zero(self, at: int) -> bool:
        while piece := os.pread(self._descriptor, PIECE, at):
            if piece != bytes(len(piece)):
                return False
            at += len(piece)
        return True

    def _resync(self, at: int) -> tuple[int, int] | None:
        """Position and base offset of the next batch that is whole, looked for byte by byte. None without one."""
        needle = bytes((MAGIC,))
        start = self._start()
        while at < self._size:
            piece = os.pread(self._descriptor, PIECE + HEADER_SIZE, at)
            found = piece.find(needle, _MAGIC_AT)
            while found >= 0 and found - _MAGIC_AT < PIECE:
                begin = found - _MAGIC_AT
                if len(piece) - begin >= HEADER_SIZE:
                    base, length = _FRAME.unpack_from(piece, begin)
                    size = length + LENGTH_END
                    fits = HEADER_SIZE <= size <= self._size - at - begin
                    if fits and start <= base < start + _FARTHEST and self._sound(at + begin, size):
                        return at + begin, base
                found = piece.find(needle, found + 1)
            at += PIECE
        return None

    def _sound(self, at: int, size: int) -> bool:
        """Whether a batch of magic 2 is whole, without all of it in memory."""
        batch = RecordBatch(memoryview(os.pread(self._descriptor, HEADER_SIZE, at)))
        batch.size = size
        try:
            batch.check()
        except CorruptRecordsError:
            return False
        crc, position, end = 0, at + CRC_START, at + size
        while position < end:
            piece = os.pread(self._descriptor, min(PIECE, end - position), position)
            if not piece:
                return False
            crc, position = crc32c(piece, crc), position + len(piece)
        return crc == batch.crc

    def _start(self) -> int:
        return self._state.then if self._state.then >= 0 else self.segment.base_offset

    def _skip(self, position: int, then: int, start: int) -> None:
        """Goes on behind damage, whose offsets are from ``start`` on; index entries into it cannot be judged."""
        if self.facts.first_offset < 0:
            self.facts.first_offset = start
        then = min(then, self._beyond)
        entry, time_entry, indexed_at = self._state.entry, self._state.time_entry, self._state.indexed_at
        while entry < len(self._entries) // _ENTRY.size:
            named = _ENTRY.unpack_from(self._entries, entry * _ENTRY.size)[1]
            if named >= position:
                break
            entry, indexed_at = entry + 1, max(indexed_at, named)
        while time_entry < len(self._times) // _TIME_ENTRY.size:
            timestamp, relative = _TIME_ENTRY.unpack_from(self._times, time_entry * _TIME_ENTRY.size)
            if self.segment.base_offset + relative >= then:
                break
            time_entry += 1
            self._state = self._state._replace(max_timestamp=max(self._state.max_timestamp, timestamp))
        self._state = self._state._replace(
            at=position, then=min(INT64_MAX, then), entry=entry, time_entry=time_entry, indexed_at=indexed_at
        )

    # --- the end ---

    def _finish(self) -> None:
        """The entries that name what is behind the end, and the gaps that stayed."""
        state, facts = self._state, self.facts
        facts.next_offset = self._start()
        facts.batches, facts.records = state.batches, state.records
        facts.missing_offsets, facts.max_timestamp = state.missing, state.max_timestamp
        if self._stopped():
            return
        path, base = self.segment.index_path, self.segment.base_offset
        count = len(self._entries) // _ENTRY.size
        for entry in range(state.entry, count):
            relative, position = _ENTRY.unpack_from(self._entries, entry * _ENTRY.size)
            why = f"it names byte {position}; no whole batch is there, nor behind it"
            self._stale(path, entry * _ENTRY.size, base + relative, why)
        if count and state.entry == count:
            relative, position = _ENTRY.unpack_from(self._entries, (count - 1) * _ENTRY.size)
            if base + relative >= facts.next_offset:
                why = f"it names offset {base + relative}, the last one of the log is {facts.next_offset - 1}"
                self._stale(path, (count - 1) * _ENTRY.size, base + relative, why)
        for entry in range(state.time_entry, len(self._times) // _TIME_ENTRY.size):
            offset = base + _TIME_ENTRY.unpack_from(self._times, entry * _TIME_ENTRY.size)[1]
            self._stale_time(
                entry, offset, f"it names offset {offset}, the last one of the log is {facts.next_offset - 1}"
            )
        for gap in facts.gaps:
            why = f"the offsets {gap.first} to {gap.stop - 1} are missing"
            self._note(
                DAMAGE,
                "gap",
                facts.path,
                gap.position,
                gap.first,
                why,
                f"{counted(gap.stop - gap.first, 'record')} lost",
            )

    # --- notes ---

    def _damage(self, rule: str, offset: int, why: str, affects: str) -> None:
        self._note(DAMAGE, rule, self.facts.path, self._state.at, offset, why, affects)

    def _tail(self, at: int, why: str) -> None:
        meaning = (
            "a broker cuts it off when it starts: nothing that was acknowledged by all replicas is in it"
        )
        self._note(NOTE, "torn tail", self.facts.path, at, self._start(), why, meaning)
        self._state = self._state._replace(at=self._size)

    def _stale(self, path: str, position: int, offset: int, why: str) -> None:
        self._note(DAMAGE, "offset index", path, position, offset, why, _REBUILT)

    def _stale_time(self, entry: int, offset: int, why: str) -> None:
        path = self.segment.time_path
        self._note(DAMAGE, "time index", path, entry * _TIME_ENTRY.size, offset, why, _REBUILT)

    def _note(
        self,
        severity: str,
        rule: str,
        path: str,
        position: int | None,
        offset: int | None,
        why: str,
        affects: str,
    ) -> None:
        key = (severity, rule, path)
        findings = self.facts.findings
        if key in self._noted:
            first = findings[self._noted[key]]
            findings[self._noted[key]] = first._replace(also=first.also + 1)
            return
        self._noted[key] = len(findings)
        findings.append(Finding(severity, rule, path, position, offset, why, affects))
