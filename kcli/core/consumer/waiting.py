"""Tracks which partitions are blocked by an open transaction, since when, and which of them must be reported now.

Pure: no I/O, ``now`` is passed in. ``open_transactions.py`` asks the leaders and logs. Runs in the consumer's thread.

A wait is timed from the one response that reported the open transaction, not counted in responses: within a fetch
session a broker does not mention a partition whose bounds are unchanged. Tested in ``tests/fault/test_waiting.py``
(P17).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kcli.core.types import TopicPartition

REPORT_AFTER = 10.0
"""Seconds a partition must be blocked: most transactions have ended by then."""
REPORT_AGAIN = 300.0
"""Seconds between two reports about one topic and one producer."""

_AT_ONCE = 16  # partitions described in one go
_CHECK_INTERVAL = 1.0  # seconds between two checks for waits that are due
_NEVER = float("inf")


class OpenTransaction(NamedTuple):
    """The open transaction that blocks a read_committed consumer at ``offset``.

    ``last_stable_offset`` is where the first open transaction of the partition begins, at ``offset`` or before it;
    ``high_watermark`` is the end of the log as of the last fetch. ``since_ms`` is when this consumer began to wait,
    ``last_timestamp`` when the producer last wrote, both in ms since the epoch. Unknown values are −1: brokers are
    asked about the producer after the wait has lasted 10 s, and brokers before 2.8 cannot describe it.
    """

    offset: int
    last_stable_offset: int
    high_watermark: int
    since_ms: int
    producer_id: int = -1
    producer_epoch: int = -1
    last_timestamp: int = -1


class Writer(NamedTuple):
    """A producer with an open transaction in a partition, as described by the partition's leader."""

    producer_id: int
    producer_epoch: int
    last_timestamp: int


UNKNOWN_WRITER = Writer(-1, -1, -1)
"""For a broker that cannot describe the producer."""


@dataclass(slots=True, eq=False, repr=False)
class Wait:
    """A partition blocked at ``offset`` by the transaction open at ``stable``, since ``since_ms`` (epoch ms).

    ``due`` is when its leader is to be asked; never while a request is in flight. ``reported``: its end is reported too.
    ``failures``: failed requests to the leader so far.
    """

    tp: TopicPartition
    offset: int
    stable: int
    since_ms: int
    due: float
    writer: Writer = UNKNOWN_WRITER
    reported: bool = False
    failures: int = 0

    def is_for(self, offset: int, stable: int) -> bool:
        """Whether nothing has changed since."""
        return self.offset == offset and self.stable == stable


class Waiting:
    """``start`` and ``end`` after fetches; ``set_writer`` completes a wait from ``take_due``, ``postpone`` postpones it.

    One partition per topic and producer is reported, at most every five minutes: a job that commits once a minute in a
    hundred partitions would flood the log.
    """

    def __init__(self) -> None:
        self.wake_at = _NEVER
        self._waits: dict[TopicPartition, Wait] = {}
        self._reported_at: dict[tuple[str, int], float] = {}

    def __bool__(self) -> bool:
        return bool(self._waits)

    def __iter__(self) -> Iterator[Wait]:
        return iter(self._waits.values())

    def get(self, tp: TopicPartition) -> Wait | None:
        """The partition's wait, if it is blocked."""
        return self._waits.get(tp)

    def start(self, tp: TopicPartition, offset: int, stable: int, now: float, since_ms: int) -> None:
        """Records that nothing after ``offset`` may be read before the transaction at ``stable`` ends."""
        self._waits[tp] = Wait(tp, offset, stable, since_ms, now + REPORT_AFTER)
        self.wake_at = min(self.wake_at, now + REPORT_AFTER)

    def end(self, tp: TopicPartition) -> bool:
        """The partition is no longer blocked. True if it was the last one blocked by a producer that was reported."""
        wait = self._waits.pop(tp, None)
        if wait is None or not wait.reported:
            return False
        for other in self._waits.values():
            if other.tp.topic == tp.topic and other.writer.producer_id == wait.writer.producer_id:
                other.reported = True
                return False
        return True

    def take_due(self, now: float) -> list[Wait]:
        """The waits whose leaders must be asked now, a few at a time."""
        if now < self.wake_at:
            return []
        found = [wait for wait in self._waits.values() if wait.due <= now][:_AT_ONCE]
        for wait in found:
            wait.due = _NEVER
        self._wake(now)
        return found

    def postpone(self, wait: Wait, now: float) -> None:
        """Postpones the wait: there is nothing to report yet."""
        wait.due = now + REPORT_AFTER
        self.wake_at = min(self.wake_at, wait.due)

    def set_writer(self, wait: Wait, writer: Writer, now: float) -> bool:
        """Sets the producer. True if it must be reported now."""
        self._reported_at = {key: at for key, at in self._reported_at.items() if now - at < REPORT_AGAIN}
        key = (wait.tp.topic, writer.producer_id)
        is_news = key not in self._reported_at
        wait.writer, wait.reported = writer, wait.reported or is_news
        wait.due = self._reported_at.setdefault(key, now) + REPORT_AGAIN
        self.wake_at = min(self.wake_at, wait.due)
        return is_news

    def _wake(self, now: float) -> None:
        first = min((wait.due for wait in self._waits.values()), default=_NEVER)
        self.wake_at = max(first, now + _CHECK_INTERVAL)
