"""Distributions of sizes and times in bounded memory, merged exactly."""

from collections.abc import Iterable

from kcli.core.classes import dataclass, field

MOST_SPANS = 2_000
_FINEST = 0  # a span of 2**0 ms


@dataclass(slots=True, eq=False)
class Sizes:
    """Sizes in bytes by powers of two: bin 0 is empty, bin n holds 2**(n-1) up to 2**n - 1."""

    bins: dict[int, int] = field(default_factory=dict)
    total: int = 0
    count: int = 0
    smallest: int = -1
    largest: int = -1

    def add(self, sizes: Iterable[tuple[int, int]]) -> None:
        """Adds (size, how often)."""
        for size, count in sizes:
            place = size.bit_length()
            self.bins[place] = self.bins.get(place, 0) + count
            self.total += size * count
            self.count += count
            self.smallest = size if self.smallest < 0 else min(self.smallest, size)
            self.largest = max(self.largest, size)

    def merge(self, other: "Sizes") -> None:
        """Adds the sizes of other records."""
        for place, count in other.bins.items():
            self.bins[place] = self.bins.get(place, 0) + count
        self.total += other.total
        self.count += other.count
        if other.count:
            self.smallest = other.smallest if self.smallest < 0 else min(self.smallest, other.smallest)
        self.largest = max(self.largest, other.largest)

    @property
    def rows(self) -> list[dict[str, int]]:
        """``from`` and ``to`` (inclusive) in bytes, ``records``; without gaps."""
        if not self.bins:
            return []
        return [
            {"from": (1 << n) >> 1, "to": (1 << n) - 1, "records": self.bins.get(n, 0)}
            for n in range(min(self.bins), max(self.bins) + 1)
        ]


@dataclass(slots=True, eq=False)
class Times:
    """Timestamps in ms by spans of 2**``shift`` ms, which widen so that there are at most ``MOST_SPANS``."""

    shift: int = _FINEST
    spans: dict[int, int] = field(default_factory=dict)
    earliest: int | None = None
    latest: int | None = None

    def add(self, counts: Iterable[tuple[int, int]]) -> None:
        """Adds (timestamp, how often)."""
        for stamp, count in counts:
            place = stamp >> self.shift
            self.spans[place] = self.spans.get(place, 0) + count
            self.earliest = stamp if self.earliest is None else min(self.earliest, stamp)
            self.latest = stamp if self.latest is None else max(self.latest, stamp)
        while len(self.spans) > MOST_SPANS:
            self._widen(self.shift + 1)

    def merge(self, other: "Times") -> None:
        """Adds the times of other records."""
        if other.earliest is None or other.latest is None:
            return
        self._widen(max(self.shift, other.shift))
        for place, count in other.spans.items():
            wide = place >> (self.shift - other.shift)
            self.spans[wide] = self.spans.get(wide, 0) + count
        self.earliest = other.earliest if self.earliest is None else min(self.earliest, other.earliest)
        self.latest = other.latest if self.latest is None else max(self.latest, other.latest)
        while len(self.spans) > MOST_SPANS:
            self._widen(self.shift + 1)

    def _widen(self, shift: int) -> None:
        found: dict[int, int] = {}
        for place, count in self.spans.items():
            wide = place >> (shift - self.shift)
            found[wide] = found.get(wide, 0) + count
        self.spans, self.shift = found, shift

    def rows(self, most: int = 60) -> list[dict[str, int]]:
        """``from`` and ``to`` (exclusive) in ms, ``records``: at most ``most`` spans of equal length, without gaps."""
        if self.earliest is None or self.latest is None:
            return []
        shift = self.shift
        while (self.latest >> shift) - (self.earliest >> shift) >= most:
            shift += 1
        found: dict[int, int] = {}
        for place, count in self.spans.items():
            wide = place >> (shift - self.shift)
            found[wide] = found.get(wide, 0) + count
        return [
            {"from": n << shift, "to": (n + 1) << shift, "records": found.get(n, 0)}
            for n in range(self.earliest >> shift, (self.latest >> shift) + 1)
        ]
