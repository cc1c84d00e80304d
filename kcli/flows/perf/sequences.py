"""Sets of sequence numbers in memory that is bounded by their gaps, not by how many they are. Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator


class Sequences:
    """Numbers as intervals ``[start, stop)`` that neither overlap nor touch, in rising order."""

    __slots__ = ("_starts", "_stops")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._stops: list[int] = []

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """The intervals."""
        return zip(self._starts, self._stops, strict=True)

    def __len__(self) -> int:
        """How many numbers there are."""
        return sum(self._stops) - sum(self._starts)

    @property
    def stop(self) -> int:
        """After the highest number; 0 without any."""
        return self._stops[-1] if self._stops else 0

    def add(self, start: int, stop: int) -> int:
        """Adds ``start`` up to, not including, ``stop``; returns how many of these were there already."""
        if start >= stop:
            return 0
        starts, stops = self._starts, self._stops
        if not stops or start > stops[-1]:
            starts.append(start)
            stops.append(stop)
            return 0
        if start == stops[-1]:
            stops[-1] = stop
            return 0
        low = bisect_left(stops, start)  # the first interval that reaches the new one, or touches it
        high = bisect_right(starts, stop)  # the first behind it
        known = sum(max(0, min(stops[at], stop) - max(starts[at], start)) for at in range(low, high))
        if low < high:
            start, stop = min(start, starts[low]), max(stop, stops[high - 1])
        starts[low:high] = [start]
        stops[low:high] = [stop]
        return known

    def update(self, other: Sequences) -> int:
        """Adds all numbers of another set; returns how many were there already."""
        return sum([self.add(start, stop) for start, stop in other])

    def count(self, start: int, stop: int) -> int:
        """How many numbers there are from ``start`` up to, not including, ``stop``."""
        found = 0
        for at in range(bisect_right(self._stops, start), len(self._starts)):
            if self._starts[at] >= stop:
                break
            found += min(self._stops[at], stop) - max(self._starts[at], start)
        return found

    def without(self, other: Sequences) -> int:
        """How many numbers are here and not in the other set."""
        return len(self) - sum(other.count(start, stop) for start, stop in self)
