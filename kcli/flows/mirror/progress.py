"""The progress of a mirror: records, lag, and when it will be caught up; each partition's with ``--progress json``."""

import time
from collections import deque
from collections.abc import Mapping, Sequence

from kcli.core.consumer.consumer import Consumer
from kcli.core.types import TopicPartition
from kcli.flows.mirror.partition_copy import PartitionCopy
from kcli.output.progress import Progress, duration_text

_INTERVAL = 0.2  # seconds between two looks at all partitions
_SPACING = 1.0  # seconds between two samples


class MirrorProgress:
    """Called often; looks at the partitions at most every 0.2 s."""

    def __init__(self, bar: Progress, copies: Sequence[PartitionCopy], consumer: Consumer) -> None:
        self._bar = bar
        self._copies = copies
        self._consumer = consumer
        self._trend = LagTrend()
        self._next = 0.0

    def __call__(self) -> None:
        """Shows how far the copies are."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _INTERVAL
        lags = self._lags()
        self._trend.sample(now, lags)
        records, size = sum(copy.records for copy in self._copies), sum(copy.bytes for copy in self._copies)
        done = None
        if all(copy.stop is not None for copy in self._copies):
            total = sum((copy.stop or 0) - copy.started_at for copy in self._copies)
            done = 1 - sum(lags.values()) / total if total else None
        if self._bar.style == "json":
            self._bar.update(records, size, done, lag_records=sum(lags.values()), partitions=self._rows(lags))
        else:
            caught_up_in = "" if done is not None else self._caught_up_in(lags)
            self._bar.update(records, size, done, lag=f"{sum(lags.values()):,}", caught_up_in=caught_up_in)

    def _lags(self) -> dict[TopicPartition, int]:
        """The records that are not copied yet, of each partition that is read."""
        assigned = self._consumer.assignment
        return {
            copy.source: max(0, self._end(copy) - copy.position)
            for copy in self._copies
            if copy.error is None and (copy.done or copy.source in assigned)
        }

    def _end(self, copy: PartitionCopy) -> int:
        return copy.stop if copy.stop is not None else self._consumer.state(copy.source).last_stable

    def _rows(self, lags: dict[TopicPartition, int]) -> list[dict[str, object]]:
        return [
            {
                "topic": tp.topic,
                "partition": tp.partition,
                "lag_records": lag,
                "seconds_left": None if (left := self._trend.seconds_left(tp)) is None else round(left, 1),
            }
            for tp, lag in lags.items()
        ]

    def _caught_up_in(self, lags: dict[TopicPartition, int]) -> str:
        """The longest time of a partition and which one it is; empty where there is no lag, or no estimate yet."""
        behind = [(left, tp) for tp, lag in lags.items() if lag and (left := self._trend.seconds_left(tp))]
        if not behind:
            return ""
        left, tp = max(behind)
        return f"{duration_text(left)} ({tp})"


class LagTrend:
    """When a partition will be caught up: samples of the lag over ``window`` seconds. Times are seconds of one clock."""

    def __init__(self, window: float = 15.0) -> None:
        self._window = window
        self._samples: deque[tuple[float, Mapping[TopicPartition, int]]] = deque()

    def sample(self, now: float, lags: Mapping[TopicPartition, int]) -> None:
        """Adds the present lag of all partitions in records; one sample a second counts."""
        if self._samples and now - self._samples[-1][0] < _SPACING:
            return
        self._samples.append((now, lags))
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
