"""The ranges that this member holds, found by partition and offset. Pure."""

from bisect import bisect_right
from collections.abc import Iterator

from kcli.core.share.acquired import Acquired
from kcli.core.types import TopicPartition


class Held:
    """Ranges by partition, in the order of their offsets; they may not overlap."""

    def __init__(self) -> None:
        self._ranges: dict[TopicPartition, list[Acquired]] = {}

    def __iter__(self) -> Iterator[Acquired]:
        for ranges in list(self._ranges.values()):
            yield from list(ranges)

    def add(self, acquired: Acquired) -> None:
        """Adds a range."""
        ranges = self._ranges.setdefault(acquired.tp, [])
        if ranges and ranges[-1].first > acquired.first:
            ranges.insert(bisect_right(ranges, acquired.first, key=lambda one: one.first), acquired)
        else:
            ranges.append(acquired)

    def overlapping(self, tp: TopicPartition, first: int, last: int) -> list[Acquired]:
        """The ranges that have any of these offsets."""
        ranges = self._ranges.get(tp)
        if not ranges:
            return []
        # An older range may reach beyond a newer one that lies within it, where the broker gave some of its offsets
        # again: so all that begin before ``last`` are looked at, and there are few.
        end = bisect_right(ranges, last, key=lambda one: one.first)
        return [one for one in ranges[:end] if one.last >= first]

    def discard(self, acquired: Acquired) -> None:
        """Removes a range of which nothing is left to be acknowledged."""
        ranges = self._ranges.get(acquired.tp, [])
        if acquired in ranges:
            ranges.remove(acquired)
            if not ranges:
                del self._ranges[acquired.tp]
