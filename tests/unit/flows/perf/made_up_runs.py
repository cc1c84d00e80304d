"""Made-up runs, of which it is known whether they differ: neighbouring intervals resemble each other, and runs drift."""

from __future__ import annotations

from math import exp
from random import Random
from statistics import NormalDist
from typing import Any

from kcli.flows.perf.measurement import Measurement
from kcli.flows.perf.result import Run, perf_item
from kcli.flows.perf.series import Series, series_of

_PARTS = 10
_SHAPE = [exp(0.5 * NormalDist().inv_cdf((part + 0.5) / _PARTS)) for part in range(_PARTS)]
"""The quantiles of a lognormal distribution, as latencies have it."""


def made_up_item(
    random: Random,
    *,
    level: float = 1.0,
    resemblance: float = 0.8,
    noise: float = 0.03,
    drift: float = 0.02,
    intervals: int = 300,
    records: int = 1_000,
) -> dict[str, Any]:
    """``level``: 1.1 is a run that is slower by a tenth. ``noise``: of an interval, beside what it has of the one before;
    ``drift``: from the begin of the run to its end."""
    found = Measurement(began=1.0, ended=1.0 + intervals / 10, cpu_seconds=1.0)
    off = random.gauss(0, noise / (1 - resemblance**2) ** 0.5)
    slope = random.gauss(0, drift)
    for number in range(intervals):
        off = resemblance * off + random.gauss(0, noise)
        slow = level * exp(off + slope * (number / intervals - 0.5))
        interval = found.interval_at((number + 0.5) / 10)
        interval.records = max(0, round(random.gauss(records / slow, records**0.5)))
        interval.bytes = interval.records * 100
        interval.cpu_seconds = interval.records * 1e-5 * slow
        for part in _SHAPE:
            interval.latencies.add(round(2_000 * slow * part), interval.records // _PARTS)
        found.records += interval.records
        found.bytes += interval.bytes
        found.corrected.merge(interval.latencies)
    return perf_item(Run("produce", "t"), found)


def made_up_run(random: Random, **how: Any) -> Series:
    """The series of ``made_up_item``."""
    return series_of(made_up_item(random, **how))
