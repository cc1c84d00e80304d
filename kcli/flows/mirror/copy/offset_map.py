"""Which offset of the target holds which record of the source, for one partition. Pure.

Runs of (source offset, target offset, length): a run ends where either side skips an offset, because of compaction, an
aborted transaction or a transaction marker. So a translation is exact, where MirrorMaker 2 keeps a sample of pairs and
translates to an offset before the right one (KAFKA-12468, KAFKA-14797). Kept on the target in segments; only the last
one changes, so a checkpoint writes a few hundred bytes however long the map is.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from kcli.core.classes import NamedTuple
from kcli.core.errors import CorruptRecordsError, DataLossError
from kcli.core.kernels.varint import encode_varint, read_varlong

RUNS_PER_SEGMENT = 512


class Run(NamedTuple):
    """``length`` records at consecutive offsets on both sides."""

    source: int
    target: int
    length: int


class Piece(NamedTuple):
    """Target offsets from ``first`` up to, not including, ``stop``. ``number``: they hold the copies of source offsets
    from ``number`` times the size asked for on; None: they are in no run, so no record of them was confirmed.
    """

    first: int
    stop: int
    number: int | None


class Unknown(NamedTuple):
    """Why an offset has no exact translation."""

    why: str


class OffsetMap:
    """The runs of one partition, in order of both offsets.

    ``start`` is the source offset at which the copy began, ``position`` the next one to be copied, ``target_start`` the
    end of the target partition when the copy began.
    """

    def __init__(self, start: int, target_start: int) -> None:
        self.start = self.position = start
        self.target_start = target_start
        self._source = array("q")
        self._target = array("q")
        self._length = array("q")

    def __len__(self) -> int:
        return len(self._source)

    @property
    def target_end(self) -> int:
        """The target offset after the last copied record."""
        return self._target[-1] + self._length[-1] if self._target else self.target_start

    def append(self, source: int, target: int, length: int) -> None:
        """Records that ``length`` records from ``source`` on are at ``target`` and the offsets after it.

        DataLossError if either side goes backwards: the target was truncated or is another topic.
        """
        self.check(source, target)
        if self._source and self._ends_at(source, target):
            self._length[-1] += length
        else:
            self._source.append(source)
            self._target.append(target)
            self._length.append(length)
        self.position = source + length

    def check(self, source: int, target: int) -> None:
        """DataLossError if a record cannot follow those that are copied."""
        if source < self.position or target < self.target_end:
            raise DataLossError(
                f"the target stored the record at source offset {source} at offset {target}",
                why=f"offset {self.target_end} was expected, or a later one: the target lost records",
            )

    def append_offsets(self, offsets: Sequence[int], target: int) -> None:
        """Records that the records at these source ``offsets`` are at ``target`` and the offsets after it."""
        first, count = 0, len(offsets)
        while first < count:
            last = _end_of_run(offsets, first)
            self.append(offsets[first], target + first, last - first)
            first = last

    def advance(self, position: int) -> None:
        """The source offsets before ``position`` were examined; what was not appended holds no record to be copied."""
        if position > self.position:
            self.position = position

    def mark(self) -> tuple[int, int, int]:
        """The present state, for ``rollback``."""
        return len(self), self._length[-1] if self._length else 0, self.position

    def rollback(self, mark: tuple[int, int, int]) -> None:
        """Removes what was appended since ``mark``: it was never committed."""
        runs, length, self.position = mark
        del self._source[runs:], self._target[runs:], self._length[runs:]
        if runs:
            self._length[-1] = length

    def translate(self, offset: int) -> int | Unknown:
        """The target offset of the first copied record at or after the source ``offset``.

        At the end of what was copied, it is the offset after the last copied record. Never beyond the target's end.
        """
        if offset < self.start:
            return Unknown(f"the mirror began at offset {self.start}")
        if offset > self.position:
            return Unknown(f"copied so far: up to offset {self.position}")
        index = bisect_right(self._source, offset) - 1
        if index >= 0 and offset < self._source[index] + self._length[index]:
            return self._target[index] + offset - self._source[index]
        return self._target[index + 1] if index + 1 < len(self) else self.target_end

    def source_of(self, target: int) -> int | None:
        """The source offset whose copy is at the ``target`` offset; None where no run has it."""
        index = bisect_right(self._target, target) - 1
        if index < 0 or target >= self._target[index] + self._length[index]:
            return None
        return self._source[index] + target - self._target[index]

    def copy_of(self, source: int) -> int | None:
        """The target offset of the copy of the record at the ``source`` offset; None where no run has it."""
        index = bisect_right(self._source, source) - 1
        if index < 0 or source >= self._source[index] + self._length[index]:
            return None
        return self._target[index] + source - self._source[index]

    def source_before(self, target: int) -> int:
        """The source offset after that of the last record which was copied to before the ``target`` offset."""
        index = bisect_right(self._target, target - 1) - 1
        if index < 0:
            return self.start
        return self._source[index] + min(self._length[index], target - self._target[index])

    def source_from(self, target: int) -> int:
        """The source offset of the first record copied to the ``target`` offset or a later one; the position without."""
        index = bisect_right(self._target, target) - 1
        if index >= 0 and target < self._target[index] + self._length[index]:
            return self._source[index] + target - self._target[index]
        return self._source[index + 1] if index + 1 < len(self) else self.position

    def copied(self, first: int, stop: int) -> int:
        """How many records at source offsets from ``first`` up to, not including, ``stop`` were copied."""
        count, index = 0, max(0, bisect_right(self._source, first) - 1)
        while index < len(self) and self._source[index] < stop:
            source = self._source[index]
            count += max(0, min(source + self._length[index], stop) - max(source, first))
            index += 1
        return count

    def pieces(self, first: int, stop: int, size: int) -> Iterator[Piece]:
        """The target offsets from ``first`` up to, not including, ``stop``, cut where the source offsets of the copies
        pass a multiple of ``size``, and between the runs. A run that follows another without a gap is joined to it.
        """
        index = max(0, bisect_right(self._target, first) - 1)
        at, piece = first, Piece(first, first, None)
        while at < stop:
            while index < len(self) and self._target[index] + self._length[index] <= at:
                index += 1
            begin = self._target[index] if index < len(self) else stop
            if at < begin:
                found = Piece(at, min(begin, stop), None)
            else:
                source = self._source[index] + at - begin
                left = min(begin + self._length[index], stop) - at
                found = Piece(at, at + min(left, size - source % size), source // size)
            at = found.stop
            if found.number == piece.number and piece.first < piece.stop:
                piece = piece._replace(stop=at)
                continue
            if piece.first < piece.stop:
                yield piece
            piece = found
        if piece.first < piece.stop:
            yield piece

    def inverted(self, position: int) -> "OffsetMap":
        """The map of the opposite direction, of all target offsets before ``position``."""
        made = OffsetMap(self.target_start, self.start)
        for source, target, length in self.runs():
            made.append(target, source, length)
        made.advance(position)
        return made

    def runs(self) -> Iterable[Run]:
        """All runs, in order."""
        return map(Run, self._source, self._target, self._length)

    def segments(self, first: int = 0) -> list[tuple[int, bytes]]:
        """Number and encoded runs of each segment from number ``first`` on; see ``load``."""
        return [
            (number, self._encoded(number * RUNS_PER_SEGMENT))
            for number in range(first, self.last_segment + 1)
        ]

    @property
    def last_segment(self) -> int:
        """The number of the segment that the next run may change."""
        return max(0, len(self) - 1) // RUNS_PER_SEGMENT

    def load(self, segments: Iterable[bytes]) -> None:
        """Appends the runs of encoded segments; CorruptRecordsError if one is not what ``segments`` returned."""
        for data in segments:
            at, source, target = 0, 0, 0
            try:
                while at < len(data):
                    skipped, at = read_varlong(data, at)
                    moved, at = read_varlong(data, at)
                    length, at = read_varlong(data, at)
                    source, target = source + skipped, target + moved
                    self.append(source, target, length)
                    source, target = source + length, target + length
            except (IndexError, CorruptRecordsError, DataLossError, OverflowError) as error:
                raise CorruptRecordsError("a segment of an offset map", why=str(error)) from error

    def _encoded(self, first: int) -> bytes:
        pieces: list[bytes] = []
        source = target = 0
        for index in range(first, min(first + RUNS_PER_SEGMENT, len(self))):
            length = self._length[index]
            pieces += (
                encode_varint(self._source[index] - source),
                encode_varint(self._target[index] - target),
                encode_varint(length),
            )
            source, target = self._source[index] + length, self._target[index] + length
        return b"".join(pieces)

    def _ends_at(self, source: int, target: int) -> bool:
        length = self._length[-1]
        return self._source[-1] + length == source and self._target[-1] + length == target


class ContinuedMap(OffsetMap):
    """``later``, and ``earlier`` for the offsets before it begins. ``known``: no record is between them; else an offset
    there has no translation.
    """

    def __init__(self, earlier: OffsetMap, later: OffsetMap, *, known: bool) -> None:
        super().__init__(later.start, later.target_start)
        self._known = known
        self._earlier, self._later = earlier, later
        self.position = later.position

    def translate(self, offset: int) -> int | Unknown:
        """See ``OffsetMap.translate``."""
        if offset < self._earlier.position or (offset < self._later.start and not self._known):
            return self._earlier.translate(offset)
        return self._later.translate(max(offset, self._later.start))


def _end_of_run(offsets: Sequence[int], first: int) -> int:
    """The index after the last of the consecutive offsets that begin at index ``first``, by binary search."""
    low, high = first + 1, len(offsets)
    if offsets[high - 1] - offsets[first] == high - 1 - first:
        return high
    while low < high:
        middle = (low + high) // 2
        if offsets[middle] - offsets[first] == middle - first:
            low = middle + 1
        else:
            high = middle
    return low
