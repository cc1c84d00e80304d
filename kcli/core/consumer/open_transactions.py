"""Reports the open transaction that blocks a read_committed consumer, as described by the partition leader (KIP-664).

Asynchronous; asks only when a partition has been blocked for ten seconds. Runs in the consumer's thread.

A wait is timed from the one response that reported the open transaction, not counted in responses: within a fetch
session a broker does not mention a partition whose bounds are unchanged. Tested in ``tests/fault/test_waiting.py``
(P17).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from kcli.core import clock
from kcli.core.classes import NamedTuple, dataclass
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.retry import classify_error
from kcli.core.consumer.subscription import PartitionState, Subscription
from kcli.core.error_codes import NONE
from kcli.core.errors import BrokerError, ConnectError, KcliError
from kcli.core.future import Future
from kcli.core.protocol import messages
from kcli.core.types import TopicPartition

if TYPE_CHECKING:
    from kcli.core.protocol.messages import describe_producers  # noqa: F401 - imported on use
    from kcli.core.protocol.messages.describe_producers import PartitionResponse

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


class OpenTransactions:
    """``update`` after every fetch of a partition, ``pump`` when one of ``waiting`` is due, ``forget`` for unread
    partitions.
    """

    def __init__(self, cluster: Cluster, subscription: Subscription) -> None:
        self._cluster = cluster
        self._subscription = subscription
        self.waiting = Waiting()

    def update(self, state: PartitionState, now: float) -> None:
        """Updates the partition's bounds after a fetch; usually there is nothing to do."""
        stable, offset = state.last_stable, state.fetch_from
        waits = 0 <= stable <= offset < state.high_watermark
        if not waits and not self.waiting:
            return
        wait = self.waiting.get(state.tp)
        if wait is not None and not (waits and wait.is_for(offset, stable)):
            self._moved(wait)
            wait = None
        if waits and wait is None:
            self.waiting.start(state.tp, offset, stable, now, clock.wall_ms())

    def forget(self, tp: TopicPartition) -> None:
        """The partition is not being read at present."""
        self.waiting.end(tp)

    def close(self) -> None:
        """Drops all waits."""
        self.waiting = Waiting()

    def pump(self, now: float) -> None:
        """Asks the leaders of the partitions that have been blocked for long."""
        by_leader: dict[int, list[Wait]] = {}
        for wait in self.waiting.take_due(now):
            state = self._state(wait)
            leader = self._cluster.view.leader(wait.tp)
            if state is None or leader is None or state.position < wait.offset:
                self.waiting.postpone(wait, now)  # usually the application still has records to process
            else:
                by_leader.setdefault(leader.id, []).append(wait)
        for node_id, waits in by_leader.items():
            self._ask(node_id, waits)

    def snapshot(self) -> dict[TopicPartition, OpenTransaction]:
        """The partitions that are blocked now."""
        states = ((wait, self._state(wait)) for wait in self.waiting)
        return {wait.tp: _described(wait, state) for wait, state in states if state is not None}

    def _state(self, wait: Wait) -> PartitionState | None:
        """The partition's state, if it is still blocked at the same offset."""
        state = self._subscription.get(wait.tp)
        return state if state is not None and wait.is_for(state.fetch_from, state.last_stable) else None

    def _ask(self, node_id: int, waits: list[Wait]) -> None:
        numbers: dict[str, list[int]] = {}
        for wait in waits:
            numbers.setdefault(wait.tp.topic, []).append(wait.tp.partition)
        wire = messages.describe_producers
        topics = [wire.TopicRequest(name=name, partition_indexes=found) for name, found in numbers.items()]
        answer = self._cluster.send(wire.DescribeProducersRequest(topics=topics), node_id)
        answer.on_done(lambda done: self._answered(waits, done))

    def _answered(self, waits: Iterable[Wait], answer: Future[Any]) -> None:
        failure, now = answer.error, self._cluster.loop.now()
        if failure is not None and not isinstance(failure, KcliError):
            raise failure
        rows: dict[TopicPartition, PartitionResponse] = {}
        if failure is None:
            for topic in answer.value.topics:
                rows.update(
                    {TopicPartition(topic.name, row.partition_index): row for row in topic.partitions}
                )
        for wait in waits:
            if self.waiting.get(wait.tp) is not wait:
                continue  # it has advanced since
            if self._state(wait) is None:  # sought elsewhere, and perhaps back before the next fetch
                self.waiting.postpone(wait, now)
                continue
            self._explain(wait, failure or _error(wait, rows.get(wait.tp)), rows.get(wait.tp), now)

    def _explain(
        self, wait: Wait, error: KcliError | None, row: PartitionResponse | None, now: float
    ) -> None:
        if error is not None and classify_error(error).retriable and not wait.failures:
            wait.failures += 1
            self.waiting.postpone(wait, now)
            return
        writer = UNKNOWN_WRITER if error is not None or row is None else _first_writer(row, wait.stable)
        if writer is None:  # it has ended, and the next fetch will return its records
            self.waiting.postpone(wait, now)
            return
        if error is not None:
            self._cluster.hooks.log(
                "debug", "fetch", f"{error}; the producer of the open transaction is not known"
            )
        if self.waiting.set_writer(wait, writer, now):
            self._cluster.hooks.log("warning", "fetch", _sentence(wait))

    def _moved(self, wait: Wait) -> None:
        if self.waiting.end(wait.tp):
            text = f"{wait.tp}: read_committed no longer waits at offset {wait.offset}"
            self._cluster.hooks.log("info", "fetch", text)


def _error(wait: Wait, row: PartitionResponse | None) -> KcliError | None:
    if row is None:
        return ConnectError(f"the response lacks {wait.tp}")
    if row.error_code != NONE:
        what = f"describing the producers of {wait.tp}"
        return BrokerError(row.error_code, what, message=row.error_message or "")
    return None


def _first_writer(row: PartitionResponse, stable: int) -> Writer | None:
    """The producer of the first open transaction in the partition; None if none begins that early."""
    opened = [one for one in row.active_producers if 0 <= one.current_txn_start_offset <= stable]
    first = min(opened, key=lambda one: one.current_txn_start_offset, default=None)
    if first is None:
        return None
    return Writer(first.producer_id, first.producer_epoch, first.last_timestamp)


def _described(wait: Wait, state: PartitionState) -> OpenTransaction:
    writer = wait.writer
    return OpenTransaction(
        offset=wait.offset,
        last_stable_offset=wait.stable,
        high_watermark=state.high_watermark,
        since_ms=wait.since_ms,
        producer_id=writer.producer_id,
        producer_epoch=writer.producer_epoch,
        last_timestamp=writer.last_timestamp,
    )


def _sentence(wait: Wait) -> str:
    """The log message: the blocked offset, since when, the producer, and what helps."""
    writer, begin = wait.writer, wait.stable
    whom = (
        f"producer {writer.producer_id} (epoch {writer.producer_epoch})"
        if writer != UNKNOWN_WRITER
        else "a producer"
    )
    wrote = f" and that wrote last at {_time(writer.last_timestamp)}" if writer.last_timestamp >= 0 else ""
    return (
        f"{wait.tp}: read_committed waits at offset {wait.offset} since {_time(wait.since_ms)} for "
        f"{whom} whose transaction is open since offset {begin}{wrote}; "
        f"`kcli txn describe --topic {wait.tp.topic} -p {wait.tp.partition}` shows whether its "
        f"transaction.timeout.ms ends it or it hangs, and `kcli txn abort --topic {wait.tp.topic} -p "
        f"{wait.tp.partition}` ends it; "
        "readers with isolation.level=read_uncommitted do not wait"
    )


def _time(ms: int) -> str:
    """UTC, or the plain number where it exceeds the calendar."""
    from datetime import UTC, datetime, timedelta  # only for this message

    try:
        when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
    except OverflowError:
        return f"{ms} ms"
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")
