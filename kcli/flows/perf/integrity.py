"""Which records of a performance test are there once and in order, from the runs of their marks. Pure; can be pickled.

Marks are numbered by producer, over all partitions, and a producer fills one partition after the other: so the numbers in
one partition rise and have gaps, and together the partitions have all numbers. A number is *lost* if it is in no
partition, *duplicated* each time that it is there once more, and *reordered* where a higher one precedes it in its
partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kcli.core.classes import dataclass, field
from kcli.core.kernels.shapes import MarkRun
from kcli.flows.perf.sequences import Sequences


@dataclass(slots=True, eq=False)
class Integrity:
    """What became of the records whose marks were checked."""

    checked: int = 0
    lost: int = 0
    duplicated: int = 0
    reordered: int = 0

    @property
    def sound(self) -> bool:
        """Whether every record was there once and in order."""
        return not (self.lost or self.duplicated or self.reordered)


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

    def lost(self, cut: Iterable[tuple[int, bool, bool]]) -> int:
        """The gaps, but for numbers that may be in what was not read: of each partition, whether its beginning and its
        end were.
        """
        begin, end = 0, self.numbers.stop
        for partition, from_start, to_end in cut:
            span = self.spans.get(partition)
            if not from_start:
                begin = max(begin, end if span is None else span[0])
            if not to_end:
                end = min(end, 0 if span is None else span[1])
        return end - begin - self.numbers.count(begin, end) if begin < end else 0


class Trace:
    """The marks that were read, by their heads (one for each producer), and the offsets at which they were."""

    __slots__ = ("_offsets", "_read", "_read_twice", "_seen")

    def __init__(self) -> None:
        self._seen: dict[bytes, _Seen] = {}
        self._offsets: dict[int, Sequences] = {}
        self._read: dict[int, tuple[int, int]] = {}
        self._read_twice = 0

    @property
    def marked(self) -> bool:
        """Whether there was any mark."""
        return bool(self._seen)

    def unread(self, partition: int, offset: int) -> int:
        """The first offset from ``offset`` on that was not read before: a group may hand out records again."""
        return max(offset, self._read[partition][1]) if partition in self._read else offset

    def add(self, partition: int, first: int, stop: int, runs: Iterable[MarkRun]) -> None:
        """Adds the next offsets of a partition, ``first`` up to, not including, ``stop``, and the marks there."""
        self._extend(partition, first, stop)
        if first < stop:
            self._offsets.setdefault(partition, Sequences()).add(first, stop)
        for head, number, count in runs:
            seen = self._seen.get(head)
            if seen is None:
                seen = self._seen[head] = _Seen()
            seen.add(partition, number, number + count)

    def merge(self, other: Trace) -> None:
        """Adds what another process has read. What both have read, at the same offsets, is no duplicate."""
        for partition, (first, stop) in other._read.items():
            mine = self._read.get(partition, (stop, stop))
            self._read_twice += max(0, min(mine[1], stop) - max(mine[0], first))
            self._extend(partition, first, stop)
        for partition, offsets in other._offsets.items():
            self._offsets.setdefault(partition, Sequences()).update(offsets)
        for head, seen in other._seen.items():
            if head in self._seen:
                self._seen[head].merge(seen)
            else:
                self._seen[head] = seen

    def found(self, head: bytes) -> Sequences:
        """The numbers of a producer that were read."""
        return self._seen[head].numbers if head in self._seen else Sequences()

    def judge(self, ends: Mapping[int, int]) -> Integrity | None:
        """For a topic of which only the records are known; ``ends`` are those of all its partitions. None without marks.

        Lost are the numbers before the last of a producer that are missing, where they cannot be in what was not read.
        """
        if not self._seen:
            return None
        read = [(partition, *self._read.get(partition, (-1, -1)), end) for partition, end in ends.items()]
        cut = [(partition, first == 0, stop >= end) for partition, first, stop, end in read]
        lost = 0 if self._skipped else sum(seen.lost(cut) for seen in self._seen.values())
        found = self._judged(lost, self._seen)
        again = min(found.duplicated, self._read_twice)
        found.duplicated -= again
        found.checked -= again
        return found

    def judge_sent(self, sent: Mapping[bytes, Sequences]) -> Integrity:
        """Where it is known what was confirmed, by producer: lost is what was not read of it. Others are ignored."""
        lost = sum(numbers.without(self.found(head)) for head, numbers in sent.items())
        return self._judged(lost, sent)

    @property
    def _skipped(self) -> bool:
        """Whether offsets are missing between those that were read: another member of the group had them for a while."""
        return any(len(tuple(offsets)) > 1 for offsets in self._offsets.values())

    def _extend(self, partition: int, first: int, stop: int) -> None:
        low, high = self._read.get(partition, (first, stop))
        self._read[partition] = min(low, first), max(high, stop)

    def _judged(self, lost: int, heads: Iterable[bytes]) -> Integrity:
        found = [self._seen[head] for head in heads if head in self._seen]
        duplicated = sum(seen.duplicated for seen in found)
        return Integrity(
            checked=sum(len(seen.numbers) for seen in found) + duplicated,
            lost=lost,
            duplicated=duplicated,
            reordered=sum(seen.reordered for seen in found),
        )
