"""Timers: a heap of deadlines. Decides what is due; runs nothing, reads no clock."""

import heapq
import itertools
from collections.abc import Callable

NEVER = float("inf")


class Timer:
    """A handle that can cancel the timer."""

    __slots__ = ("callback", "cancelled", "when")

    def __init__(self, when: float, callback: Callable[[], None]) -> None:
        self.when = when
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Timers:
    """Absolute times on the loop's clock, earliest first; equal times in the order they were set.

    ``heap`` is only read by others: while it is empty, nothing is due.
    """

    def __init__(self) -> None:
        self.heap: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()

    def at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Sets a timer."""
        timer = Timer(when, callback)
        heapq.heappush(self.heap, (when, next(self._order), timer))
        return timer

    def next_deadline(self) -> float:
        """When the earliest timer is due."""
        while self.heap and self.heap[0][2].cancelled:
            heapq.heappop(self.heap)
        return self.heap[0][0] if self.heap else NEVER

    def due(self, now: float) -> list[Timer]:
        """Removes and returns the timers that are due."""
        ready = []
        while self.next_deadline() <= now:
            ready.append(heapq.heappop(self.heap)[2])
        return ready
