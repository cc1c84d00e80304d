"""When a partition will be caught up, from how its lag has changed over the last seconds. Pure."""

from collections import deque
from collections.abc import Mapping

from kcli.core.types import TopicPartition

_SPACING = 1.0  # seconds between two samples


class LagTrend:
    """Samples of the lag of partitions over ``window`` seconds. Times are seconds of one clock."""

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
