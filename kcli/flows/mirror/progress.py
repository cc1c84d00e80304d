"""The progress of a mirror: records, lag, and when it will be caught up; each partition's with ``--progress json``."""

import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence

from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.partition_copy import Moved, PartitionCopy
from kcli.flows.mirror.copy.partition_state import State
from kcli.flows.mirror.job.job import Attempt
from kcli.output.progress import Progress, counted, duration_text

_INTERVAL = 0.2  # seconds between two looks at all partitions
_SPACING = 1.0  # seconds between two samples
_WINDOW = 10.0  # seconds that the rate is of


class MirrorProgress:
    """Called often; looks at the partitions that have moved, at most every 0.2 s. ``before``: what earlier attempts of
    this run have copied.
    """

    def __init__(
        self, bar: Progress, copies: Sequence[PartitionCopy], before: Iterable[Attempt] = ()
    ) -> None:
        bar.window = _WINDOW
        self._bar = bar
        self._copies = copies
        self._trend = LagTrend()
        self._next = 0.0
        self._moved: Moved = {}
        self._watched: set[PartitionCopy] = set()
        self._newest: PartitionCopy | None = None
        self._count = 0
        self._counted: dict[PartitionCopy, tuple[int, int]] = {}
        self._records = self._bytes = 0
        for one in before:
            self._records += one.records
            self._bytes += one.bytes
        self._lags: dict[TopicPartition, int] = {}

    def __call__(self) -> None:
        """Shows how far the copies are, if that is due."""
        now = time.monotonic()
        if now >= self._next:
            self.show(now)

    def show(self, now: float) -> None:
        """Shows how far the copies are."""
        self._next = now + (_SPACING if self._bar.style == "json" else _INTERVAL)
        self._count_moved()
        known, records, size = self._lags, self._records, self._bytes
        unknown = len(self._copies) - len(known)
        self._trend.sample(now, known)
        done = None
        if all(copy.stop is not None for copy in self._copies):
            total = sum((copy.stop or 0) - copy.started_at for copy in self._copies)
            done = sum(copy.position - copy.started_at for copy in self._copies) / total if total else None
        counts = Counter(copy.state.state for copy in self._copies)
        if self._bar.style == "json":
            total_lag = None if unknown else sum(known.values())
            self._bar.update(records, size, done, lag_records=total_lag, partitions=self._rows())
        else:
            self._bar.update(
                records,
                size,
                done,
                lag=_lag_text(known, unknown),
                caught_up_in="" if done is not None else self._caught_up_in(known),
                waiting=counts[State.WAITING],
                ended=counts[State.ENDED],
            )

    def _count_moved(self) -> None:
        """Records, bytes and lag are of all partitions; only those that have moved are counted anew."""
        newest = self._copies[-1] if self._copies else None
        if newest is not self._newest or len(self._copies) != self._count:
            self._newest, self._count = newest, len(self._copies)
            for copy in self._copies:
                if copy not in self._watched:
                    self._watched.add(copy)
                    copy.watch(self._moved)
        for copy in self._moved:
            records, size = self._counted.get(copy, (0, 0))
            self._records += copy.records - records
            self._bytes += copy.bytes - size
            self._counted[copy] = copy.records, copy.bytes
            lag = copy.lag
            if lag is None:
                self._lags.pop(copy.source, None)
            else:
                self._lags[copy.source] = lag
        self._moved.clear()

    def _rows(self) -> list[dict[str, object]]:
        return [
            {
                "topic": copy.source.topic,
                "partition": copy.source.partition,
                "lag_records": copy.lag,
                "state": copy.state.state,
                "seconds_left": None
                if copy.lag is None or (left := self._trend.seconds_left(copy.source)) is None
                else round(left, 1),
            }
            for copy in self._copies
        ]

    def _caught_up_in(self, lags: dict[TopicPartition, int]) -> str:
        """The longest time of a partition and which one it is; empty where there is no lag, or no estimate yet."""
        behind = [(left, tp) for tp, lag in lags.items() if lag and (left := self._trend.seconds_left(tp))]
        if not behind:
            return ""
        left, tp = max(behind)
        return f"{duration_text(left)} ({tp})"


def _lag_text(known: Mapping[TopicPartition, int], unknown: int) -> str:
    """``1,204``, ``unknown``, or ``1,204 and 3 partitions unknown``."""
    if not known:
        return "unknown"
    text = f"{sum(known.values()):,}"
    return f"{text} and {counted(unknown, 'partition')} unknown" if unknown else text


class LagTrend:
    """When a partition will be caught up: samples of the lag over ``window`` seconds. Times are seconds of one clock."""

    def __init__(self, window: float = 15.0) -> None:
        self._window = window
        self._samples: deque[tuple[float, Mapping[TopicPartition, int]]] = deque()

    def sample(self, now: float, lags: Mapping[TopicPartition, int]) -> None:
        """Adds the present lag of all partitions in records; one sample a second counts."""
        if self._samples and now - self._samples[-1][0] < _SPACING:
            return
        self._samples.append((now, dict(lags)))
        while now - self._samples[0][0] > self._window:
            self._samples.popleft()

    def seconds_left(self, tp: TopicPartition) -> float | None:
        """Seconds until the lag is 0 at the rate of the window; None where it does not shrink, or too little is known."""
        known = [(at, lags[tp]) for at, lags in self._samples if tp in lags]
        if not known:
            return None
        (began, first), (ended, last) = known[0], known[-1]
        if last <= 0:
            return 0.0
        return last * (ended - began) / (first - last) if first > last else None
