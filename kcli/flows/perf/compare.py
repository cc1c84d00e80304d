"""Whether two runs differ, and by how much. Pure.

For each figure the ratio of both runs is estimated with a confidence interval; the intervals of all figures hold
together with 95 % (Bonferroni), so that two runs of the same thing differ in none of them in 19 of 20 tries. The variance
comes from batches of neighbouring intervals (batch means; for percentiles the sectioning of Asmussen & Glynn, Stochastic
Simulation, III.5), and is enlarged where neighbouring batches still resemble each other, as they do when a run drifts.
Where a side has several runs, the variance between them is used if it is the larger one: what changes from run to run no
single run can show. For the same reason a difference counts only from a threshold on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import exp, log, pi, sqrt, tan

from kcli.core.classes import dataclass
from kcli.flows.perf.series import Series, Step, by_records, by_time, latencies_of

FEWEST_INTERVALS = 50
"""Ten batches of five; a run has ten intervals a second."""
THRESHOLD = 0.05
"""A choice: what one pair of runs shows of smaller changes may come from the machine, which is never twice the same."""
_FEWEST, _MOST = 10, 30  # batches
_PER_BATCH = 10  # intervals, where there are enough
_MOST_RESEMBLANCE = 0.8
_Z = (1.959964, 2.241403, 2.393980, 2.497705)
"""Two-sided quantiles of the normal distribution at which one, two, three and four figures hold together with 95 %."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure that is compared. ``estimate`` makes one of a run; ``more_is`` names a rise, ``less_is`` a fall."""

    name: str
    unit: str
    estimate: Callable[[Series, int], Estimate | None]
    more_is: str
    less_is: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure of one run, the variance of its logarithm, and how many degrees of freedom that is known with."""

    value: float
    variance: float
    freedom: float


@dataclass(frozen=True, slots=True)
class Difference:
    """Of one figure: ``change`` is after / before − 1, within ``low`` and ``high`` by 95 %.

    ``verdict``: ``no difference``, the word of the metric for its rise or fall, or ``not measured``.
    """

    metric: str
    unit: str
    before: float | None
    after: float | None
    change: float | None
    low: float | None
    high: float | None
    verdict: str

    @property
    def certain(self) -> float:
        """The change for conditions: 0 where the confidence interval includes 0."""
        if self.change is None or self.low is None or self.high is None or self.low <= 0 <= self.high:
            return 0.0
        return self.change


NO_DIFFERENCE, NOT_MEASURED = "no difference", "not measured"


def differences(
    before: Sequence[Series], after: Sequence[Series], threshold: float = THRESHOLD
) -> list[Difference]:
    """All metrics of one or more runs on each side."""
    pairs = {metric: (_pooled(metric, before), _pooled(metric, after)) for metric in METRICS.values()}
    known = sum(one is not None and other is not None for one, other in pairs.values())
    return [_difference(metric, one, other, threshold, known) for metric, (one, other) in pairs.items()]


def intervals_missing(series: Series) -> int:
    """How many intervals more a run must have; 0 if they suffice."""
    return max(0, FEWEST_INTERVALS - len(series.steps))


def _difference(
    metric: Metric, one: Estimate | None, other: Estimate | None, threshold: float, known: int
) -> Difference:
    """``known``: how many figures are compared, whose intervals hold together."""
    values = (None if one is None else one.value, None if other is None else other.value)
    if one is None or other is None:
        return Difference(metric.name, metric.unit, *values, None, None, None, NOT_MEASURED)
    ratio = log(other.value / one.value)
    half = _student(_welch(one, other), known) * sqrt(one.variance + other.variance)
    change, low, high = (exp(ratio + delta) - 1 for delta in (0.0, -half, half))
    verdict = NO_DIFFERENCE
    if not low <= 0 <= high and abs(change) >= threshold:
        verdict = metric.more_is if change > 0 else metric.less_is
    return Difference(metric.name, metric.unit, *values, change, low, high, verdict)


def _pooled(metric: Metric, runs: Sequence[Series]) -> Estimate | None:
    """The mean of the runs' logarithms."""
    found = [metric.estimate(run, _batches(run)) for run in runs]
    known = [one for one in found if one is not None]
    if not known or len(known) < len(found):
        return None
    logs = [log(one.value) for one in known]
    mean, count = sum(logs) / len(logs), len(logs)
    within = Estimate(
        exp(mean),
        sum(one.variance for one in known) / count**2,
        sum(one.freedom for one in known),
    )
    if count == 1:
        return within
    between = sum((value - mean) ** 2 for value in logs) / (count - 1) / count
    return within if within.variance >= between else Estimate(exp(mean), between, count - 1)


def _batches(run: Series) -> int:
    return min(_MOST, max(_FEWEST, len(run.steps) // _PER_BATCH))


# --- estimates of one run ----------------------------------------------------------------------------


def _rate(run: Series, batches: int) -> Estimate | None:
    return _ratio([(_records(batch), _seconds(batch)) for batch in by_time(run, batches)])


def _cpu_per_record(run: Series, batches: int) -> Estimate | None:
    if not run.measures_cpu:
        return None
    return _ratio([(_cpu(batch) * 1e6, _records(batch)) for batch in by_time(run, batches)])


def _percentile(share: float) -> Callable[[Series, int], Estimate | None]:
    def estimate(run: Series, batches: int) -> Estimate | None:
        whole = latencies_of(run.steps)
        if whole.total * (1 - share) < batches:
            return None  # a batch would have less than one value beyond its percentile
        value = max(1, whole.percentile(share) or 0)
        parts = [latencies_of(batch).percentile(share) for batch in by_records(run, batches)]
        offs = [log(max(1, part) / value) for part in parts if part is not None]
        return _estimate(value, offs)

    return estimate


def _ratio(parts: Sequence[tuple[float, float]]) -> Estimate | None:
    """Of sums: what a batch adds to the ratio of all, relative to its share. A batch in which nothing was is one, too."""
    above, below = (sum(column) for column in zip(*parts, strict=True))
    if not above or not below:
        return None
    value, average = above / below, above / len(parts)
    return _estimate(value, [(one - value * base) / average for one, base in parts])


def _estimate(value: float, offs: Sequence[float]) -> Estimate | None:
    """``offs``: how far batches are from the whole, in parts of it."""
    count = len(offs)
    if count < 2:
        return None
    variance = sum(off * off for off in offs) / (count - 1) / count
    return Estimate(value, variance * _resemblance(offs), count - 1)


def _resemblance(offs: Sequence[float]) -> float:
    """By how much the variance of a mean is larger than that of independent batches, from their lag-1 correlation.

    What is estimated of few is too low: by (1 + 4 r) / n of n (Kendall 1954), which is added again.
    """
    square, count = sum(off * off for off in offs), len(offs)
    if not square:
        return 1.0
    found = sum(one * other for one, other in pairwise(offs)) / square
    if count > 4:
        found = (found + 1 / count) / (1 - 4 / count)
    found = min(_MOST_RESEMBLANCE, max(0.0, found))
    return (1 + found) / (1 - found)


def _welch(one: Estimate, other: Estimate) -> float:
    """Degrees of freedom of a difference: Welch and Satterthwaite."""
    total = one.variance + other.variance
    if not total:
        return one.freedom + other.freedom
    return total**2 / (one.variance**2 / one.freedom + other.variance**2 / other.freedom)


def _student(freedom: float, figures: int) -> float:
    """The two-sided quantile of Student's t at which so many figures hold together with 95 %.

    Of one and two degrees of freedom in closed form, else by the expansion of Cornish and Fisher (Abramowitz & Stegun
    26.7.5).
    """
    below = 0.025 / figures
    if freedom < 2:
        return tan(pi * (0.5 - below))
    if freedom < 3:
        return (1 - 2 * below) / sqrt(2 * below * (1 - below))
    z, n = _Z[figures - 1], freedom
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / n**power for power, term in enumerate(terms, start=1))


def _records(batch: Sequence[Step]) -> float:
    return sum(step.records for step in batch)


def _seconds(batch: Sequence[Step]) -> float:
    return sum(step.seconds for step in batch)


def _cpu(batch: Sequence[Step]) -> float:
    return sum(step.cpu_seconds for step in batch)


METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("rate", "records/s", _rate, "faster", "slower"),
        Metric("p50", "us", _percentile(0.50), "slower", "faster"),
        Metric("p99", "us", _percentile(0.99), "slower", "faster"),
        Metric("cpu", "us/record", _cpu_per_record, "more CPU", "less CPU"),
    )
}
"""What is compared, by the name for conditions: rate, percentiles from the intended times, CPU time of a record."""
