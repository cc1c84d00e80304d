"""Up to which time of records the windows of a followed query are complete. Pure: ``now`` is a parameter, in seconds.

The watermark is the smallest of the newest times of all partitions, less the lateness that is allowed. It never falls.

A partition is left out of it that is idle: it is read to its end, and nothing has arrived for ``idle`` seconds. So one
without records holds up nothing, while one whose leader does not respond, or whose next records are in an open
transaction, holds up all windows: what it has is not known to be late. Where all partitions are idle, the time of the
newest record goes on with the clock, so that the last windows close too.
"""

from collections.abc import Iterable

from kcli.core.classes import dataclass
from kcli.core.types import TopicPartition


@dataclass(slots=True)
class _Partition:
    newest: int | None = None
    heard: float | None = None  # the last arrival, or when its end was reached first
    at_end: bool = False


class Watermark:
    """``late_ms`` is the allowed lateness; ``idle`` is in seconds."""

    def __init__(self, partitions: Iterable[TopicPartition], *, late_ms: int, idle: float) -> None:
        self._late_ms, self._idle = late_ms, idle
        self._partitions = {tp: _Partition() for tp in partitions}
        self._arrived: float | None = None
        self.at: int | None = None
        """The watermark, in ms; None: not known yet."""

    def read(self, tp: TopicPartition, newest: int | None, now: float) -> None:
        """Records have arrived; ``newest`` is the largest of their times, None if they have none."""
        one = self._partitions.setdefault(tp, _Partition())
        one.heard = self._arrived = now
        if newest is not None:
            one.newest = newest if one.newest is None else max(one.newest, newest)

    def stands(self, tp: TopicPartition, now: float, *, at_end: bool) -> None:
        """Whether everything of the partition is read."""
        one = self._partitions.setdefault(tp, _Partition())
        if at_end and not one.at_end:
            one.heard = now
        one.at_end = at_end

    def advance(self, now: float) -> int | None:
        """The watermark of now."""
        active = [one for one in self._partitions.values() if not self._is_idle(one, now)]
        known = [one.newest for one in active if one.newest is not None]
        if active:
            mark = min(known) if len(known) == len(active) else None
        else:
            newest = [one.newest for one in self._partitions.values() if one.newest is not None]
            passed = 0 if self._arrived is None else int((now - self._arrived) * 1000)
            mark = max(newest) + passed if newest else None
        if mark is not None and (self.at is None or mark - self._late_ms > self.at):
            self.at = mark - self._late_ms
        return self.at

    def has_passed(self, time_ms: int) -> bool:
        """Whether each partition has a record from then on, so that it has hardly any older ones to come."""
        return all(one.newest is not None and one.newest >= time_ms for one in self._partitions.values())

    @property
    def all_at_end(self) -> bool:
        """Whether everything is read."""
        return all(one.at_end for one in self._partitions.values())

    def _is_idle(self, one: _Partition, now: float) -> bool:
        return one.at_end and one.heard is not None and now - one.heard >= self._idle
