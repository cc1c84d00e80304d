"""``.index``: where in a segment to begin to look for an offset. Pure.

An entry has an offset relative to the segment's (int32) and a position (int32): the batch there holds the offset, or one
before it.
"""

from bisect import bisect_right
from struct import Struct

from kcli.core.classes import NamedTuple
from kcli.core.logdir.index_entries import IndexEntries

SUFFIX = ".index"


class IndexEntry(NamedTuple):
    """No batch before the one at ``position`` ends after ``offset``."""

    offset: int
    position: int


class OffsetIndex(IndexEntries[IndexEntry]):
    """The entries as they are: ``check`` says whether they rise."""

    shape = Struct(">ii")

    def _entry(self, first: int, second: int) -> IndexEntry:
        return IndexEntry(self.base_offset + first, second)

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
                raise self.damaged(number, why, entry.offset)
            last = entry
        self.check_end()

    def places_before(self, offset: int, most: int = 3) -> list[int]:
        """The positions from which to look for ``offset``, the best one first; each must be looked at."""
        at = bisect_right(self, offset, key=lambda entry: entry.offset)
        return [entry.position for entry in reversed(self[max(0, at - most) : at])]
