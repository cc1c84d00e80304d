"""Reports the open transaction that blocks a read_committed consumer, as described by the partition leader (KIP-664).

Asynchronous; asks only when a partition has been blocked for ten seconds. Runs in the consumer's thread.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kcli.core import clock
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.retry import classify_error
from kcli.core.consumer.subscription import PartitionState, Subscription
from kcli.core.consumer.waiting import UNKNOWN_WRITER, OpenTransaction, Wait, Waiting, Writer
from kcli.core.error_codes import NONE
from kcli.core.errors import BrokerError, ConnectError, KcliError
from kcli.core.future import Future
from kcli.core.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    PartitionResponse,
    TopicRequest,
)
from kcli.core.types import TopicPartition


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
        topics = [TopicRequest(name=name, partition_indexes=found) for name, found in numbers.items()]
        answer = self._cluster.send(DescribeProducersRequest(topics=topics), node_id)
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
        "isolation.level=read_uncommitted reads past it"
    )


def _time(ms: int) -> str:
    """UTC, or the plain number where it exceeds the calendar."""
    from datetime import UTC, datetime, timedelta  # only for this message

    try:
        when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
    except OverflowError:
        return f"{ms} ms"
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")
