"""What keeps going wrong, told once it has lasted: one retry is nobody's business, ten seconds of them are.

Used by the thread that owns the loop; it is given ``now``.
"""

from kcli.core.errors import KcliError
from kcli.core.hooks import Hooks
from kcli.core.types import TopicPartition

TELL_AFTER = 10.0
"""Seconds; a leader that died has a successor by then."""


class StallReporter:
    """Partitions whose tries come to nothing. Of each topic one is told, and when all of it is well again."""

    def __init__(self, hooks: Hooks, area: str) -> None:
        self._hooks, self._area = hooks, area
        self._since: dict[TopicPartition, float] = {}
        self._told: set[str] = set()

    def met(self, tp: TopicPartition, error: KcliError, now: float) -> None:
        """Another try has failed, and there will be more."""
        lasts = now - self._since.setdefault(tp, now)
        if lasts >= TELL_AFTER and tp.topic not in self._told:
            self._told.add(tp.topic)
            self._hooks.log("warning", self._area, f"{error}; tried for {lasts:.0f} s, and trying on")

    def over(self, tp: TopicPartition) -> None:
        """A try has succeeded, or there will be none."""
        if self._since.pop(tp, None) is None or tp.topic not in self._told:
            return
        if not any(other.topic == tp.topic for other in self._since):
            self._told.remove(tp.topic)
            self._hooks.log("info", self._area, f"topic {tp.topic}: no retries any more")
