"""What a performance test has measured: by one process, and merged over several. Pure, and can be pickled."""

from __future__ import annotations

from collections import Counter

from kcli.core.classes import dataclass, field
from kcli.flows.perf.failure import Failure
from kcli.flows.perf.histogram import Histogram
from kcli.flows.perf.integrity import Integrity, Trace
from kcli.flows.perf.sequences import Sequences

Confirmed = dict[bytes, Sequences]
"""The numbers of confirmed records, by what their marks begin with: for tests that read them back."""

FINEST_SECONDS = 0.1
"""The length of an interval at first: a run of 10 s has a hundred of them, enough to compare it with another."""
MOST_INTERVALS = 1_200
"""A run that would have more of them gets intervals of twice the length, whose latencies are known within 1 %: memory is
bounded, whatever the duration.
"""


@dataclass(slots=True, eq=False)
class Interval:
    """What was confirmed or read between ``number`` and ``number + 1`` times their length after the start."""

    number: int
    records: int = 0
    bytes: int = 0
    errors: int = 0
    cpu_seconds: float = 0.0
    """Of the process, while the interval was the current one."""
    latencies: Histogram = field(default_factory=Histogram)
    """From the intended times."""
    samples: list[tuple[int, int]] = field(default_factory=list)
    """Of some records of an end-to-end test: the number from 0 on, and its latency in microseconds."""

    def merge(self, other: Interval) -> None:
        """Adds another process's interval of the same number."""
        self.records += other.records
        self.bytes += other.bytes
        self.errors += other.errors
        self.cpu_seconds += other.cpu_seconds
        self.latencies.merge(other.latencies)
        self.samples += other.samples


@dataclass(slots=True, eq=False)
class Measurement:
    """``records`` and ``bytes`` (keys and values) are those after the warm-up: confirmed, or read. ``began`` and
    ``ended``: of them, in seconds since 1970.

    ``corrected`` are latencies from the intended time of sending, ``raw`` those from when the request left: a stall that
    keeps records from being sent is in the former only. ``lateness``: how long after its intended time a record was
    handed to the producer. ``unconfirmed``: handed over, neither confirmed nor failed. ``errors``: records that failed,
    by the kind of their error; ``failure``: the first one.
    """

    interval_seconds: float = FINEST_SECONDS
    began: float = 0.0
    ended: float = 0.0
    records: int = 0
    bytes: int = 0
    warmup_records: int = 0
    unconfirmed: int = 0
    raw: Histogram = field(default_factory=Histogram)
    corrected: Histogram = field(default_factory=Histogram)
    lateness: Histogram = field(default_factory=Histogram)
    errors: Counter[str] = field(default_factory=Counter)
    failure: Failure | None = None
    intervals: dict[int, Interval] = field(default_factory=dict)
    trace: Trace | None = None
    confirmed: Confirmed = field(default_factory=dict)
    integrity: Integrity | None = None
    cpu_seconds: float = 0.0
    rebalance_seconds: float = 0.0
    fetch_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        """From the first record to the last."""
        return max(0.0, self.ended - self.began)

    def interval_at(self, seconds: float) -> Interval:
        """The interval in which the measured part is ``seconds`` old, made if there is none."""
        number = max(0, int(seconds / self.interval_seconds))
        while number >= MOST_INTERVALS:
            self.coarsen()
            number //= 2
        return self._interval(number)

    def coarsen(self) -> None:
        """Makes one interval of each two neighbours."""
        before, self.intervals = self.intervals, {}
        self.interval_seconds *= 2
        for number, interval in before.items():
            self._merge_interval(number // 2, interval)

    def _interval(self, number: int) -> Interval:
        found = self.intervals.get(number)
        if found is None:
            found = self.intervals[number] = Interval(number)
        return found

    def _merge_interval(self, number: int, interval: Interval) -> None:
        found = self._interval(number)
        found.merge(interval)
        found.samples.clear()  # they are for the progress
        if self.interval_seconds > FINEST_SECONDS:
            found.latencies.coarsen()

    def _delay(self, seconds: float) -> None:
        """Counts the intervals from a begin that is so much earlier."""
        before, self.intervals = self.intervals, {}
        later = round(seconds / self.interval_seconds)
        for number, interval in before.items():
            self._merge_interval(number + later, interval)
        while max(self.intervals, default=0) >= MOST_INTERVALS:
            self.coarsen()

    def merge(self, other: Measurement) -> None:
        """Adds what another process has measured at the same time; its intervals may become as long as these. One of both
        may have begun later, by its warm-up: its intervals are counted from the first begin.
        """
        began = min(self.began or other.began, other.began or self.began)
        for one in (self, other):
            if one.began > began:
                one._delay(one.began - began)
        self.began = began
        self.ended = max(self.ended, other.ended)
        self.records += other.records
        self.bytes += other.bytes
        self.warmup_records += other.warmup_records
        self.unconfirmed += other.unconfirmed
        self.raw.merge(other.raw)
        self.corrected.merge(other.corrected)
        self.lateness.merge(other.lateness)
        self.errors.update(other.errors)
        self.failure = self.failure or other.failure
        while self.interval_seconds < other.interval_seconds:
            self.coarsen()
        while other.interval_seconds < self.interval_seconds:
            other.coarsen()
        for number, interval in other.intervals.items():
            self._merge_interval(number, interval)
        for head, numbers in other.confirmed.items():
            self.confirmed.setdefault(head, Sequences()).update(numbers)
        if other.trace is not None:
            self.trace = self.trace or Trace()
            self.trace.merge(other.trace)
        self.cpu_seconds += other.cpu_seconds
        self.rebalance_seconds = max(self.rebalance_seconds, other.rebalance_seconds)
        self.fetch_seconds = max(self.fetch_seconds, other.fetch_seconds)
