"""Reports failures that last: a single retry is not worth a message, ten seconds of retries are.

Used by the thread that owns the loop; the caller passes ``now``.
"""

from kcli.core.errors import KcliError
from kcli.core.hooks import Hooks
from kcli.core.types import TopicPartition

REPORT_AFTER = 10.0
"""Seconds; a leader that died has been replaced by then."""


class StallReporter:
    """Partitions whose attempts keep failing. Reports one of each topic, and when the whole topic has recovered.

    ``since``: those that fail at present. ``over`` may be left out while there are none.
    """

    def __init__(self, hooks: Hooks, area: str) -> None:
        self._hooks, self._area = hooks, area
        self.since: dict[TopicPartition, float] = {}
        self._told: set[str] = set()

    def met(self, tp: TopicPartition, error: KcliError, now: float) -> None:
        """Another attempt has failed, and there will be more."""
        lasts = now - self.since.setdefault(tp, now)
        if lasts >= REPORT_AFTER and tp.topic not in self._told:
            self._told.add(tp.topic)
            self._hooks.log("warning", self._area, f"{error}; tried for {lasts:.0f} s, and trying on")

    def over(self, tp: TopicPartition) -> None:
        """An attempt has succeeded, or there will be no more."""
        if not self.since or self.since.pop(tp, None) is None or tp.topic not in self._told:
            return
        if not any(other.topic == tp.topic for other in self.since):
            self._told.remove(tp.topic)
            self._hooks.log("info", self._area, f"topic {tp.topic}: no retries any more")
