"""Keeps one fetch in flight per broker and requests the next range before the last one is decoded.

A broker that is far away is read in several lanes, each with a fetch in flight (``sources.py``). A response is split
into batches by their headers only; the next request is sent at once, starting where those end.

Buffered data is bounded by ``fetch.buffer.bytes``. Only partitions that changed are examined: the partitions requested
from a broker are kept in its fetch session (``fetch_session.py``). Runs in the consumer's thread.

The next fetch is written to the socket before records are returned (``Loop.flush``): if it were only queued, it
would remain in this process while the application works (``tests/fault/test_fetching.py``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from operator import attrgetter
from typing import Any

from kcli.core.cluster.brokers import CONTROL
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.metadata import ClusterView
from kcli.core.cluster.retry import classify_code, classify_error
from kcli.core.cluster.window import FAR
from kcli.core.consumer.fetch_session import Ask
from kcli.core.consumer.fetched import Arrived, cut
from kcli.core.consumer.open_transactions import OpenTransactions
from kcli.core.consumer.partition_recovery import PartitionRecovery, Report
from kcli.core.consumer.sources import FAR_BUFFER_BYTES, Lane, Source, source_of
from kcli.core.consumer.subscription import PartitionState, Phase, Subscription
from kcli.core.error_codes import (
    CORRUPT_MESSAGE,
    FETCH_SESSION_ID_NOT_FOUND,
    FETCH_SESSION_TOPIC_ID_ERROR,
    INCONSISTENT_TOPIC_ID,
    INVALID_FETCH_SESSION_EPOCH,
    KAFKA_STORAGE_ERROR,
    NONE,
    OFFSET_OUT_OF_RANGE,
    UNKNOWN_TOPIC_ID,
)
from kcli.core.errors import BrokerError, CorruptRecordsError, DataLossError, KcliError
from kcli.core.future import Future
from kcli.core.options import ConsumerOptions, is_default
from kcli.core.permissions import on_topic
from kcli.core.protocol.messages.fetch import FetchRequest, FetchResponse, PartitionData
from kcli.core.protocol.schema import NO_UUID
from kcli.core.records.view import BatchView
from kcli.core.types import TopicPartition

_SESSION_CODES = (
    FETCH_SESSION_ID_NOT_FOUND,
    INVALID_FETCH_SESSION_EPOCH,
    FETCH_SESSION_TOPIC_ID_ERROR,
)
_TOPIC_ID_CODES = (UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID)
_OF_FILES = (CORRUPT_MESSAGE, KAFKA_STORAGE_ERROR)
_SILENT = 3.0  # seconds beyond ``fetch.max.wait.ms`` without a response, until a broker counts as silent
_FRUITLESS = 3  # consecutive early, empty responses before a broker is polled less often
_NEVER = float("inf")
_SENT_AT = attrgetter("sent_at")


class OutOfRangeError(DataLossError):
    """A position outside the partition's log; the consumer looks up the log's bounds and adds them.

    ``start`` and ``end`` are these bounds, −1 if they could not be looked up.
    """

    def __init__(self, tp: TopicPartition, offset: int) -> None:
        super().__init__(f"{tp}: offset {offset} is out of range")
        self.tp = tp
        self.offset = offset
        self.start = self.end = -1


class Fetcher:
    """``pump`` sends the fetches that can be sent; ``take_response`` returns the responses in the order they arrived."""

    def __init__(
        self, cluster: Cluster, options: ConsumerOptions, subscription: Subscription, *, joins: int = 0
    ) -> None:
        self._cluster = cluster
        self._options = options
        self.joins = joins
        self._subscription = subscription
        self._changed = subscription.watch_changes()
        self._view: ClusterView | None = None
        self._sources: dict[int, Source] = {}
        self._read_from: dict[TopicPartition, Lane] = {}
        self._queue: deque[Arrived | Report] = deque()
        self._taken: Arrived | Report | None = None
        self._adapts = is_default(options, "fetch_buffer_bytes")
        self._recovery = PartitionRecovery(cluster, options, subscription, self._changed, self._queue.append)
        self.open_transactions: OpenTransactions | None = None
        if options.isolation_level == "read_committed":
            self.open_transactions = OpenTransactions(cluster, subscription)
        self.fetches = 0
        self.bytes_fetched = 0
        self.skipped = 0
        self.wake_at = _NEVER

    def take_response(self) -> Arrived | None:
        """The oldest response received, or None; raises an error reported by a broker when its turn comes."""
        while self._queue:
            found = self._taken = self._queue[0]
            # Noted before it leaves the queue: Ctrl-C between the two finds it in both, never in neither, and
            # its memory is released (`take_back`).
            self._queue.popleft()
            if isinstance(found, Arrived):
                return found
            # The records before the error were returned first, and the application may have sought elsewhere
            # since.
            if found.still_applies(self._subscription):
                raise found.error
        return None

    def take_back(self) -> None:
        """Frees the memory of the response taken last: Ctrl-C came before the caller received it."""
        if isinstance(self._taken, Arrived):
            self._taken.release()

    def pump(self, now: float) -> None:
        """Sends a fetch to every broker with partitions to read, no fetch in flight and room for the response."""
        if self._changed or self._cluster.view is not self._view or self._recovery.wake_at <= now:
            self._update_sources(now)
        self.wake_at = self._recovery.wake_at
        if self.open_transactions is not None:
            waiting = self.open_transactions.waiting
            if waiting.wake_at <= now:
                self.open_transactions.pump(now)
            if waiting.wake_at < self.wake_at:
                self.wake_at = waiting.wake_at
        for source in self._sources.values():
            for lane in source.lanes:
                if lane.session.wanted and not lane.asked:
                    self._send_fetches(now)
                    return

    def _send_fetches(self, now: float) -> None:
        busy = [lane for source in self._sources.values() for lane in source.lanes if lane.session.wanted]
        brokers, last, buffer = 0, None, self._options.fetch_buffer_bytes
        for lane in busy:
            if lane.source is not last:
                brokers, last = brokers + 1, lane.source
                if self._adapts and lane.source.is_far:
                    buffer = FAR_BUFFER_BYTES
        share = buffer // brokers
        if len(busy) > brokers:
            # Where the application is slow, room comes for one fetch at a time: always for the first lane otherwise.
            busy.sort(key=_SENT_AT)
        sent = False
        for lane in busy:
            if lane.asked:
                continue
            if lane.not_before > now:
                self.wake_at = min(self.wake_at, lane.not_before)
                continue
            room = lane.source.room(share)
            if room and self._is_available(lane, now):
                self._send(lane, room, now)
                sent = True
        if sent:  # the application may occupy the thread for a while: let the broker work meanwhile
            self._cluster.loop.flush()

    def stalled(self, now: float) -> dict[TopicPartition, str]:
        """Why partitions are not fetched at present: retries, and brokers that do not respond."""
        view = self._cluster.view
        found = {
            tp: f"{tp} has no leader" if tp.topic in view.topics and view.leader(tp) is None else str(error)
            for tp, error in self._recovery.errors.items()
        }
        patience = self._options.fetch_max_wait_ms / 1000 + _SILENT
        for lane in [lane for source in self._sources.values() for lane in source.lanes]:
            if lane.asked and now - lane.sent_at > patience:
                number = lane.source.node_id
                why = f"no response from {view.nodes.get(number) or f'broker {number}'}"
                found |= {tp: why for tp in lane.session.wanted if tp not in found}
        return found

    def close(self) -> None:
        """Closes the fetch sessions on the brokers, which cache only a thousand. Does not wait."""
        if self.open_transactions is not None:
            self.open_transactions.close()
        for source in self._sources.values():
            node = self._cluster.view.nodes.get(source.node_id)
            for lane in source.lanes:
                # queued after a fetch in flight, it would not be read before the connection closes
                brokers = self._cluster.brokers
                if node is None or not lane.session.id:
                    continue
                # The first fetch may have gone through the connection for everything else.
                own = not lane.asked and brokers.offer(node, lane.purpose) is not None
                purpose = lane.purpose if own else CONTROL
                if brokers.offer(node, purpose):
                    self._cluster.send(lane.session.farewell(), node.id, purpose=purpose)
        self._cluster.loop.flush()

    # --- sources -----------------------------------------------------------------------------------

    def _update_sources(self, now: float) -> None:
        """Updates the source of every partition that has changed."""
        view = self._cluster.view
        if view is not self._view:
            self._view = view
            # New metadata may concern any partition: leader, replicas, topic id.
            self._changed.update((tp, None) for tp, _ in self._subscription.items())
        self._recovery.wake(now)
        while self._changed:
            partitions = list(self._changed)
            self._changed.clear()
            for tp in partitions:
                self._update_source(tp, now)

    def _update_source(self, tp: TopicPartition, now: float) -> None:
        state = self._subscription.get(tp)
        before = self._read_from.get(tp)
        source = None if state is None else self._source(state, now)
        lane = None if source is None else source.lane_of(before)
        if before is not None and before is not lane:
            # From its old broker first: a partition in two fetch sessions is sent twice, and one of the two is
            # dropped.
            before.session.drop(tp)
            del self._read_from[tp]
        if lane is None and self.open_transactions is not None:
            self.open_transactions.forget(tp)
        if state is None:
            self._recovery.mark_recovered(tp)
        elif lane is not None:
            partition = self._cluster.view.topics[tp.topic].partition(tp.partition)
            epoch = partition.leader_epoch if partition else -1
            ask = Ask(state.version, state.fetch_from, epoch, state.topic_id or NO_UUID)
            lane.session.want(tp, ask)
            self._read_from[tp] = lane

    def _source(self, state: PartitionState, now: float) -> Source | None:
        """The broker to fetch from; None if the partition is not to be read at present."""
        view = self._cluster.view
        topic = view.topics.get(state.tp.topic)
        if topic is not None and self._recovery.was_recreated(topic, state):
            return None
        if state.phase is not Phase.READING or state.paused or state.fetched_all:
            return None
        if state.not_before > now:
            return None
        node_id = source_of(state, view, now)
        partition = topic.partition(state.tp.partition) if topic else None
        if node_id is None or partition is None:
            self._recovery.handle_missing_leader(state, topic, now)
            return None
        if state.must_validate(partition.leader_epoch):
            # KIP-320: after an unclean election the new leader may lack what was read. A fetch before the check
            # would return other records at the same offsets.
            return None  # ``positions`` validates it; the result counts as a change
        return self._source_named(node_id)

    def _source_named(self, node_id: int) -> Source:
        if node_id not in self._sources:
            self._sources[node_id] = Source(node_id, self._options)
        return self._sources[node_id]

    def _is_available(self, lane: Lane, now: float) -> bool:
        """Whether the broker is available; if not, requests metadata and returns its replica reads to their leaders."""
        node = self._cluster.view.nodes.get(lane.source.node_id)
        if node is not None and self._cluster.brokers.available(node, lane.purpose, now):
            return True
        lane.not_before = (
            self._cluster.brokers.retry_at(node, lane.purpose) if node is not None else now + 1.0
        )
        self.wake_at = min(self.wake_at, lane.not_before)
        # A follower that cannot be reached is no reason to wait: the leader has the records (KIP-392).
        self._leave_replica(lane.source, lane.session.wanted)
        self._cluster.request_refresh()
        return False

    # --- requests ----------------------------------------------------------------------------------

    def _send(self, lane: Lane, room: int, now: float) -> None:
        options, source = self._options, lane.source
        request = FetchRequest(
            max_wait_ms=options.fetch_max_wait_ms,
            min_bytes=options.fetch_min_bytes,
            max_bytes=room,
            isolation_level=int(options.isolation_level == "read_committed"),
            topics=[],
            rack_id=options.client_rack if now >= source.no_rack_until else "",
        )
        lane.session.fill(request, source.partition_bytes(lane))
        timeout = (options.request_timeout_ms + options.fetch_max_wait_ms) / 1000
        lane.asked, lane.sent_at = room, now
        source.asked += room
        future = self._cluster.send(request, source.node_id, purpose=lane.purpose, timeout=timeout)
        future.on_done(lambda done: self._handle_result(lane, done))

    def _handle_result(self, lane: Lane, future: Future[Any]) -> None:
        lane.source.asked -= lane.asked
        lane.asked = 0
        now = self._cluster.loop.now()
        error = future.error
        if error is None and future.value.error_code != NONE:
            error = BrokerError(future.value.error_code, f"fetch from broker {lane.source.node_id}")
        if error is not None:
            self._failed(lane, error, now)
        else:
            lane.session.answered(future.value.session_id)
            self._handle_response(lane, future.value, now)
        # At once, before the application gets this response: the broker works on the next fetch meanwhile.
        self.pump(now)

    def _failed(self, lane: Lane, error: BaseException, now: float) -> None:
        """Handles the failure of a whole fetch: starts a new session and requests metadata."""
        session = lane.session
        code = error.code if isinstance(error, BrokerError) else NONE
        # KIP-227: an unknown id is forgotten. In all other cases the broker may still have the session, and the
        # next request, with its id and epoch 0, replaces it.
        if code == FETCH_SESSION_ID_NOT_FOUND:
            session.lost()
        else:
            session.reset()
        # Without a pause only the first time: a broker that refuses each session would be asked in a loop.
        at_once = code in _SESSION_CODES and not lane.backoff.failures
        lane.failed(now)
        if at_once:  # the broker evicted the session or was restarted: nothing is wrong
            lane.not_before = now
            return
        self._leave_replica(lane.source, session.all_asked)
        if not isinstance(error, KcliError):
            raise error
        if not classify_error(error).retriable:
            self._queue.append(Report(error, {}))
            return
        self._cluster.hooks.log("debug", "fetch", f"{error}; retrying")
        self._cluster.request_refresh()
        for tp in list(session.all_asked):
            state = self._subscription.get(tp)
            if state is None or self._read_from.get(tp) is not lane:
                continue
            if code in _TOPIC_ID_CODES:
                self._recovery.handle_unknown_id(state, error, now)
            else:
                self._recovery.record_problem(state, error, now)

    # --- responses ---------------------------------------------------------------------------------

    def _handle_response(self, lane: Lane, answer: FetchResponse, now: float) -> None:
        self.fetches += 1
        source = lane.source
        arrived = Arrived(answer, source.release)
        self._queue.append(arrived)  # ahead of errors that follow its records
        seen: set[TopicPartition] = set()
        for topic in answer.responses:
            name = lane.session.topic(topic.topic, topic.topic_id)
            for data in topic.partitions:
                tp = TopicPartition(name, data.partition_index)
                if tp not in seen:
                    seen.add(tp)
                    self._handle_partition(tp, data, lane, arrived, now)
        if arrived.parts:
            source.held += arrived.size
            lane.fruitless = 0
        else:
            self._queue.remove(arrived)
            answer.release()
        if now - lane.sent_at >= FAR or source.window.size:
            size = arrived.size if arrived.parts else 0
            source.window.answered(size, now, self._round_trip(lane))
            if source.is_left(lane):
                self._changed.update((tp, None) for tp in lane.session.wanted)
        if self._is_fruitless(lane, arrived, now):
            lane.failed(now)
        else:
            lane.worked()

    def _round_trip(self, lane: Lane) -> float:
        node = self._cluster.view.nodes.get(lane.source.node_id)
        return self._cluster.brokers.round_trip(node, lane.purpose) if node is not None else 0.0

    def _is_fruitless(self, lane: Lane, arrived: Arrived, now: float) -> bool:
        """Whether a broker keeps returning empty responses at once: it must not cause a busy loop."""
        options = self._options
        early = now - lane.sent_at < options.fetch_max_wait_ms / 2_000 and options.fetch_min_bytes > 0
        lane.fruitless = lane.fruitless + 1 if early and not arrived.parts and not self._changed else 0
        return lane.fruitless >= _FRUITLESS

    def _handle_partition(
        self, tp: TopicPartition, data: PartitionData, lane: Lane, arrived: Arrived, now: float
    ) -> None:
        state, asked = self._subscription.get(tp), lane.session.asked(tp)
        if (
            state is None
            or asked is None
            or (asked.version, asked.offset) != (state.version, state.fetch_from)
        ):
            # Answers what was asked before a seek, a step back or a revocation. Sequence that must not happen:
            # fetch from 100 is sent, the application seeks to 0, the response arrives and moves the position to
            # 150.
            return
        if data.error_code != NONE:
            self._partition_error(state, data, lane, now)
            return
        self._recovery.mark_recovered(tp)
        if data.preferred_read_replica >= 0:
            self._redirected(state, data.preferred_read_replica, lane.source, now)
        found = cut(state, data, self._options, joins=self.joins)
        self.bytes_fetched += found.bytes
        ends = data.high_watermark, data.last_stable_offset
        if ends != (state.high_watermark, state.last_stable):
            state.high_watermark, state.last_stable = ends
            self._subscription.note_moved(tp)
        if found.position > state.fetch_from:
            # Only where the next fetch begins. The position that is committed advances when records are
            # returned (PollBuffer).
            state.fetch_from, state.fetch_epoch = found.position, found.epoch
            arrived.add_partition(state, found)
            self._changed[tp] = None
        elif found.needed:
            # A batch larger than the limit is sent whole if it is the first one (KIP-74); cut short, nothing of
            # it can be used.
            what = f"{tp}: a batch of {found.needed} bytes was not received completely"
            self._recovery.retry_later(state, KcliError(what), now)
        if found.skipped is not None:
            self._log_skipped(tp, *found.skipped)
        if self.open_transactions is not None and tp in self._read_from:
            self.open_transactions.update(state, now)
        if found.damage is not None:
            self._handle_damage(state, found.damage)

    def _handle_damage(self, state: PartitionState, error: KcliError) -> None:
        """Fails the partition. A log directory says where in its files the damage is, and what follows it: that is where
        ``on.corrupt=skip`` continues, also if the header makes no sense.
        """
        directories = self._cluster.directories
        told = directories.failure(state.tp, state.fetch_from) if directories is not None else None
        follows = told.next_offset if isinstance(told, CorruptRecordsError) else -1
        if getattr(told, "offset", -1) not in (-1, state.fetch_from):
            follows = -1  # it is further on, and only what it says of transactions is needed here
        if told is not None and follows > state.fetch_from and self._options.on_corrupt == "skip":
            self.skipped += 1
            what = f"skipped offsets {state.fetch_from} to {follows - 1}, which are damaged: {told}"
            self._cluster.hooks.log("warning", "fetch", what)
            state.fetch_from = follows
            self._changed[state.tp] = None
        else:
            self._recovery.fail(state, told or error)

    def _log_skipped(self, tp: TopicPartition, batch: BatchView, error: CorruptRecordsError) -> None:
        self.skipped += 1
        what = f"{tp}: skipped {batch.extent}, which are damaged: {error.why}"
        self._cluster.hooks.log("warning", "fetch", what)

    def _redirected(self, state: PartitionState, replica: int, source: Source, now: float) -> None:
        """The leader names a closer replica (KIP-392); it returns no records itself while it knows one."""
        leader = self._cluster.view.leader(state.tp)
        if leader is None or leader.id != source.node_id or not self._options.client_rack:
            return
        partition = self._cluster.view.topics[state.tp.topic].partition(state.tp.partition)
        known = (
            partition is not None and replica in partition.replicas and replica in self._cluster.view.nodes
        )
        # Metadata is older than what the leader knows, or the leader is wrong: it goes on naming the replica
        # and sends no records until the rack is left out.
        if not known or replica == leader.id:
            source.distrust(now)
            self._cluster.request_refresh()
            return
        state.read_replica = replica
        state.replica_until = now + self._options.metadata_max_age_ms / 1000
        self._recovery.schedule(state.tp, state.replica_until)
        self._changed[state.tp] = None

    def _leave_replica(self, source: Source, partitions: Iterable[TopicPartition]) -> None:
        """Partitions read from this broker as a closer replica are read from their leaders again."""
        for tp in list(partitions):
            state = self._subscription.get(tp)
            if state is not None and state.read_replica == source.node_id:
                self._back_to_leader(state)

    def _back_to_leader(self, state: PartitionState) -> None:
        """Returns to the leader, which would name the same replica again and send no records: hides our rack from it."""
        state.read_replica = -1
        self._changed[state.tp] = None
        leader = self._cluster.view.leader(state.tp)
        if leader is not None:
            self._source_named(leader.id).distrust(self._cluster.loop.now())

    # --- errors ------------------------------------------------------------------------------------

    def _partition_error(self, state: PartitionState, data: PartitionData, lane: Lane, now: float) -> None:
        code, needs = data.error_code, [on_topic("READ", state.tp.topic)]
        error = BrokerError(code, f"fetch of {state.tp}", needs=needs)
        if state.read_replica == lane.source.node_id:  # only an error from the leader counts
            self._cluster.hooks.log("debug", "fetch", f"{error}; back to the leader")
            self._back_to_leader(state)
        elif self._cluster.directories is not None and code in _OF_FILES:
            self._handle_damage(state, error)
        elif code == OFFSET_OUT_OF_RANGE:
            self._recovery.fail(state, OutOfRangeError(state.tp, state.fetch_from))
        elif code in _TOPIC_ID_CODES:
            lane.session.reset()
            self._recovery.handle_unknown_id(state, error, now)
        elif classify_code(code).retriable:
            self._recovery.retry_later(state, error, now)
        else:
            self._recovery.fail(state, error)
