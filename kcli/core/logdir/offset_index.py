"""``.index``: where in a segment to begin to look for an offset. Pure.

An entry has an offset relative to the segment's (int32) and a position (int32): the batch there holds the offset, or one
before it. While a segment is written, and after a crash, the file has its full size: zeros follow the last entry.
"""

from bisect import bisect_right
from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple, overload

from kcli.core.errors import DamagedFileError

SUFFIX = ".index"
_ENTRY = Struct(">ii")


class IndexEntry(NamedTuple):
    """No batch before the one at ``position`` ends after ``offset``."""

    offset: int
    position: int


class OffsetIndex(Sequence[IndexEntry]):
    """The entries in the bytes of the file, as they are: ``check`` says whether they rise. Bytes behind are ``extra``."""

    def __init__(self, data: bytes, base_offset: int, where: str) -> None:
        used = len(data.rstrip(b"\0"))
        self._data = data
        self._count = min(-(-used // _ENTRY.size), len(data) // _ENTRY.size)
        self.extra = len(data) % _ENTRY.size
        self.base_offset = base_offset
        self.where = where

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, number: int) -> IndexEntry: ...
    @overload
    def __getitem__(self, number: slice) -> list[IndexEntry]: ...
    def __getitem__(self, number: int | slice) -> IndexEntry | list[IndexEntry]:
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(self._count))]
        if number < 0:
            number += self._count
        if not 0 <= number < self._count:
            raise IndexError(number)
        relative, position = _ENTRY.unpack_from(self._data, number * _ENTRY.size)
        return IndexEntry(self.base_offset + relative, position)

    def check(self, size: int) -> None:
        """Raises DamagedFileError for the first entry that does not rise, or is not in a log of ``size`` bytes."""
        last = IndexEntry(self.base_offset - 1, -1)
        for number, entry in enumerate(self):
            why = ""
            if entry.offset <= last.offset or entry.position <= last.position - (not number):
                why = f"offset {entry.offset} at position {entry.position} after offset {last.offset} at {last.position}"
            elif entry.position >= size:
                why = f"position {entry.position} for offset {entry.offset}, the log has {size} bytes"
            if why:
                raise DamagedFileError(self.where, number * _ENTRY.size, why=why, offset=entry.offset)
            last = entry
        if self.extra:
            where = len(self._data) - self.extra
            raise DamagedFileError(self.where, where, why=f"{self.extra} bytes of an entry of {_ENTRY.size}")

    def places_before(self, offset: int, most: int = 3) -> list[int]:
        """The positions from which to look for ``offset``, the best one first; each must be looked at."""
        at = bisect_right(self, offset, key=lambda entry: entry.offset)
        return [entry.position for entry in reversed(self[max(0, at - most) : at])]
