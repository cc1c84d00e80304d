"""``.timeindex``: the highest timestamp so far, and the offset of its record. Pure.

An entry has a timestamp (int64) and an offset relative to the segment's (int32).
"""

from bisect import bisect_left
from struct import Struct

from kcli.core.classes import NamedTuple
from kcli.core.logdir.index_entries import IndexEntries

SUFFIX = ".timeindex"


class TimeEntry(NamedTuple):
    """No record up to ``offset`` has a timestamp above ``timestamp``."""

    timestamp: int
    offset: int


class TimeIndex(IndexEntries[TimeEntry]):
    """The entries as they are: ``check`` says whether they rise."""

    shape = Struct(">qi")

    def _entry(self, first: int, second: int) -> TimeEntry:
        return TimeEntry(first, self.base_offset + second)

    def check(self) -> None:
        """Raises DamagedFileError for the first entry that does not rise."""
        last = TimeEntry(-2, self.base_offset - 1)
        for number, entry in enumerate(self):
            if entry.timestamp <= last.timestamp or entry.offset < max(self.base_offset, last.offset):
                why = f"time {entry.timestamp} at offset {entry.offset} after time {last.timestamp} at {last.offset}"
                raise self.damaged(number, why, entry.offset)
            last = entry
        self.check_end()

    def before(self, timestamp: int) -> TimeEntry | None:
        """The last entry below ``timestamp``: up to its offset, no record has that time or a later one."""
        at = bisect_left(self, timestamp, key=lambda entry: entry.timestamp)
        return self[at - 1] if at else None
