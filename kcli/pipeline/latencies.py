"""Latencies of many records in bounded memory, merged exactly; percentiles within 1 %. Pure."""

from dataclasses import dataclass, field

PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
_BITS = 7  # a value is rounded down to so many significant bits


@dataclass(slots=True, eq=False)
class Latencies:
    """``counts``: how many records had a latency of so many microseconds, rounded; ``longest`` is not rounded."""

    counts: dict[int, int] = field(default_factory=dict)
    longest: int = 0

    def add(self, seconds: float, records: int) -> None:
        """Adds ``records`` with the same latency."""
        micros = max(0, round(seconds * 1_000_000))
        shift = max(0, micros.bit_length() - _BITS)
        rounded = micros >> shift << shift
        self.counts[rounded] = self.counts.get(rounded, 0) + records
        self.longest = max(self.longest, micros)

    def merge(self, other: "Latencies") -> None:
        """Adds the latencies of other records."""
        for micros, records in other.counts.items():
            self.counts[micros] = self.counts.get(micros, 0) + records
        self.longest = max(self.longest, other.longest)

    @property
    def milliseconds(self) -> dict[str, float | None]:
        """The percentiles and ``max``, in milliseconds; None without records."""
        found: dict[str, float | None] = {
            name: self._percentile(share) for name, share in PERCENTILES.items()
        }
        return {**found, "max": self.longest / 1000 if self.counts else None}

    def _percentile(self, share: float) -> float | None:
        """The latency that ``share`` of the records do not exceed; the middle of those that are rounded alike."""
        wanted = share * sum(self.counts.values())
        seen = 0
        for micros in sorted(self.counts):
            seen += self.counts[micros]
            if seen >= wanted:
                half = (1 << max(0, micros.bit_length() - _BITS)) >> 1
                return min(micros + half, self.longest) / 1000
        return None
