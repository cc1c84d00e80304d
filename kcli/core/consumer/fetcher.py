"""Keeps one fetch in flight per broker and asks for the next range before the last one is decoded.

An answer is cut into batches by their headers only; the next request goes out at once, from where those end.
At most one answer per broker waits to be handed out, so memory is bounded by ``fetch.max.bytes`` per broker.
Runs in the consumer's thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from kcli.core.cluster.brokers import FETCH
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.retry import judge, judge_code
from kcli.core.cluster.troubles import Troubles
from kcli.core.consumer.subscription import PartitionState, Phase, Subscription
from kcli.core.consumer.transactions import visible_batches
from kcli.core.error_codes import NONE, OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC_ID
from kcli.core.errors import BrokerError, CorruptRecordsError, DataLossError, KcliError
from kcli.core.future import Future
from kcli.core.options import ConsumerOptions
from kcli.core.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kcli.core.protocol.schema import NO_UUID
from kcli.core.records.batch import split_batches
from kcli.core.records.view import BatchView
from kcli.core.types import Node, TopicPartition

_LAST_VERSION_BY_NAME = 12


@dataclass(frozen=True, slots=True)
class FetchedBatch:
    """A batch, and the offsets of it that were asked for: from ``first`` up to, not including, ``stop``.

    Valid until the consumer's next poll: its bytes are a view into the receive buffer.
    """

    where: TopicPartition
    batch: BatchView
    first: int
    stop: int
    then: int
    """Where to go on once all of it was read: at ``stop``, or behind what is not shown there."""


class OutOfRangeError(DataLossError):
    """A position that is outside the partition's log; the consumer asks for the bounds and adds them."""

    def __init__(self, where: TopicPartition, offset: int) -> None:
        super().__init__(f"{where}: offset {offset} is out of range")
        self.where = where
        self.offset = offset


@dataclass(slots=True)
class _Asked:
    """What one fetch asked for: partition → (state's version, offset), and topics by id."""

    node: Node
    partitions: dict[TopicPartition, tuple[int, int]]
    topic_ids: dict[bytes, str]


@dataclass(slots=True)
class Arrived:
    """An answer that waits to be handed out."""

    answer: FetchResponse
    batches: list[tuple[TopicPartition, int, list[FetchedBatch], int]]
    """Partition, version, batches, and the position behind them."""


class Fetcher:
    """``pump`` sends what can be sent; ``take`` returns an answer that has come."""

    def __init__(self, cluster: Cluster, options: ConsumerOptions, subscription: Subscription) -> None:
        self._cluster = cluster
        self._options = options
        self._subscription = subscription
        self._in_flight: dict[int, Future[Any]] = {}
        self._arrived: deque[Arrived] = deque()
        self._errors: deque[KcliError] = deque()
        self._troubles = Troubles(cluster.hooks, "fetch")
        self._turn = 0
        self.fetches = 0
        self.bytes_fetched = 0
        self.wake_at = float("inf")

    def take(self) -> Arrived | None:
        """The oldest answer that has come, or None; raises an error that a broker has reported."""
        if self._arrived:
            return self._arrived.popleft()
        if self._errors:
            raise self._errors.popleft()
        return None

    def pump(self, now: float) -> None:
        """Sends a fetch to every broker that has something to be asked and none in flight."""
        self.wake_at = float("inf")
        by_leader: dict[Node, list[tuple[TopicPartition, PartitionState]]] = {}
        for where, state in self._subscription.items():
            if state.paused or state.phase is not Phase.READING or state.fetched_all:
                continue
            if state.not_before > now:
                self.wake_at = min(self.wake_at, state.not_before)
                continue
            leader = self._cluster.view.leader(where)
            if leader is None:
                self._stale(where, state, KcliError(f"{where} has no leader"), now)
            else:
                by_leader.setdefault(leader, []).append((where, state))
        for leader, partitions in by_leader.items():
            if leader.id in self._in_flight or len(self._arrived) >= len(by_leader):
                continue
            if not self._cluster.brokers.available(leader, FETCH, now):
                self.wake_at = min(self.wake_at, self._cluster.brokers.retry_at(leader, FETCH))
                self._cluster.request_refresh()
                continue
            self._send(leader, partitions, len(by_leader))

    # --- inside ------------------------------------------------------------------------------------

    def _send(
        self, leader: Node, partitions: list[tuple[TopicPartition, PartitionState]], leaders: int
    ) -> None:
        options = self._options
        asked = _Asked(leader, {}, {})
        topics: dict[str, FetchTopic] = {}
        self._turn += 1
        turn = self._turn % len(partitions)  # another partition first each time: none is starved
        for where, state in partitions[turn:] + partitions[:turn]:
            view = self._cluster.view.topics[where.topic]
            partition = view.partition(where.partition)
            if state.topic_id is None and view.id != NO_UUID:
                state.topic_id = view.id
            topic_id = state.topic_id or NO_UUID
            if where.topic not in topics:
                asked.topic_ids[topic_id] = where.topic
                topics[where.topic] = FetchTopic(topic=where.topic, topic_id=topic_id, partitions=[])
            topics[where.topic].partitions.append(
                FetchPartition(
                    partition=where.partition,
                    current_leader_epoch=partition.leader_epoch if partition else -1,
                    fetch_offset=state.fetch_from,
                    partition_max_bytes=options.max_partition_fetch_bytes,
                )
            )
            asked.partitions[where] = (state.version, state.fetch_from)
        request = FetchRequest(
            max_wait_ms=options.fetch_max_wait_ms,
            min_bytes=options.fetch_min_bytes,
            max_bytes=min(options.fetch_max_bytes, max(1, options.fetch_buffer_bytes // leaders)),
            isolation_level=int(options.isolation_level == "read_committed"),
            session_epoch=-1,
            topics=list(topics.values()),
            rack_id=options.client_rack,
        )
        if NO_UUID in asked.topic_ids:
            request.cap_version(_LAST_VERSION_BY_NAME)
        timeout = (options.request_timeout_ms + options.fetch_max_wait_ms) / 1000
        future = self._cluster.send(request, leader.id, purpose=FETCH, timeout=timeout)
        self._in_flight[leader.id] = future
        future.on_done(lambda done: self._answered(asked, done))

    def _answered(self, asked: _Asked, future: Future[Any]) -> None:
        del self._in_flight[asked.node.id]
        now = self._cluster.loop.now()
        if future.error is not None:
            self._failed(asked, future.error, now)
            return
        answer: FetchResponse = future.value
        if answer.error_code != NONE:
            self._failed(asked, BrokerError(answer.error_code, f"fetch from {asked.node}"), now)
            return
        arrived = Arrived(answer, [])
        self.fetches += 1
        for topic in answer.responses:
            name = topic.topic or asked.topic_ids.get(topic.topic_id, "")
            for data in topic.partitions:
                self._take_partition(TopicPartition(name, data.partition_index), data, asked, arrived, now)
        if arrived.batches:
            self._arrived.append(arrived)
        else:
            answer.release()
        self.pump(now)

    def _failed(self, asked: _Asked, error: BaseException, now: float) -> None:
        if not isinstance(error, KcliError) or not judge(error).retriable:
            self._errors.append(error if isinstance(error, KcliError) else KcliError(repr(error)))
            return
        self._cluster.hooks.log("debug", "fetch", f"{error}; trying again")
        self._cluster.request_refresh()
        for where in asked.partitions:
            state = self._subscription.get(where)
            if state is not None:
                state.not_before = now + self._options.retry_backoff_ms / 1000
                self._troubles.met(where, error, now)

    def _take_partition(
        self, where: TopicPartition, data: PartitionData, asked: _Asked, arrived: Arrived, now: float
    ) -> None:
        state = self._subscription.get(where)
        question = asked.partitions.pop(where, None)
        if state is None or question != (state.version, state.fetch_from):
            return  # an answer for an old position, twice the same, or nobody's
        if data.error_code != NONE:
            self._partition_error(where, state, data.error_code, now)
            return
        self._troubles.over(where)
        batches, position = self._cut(where, state, data)
        state.high_watermark, state.last_stable = data.high_watermark, data.last_stable_offset
        if position > state.fetch_from:
            state.fetch_from = position
            arrived.batches.append((where, state.version, batches, position))

    def _cut(
        self, where: TopicPartition, state: PartitionState, data: PartitionData
    ) -> tuple[list[FetchedBatch], int]:
        """The batches of the answer from the position up to the stop, and the position behind them."""
        records = data.records
        if not isinstance(records, memoryview) or not len(records):
            return [], state.fetch_from
        self.bytes_fetched += len(records)
        position, stop = state.fetch_from, state.stop
        wanted = []
        aborted = [(a.producer_id, a.first_offset) for a in data.aborted_transactions or ()]
        committed_only = self._options.isolation_level == "read_committed"
        whole = self._checked(where, state, split_batches(records))
        for batch, visible in visible_batches(whole, aborted, committed_only=committed_only):
            if stop is not None and position >= stop:
                break
            if batch.next_offset <= position:
                continue
            end = batch.next_offset if stop is None else min(stop, batch.next_offset)
            if visible and batch.base_offset < end:
                first = max(position, batch.base_offset)
                wanted.append(FetchedBatch(where, batch, first, end, end))
            position = batch.next_offset
            state.fetch_epoch = batch.leader_epoch
        if wanted:
            wanted[-1] = replace(wanted[-1], then=position if stop is None else min(position, stop))
        return wanted, position

    def _checked(
        self, where: TopicPartition, state: PartitionState, batches: Iterable[BatchView]
    ) -> Iterable[BatchView]:
        """The batches up to a damaged one, which is reported when those before it were handed out."""
        check, limit = self._options.check_crcs, self._options.max_decompressed_batch_bytes
        try:
            for batch in batches:
                batch.limit = limit
                if check:
                    batch.verify()
                yield batch
        except CorruptRecordsError as error:
            state.phase = Phase.FAILED
            self._errors.append(
                CorruptRecordsError(
                    f"{where}: {error.what}",
                    why=error.why,
                    do="the broker's copy of the log is damaged: restore it from a replica, or read behind it",
                )
            )

    def _partition_error(self, where: TopicPartition, state: PartitionState, code: int, now: float) -> None:
        if code == OFFSET_OUT_OF_RANGE:
            state.phase = Phase.FAILED
            self._errors.append(OutOfRangeError(where, state.fetch_from))
        elif code == UNKNOWN_TOPIC_ID and self._recreated(where, state):
            state.phase = Phase.FAILED
            self._errors.append(
                DataLossError(
                    f"topic {where.topic} was deleted and created anew while it was read",
                    why="offsets of the old topic mean nothing in the new one",
                    do="start again to read the new topic",
                )
            )
        elif judge_code(code).retriable:
            self._stale(where, state, BrokerError(code, f"fetch of {where}"), now)
        else:
            state.phase = Phase.FAILED
            self._errors.append(BrokerError(code, f"fetch of {where}"))

    def _recreated(self, where: TopicPartition, state: PartitionState) -> bool:
        view = self._cluster.view.topics.get(where.topic)
        return view is not None and state.topic_id not in (None, view.id)

    def _stale(self, where: TopicPartition, state: PartitionState, error: KcliError, now: float) -> None:
        """The leader is not where it was thought to be: look it up and come back."""
        self._troubles.met(where, error, now)
        state.not_before = now + self._options.retry_backoff_ms / 1000
        self.wake_at = min(self.wake_at, state.not_before)
        self._cluster.topics.add(where.topic)
        self._cluster.request_refresh()
        gone = self._cluster.gone(where.topic)
        if gone is not None:
            state.phase = Phase.FAILED
            self._errors.append(gone)
