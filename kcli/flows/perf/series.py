"""A run as a series of intervals in the order of time, read from a PerfReport, and cut into batches. Pure.

Neighbouring intervals resemble each other: a slow second slows all its tenths. So the variance of a figure is not found
from intervals but from a few long batches of them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kcli.core.classes import dataclass
from kcli.flows.perf.histogram import Histogram

KIND = "PerfReport"
_MOST = 1e18
_LONGEST = 40  # characters of a value in a message


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
    def measures_cpu(self) -> bool:
        """Whether the CPU time of intervals is known."""
        return any(step.cpu_seconds for step in self.steps)


def series_of(item: object) -> Series:
    """From an item of a report; ValueError with a sentence if it is none. It may have been damaged, or edited."""
    steps = _steps(item)
    assert isinstance(item, Mapping)
    for name in ("records", "bytes"):
        if item.get(name) is not None:
            _amount(item, name, "")
    for name in ("configuration", "versions", "host"):
        _object(item.get(name) or {}, name)
    for name in ("cpus", "load_1m"):
        if (item.get("host") or {}).get(name) is not None:
            _amount(item["host"], name, "host.")
    return Series(item, tuple(step for step in steps if step.seconds > 0))


def _steps(item: object) -> list[Step]:
    try:
        run = _object(item, "a run")
        if not isinstance(run.get("test"), str):
            raise ValueError(f"test is {_shown(run.get('test'))}")
        if not isinstance(run.get("intervals"), list):
            raise ValueError(f"intervals is {_shown(run.get('intervals'))}")
        return [_step(one, f"intervals[{number}]") for number, one in enumerate(run["intervals"])]
    except ValueError as error:
        raise ValueError(f"it has no intervals as kcli perf writes them: {error}") from None


def _step(interval: Any, where: str) -> Step:
    found = _object(interval, where)
    seconds, records, cpu = (
        _amount(found, name, f"{where}.") for name in ("seconds", "records", "cpu_seconds")
    )
    return Step(seconds, int(records), cpu, _rows(found.get("histogram_us"), f"{where}.histogram_us"))


def _rows(rows: Any, where: str) -> tuple[tuple[int, int], ...]:
    if not isinstance(rows, list) or not all(isinstance(row, list) and len(row) == 2 for row in rows):
        raise ValueError(f"{where} is no list of pairs")
    return tuple((int(_valid(bucket, where)), int(_valid(count, where))) for bucket, count in rows)


def _object(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{where} is no object")
    return value


def _amount(values: Mapping[str, Any], name: str, where: str) -> float:
    return _valid(values.get(name), where + name)


def _valid(value: Any, where: str) -> float:
    """Neither negative nor infinite, and no larger than what can be added up."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST:
        raise ValueError(f"{where} is {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    """As JSON has it, and not longer than a line."""
    text = json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


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
