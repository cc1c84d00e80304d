"""Which part of the input is confirmed, and up to which unit all of it is. Pure; one thread uses it.

Chunks are noted in the order in which they are sent; deliveries tell of their rows in any order. The cost is per
delivery: only when the place is asked for, the rows of the oldest chunk that is not done are looked at one by one.
"""

from __future__ import annotations

from collections import deque
from dataclasses import field

from kcli.core.dataclass import dataclass
from kcli.core.producer.origins import Rows
from kcli.flows.inputs.chunk import Chunk, Place


@dataclass(slots=True, eq=False)
class _Open:
    """A chunk that is not done: ``left`` rows are not settled; ``held`` is a unit that will never be."""

    chunk: Chunk
    left: int
    settled: list[Rows] = field(default_factory=list)
    held: int | None = None

    @property
    def done(self) -> bool:
        return not self.left and self.held is None

    def lowest(self) -> int:
        """The first unit that is not settled."""
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
    """``place`` is where a later run has to begin, so that nothing is left out."""

    def __init__(self) -> None:
        self._open: dict[Chunk, _Open] = {}
        self._order: deque[_Open] = deque()
        self._behind = Place()

    def begin(self, place: Place) -> None:
        """Where the input begins to be read, before anything is sent."""
        self._behind = place

    def sent(self, chunk: Chunk) -> None:
        """All rows of the chunk were handed to the producer, or will never be."""
        entry = self._open.setdefault(chunk, _Open(chunk, 0))
        entry.left += chunk.rows
        self._order.append(entry)
        self._close()

    def settled(self, chunk: Chunk, rows: Rows) -> None:
        """These rows are confirmed, or their failure is recorded. They may be told of before the chunk is noted."""
        entry = self._open.setdefault(chunk, _Open(chunk, 0))
        entry.left -= len(rows)
        entry.settled.append(rows)
        self._close()

    def hold(self, chunk: Chunk, unit: int) -> None:
        """A unit failed and nobody wrote it down: a later run has to begin at it."""
        entry = self._open.setdefault(chunk, _Open(chunk, 0))
        entry.held = unit if entry.held is None else min(entry.held, unit)

    def place(self) -> Place:
        """The first unit that is not settled, or the end of what was sent."""
        if not self._order:
            return self._behind
        first = self._order[0]
        return first.chunk.place(first.lowest())

    def _close(self) -> None:
        while self._order and self._order[0].done:
            chunk = self._order.popleft().chunk
            del self._open[chunk]
            self._behind = chunk.place(chunk.start.unit + chunk.units)
