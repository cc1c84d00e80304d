"""The sender thread: finds leaders, drains batches to them and completes batches in the order of the responses.

One thread owns the event loop, all connections and every batch that left the accumulator. Each iteration places parked
records, expires batches, sends what is ready and polls. Up to ``max.in.flight`` requests are pending per broker, and
more of one that is far away (``cluster/window.py``), unless that option is set; a request carries at most one batch per
partition, and at most five batches of a partition are in flight.

Brokers refuse a request with two batches of one partition. With idempotence several requests of a partition may be
in flight; a batch that is retried is sent alone, and the batches that followed it are refused by the broker and
return in the order of their sequence numbers. Without idempotence one batch per partition is in flight: the Java
client allows five and may reorder, but order is worth more here.

All batches of a partition in flight are at one broker. A broker remembers the last five batches of a producer: if
the old leader is silent and the new one accepts more, it no longer remembers what the old one stored, and a retry
of that would get a new number. For the same reason more than five requests in flight require idempotence to be
off.

Records of a batch that a broker refuses fail, and the rest takes the numbers of the batch, so it is stored where the
batch would have been: what is in flight behind it is refused for the gap, and returns as after a retry. Only a broker
that does not know the producer any more accepts that at once, before the rest. Within a transaction nothing is sent
again: it can only be aborted (``splitting.py``).

A batch whose deadline passes in flight is failed at once, but remains in flight until its response: its bytes and
numbers are in use, and only the response shows whether the numbers have a gap. Tested in
``tests/fault/test_producer.py`` (P1, P7) and ``tests/unit/core/producer/test_sender.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from kcli.core import producer as parts
from kcli.core.classes import dataclass
from kcli.core.cluster.brokers import PRODUCE
from kcli.core.cluster.cluster import TOPIC_PATIENCE, Cluster
from kcli.core.cluster.metadata import no_partition, topic_error
from kcli.core.cluster.retry import (
    Backoff,
    StallReporter,
    classify_code,
    classify_error,
    outcome_is_ambiguous,
)
from kcli.core.cluster.window import FAR, Window
from kcli.core.error_codes import (
    CORRUPT_MESSAGE,
    DUPLICATE_SEQUENCE_NUMBER,
    INVALID_PRODUCER_EPOCH,
    MESSAGE_TOO_LARGE,
    NONE,
    OUT_OF_ORDER_SEQUENCE_NUMBER,
    UNKNOWN_PRODUCER_ID,
)
from kcli.core.errors import BrokerError, ClosedError, KcliError, OutcomeUnknownError
from kcli.core.future import Future
from kcli.core.options import ProducerOptions, is_default
from kcli.core.producer.accumulator import Accumulator
from kcli.core.producer.batch import BatchEvent, BatchState, ProducerBatch
from kcli.core.producer.idempotence import Idempotence
from kcli.core.producer.parked import Parked
from kcli.core.producer.producer_ids import ProducerIds
from kcli.core.producer.refusals import TOO_FEW_REPLICAS, Refusals, parked_too_long, timed_out
from kcli.core.producer.report import Counters
from kcli.core.producer.requests import BESIDE_BATCH, MOST_BYTES, answers, produce_request, room_for_batches
from kcli.core.producer.serialization import request_too_large
from kcli.core.producer.splitting import (
    CODES_OF_RECORDS,
    FIRST_WITH_RECORD_ERRORS,
    halves,
    named_records,
    without,
)
from kcli.core.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
)
from kcli.core.types import Node, TopicPartition

if TYPE_CHECKING:
    from kcli.core.producer.transaction_steps import TransactionSteps

_MOST_OF_A_PARTITION = 5  # batches in flight: a broker remembers as many of a producer (KIP-98)
_LONGEST_WAIT = 1.0  # seconds between two iterations at most
_LOST_NUMBERS = frozenset({OUT_OF_ORDER_SEQUENCE_NUMBER, UNKNOWN_PRODUCER_ID, INVALID_PRODUCER_EPOCH})
_MOST_SEARCHES = 32  # splits of a partition's batches without a record that was stored: then all are refused
_CORRUPT_TRIES = 3  # then it was not damaged on its way
_ACKS = {"all": -1, "-1": -1, "1": 1, "0": 0}


@dataclass(slots=True, eq=False, repr=False)
class _Delivery:
    """A produce request in flight."""

    node: Node
    request: ProduceRequest
    sent_at: float
    batches: list[ProducerBatch]
    size: int


class Sender:
    """``run`` is the body of the thread; ``complete(batch)`` is called for each batch confirmed or failed."""

    def __init__(
        self,
        cluster: Cluster,
        options: ProducerOptions,
        accumulator: Accumulator,
        complete: Callable[[ProducerBatch], None],
    ) -> None:
        self._cluster = cluster
        self._options = options
        self._accumulator = accumulator
        self._complete = complete
        self._acks = _ACKS[options.acks]
        self.transactions: TransactionSteps | None = None
        self._identity: ProducerIds | TransactionSteps | None = None
        self._numbers: Idempotence | None = None
        self._ids: ProducerIds | None = None
        self._in_flight: dict[TopicPartition, list[ProducerBatch]] = {}
        self._requests_to: defaultdict[int, int] = defaultdict(int)
        self._bytes_to: defaultdict[int, int] = defaultdict(int)
        self._windows: defaultdict[int, Window] = defaultdict(Window)
        self._room = room_for_batches(options)
        self._request_bytes = max(1, min(MOST_BYTES, self._room))  # a batch without room fails by itself
        self._adapts = is_default(options, "max_in_flight_requests_per_connection")
        self._refusals = Refusals(cluster)
        self.stalls = StallReporter(cluster.hooks, "proto")
        self.counters = Counters()
        self._wanted: set[str] = set()
        self._missing_since: dict[TopicPartition, float] = {}
        self._searches: defaultdict[TopicPartition, int] = defaultdict(int)
        self.lost_topics: dict[str, KcliError] = {}
        self._abandoned = False
        self._expire_at = 0.0  # before it no deadline passes
        self.stop_when_idle = False
        self.stop_now = False
        self._wake_at = 0.0
        if options.transactional_id:
            self._numbers = Idempotence(transactional=True)
            self.transactions = self._identity = parts.transaction_steps.TransactionSteps(
                cluster,
                options,
                self._numbers,
                accumulator,
                lambda: len(self._in_flight),
                self._drop_queued,
            )
        elif options.enable_idempotence and self._acks == -1:
            self._numbers = Idempotence()
            self._identity = self._ids = ProducerIds(
                cluster, self._numbers, accumulator, lambda: len(self._in_flight), self._drop_queued
            )

    def foresee(self) -> None:
        """A producer id will be needed, unless transactions ask for theirs."""
        if self._ids is not None:
            self._ids.foresee()

    # --- the thread ----------------------------------------------------------------------------------

    def run(self) -> None:
        """Runs until ``stop_now``, or until ``stop_when_idle`` and all batches are completed."""
        loop = self._cluster.loop
        loop.adopt()
        try:
            while not self.stop_now and not (self.stop_when_idle and self.idle):
                self.turn(loop.now())
                loop.poll_until(self._wake_at)
        finally:
            self._abandon()
            if self.transactions is not None:
                self.transactions.abandon()
            self._cluster.close()

    @property
    def producer_epochs(self) -> int:
        """How many producer ids or epochs were obtained."""
        return self._numbers.renewals if self._numbers is not None else 0

    @property
    def requests_in_flight(self) -> int:
        """Produce requests without a response."""
        return sum(self._requests_to.values())

    @property
    def idle(self) -> bool:
        """Whether nothing is queued or in flight, and no transactional call is running."""
        busy = self.transactions is not None and self.transactions.busy
        return not busy and not self._in_flight and self._accumulator.empty

    def turn(self, now: float) -> None:
        """One iteration of decisions and sends; does not wait."""
        self._cluster.maybe_refresh(now)
        if self._wanted:
            self._fail_lost_topics(now)
        if self._accumulator.parked_queues:
            for topic in self._accumulator.parked_topics:
                self._place_parked(topic)
        # Before anything is sent: a batch that has expired in the queue is known not to be stored. Sent now,
        # its outcome would be unknown.
        if now >= self._expire_at:
            self._expire(now)
        ready, wake = self._accumulator.ready(now)
        self._wake_at = wake
        if self._expire_at < wake:
            self._wake_at = self._expire_at
        if now + _LONGEST_WAIT < self._wake_at:
            self._wake_at = now + _LONGEST_WAIT
        if ready:
            self._send_ready(ready, now)
        if self._identity is not None:  # last: what could not be sent determines which request is due
            due = self._identity.turn(now)
            if due < self._wake_at:
                self._wake_at = due

    # --- leaders ------------------------------------------------------------------------------------

    def _place_parked(self, topic: str) -> None:
        view = self._cluster.view.topics.get(topic)
        if view is not None and view.partitions:
            self._accumulator.unpark(topic)
        else:
            self._request_metadata(topic)

    def _fail_lost_topics(self, now: float) -> None:
        """Records for a topic that has not been there for a while, or is not for us, need not wait for their timeout."""
        for topic in self._wanted:
            error = self._cluster.gone(topic) or self._refused(topic, now)
            if error is None:
                self.lost_topics.pop(topic, None)
                continue
            self.lost_topics[topic] = error
            batches, parked = self._accumulator.remove_topic(topic)  # including batches being retried
            for one in parked:
                one.fail(error)
            for batch in batches:
                self._fail(batch, error)

    def _refused(self, topic: str, now: float) -> KcliError | None:
        view = self._cluster.view.topics.get(topic)
        if view is None or not view.partitions:
            refusal = self._cluster.brokers.refusal(now)
            if refusal is not None:
                return refusal
        if view is None or view.partitions or view.error == NONE or classify_code(view.error).retriable:
            return None
        return topic_error(view)

    def _request_metadata(self, topic: str) -> None:
        cluster = self._cluster
        cluster.topics.add(topic)
        self._wanted.add(topic)
        cluster.request_refresh()

    # --- sending -------------------------------------------------------------------------------------

    def _send_ready(self, ready: list[TopicPartition], now: float) -> None:
        by_leader: dict[Node, list[TopicPartition]] = {}
        for tp in ready:
            leader = self._cluster.view.leader(tp)
            if leader is None:
                self._wait_for_leader(tp, now)
            else:
                if self._missing_since:
                    self._missing_since.pop(tp, None)
                if leader in by_leader:
                    by_leader[leader].append(tp)
                else:
                    by_leader[leader] = [tp]
        for leader, partitions in by_leader.items():
            self._send_to(leader, partitions, now)

    def _wait_for_leader(self, tp: TopicPartition, now: float) -> None:
        """Requests metadata; the records fail if the topic has not had the partition for a while."""
        topic = self._cluster.view.topics.get(tp.topic)
        if topic is None or not topic.partitions or topic.partition(tp.partition) is not None:
            self._missing_since.pop(tp, None)
        elif now - self._missing_since.setdefault(tp, now) >= TOPIC_PATIENCE:
            del self._missing_since[tp]
            error = no_partition(tp, len(topic.partitions))
            for batch in self._accumulator.remove_partition(tp):
                self._fail(batch, error)
            return
        self.stalls.met(tp, KcliError(f"{tp} has no leader"), now)
        self._request_metadata(tp.topic)

    def _send_to(self, leader: Node, partitions: list[TopicPartition], now: float) -> None:
        if not self._has_room(leader.id):
            self._accumulator.hold_partitions(partitions)
            return
        brokers = self._cluster.brokers
        if not brokers.available(leader, PRODUCE, now):
            self._wake_at = min(self._wake_at, brokers.retry_at(leader, PRODUCE))
            self._cluster.request_refresh()
            failure = brokers.failure(leader, PRODUCE) or KcliError(f"{leader} cannot be reached")
            self.stalls.met(partitions[0], failure, now)
            return
        may_send = partial(self._may_send, leader)
        while partitions and self._has_room(leader.id):
            batches, partitions, wake = self._accumulator.take_batches(
                partitions, now, may_send, self._request_bytes
            )
            if wake < self._wake_at:
                self._wake_at = wake
            if not batches:
                return
            first = batches[0]
            if len(batches) > 1 or first.size + len(first.tp.topic) + BESIDE_BATCH > self._room:
                batches = self._within_limit(batches, now)
            if batches:
                self._send(leader, batches)
        if partitions:
            self._accumulator.hold_partitions(partitions)

    def _within_limit(self, batches: list[ProducerBatch], now: float) -> list[ProducerBatch]:
        """Those of the batches that are no more than ``max.request.size`` together, now that they are compressed.

        One that is larger alone is split, or fails where it is one record. What is split or left is for the next turn.
        """
        room = most = self._room
        taken: list[ProducerBatch] = []
        for batch in batches:
            batch.seal()
            size = batch.builder.wire_size + len(batch.tp.topic) + BESIDE_BATCH
            if size <= room:
                taken.append(batch)
                room -= size
                continue
            self._wake_at = now
            if size <= most:
                self._accumulator.put_back(batch)
            elif batch.count > 1:
                self._split(batch)
            else:
                limit = self._options.max_request_size
                self._fail(batch, request_too_large(batch.tp, batch.first + 1, size + limit - most, limit))
        return taken

    def _has_room(self, node_id: int) -> bool:
        """Whether one more request may be in flight."""
        if self._requests_to[node_id] < self._options.max_in_flight_requests_per_connection:
            return True
        return self._adapts and self._bytes_to[node_id] < self._windows[node_id].size

    def _may_send(self, leader: Node, first: ProducerBatch) -> bool:
        """Keeps order within the partition: a retry goes alone; without sequence numbers, only one batch at a time."""
        # What goes wrong otherwise, without numbers: batch 1 is refused (NOT_LEADER_OR_FOLLOWER), batch 2 is
        # stored, batch 1 is sent again and stored behind it. With numbers the broker refuses batch 2 for the
        # gap (KIP-98).
        tp = first.tp
        flying = self._in_flight.get(tp)
        if self._identity is None or self._numbers is None:
            return not flying
        if flying and len(flying) >= _MOST_OF_A_PARTITION:
            return False
        if flying and flying[0].sent_to != leader.id:
            # The leader has moved, and batches at the old one may be stored. A broker remembers the last five
            # batches of a producer: five new ones at the new leader, and an old one that is repeated is no
            # duplicate any more.
            return False
        # The first batch for a leader goes alone: see Idempotence.pipelines.
        if flying and not self._numbers.pipelines(tp):
            return False
        # If a retry fails once more, everything that was sent behind it is refused for the gap, and sent once
        # more too.
        if flying and (first.attempts or flying[0].attempts > 1):  # a retry in flight is alone there
            return False
        return self._identity.may_send(first)

    def _send(self, leader: Node, batches: list[ProducerBatch]) -> None:
        for batch in batches:  # first: a batch in flight is always completed, whatever happens
            if self._identity is not None:
                self._identity.number_batch(batch)
            batch.cell.apply(BatchEvent.SEND)
            batch.attempts += 1
            batch.sent_to = leader.id
            if batch.tp in self._in_flight:
                self._in_flight[batch.tp].append(batch)
            else:
                self._in_flight[batch.tp] = [batch]
        request = produce_request(batches, self._cluster.view, self._acks, self._options.request_timeout_ms)
        if self.transactions is not None:
            self.transactions.mark_request(request)
        sent_at = self._cluster.loop.now()  # after the compression
        size = 0
        for batch in batches:
            batch.sent_at = batch.sent_at or sent_at
            size += batch.builder.wire_size
        self.counters.bytes_sent += size
        self.counters.requests += 1
        self.counters.batches += len(batches)
        self._requests_to[leader.id] += 1
        self._bytes_to[leader.id] += size
        delivery = _Delivery(leader, request, sent_at, batches, size)
        answer = self._cluster.send(request, leader.id, purpose=PRODUCE)
        answer.on_done(partial(self._answered, delivery))

    # --- responses -----------------------------------------------------------------------------------

    def _answered(self, delivery: _Delivery, future: Future[Any]) -> None:
        if self._abandoned:
            return
        self._requests_to[delivery.node.id] -= 1
        self._bytes_to[delivery.node.id] -= delivery.size
        now = self._cluster.loop.now()
        for batch in delivery.batches:
            # Out of flight before anything is decided: _may_retry_without_predecessor looks for other batches
            # there, and a batch that is put back must not be in two places.
            flying = self._in_flight[batch.tp]
            flying.remove(batch)
            if not flying:
                del self._in_flight[batch.tp]
        error = future.error
        if error is not None:
            self._request_failed(delivery, error, now)
            return
        answer: ProduceResponse | None = future.value
        if answer is None:  # acks=0: written to the socket, nothing more is known
            for batch in delivery.batches:
                self._confirm(batch, -1, -1)
        else:
            self.counters.answered(now - delivery.sent_at, answer.throttle_time_ms / 1000)
            window = self._windows[delivery.node.id]
            if now - delivery.sent_at >= FAR or window.size:
                window.answered(delivery.size, now, self._cluster.brokers.round_trip(delivery.node, PRODUCE))
            self._complete_request(delivery, answer, now)

    def _request_failed(self, delivery: _Delivery, error: BaseException, now: float) -> None:
        if not isinstance(error, KcliError):
            raise error
        retry_at = now + self._pause(min(batch.attempts for batch in delivery.batches))
        for batch in delivery.batches:
            # Stays set through retries: what a later attempt is answered does not say what became of this one.
            batch.outcome_unknown = batch.outcome_unknown or outcome_is_ambiguous(error)
            if batch.state is BatchState.FAILED:
                self._handle_late_response(batch, error)
            elif classify_error(error).retriable:
                self._retry(batch, error, retry_at)
            else:
                self._fail(batch, error)
        self._cluster.request_refresh()

    def _complete_request(self, delivery: _Delivery, answer: ProduceResponse, now: float) -> None:
        unanswered: dict[tuple[str, int], ProducerBatch] = {}
        for batch in delivery.batches:
            unanswered[batch.tp] = batch
        for tp, part in answers(delivery.request, answer):
            if tp in unanswered:
                self._complete_part(unanswered.pop(tp), part, now)
        if unanswered:
            self._handle_omitted(delivery, unanswered.values(), now)

    def _handle_omitted(self, delivery: _Delivery, batches: Iterable[ProducerBatch], now: float) -> None:
        """Batches that are missing from the response: never treated as success."""
        for batch in batches:
            batch.outcome_unknown = True
            error = OutcomeUnknownError(f"{delivery.node} omitted {batch.tp} from its response to Produce")
            if batch.state is BatchState.FAILED:
                self._handle_late_response(batch, error)
            else:
                self._retry(batch, error, now + self._pause(batch.attempts))

    def _complete_part(self, batch: ProducerBatch, part: PartitionProduceResponse, now: float) -> None:
        code = part.error_code
        # DUPLICATE_SEQUENCE_NUMBER: an attempt without a response has stored it, so many batches ago that the
        # broker has forgotten the offset; for the last five it answers with NONE and the old offset (KIP-98).
        stored = code in (NONE, DUPLICATE_SEQUENCE_NUMBER)
        if batch.cell.state is BatchState.FAILED:
            self._handle_late_response(batch, None if stored else BrokerError(code, f"produce to {batch.tp}"))
            return
        if stored:
            self._confirm(batch, part.base_offset, part.log_append_time_ms)
            return
        error = self._refusals.error(batch, code, part.error_message)
        decision = classify_code(code)
        batch.outcome_unknown = batch.outcome_unknown or outcome_is_ambiguous(error)
        if decision.refresh == "metadata" or code in TOO_FEW_REPLICAS:  # metadata lists the in-sync replicas
            self._request_metadata(batch.tp.topic)
        if code == MESSAGE_TOO_LARGE and batch.count > 1:
            self._accumulator.shrink(batch.tp.topic, max(1, batch.builder.size // 2))
            self._split(batch)
        elif code == MESSAGE_TOO_LARGE and not self._refusals.limits_known(batch.tp.topic):
            # retried, so that the error can include the limit
            self._retry(batch, error, now + self._pause(batch.attempts))
        elif code in CODES_OF_RECORDS or (
            # as brokers before 2.4 call a record without key for a compacted topic
            code == CORRUPT_MESSAGE and batch.attempts >= _CORRUPT_TRIES and not self._names_records(batch)
        ):
            self._refuse_records(batch, part)
        elif decision.retriable or (
            self._identity is not None
            and code in _LOST_NUMBERS
            and self._may_retry_without_predecessor(batch, error)
        ):
            self._retry(batch, error, now + self._pause(batch.attempts))
        else:
            self._fail(batch, error)

    def _may_retry_without_predecessor(self, batch: ProducerBatch, error: BrokerError) -> bool:
        """The broker lacks a batch before this one: the earlier one is retried, or all are under a new epoch."""
        if self._identity is None:
            return False
        first = self._accumulator.first_batch(batch.tp)
        others = [*self._in_flight.get(batch.tp, []), *([first] if first else [])]
        earlier = any(other.numbered and other.goes_before(batch) for other in others)
        # The earlier batch is on its way again and closes the gap. A new epoch would be wrong while it may be
        # stored under the old one.
        if error.code == OUT_OF_ORDER_SEQUENCE_NUMBER and earlier:
            return True
        return self._identity.may_retry_after_gap(batch, error)

    def _handle_late_response(self, batch: ProducerBatch, error: KcliError | None) -> None:
        """Its records failed while it was in flight; only now is the fate of its sequence numbers known."""
        self._accumulator.release(batch)
        if error is None and self._numbers is not None:
            self._numbers.confirmed(batch)
        elif error is not None and self._identity is not None:
            self._identity.batch_failed(batch, error)

    def _confirm(self, batch: ProducerBatch, base_offset: int, log_append_time: int) -> None:
        batch.confirm(base_offset, log_append_time)
        if self._searches:
            self._searches.pop(batch.tp, None)
        if self._numbers is not None:
            self._numbers.confirmed(batch)
        self._done(batch)

    def _pause(self, attempts: int) -> float:
        return Backoff.of_requests(self._options, attempts - 1).next()

    def _retry(self, batch: ProducerBatch, error: KcliError, at: float) -> None:
        self.counters.retries += 1
        batch.not_before = at
        batch.last_error = error
        batch.cell.apply(BatchEvent.RETRY, str(error))
        self._accumulator.put_back(batch)
        self.stalls.met(batch.tp, error, self._cluster.loop.now())
        self._cluster.hooks.log("debug", "proto", f"{batch.tp}: {error}; retrying")

    def _split(self, batch: ProducerBatch) -> None:
        """It is too large for the broker or for a request, or the broker does not say which of its records it refuses."""
        self.counters.splits += 1
        self._accumulator.replace(batch, halves(batch))

    def _refuse_records(self, batch: ProducerBatch, part: PartitionProduceResponse) -> None:
        """The broker refused records of the batch: they fail, and the others are sent again without them.

        They keep their order: what was sent after the batch is refused for the gap, and follows its rest.
        """
        refused = named_records(part, batch.count)
        if len(refused) == batch.count and len(set(refused.values())) == 1:
            self._fail(batch, self._refusals.of_record(batch.tp, part.error_code, refused[0]))
        elif refused:
            self._send_without(batch, part.error_code, refused)
        elif batch.count == 1 or batch.whole or not self._may_search(batch):
            self._fail(batch, self._refusals.of_batch(batch, part.error_code, part.error_message))
        else:
            self._split(batch)

    def _send_without(self, batch: ProducerBatch, code: int, refused: dict[int, str]) -> None:
        left, culprits = without(batch, refused)
        again = not batch.whole and not batch.outcome_unknown
        failed = [part for part, _ in culprits] + ([] if again else left)
        self._accumulator.replace(batch, left if again else [], failed)
        # An earlier attempt may have stored all of it, whatever the broker says now.
        if batch.outcome_unknown:
            for part in failed:
                part.number(batch.producer_id, batch.epoch, batch.sequence)
                part.outcome_unknown = True
        elif again and self._numbers is not None:
            self._numbers.shorten(batch, sum(part.count for part in left))
        for part, reason in culprits:
            self._fail(part, self._refusals.of_record(batch.tp, code, reason))
        for part in left:
            part.last_error = self._refusals.of_companion(batch.tp, code, culprits[0][1])
            if not again:
                self._fail(part, part.last_error)

    def _may_search(self, batch: ProducerBatch) -> bool:
        """Brokers before 2.4, and some that are not Apache Kafka's, name no record: parts are sent until it is alone,
        unless nothing else is ever stored.
        """
        self._searches[batch.tp] += 1
        return self._searches[batch.tp] <= _MOST_SEARCHES

    def _names_records(self, batch: ProducerBatch) -> bool:
        """Whether the broker that responded names the records that it refuses (KIP-467)."""
        offer = self._cluster.brokers.offer(self._cluster.node(batch.sent_to), PRODUCE)
        return offer is None or offer.apis[ProduceRequest.api_key][1] >= FIRST_WITH_RECORD_ERRORS

    def _fail(self, batch: ProducerBatch, error: KcliError) -> None:
        batch.fail(self._final_error(batch, error))
        self._done(batch)
        if self._identity is not None:
            self._identity.batch_failed(batch, error)

    def _done(self, batch: ProducerBatch) -> None:
        if self.stalls.since:
            self.stalls.over(batch.tp)
        self._complete(batch)  # first: a flush that no longer finds the batch must find it counted
        self._accumulator.release(batch)

    # --- failures ------------------------------------------------------------------------------------

    def _drop_queued(self, error: KcliError) -> None:
        """Fails everything queued; batches in flight are completed by their responses."""
        self._fail_all(error, *self._accumulator.remove_all())

    def _fail_all(self, error: KcliError, batches: list[ProducerBatch], parked: list[Parked]) -> None:
        for one in parked:
            one.fail(error)
        for batch in batches:
            batch.fail(self._final_error(batch, error))
            self._done(batch)

    def _final_error(self, batch: ProducerBatch, error: KcliError) -> KcliError:
        """The error for its records: an earlier attempt may have stored them, unless a transaction hides that anyway."""
        if (
            not batch.outcome_unknown
            or self.transactions is not None
            or isinstance(error, OutcomeUnknownError)
        ):
            return error
        why = (
            f"{error.why}; the broker may have stored it nevertheless, at an earlier attempt"
            if error.why
            else "the broker may have stored it nevertheless, at an earlier attempt"
        )
        return OutcomeUnknownError(f"{batch.tp}: {error.what}", why=why, do=error.do)

    def _expire(self, now: float) -> None:
        batches, parked, wake = self._accumulator.remove_past_delivery_timeout(now)
        for one in parked:
            one.fail(parked_too_long(one.topic, self._cluster, self._options.delivery_timeout_ms))
        for batch in batches:
            self._fail(batch, timed_out(batch, self._cluster, self._options.delivery_timeout_ms))
        for flying in self._in_flight.values():
            for batch in flying:
                if batch.state is not BatchState.IN_FLIGHT:
                    continue
                if batch.deadline > now:
                    wake = min(wake, batch.deadline)
                    break
                self._expire_in_flight(batch)
        # What is queued from now on has a later deadline.
        self._expire_at = min(wake, now + self._options.delivery_timeout_ms / 1000)

    def _expire_in_flight(self, batch: ProducerBatch) -> None:
        """Expires a batch in flight: its records fail; its memory and numbers stay in use until the response."""
        batch.outcome_unknown = True
        batch.last_error = batch.last_error or KcliError(f"node {batch.sent_to} has not responded")
        error = timed_out(batch, self._cluster, self._options.delivery_timeout_ms)
        batch.fail(error)
        self._complete(batch)
        if self.transactions is not None:
            self.transactions.batch_failed(batch, error)

    def _abandon(self) -> None:
        """Fails everything left, so that no caller waits indefinitely; later responses are ignored."""
        # First: closing the connections completes every request in flight with an error, for batches that are
        # completed below.
        self._abandoned = True
        error = ClosedError("the producer was closed before the record was sent")
        unknown = OutcomeUnknownError("the producer was closed before the broker responded")
        for flying in list(self._in_flight.values()):
            for batch in flying:
                if batch.state is BatchState.IN_FLIGHT:
                    batch.fail(unknown)
                    self._done(batch)
        self._in_flight.clear()
        self._fail_all(error, *self._accumulator.shut_down())
