"""Values of the last minutes, which one thread adds to while others read what they were handed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar, overload

T = TypeVar("T")


class Past(Sequence[T]):
    """The values of a series at a moment, oldest first: a part of its list, not a copy. Never changes."""

    __hash__ = None  # type: ignore[assignment] # as of a list
    __slots__ = ("_start", "_stop", "_values")

    def __init__(self, values: Sequence[T], start: int, stop: int) -> None:
        self._values, self._start, self._stop = values, start, stop

    def __len__(self) -> int:
        return self._stop - self._start

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        places = range(self._start, self._stop)[at]
        return self._values[places] if isinstance(places, int) else [self._values[one] for one in places]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return repr(list(self))


class Series(Generic[T]):
    """Values with their times, for ``kept_ms``.

    Its lists only grow: what was handed out stays as it was. Once half of a list is too old, a new one takes its place.
    """

    __slots__ = ("_first", "_kept_ms", "_times", "_values")

    def __init__(self, kept_ms: int) -> None:
        self._kept_ms, self._first = kept_ms, 0
        self._times: list[int] = []
        self._values: list[T] = []

    def add(self, now: int, value: T) -> Past[T]:
        """Those that are kept, with this one. Times ascend."""
        self._times.append(now)
        self._values.append(value)
        first = self._first
        while self._times[first] < now - self._kept_ms:
            first += 1
        if 2 * first > len(self._times):
            self._times, self._values, first = self._times[first:], self._values[first:], 0
        self._first = first
        return self.past

    @property
    def past(self) -> Past[T]:
        """Those that were kept with the last one."""
        return Past(self._values, self._first, len(self._values))
