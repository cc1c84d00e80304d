"""Array elements of one shape, kept as the tuples they were read as; objects are created on access.

A response about thousands of groups has tens of thousands of elements, and aggregating them is faster by column.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, overload

T = TypeVar("T")
Rows = Iterable[tuple[Any, ...]]


class Table(Sequence[T]):
    """``tuples`` have the values of ``names``; every other field of an element has its default."""

    __slots__ = ("_elements", "_make", "names", "tuples")

    def __init__(
        self, names: Sequence[str], tuples: list[tuple[Any, ...]], make: Callable[[Rows], list[T]]
    ) -> None:
        self.names = names
        self.tuples = tuples
        self._make = make
        self._elements: list[T] | None = None

    def __len__(self) -> int:
        return len(self.tuples)

    def __iter__(self) -> Iterator[T]:
        return iter(self._all())

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> list[T]: ...
    def __getitem__(self, at: int | slice) -> T | list[T]:
        return self._all()[at]

    def __eq__(self, other: object) -> bool:
        """Compares like a list of the same elements."""
        if isinstance(other, Table | list):
            return self._all() == list(other)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # mutable elements, as those of a list

    def __repr__(self) -> str:
        return repr(self._all())

    def _all(self) -> list[T]:
        """The elements, each created once."""
        if self._elements is None:
            self._elements = self._make(self.tuples)
        return self._elements
