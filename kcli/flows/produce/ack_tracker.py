"""Tracks which input is confirmed, and up to which unit all of it is. Pure; for use by one thread.

Chunks are added in the order in which they are sent; deliveries report rows in any order. The cost is per delivery:
only when the position is requested are the rows of the oldest unfinished chunk checked one by one.
"""

from collections import deque
from typing import ClassVar

from kcli.core.classes import dataclass, field
from kcli.core.producer.origins import Rows
from kcli.flows.inputs.item import Chunk, InputPosition


@dataclass(slots=True, eq=False, repr=False)
class _Open:
    """An unfinished chunk: ``left`` rows are not complete; ``held`` is a unit that never will be."""

    chunk: Chunk
    left: int
    settled: list[Rows] = field(default_factory=list)
    held: int | None = None

    @property
    def done(self) -> bool:
        return not self.left and self.held is None

    def lowest(self) -> int:
        """The first unit that is not complete."""
        found = self.held
        if self.left:
            rows = bytearray(self.chunk.rows)
            for some in self.settled:
                if isinstance(some, range):
                    rows[some.start : some.stop] = b"\1" * len(some)
                else:
                    for row in some:
                        rows[row] = 1
            unit = self.chunk.unit(rows.index(0))
            found = unit if found is None else min(found, unit)
        assert found is not None
        return found


class AckTracker:
    """``position`` is where a later run has to begin so that nothing is left out."""

    tracks: ClassVar[bool] = True
    """Whether it has to be told of completed rows."""

    def __init__(self) -> None:
        self._open: dict[Chunk, _Open] = {}
        self._order: deque[_Open] = deque()
        self._start = InputPosition()
        self._last: Chunk | None = None  # of those that are complete

    def start_at(self, position: InputPosition) -> None:
        """Sets where reading begins, before anything is sent."""
        self._start = position

    def add_chunk(self, chunk: Chunk) -> None:
        """All rows of the chunk were passed to the producer, or never will be."""
        entry = self._entry(chunk)
        entry.left += chunk.rows
        self._order.append(entry)
        if not entry.left:
            self._close()

    def complete_rows(self, chunk: Chunk, rows: Rows) -> None:
        """These rows are confirmed, or their failure is recorded. May be called before the chunk is added."""
        entry = self._entry(chunk)
        entry.left -= len(rows)
        entry.settled.append(rows)
        if not entry.left:
            self._close()

    def hold_unit(self, chunk: Chunk, unit: int) -> None:
        """A unit failed and was not recorded: a later run has to begin at it."""
        entry = self._entry(chunk)
        entry.held = unit if entry.held is None else min(entry.held, unit)

    def position(self) -> InputPosition:
        """The first unit that is not complete, or the end of what was sent."""
        if not self._order:
            last = self._last
            return self._start if last is None else last.position(last.start.unit + last.units)
        first = self._order[0]
        return first.chunk.position(first.lowest())

    def _entry(self, chunk: Chunk) -> _Open:
        entry = self._open.get(chunk)
        if entry is None:
            entry = self._open[chunk] = _Open(chunk, 0)
        return entry

    def _close(self) -> None:
        while self._order and self._order[0].done:
            self._last = self._order.popleft().chunk
            del self._open[self._last]


class NoTracker(AckTracker):
    """For runs whose position is never asked for: without a checkpoint or transactions."""

    tracks = False

    def add_chunk(self, chunk: Chunk) -> None:
        """Does nothing."""

    def complete_rows(self, chunk: Chunk, rows: Rows) -> None:
        """Does nothing."""

    def hold_unit(self, chunk: Chunk, unit: int) -> None:
        """Does nothing."""
