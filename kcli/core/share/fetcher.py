"""Share fetches with acknowledgements: one request in flight a broker, the next one sent before records are handed out.

Fetches are of two kinds. While the application waits for records, the broker may wait for them too
(``fetch.max.wait.ms``). While the application is busy with what it was handed, the next fetch waits only briefly, so
that acknowledgements do not queue behind it, and it is sent only where the last one brought records. Acknowledgements go
with the next fetch, or in a request of their own where there is none to be sent.

What was received and not handed out is dropped when the broker cannot hold it any more (its session is lost, another
broker leads the partition, its lock has expired): it would be delivered again, to this member or another.
Runs in the consumer's thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from kcli.core.classes import NamedTuple, dataclass, field
from kcli.core.cluster.brokers import FETCH
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.metadata import ClusterView
from kcli.core.cluster.retry import Backoff, StallReporter, classify_code, classify_error
from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.error_codes import (
    FENCED_LEADER_EPOCH,
    FENCED_STATE_EPOCH,
    INVALID_RECORD_STATE,
    INVALID_REQUEST,
    INVALID_SHARE_SESSION_EPOCH,
    NONE,
    NOT_LEADER_OR_FOLLOWER,
    SHARE_SESSION_NOT_FOUND,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_SERVER_ERROR,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from kcli.core.errors import BrokerError, KcliError, OutcomeUnknownError
from kcli.core.future import Future
from kcli.core.options import ShareConsumerOptions
from kcli.core.permissions import on_group, on_topic
from kcli.core.protocol.messages.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from kcli.core.protocol.messages.share_fetch import PartitionData, ShareFetchRequest, ShareFetchResponse
from kcli.core.share.acquired import Acknowledge, Acquired, Decision, DecisionEvent, DecisionState
from kcli.core.share.cutting import cut_delivery
from kcli.core.share.held import Held
from kcli.core.share.lane import Lane
from kcli.core.share.pending import Pending
from kcli.core.types import TopicPartition

_BRIEFLY = 0.1  # seconds that a fetch may wait at the broker while the application is busy
_GRACE = 1.0  # seconds after a lock has expired, until its acknowledgement is given up without an answer
_RENEWS = 2  # the version of ShareAcknowledge that extends locks (KIP-1222)
_NEVER = float("inf")

_LEADER_CODES = frozenset(
    {
        NOT_LEADER_OR_FOLLOWER,
        FENCED_LEADER_EPOCH,
        FENCED_STATE_EPOCH,
        UNKNOWN_TOPIC_OR_PARTITION,
        UNKNOWN_TOPIC_ID,
    }
)
"""The broker does not have the partition's locks (any more): what it held is delivered again."""
_NOT_HELD = frozenset({INVALID_RECORD_STATE, INVALID_REQUEST})
_SESSION_CODES = frozenset({SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH})

EXPIRED = "their lock had expired (share.record.lock.duration.ms)"
MOVED = "another broker leads the partition now"
SESSION = "the broker's session was lost"


class Settled(NamedTuple):
    """What became of acknowledged offsets: ``outcome`` is CONFIRMED, REFUSED or UNKNOWN; ``why`` it is not confirmed."""

    tp: TopicPartition
    first: int
    last: int
    kind: Acknowledge
    deliveries: int
    outcome: DecisionState
    why: str = ""

    @property
    def size(self) -> int:
        """How many offsets there are."""
        return self.last - self.first + 1


@dataclass(slots=True, eq=False, repr=False)
class Arrival:
    """A response that waits to be handed out."""

    answer: ShareFetchResponse
    lane: Lane
    parts: list[tuple[Acquired, FetchedBatch]] = field(default_factory=list)

    def release(self) -> None:
        """Releases the buffer: batches handed out before are no longer valid."""
        self.answer.release()


class ShareFetcher:
    """``pump`` sends what can be sent; ``take`` returns the records of the oldest response."""

    def __init__(
        self,
        cluster: Cluster,
        options: ShareConsumerOptions,
        member_id: str,
        settled: Callable[[Settled], None],
        *,
        joins: int = 0,
    ) -> None:
        self._cluster = cluster
        self._options = options
        self._member_id = member_id
        self._settled = settled
        self.joins = joins
        self.max_records = options.max_poll_records
        self._exact = options.share_acquire_mode == "record_limit"
        self.prefetches = True
        self.assignment: dict[TopicPartition, bytes] = {}
        self.held = Held()
        self._lanes: dict[int, Lane] = {}
        self._read_from: dict[TopicPartition, Lane] = {}
        self._view: ClusterView | None = None
        self._adopted: dict[TopicPartition, bytes] | None = None
        self._touched: dict[Acquired, None] = {}
        self._queue: deque[Arrival | KcliError] = deque()
        self._backoffs: dict[TopicPartition, Backoff] = {}
        self._paused: dict[TopicPartition, float] = {}
        self._stalls = StallReporter(cluster.hooks, "fetch")
        self._last_error: KcliError | None = None
        self.lock_timeout = 0.0
        """Seconds for which brokers lock acquired records; 0 before the first response."""
        self.fetches = self.bytes_fetched = self.redelivered = self.skipped = 0
        self.wake_at = _NEVER

    # --- what the application decides --------------------------------------------------------------

    def acknowledge(self, tp: TopicPartition, first: int, last: int, kind: Acknowledge) -> int:
        """Decides the delivered and undecided offsets among these; returns how many there were."""
        count = 0
        for one in self.held.overlapping(tp, first, last):
            if one.delivered and (some := one.acknowledge(first, last, kind)):
                count += some
                self._touched[one] = None
        return count

    def deliveries(self, tp: TopicPartition, offset: int) -> int:
        """How often a record that is held has been delivered; 0 if it is not held."""
        found = [one.deliveries for one in self.held.overlapping(tp, offset, offset) if one.delivered]
        return found[-1] if found else 0

    def renew(self, within: float, now: float) -> bool:
        """Asks for more time for undecided records whose locks end within so many seconds; False if brokers cannot."""
        able = True
        for lane in self._lanes.values():
            mine = [
                one
                for one in self.held
                if one.node_id == lane.node_id and one.delivered and one.undecided
                if not (one.renewing or one.gone) and one.lock_until - now < within
            ]
            if mine and not self._can_renew(lane):
                able = False
                continue
            by_partition: dict[TopicPartition, list[Decision]] = {}
            for one in mine:
                one.renewing = True
                by_partition.setdefault(one.tp, []).append(one.renewal())
            for decisions in by_partition.values():
                lane.of(decisions[0]).add_renewals(decisions)
        return able

    def lock_until(self, now: float) -> float:
        """When the first lock of an undecided record ends at the earliest."""
        ends = [one.lock_until for one in self.held if one.delivered and one.undecided and not one.gone]
        return min(ends, default=now + (self.lock_timeout or _NEVER))

    def settle_all(self, kind: Acknowledge, *, delivered: bool) -> None:
        """Decides everything undecided that was handed out, or that was not."""
        for one in self.held:
            if one.delivered is delivered:
                one.delivered = True
                if one.acknowledge(one.first, one.last, kind):
                    self._touched[one] = None

    @property
    def is_settled(self) -> bool:
        """Whether nothing that was decided waits for its outcome."""
        return not self._touched and not any(
            pending for lane in self._lanes.values() for pending in lane.pending.values()
        )

    # --- what arrives ------------------------------------------------------------------------------

    def take(self, now: float) -> Arrival | None:
        """The oldest response that still has records to hand out; raises an error when its turn comes."""
        while self._queue:
            found = self._queue.popleft()
            if isinstance(found, KcliError):
                raise found
            found.lane.buffered -= 1
            fresh = []
            for acquired, batch in found.parts:
                if not acquired.gone and now >= acquired.lock_until:
                    self._lose(acquired, EXPIRED)
                if not acquired.gone:
                    fresh.append((acquired, batch))
            found.parts = fresh
            if fresh:
                for acquired, _ in fresh:
                    acquired.delivered = True
                return found
            found.release()
        return None

    def put_back(self, arrival: Arrival, parts: list[tuple[Acquired, FetchedBatch]]) -> None:
        """The application has not received these parts of a response: they are next."""
        arrival.parts = parts
        arrival.lane.buffered += 1
        self._queue.appendleft(arrival)

    @property
    def is_exhausted(self) -> bool:
        """Whether every broker has had no record for this member, for as long as it may wait for one."""
        lanes = [lane for lane in self._lanes.values() if lane.session.wanted]
        read = sum(len(lane.session.wanted) for lane in lanes)
        return (
            not self._queue
            and read == len(self.assignment) > 0
            and all(lane.exhausted and not lane.buffered for lane in lanes)
        )

    def stalled(self, now: float) -> dict[TopicPartition, str]:
        """Why partitions are not fetched at present."""
        found = {tp: str(error) for tp, error in self._stalls.errors.items()}
        for tp in self.assignment:
            lane = self._read_from.get(tp)
            if lane is None:
                found.setdefault(tp, f"{tp} has no leader")
            elif lane.asked and now - lane.sent_at > lane.waits + 3.0:
                found.setdefault(tp, f"no response from broker {lane.node_id}")
        return found

    # --- requests ----------------------------------------------------------------------------------

    def pump(self, now: float, *, waiting: bool) -> None:
        """``waiting``: the application has nothing to do before a record arrives."""
        self._update_sources(now)
        self._collect()
        self.wake_at = min(self._paused.values(), default=_NEVER)
        sent = False
        turn = self._next_turn(now) if self._exact else None
        for lane in list(self._lanes.values()):
            if lane.asked:
                continue
            if lane.not_before > now:
                self._give_up_late(lane, now)
                self.wake_at = min(self.wake_at, lane.not_before)
                continue
            sent = self._send(lane, now, waiting=waiting, may_fetch=not self._exact or lane is turn) or sent
        if sent:
            self._cluster.loop.flush()

    def finish(self, now: float) -> bool:
        """Sends what was decided, and ends the sessions, one request after another; True when nothing is left to do."""
        self._collect()
        left = False
        for lane in self._lanes.values():
            if lane.asked:
                left = True
            elif lane.session.is_open or lane.has_pending:
                if self._is_available(lane, now):
                    left = True
                    if lane.session.is_open:
                        # The last request acknowledges nothing: what it refused could not be sent again in halves.
                        self._acknowledge(lane, now, final=not lane.has_pending)
                    else:
                        self._fetch(lane, now, 0.0, records=0)
                else:
                    for pending in lane.pending.values():
                        self._end(pending.give_up(), SESSION)
                    lane.session.lost()
        self._cluster.loop.flush()
        return not left

    def close(self) -> None:
        """Releases the buffers; what has no outcome yet never will."""
        while self._queue:
            found = self._queue.popleft()
            if isinstance(found, Arrival):
                found.release()
        for lane in self._lanes.values():
            for pending in lane.pending.values():
                self._end(pending.give_up(), "the consumer was closed before an answer came")

    def _next_turn(self, now: float) -> Lane | None:
        """With a limit of records one broker is asked at a time: each would acquire as many. The next, or None."""
        lanes = list(self._lanes.items())
        if any(lane.fetching or lane.buffered for _, lane in lanes):
            return None
        for node_id, lane in lanes:
            if lane.session.wanted and not lane.asked and lane.not_before <= now:
                # Last in turn from now on.
                self._lanes[node_id] = self._lanes.pop(node_id)
                return lane
        return None

    def _send(self, lane: Lane, now: float, *, waiting: bool, may_fetch: bool) -> bool:
        fetches = bool(lane.session.wanted) and not lane.buffered and may_fetch
        fetches = fetches and (waiting or (self.prefetches and lane.flows))
        if not (fetches or lane.has_pending or lane.session.has_news) or not self._is_available(lane, now):
            return False
        if lane.session.is_open and (lane.has_renewals or (lane.has_pending and not fetches)):
            self._acknowledge(lane, now)
            return True
        if fetches:
            longest = self._options.fetch_max_wait_ms / 1000
            if self._exact:
                read = [one for one in self._lanes.values() if one.session.wanted]
                # First a round that finds out which broker has records, then each may wait for its part of the time.
                waiting = all(one.idle for one in read)
                longest /= len(read)
            self._fetch(lane, now, longest if waiting else min(_BRIEFLY, longest), full=waiting)
            return True
        if lane.has_pending or (lane.session.is_open and not lane.session.wanted):
            # A session to acknowledge in, or one that no partition is read in: it acquires nothing.
            self._fetch(lane, now, 0.0, records=0)
            return True
        return False

    def _fetch(
        self, lane: Lane, now: float, wait: float, *, full: bool = False, records: int | None = None
    ) -> None:
        options = self._options
        limit = self.max_records if records is None else records
        request = ShareFetchRequest(
            group_id=options.group_id,
            member_id=self._member_id,
            share_session_epoch=lane.session.epoch,
            max_wait_ms=int(wait * 1000),
            min_bytes=options.fetch_min_bytes,
            max_bytes=min(options.fetch_max_bytes, options.fetch_buffer_bytes // (2 * len(self._lanes))),
            max_records=limit,
            batch_size=max(1, limit),
            share_acquire_mode=int(options.share_acquire_mode == "record_limit"),
            topics=[],
            forgotten_topics_data=[],
        )
        runs = lane.send() if lane.session.is_open else {}
        lane.session.fill_fetch(request, runs, lane.topic_ids)
        lane.full_wait, lane.fetching = full, limit > 0
        self._ask(lane, request, now, wait, self._handle_fetch)

    def _acknowledge(self, lane: Lane, now: float, *, final: bool = False) -> None:
        request = ShareAcknowledgeRequest(
            group_id=self._options.group_id,
            member_id=self._member_id,
            share_session_epoch=lane.session.epoch,
            topics=[],
        )
        lane.session.fill_acknowledge(request, lane.send(), lane.topic_ids, final=final)
        self._ask(lane, request, now, 0.0, self._handle_final if final else self._handle_acknowledge)

    def _ask(
        self,
        lane: Lane,
        request: ShareFetchRequest | ShareAcknowledgeRequest,
        now: float,
        wait: float,
        handle: Callable[[Lane, Any, float], None],
    ) -> None:
        lane.asked, lane.sent_at, lane.waits = True, now, wait
        timeout = self._options.request_timeout_ms / 1000 + wait
        future = self._cluster.send(request, lane.node_id, purpose=FETCH, timeout=timeout)
        future.on_done(lambda done: self._done(lane, done, handle))

    def _is_available(self, lane: Lane, now: float) -> bool:
        node = self._cluster.view.nodes.get(lane.node_id)
        if node is not None and self._cluster.brokers.available(node, FETCH, now):
            return True
        lane.not_before = now + 1.0 if node is None else self._cluster.brokers.retry_at(node, FETCH)
        self.wake_at = min(self.wake_at, lane.not_before)
        self._cluster.request_refresh()
        self._give_up_late(lane, now)
        return False

    def _can_renew(self, lane: Lane) -> bool:
        node = self._cluster.view.nodes.get(lane.node_id)
        offer = None if node is None else self._cluster.brokers.offer(node, FETCH)
        if offer is None:
            return True  # not connected at present: it is asked when it is
        known = offer.apis.get(ShareAcknowledgeRequest.api_key)
        return known is not None and known[1] >= _RENEWS

    # --- responses ---------------------------------------------------------------------------------

    def _done(self, lane: Lane, done: Future[Any], handle: Callable[[Lane, Any, float], None]) -> None:
        now = self._cluster.loop.now()
        lane.asked = lane.fetching = False
        error = done.error
        if error is None and done.value.error_code != NONE:
            code, answer = done.value.error_code, done.value
            error = BrokerError(
                code,
                f"share fetch from broker {lane.node_id}",
                message=answer.error_message or "",
                needs=[on_group("READ", self._options.group_id)],
            )
        if error is None:
            lane.session.answered()
            handle(lane, done.value, now)
            lane.worked()
            lane.tidy()
        else:
            self._failed(lane, error, now)

    def _failed(self, lane: Lane, error: BaseException, now: float) -> None:
        """The request as a whole has failed: begins a new session, and asks for metadata."""
        code = error.code if isinstance(error, BrokerError) else NONE
        for _, pending in lane.take_sent():
            if code == SHARE_SESSION_NOT_FOUND or (isinstance(error, KcliError) and _was_not_sent(error)):
                pending.retry()
            else:
                pending.no_answer()
        lane.session.lost()
        lane.exhausted = lane.flows = lane.idle = False
        # The broker releases what it holds for a session that ends: all that was not handed out would be
        # delivered twice.
        for one in self.held:
            if one.node_id == lane.node_id and not one.delivered:
                self._lose(one, SESSION)
        at_once = code in _SESSION_CODES and not lane.backoff.failures
        lane.failed(now)
        if at_once:
            lane.not_before = now
            return
        if not isinstance(error, KcliError):
            raise error
        if not classify_error(error).retriable:
            self._queue.append(error)
            return
        self._cluster.hooks.log("debug", "fetch", f"{error}; retrying")
        self._cluster.request_refresh()
        for tp in lane.session.wanted:
            self._stalls.met(tp, error, now)

    def _handle_fetch(self, lane: Lane, answer: ShareFetchResponse, now: float) -> None:
        self.fetches += 1
        if answer.acquisition_lock_timeout_ms > 0:
            self.lock_timeout = answer.acquisition_lock_timeout_ms / 1000
        arrival, troubled = Arrival(answer, lane), False
        sent = dict(lane.take_sent())
        rows = [
            (tp, topic.topic_id, data)
            for topic in answer.responses
            for data in topic.partitions
            if (tp := lane.session.partition(topic.topic_id, data.partition_index)) is not None
        ]
        # Acknowledgements before new records: what was released may come again with the same response.
        for tp, _, data in rows:
            pending = sent.pop(tp, None)
            if pending is not None:
                self._judge(lane, tp, pending, data.acknowledge_error_code, now)
        for pending in sent.values():
            pending.no_answer()
        for tp, topic_id, data in rows:
            if data.error_code != NONE:
                troubled = True
                self._partition_error(tp, data, now)
            elif tp in self._stalls.since:
                self._stalls.over(tp)
                self._backoffs.pop(tp, None)
            if data.acquired_records:
                self._add_records(arrival, tp, topic_id, data)
        if arrival.parts:
            lane.buffered += 1
            lane.flows, lane.idle, lane.exhausted = True, False, False
            self._queue.append(arrival)
        else:
            answer.release()
            lane.flows, lane.idle = False, True
            lane.exhausted = lane.full_wait and not troubled

    def _handle_acknowledge(self, lane: Lane, answer: ShareAcknowledgeResponse, now: float) -> None:
        if answer.acquisition_lock_timeout_ms > 0:
            self.lock_timeout = answer.acquisition_lock_timeout_ms / 1000
        sent = dict(lane.take_sent())
        for topic in answer.responses:
            for data in topic.partitions:
                for tp in [tp for tp in sent if tp.partition == data.partition_index]:
                    if lane.topic_ids.get(tp) == topic.topic_id:
                        self._judge(lane, tp, sent.pop(tp), data.error_code, now)
        for pending in sent.values():
            pending.no_answer()
        answer.release()

    def _handle_final(self, lane: Lane, answer: ShareAcknowledgeResponse, now: float) -> None:
        self._handle_acknowledge(lane, answer, now)
        lane.session.lost()

    def _judge(self, lane: Lane, tp: TopicPartition, pending: Pending, code: int, now: float) -> None:
        """The broker's answer to the acknowledgements of a partition."""
        if code == NONE:
            self._end(pending.confirm(), "")
        elif code in _NOT_HELD:
            self._end(pending.refuse(), EXPIRED)
        elif code in _LEADER_CODES:
            pending.retry()
            self._end(pending.give_up(), MOVED)
            self._cluster.request_refresh()
        elif code == UNKNOWN_SERVER_ERROR:
            pending.no_answer()
            lane.failed(now)
        elif classify_code(code).retriable:
            pending.retry()
            lane.failed(now)
        else:
            error = BrokerError(code, f"acknowledging records of {tp}", needs=[on_topic("READ", tp.topic)])
            pending.retry()
            self._end(pending.give_up(), str(error))
            self._queue.append(error)

    def _add_records(
        self, arrival: Arrival, tp: TopicPartition, topic_id: bytes, data: PartitionData
    ) -> None:
        until = arrival.lane.sent_at + self.lock_timeout if self.lock_timeout else _NEVER
        acquired = [
            Acquired(
                tp,
                topic_id,
                arrival.lane.node_id,
                row.first_offset,
                row.last_offset,
                row.delivery_count,
                until,
            )
            for row in data.acquired_records
        ]
        acquired.sort(key=lambda one: one.first)
        found = cut_delivery(tp, acquired, data.records, self._options, joins=self.joins)
        self.bytes_fetched += len(data.records) if isinstance(data.records, memoryview) else 0
        for one in acquired:
            self._supersede(one)
            if one.undecided:
                self.held.add(one)
                if one.deliveries > 1:
                    self.redelivered += sum(last - first + 1 for first, last in one.undecided)
            if one.has_news:
                self._touched[one] = None
        at = 0
        for batch in found.batches:
            while acquired[at].last < batch.first:
                at += 1
            arrival.parts.append((acquired[at], batch))
        for view, damage in found.skipped:
            self.skipped += 1
            text = f"{tp}: rejected {view.extent}, which are damaged: {damage.why}"
            self._cluster.hooks.log("warning", "fetch", text)
        if found.damage is not None:
            self._queue.append(found.damage)

    def _supersede(self, new: Acquired) -> None:
        """A range that is acquired again was not held any more: the broker's word on it is the last one."""
        for old in self.held.overlapping(new.tp, new.first, new.last):
            if old.is_open(new.first, new.last):
                self._lose(old, EXPIRED)
        for lane in self._lanes.values():
            if (pending := lane.pending.get(new.tp)) is not None:
                self._end(pending.drop(new.first, new.last), EXPIRED)

    def _partition_error(self, tp: TopicPartition, data: PartitionData, now: float) -> None:
        code = data.error_code
        error = BrokerError(
            code,
            f"share fetch of {tp}",
            message=data.error_message or "",
            needs=[on_topic("READ", tp.topic)],
        )
        backoff = self._backoffs.setdefault(tp, Backoff.of_requests(self._options))
        self._paused[tp] = now + backoff.next()
        if classify_code(code).retriable or code in _LEADER_CODES:
            self._stalls.met(tp, error, now)
            self._cluster.hooks.log("debug", "fetch", f"{error}; retrying")
            self._cluster.request_refresh()
            return
        if code == TOPIC_AUTHORIZATION_FAILED:
            self._paused[tp] = _NEVER
        self._queue.append(error)

    # --- outcomes ----------------------------------------------------------------------------------

    def _collect(self) -> None:
        """Queues what was decided since the last call at the brokers that hold it."""
        if not self._touched:
            return
        touched, self._touched = list(self._touched), {}
        for one in touched:
            if not one.has_news:
                continue
            decision = one.decide()
            if one.gone:
                decision.cell.apply(DecisionEvent.REFUSE)
                self._end([decision], one.gone)
            else:
                self._lane(one.node_id).add(decision)
            if not one.undecided:
                self.held.discard(one)

    def _end(self, decisions: Iterable[Decision], why: str) -> None:
        """Reports the outcome of each."""
        for decision in decisions:
            one, outcome = decision.acquired, decision.state
            if decision.is_renewal:
                one.renewing = False
                if outcome is DecisionState.CONFIRMED:
                    one.lock_until = self._lane(one.node_id).sent_at + self.lock_timeout
                else:
                    self._lose(one, why or EXPIRED)
                continue
            text = why
            if outcome is DecisionState.UNKNOWN:
                text = f"the answer was lost, and then: {why}"
            for run in decision.runs:
                if run.kind is not Acknowledge.GAP:
                    self._settled(Settled(one.tp, *run, one.deliveries, outcome, text))

    def _lose(self, one: Acquired, why: str) -> None:
        """The broker does not hold the range for this member any more."""
        one.gone = one.gone or why
        if not one.delivered:
            self.held.discard(one)

    def _give_up_late(self, lane: Lane, now: float) -> None:
        """A broker cannot be reached, and the locks have expired meanwhile."""
        for pending in lane.pending.values():
            if pending and now > pending.lock_until + _GRACE:
                self._end(pending.give_up(), EXPIRED)
        lane.tidy()

    # --- sources -----------------------------------------------------------------------------------

    def _lane(self, node_id: int) -> Lane:
        lane = self._lanes.get(node_id)
        if lane is None:
            lane = self._lanes[node_id] = Lane(node_id, Backoff.of_requests(self._options))
        return lane

    def _update_sources(self, now: float) -> None:
        """Reads each assigned partition from its leader."""
        due = [tp for tp, until in self._paused.items() if until <= now]
        for tp in due:
            del self._paused[tp]
        view = self._cluster.view
        if not due and view is self._view and self.assignment is self._adopted and not self._newly_paused():
            return
        self._view, self._adopted = view, self.assignment
        for tp in [tp for tp in self._read_from if tp not in self.assignment]:
            self._read_from.pop(tp).session.drop(tp)
            self._stalls.over(tp)
        for tp, topic_id in self.assignment.items():
            leader = view.leader(tp)
            before = self._read_from.get(tp)
            lane = None if leader is None else self._lane(leader.id)
            if before is not None and lane is not before:
                before.session.drop(tp)
                del self._read_from[tp]
                if lane is not None:
                    self._leave(before, tp)
            if lane is None:
                self._cluster.request_refresh()
                self._paused.setdefault(tp, now + 0.5)
                continue
            self._read_from[tp] = lane
            if tp in self._paused:
                lane.session.drop(tp)
            elif lane.session.wanted.get(tp) != topic_id:
                lane.session.want(tp, topic_id)
                lane.exhausted = False

    def _newly_paused(self) -> bool:
        return any(
            tp in lane.session.wanted for tp in self._paused if (lane := self._read_from.get(tp)) is not None
        )

    def _leave(self, lane: Lane, tp: TopicPartition) -> None:
        """Another broker leads the partition: the locks of the old one are gone."""
        for one in self.held.overlapping(tp, 0, 1 << 62):
            if one.node_id == lane.node_id:
                self._lose(one, MOVED)
        pending = lane.pending.get(tp)
        if pending is not None and not lane.asked:
            self._end(pending.give_up(), MOVED)
            lane.tidy()


def _was_not_sent(error: KcliError) -> bool:
    """Whether the broker certainly has not received the request."""
    return not isinstance(error, BrokerError | OutcomeUnknownError)
