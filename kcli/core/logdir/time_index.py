"""``.timeindex``: the highest timestamp so far, and the offset of its record. Pure.

An entry has a timestamp (int64) and an offset relative to the segment's (int32); zeros may follow the last one, as in
``offset_index``.
"""

from bisect import bisect_left
from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple, overload

from kcli.core.errors import DamagedFileError

SUFFIX = ".timeindex"
_ENTRY = Struct(">qi")


class TimeEntry(NamedTuple):
    """No record up to ``offset`` has a timestamp above ``timestamp``."""

    timestamp: int
    offset: int


class TimeIndex(Sequence[TimeEntry]):
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
    def __getitem__(self, number: int) -> TimeEntry: ...
    @overload
    def __getitem__(self, number: slice) -> list[TimeEntry]: ...
    def __getitem__(self, number: int | slice) -> TimeEntry | list[TimeEntry]:
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(self._count))]
        if number < 0:
            number += self._count
        if not 0 <= number < self._count:
            raise IndexError(number)
        timestamp, relative = _ENTRY.unpack_from(self._data, number * _ENTRY.size)
        return TimeEntry(timestamp, self.base_offset + relative)

    def check(self) -> None:
        """Raises DamagedFileError for the first entry that does not rise."""
        last = TimeEntry(-2, self.base_offset - 1)
        for number, entry in enumerate(self):
            if entry.timestamp <= last.timestamp or entry.offset < max(self.base_offset, last.offset):
                why = f"time {entry.timestamp} at offset {entry.offset} after time {last.timestamp} at {last.offset}"
                raise DamagedFileError(self.where, number * _ENTRY.size, why=why, offset=entry.offset)
            last = entry
        if self.extra:
            where = len(self._data) - self.extra
            raise DamagedFileError(self.where, where, why=f"{self.extra} bytes of an entry of {_ENTRY.size}")

    def before(self, timestamp: int) -> TimeEntry | None:
        """The last entry below ``timestamp``: up to its offset, no record has that time or a later one."""
        at = bisect_left(self, timestamp, key=lambda entry: entry.timestamp)
        return self[at - 1] if at else None
