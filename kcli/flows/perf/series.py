"""A run as a series of intervals in the order of time, read from a PerfReport, and cut into batches. Pure.

Neighbouring intervals resemble each other: a slow second slows all its tenths. So the variance of a figure is not found
from intervals but from a few long batches of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kcli.flows.perf.histogram import Histogram

KIND = "PerfReport"


@dataclass(frozen=True, slots=True)
class Step:
    """An interval: ``latencies`` are rows of a histogram of the corrected latencies."""

    seconds: float
    records: int
    cpu_seconds: float
    latencies: Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Series:
    """A run. ``item`` is that of the report, for what describes the run."""

    item: Mapping[str, Any]
    steps: tuple[Step, ...]

    @property
    def test(self) -> str:
        """``produce``, ``consume`` or ``e2e``."""
        return str(self.item["test"])

    @property
    def measures_latency(self) -> bool:
        """Whether there are latencies: ``perf consume`` has none."""
        return any(step.latencies for step in self.steps)

    @property
    def measures_cpu(self) -> bool:
        """Whether the CPU time of intervals is known."""
        return any(step.cpu_seconds for step in self.steps)


def series_of(item: Mapping[str, Any]) -> Series:
    """From an item of a report; ValueError with a sentence if it is none."""
    try:
        steps = tuple(
            Step(
                float(one["seconds"]),
                int(one["records"]),
                float(one["cpu_seconds"]),
                _rows(one["histogram_us"]),
            )
            for one in item["intervals"]
        )
        found = Series(item, tuple(step for step in steps if step.seconds > 0))
        found.test  # noqa: B018 - KeyError, if it is not there
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"it has no intervals as kcli perf writes them ({error!r})") from None
    return found


def _rows(rows: Any) -> tuple[tuple[int, int], ...]:
    return tuple((int(bucket), int(count)) for bucket, count in rows)


def by_time(series: Series, batches: int) -> Iterator[Sequence[Step]]:
    """As many batches, which last equally long but for a step."""
    yield from _cut(series.steps, [step.seconds for step in series.steps], batches)


def by_records(series: Series, batches: int) -> Iterator[Sequence[Step]]:
    """As many batches of equally many records but for those of a step: each has its own percentiles."""
    yield from _cut(series.steps, [float(step.records) for step in series.steps], batches)


def _cut(steps: Sequence[Step], weights: Sequence[float], batches: int) -> Iterator[Sequence[Step]]:
    share, seen, begin = sum(weights) / batches, 0.0, 0
    for number, weight in enumerate(weights):
        seen += weight
        if seen >= share * (1 - 1e-9) and number + 1 < len(steps):
            yield steps[begin : number + 1]
            begin = number + 1
            seen -= share
    if begin < len(steps):
        yield steps[begin:]


def latencies_of(steps: Sequence[Step]) -> Histogram:
    """One histogram of all of them."""
    counts = Counter[int]()
    for step in steps:
        for bucket, count in step.latencies:
            counts[bucket] += count
    return Histogram.from_rows(counts.items())
