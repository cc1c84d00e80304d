"""What ``.index`` and ``.timeindex`` have in common: entries of one size, zeros behind them. Pure.

While a segment is written, and after a crash, the file has its full size: zeros follow the last entry.
"""

from abc import abstractmethod
from collections.abc import Sequence
from struct import Struct
from typing import ClassVar, TypeVar, overload

from kcli.core.errors import DamagedFileError

E = TypeVar("E")


class IndexEntries(Sequence[E]):
    """The entries in the bytes of the file ``where``, as they are; ``extra`` bytes of one that is not whole follow."""

    shape: ClassVar[Struct]

    def __init__(self, data: bytes, base_offset: int, where: str) -> None:
        used, size = len(data.rstrip(b"\0")), self.shape.size
        self._data = data
        self._count = min(-(-used // size), len(data) // size)
        self.extra = len(data) % size
        self.base_offset = base_offset
        self.where = where

    def __len__(self) -> int:
        return self._count

    @property
    def first(self) -> E | None:
        """What the first bytes are, zeros too: Kafka's tools take them for an entry. None if the file has fewer."""
        whole = len(self._data) >= self.shape.size
        return self._entry(*self.shape.unpack_from(self._data)) if whole else None

    @overload
    def __getitem__(self, number: int) -> E: ...
    @overload
    def __getitem__(self, number: slice) -> list[E]: ...
    def __getitem__(self, number: int | slice) -> E | list[E]:
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(self._count))]
        if number < 0:
            number += self._count
        if not 0 <= number < self._count:
            raise IndexError(number)
        return self._entry(*self.shape.unpack_from(self._data, number * self.shape.size))

    @abstractmethod
    def _entry(self, first: int, second: int) -> E:
        """The entry with these fields."""

    def damaged(self, number: int, why: str, offset: int) -> DamagedFileError:
        """The error for an entry."""
        return DamagedFileError(self.where, number * self.shape.size, why=why, offset=offset)

    def check_end(self) -> None:
        """Raises DamagedFileError for a last entry that is not whole."""
        if self.extra:
            where = len(self._data) - self.extra
            raise DamagedFileError(
                self.where, where, why=f"{self.extra} bytes of an entry of {self.shape.size}"
            )
