"""Which records of a performance test are there once and in order, from the runs of their marks. Pure; can be pickled.

Marks are numbered by producer, over all partitions, and a producer fills one partition after the other: so the numbers in
one partition rise and have gaps, and together the partitions have all numbers. A number is *lost* if it is in no
partition, *duplicated* each time that it is there once more, and *reordered* where a higher one precedes it in its
partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kcli.core.kernels.mark_ops import MarkRun
from kcli.flows.perf.measurement import Integrity
from kcli.flows.perf.sequences import Sequences


@dataclass(frozen=True, slots=True)
class Extent:
    """What was read of a partition. ``from_start``: its first record ever; ``to_end``: nothing follows the last one."""

    from_start: bool
    to_end: bool


@dataclass(slots=True, eq=False)
class _Seen:
    """The marks of one producer. ``spans``: by partition the lowest and the highest number in it."""

    numbers: Sequences = field(default_factory=Sequences)
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)
    duplicated: int = 0
    reordered: int = 0

    def add(self, partition: int, first: int, stop: int) -> None:
        lowest, highest = self.spans.get(partition, (first, -1))
        late = min(stop, highest + 1)  # numbers before it follow a higher one
        if first < late:
            known = self.numbers.add(first, late)
            self.duplicated += known
            self.reordered += late - first - known
        self.duplicated += self.numbers.add(max(first, late), stop)
        self.spans[partition] = min(lowest, first), max(highest, stop - 1)

    def merge(self, other: _Seen) -> None:
        self.duplicated += other.duplicated + self.numbers.update(other.numbers)
        self.reordered += other.reordered
        for partition, (lowest, highest) in other.spans.items():
            low, high = self.spans.get(partition, (lowest, highest))
            self.spans[partition] = min(low, lowest), max(high, highest)

    def lost(self, extents: Mapping[int, Extent]) -> int:
        """The gaps, but for numbers that may be in what was not read of a partition."""
        begin, end = 0, self.numbers.stop
        for partition, extent in extents.items():
            span = self.spans.get(partition)
            if not extent.from_start:
                begin = max(begin, end if span is None else span[0])
            if not extent.to_end:
                end = min(end, 0 if span is None else span[1])
        return max(0, end - begin) - self.numbers.count(begin, end)


class Trace:
    """The marks that were read, by the heads of the marks (one for each producer), in the order of each partition."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: dict[bytes, _Seen] = {}

    def add(self, partition: int, runs: Iterable[MarkRun]) -> None:
        """Adds the next marks of a partition."""
        for head, first, count in runs:
            seen = self._seen.get(head)
            if seen is None:
                seen = self._seen[head] = _Seen()
            seen.add(partition, first, first + count)

    def merge(self, other: Trace) -> None:
        """Adds what was read of other partitions, or later of the same ones."""
        for head, seen in other._seen.items():
            if head in self._seen:
                self._seen[head].merge(seen)
            else:
                self._seen[head] = seen

    def found(self, head: bytes) -> Sequences:
        """The numbers of a producer that were read."""
        return self._seen[head].numbers if head in self._seen else Sequences()

    def judge(self, extents: Mapping[int, Extent]) -> Integrity | None:
        """For a topic of which only the records are known; ``extents`` has all of its partitions. None without marks.

        Lost are the numbers before the last of a producer that are missing, where they cannot be in what was not read.
        """
        if not self._seen:
            return None
        return self._judged(sum(seen.lost(extents) for seen in self._seen.values()), self._seen)

    def judge_sent(self, sent: Mapping[bytes, Sequences]) -> Integrity:
        """Where it is known what was confirmed, by producer: lost is what was not read of it. Others are ignored."""
        lost = sum(numbers.without(self.found(head)) for head, numbers in sent.items())
        return self._judged(lost, sent)

    def _judged(self, lost: int, heads: Iterable[bytes]) -> Integrity:
        found = [self._seen[head] for head in heads if head in self._seen]
        duplicated = sum(seen.duplicated for seen in found)
        return Integrity(
            checked=sum(len(seen.numbers) for seen in found) + duplicated,
            lost=lost,
            duplicated=duplicated,
            reordered=sum(seen.reordered for seen in found),
        )
