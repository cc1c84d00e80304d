"""The sender thread: finds out leaders, drains batches to them, settles the answers in order.

One thread owns the loop, all connections and every batch that left the accumulator. Per turn: place what was
parked, expire, send what is ready, poll. Up to ``max.in.flight`` requests wait at each broker; one request
carries at most one batch of a partition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kcli.core.cluster.brokers import PRODUCE
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.retry import Backoff, judge, judge_code
from kcli.core.error_codes import (
    DUPLICATE_SEQUENCE_NUMBER,
    INVALID_PRODUCER_EPOCH,
    MESSAGE_TOO_LARGE,
    NONE,
    OUT_OF_ORDER_SEQUENCE_NUMBER,
    UNKNOWN_PRODUCER_ID,
)
from kcli.core.errors import BrokerError, KcliError, OutcomeUnknownError, TimedOutError
from kcli.core.future import Future
from kcli.core.options import ProducerOptions
from kcli.core.producer.accumulator import Accumulator
from kcli.core.producer.batch import BatchEvent, BatchState, ProducerBatch
from kcli.core.producer.idempotence import SEQUENCES, Idempotence
from kcli.core.producer.requests import answers, produce_request
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kcli.core.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
)
from kcli.core.types import Node, TopicPartition

_REQUEST_BYTES = 4_000_000
_LONGEST_WAIT = 1.0  # seconds between two looks at everything, whatever happens or does not
_LOST_NUMBERS = frozenset({OUT_OF_ORDER_SEQUENCE_NUMBER, UNKNOWN_PRODUCER_ID, INVALID_PRODUCER_EPOCH})
_ACKS = {"all": -1, "-1": -1, "1": 1, "0": 0}


@dataclass(slots=True)
class _Delivery:
    """One produce request on its way."""

    node: Node
    request: ProduceRequest
    batches: dict[TopicPartition, ProducerBatch]


class Sender:
    """``run`` is the body of the thread; ``settled(batch)`` is called for each batch that is done or failed."""

    def __init__(
        self,
        cluster: Cluster,
        options: ProducerOptions,
        accumulator: Accumulator,
        settled: Callable[[ProducerBatch], None],
    ) -> None:
        self._cluster = cluster
        self._options = options
        self._accumulator = accumulator
        self._settled = settled
        self._acks = _ACKS[options.acks]
        self._idempotence = Idempotence() if options.enable_idempotence and self._acks == -1 else None
        self._in_flight: dict[TopicPartition, list[ProducerBatch]] = {}
        self._requests_to: dict[int, int] = {}
        self._asking_id: Future[Any] | None = None
        self._ask_id_at = 0.0
        self._id_backoff = Backoff.of_requests(options)
        self._wanted: set[str] = set()
        self.lost_topics: dict[str, KcliError] = {}
        self._abandoned = False
        self.stop_when_idle = False
        self.stop_now = False
        self._wake_at = 0.0

    # --- the thread ----------------------------------------------------------------------------------

    def run(self) -> None:
        """Runs until ``stop_now``, or until ``stop_when_idle`` and everything is settled."""
        loop = self._cluster.loop
        loop.adopt()
        try:
            while not self.stop_now and not (self.stop_when_idle and self.idle):
                self.turn(loop.now())
                loop.poll(max(0.0, self._wake_at - loop.now()))
        finally:
            self._abandon()
            self._cluster.close()

    @property
    def idle(self) -> bool:
        """Whether nothing waits and nothing is in flight."""
        return not self._in_flight and self._accumulator.empty

    def turn(self, now: float) -> None:
        """One round of decisions and sends; does not wait."""
        self._wake_at = now + _LONGEST_WAIT
        self._cluster.maybe_refresh(now)
        self._give_up_lost_topics()
        self._place_parked()
        self._expire(now)
        if self._idempotence is not None:
            self._keep_producer_id(self._idempotence, now)
        self._send_ready(now)

    # --- leaders ------------------------------------------------------------------------------------

    def _place_parked(self) -> None:
        cluster = self._cluster
        for topic in self._accumulator.parked_topics():
            view = cluster.view.topics.get(topic)
            if view is not None and view.partitions:
                self._accumulator.unpark(topic)
            else:
                self._want(topic)

    def _give_up_lost_topics(self) -> None:
        """Records for a topic that has not been there for a while fail, instead of waiting for their timeout."""
        for topic in self._wanted:
            error = self._cluster.gone(topic)
            if error is None:
                self.lost_topics.pop(topic, None)
                continue
            self.lost_topics[topic] = error
            batches, parked = self._accumulator.take_topic(topic)  # also what came back from a broker since
            for one in parked:
                one.fail(error)
            for batch in batches:
                self._fail(batch, error)

    def _want(self, topic: str) -> None:
        cluster = self._cluster
        cluster.topics.add(topic)
        self._wanted.add(topic)
        cluster.request_refresh()

    # --- sending -------------------------------------------------------------------------------------

    def _send_ready(self, now: float) -> None:
        ready, wake = self._accumulator.ready(now)
        self._wake_at = min(self._wake_at, wake)
        by_leader: dict[Node, list[TopicPartition]] = {}
        for where in ready:
            leader = self._cluster.view.leader(where)
            if leader is None:
                self._want(where.topic)
            else:
                by_leader.setdefault(leader, []).append(where)
        for leader, partitions in by_leader.items():
            self._send_to(leader, partitions, now)

    def _send_to(self, leader: Node, partitions: list[TopicPartition], now: float) -> None:
        brokers = self._cluster.brokers
        if not brokers.available(leader, PRODUCE, now):
            self._wake_at = min(self._wake_at, brokers.retry_at(leader, PRODUCE))
            self._cluster.request_refresh()
            return
        limit = self._options.max_in_flight_requests_per_connection
        while partitions and self._requests_to.get(leader.id, 0) < limit:
            batches, partitions = self._drain(partitions, now)
            if not batches:
                return
            self._send(leader, batches)

    def _drain(
        self, partitions: list[TopicPartition], now: float
    ) -> tuple[dict[TopicPartition, ProducerBatch], list[TopicPartition]]:
        """One batch of each partition, as many as fit a request; and the partitions that may have more."""
        batches: dict[TopicPartition, ProducerBatch] = {}
        size, more = 0, []
        for index, where in enumerate(partitions):
            if size >= _REQUEST_BYTES:
                more.extend(partitions[index:])
                break
            first = self._accumulator.peek(where)
            if first is None or not self._may_send(first, where):
                continue
            batch = self._accumulator.take(where, now)
            if batch is None:
                continue
            if self._idempotence is not None:
                self._idempotence.number(batch)
            batches[where] = batch
            size += batch.size
            following = self._accumulator.peek(where)
            if following is not None and following.state is BatchState.QUEUED:
                more.append(where)
        return batches, more

    def _may_send(self, first: ProducerBatch, where: TopicPartition) -> bool:
        """Order within the partition: a retry goes alone; without numbers, only one batch at a time."""
        flying = self._in_flight.get(where)
        if self._idempotence is None:
            return not flying
        if flying and (first.attempts or any(batch.attempts > 1 for batch in flying)):
            return False
        return self._idempotence.may_send(first)

    def _send(self, leader: Node, batches: dict[TopicPartition, ProducerBatch]) -> None:
        request = produce_request(batches, self._cluster.view, self._acks, self._options.request_timeout_ms)
        for where, batch in batches.items():
            batch.cell.apply(BatchEvent.SEND)
            batch.attempts += 1
            self._in_flight.setdefault(where, []).append(batch)
        self._requests_to[leader.id] = self._requests_to.get(leader.id, 0) + 1
        delivery = _Delivery(leader, request, batches)
        answer = self._cluster.send(request, leader.id, purpose=PRODUCE)
        answer.on_done(lambda future: self._answered(delivery, future))

    # --- answers -------------------------------------------------------------------------------------

    def _answered(self, delivery: _Delivery, future: Future[Any]) -> None:
        if self._abandoned:
            return
        self._requests_to[delivery.node.id] -= 1
        now = self._cluster.loop.now()
        for where, batch in delivery.batches.items():
            flying = self._in_flight[where]
            flying.remove(batch)
            if not flying:
                del self._in_flight[where]
        error = future.error
        if error is not None:
            self._all_failed(delivery, error, now)
        elif future.value is None:  # acks=0: written to the socket, more is not known
            for batch in delivery.batches.values():
                self._confirm(batch, -1, -1)
        else:
            self._settle(delivery, future.value, now)

    def _all_failed(self, delivery: _Delivery, error: BaseException, now: float) -> None:
        if not isinstance(error, KcliError):
            raise error
        unknown = isinstance(error, OutcomeUnknownError)
        for batch in delivery.batches.values():
            batch.outcome_unknown = batch.outcome_unknown or unknown
            if judge(error).retriable:
                self._retry(batch, error, now)
            else:
                self._fail(batch, error)
        self._cluster.request_refresh()

    def _settle(self, delivery: _Delivery, answer: ProduceResponse, now: float) -> None:
        unanswered = dict(delivery.batches)
        for where, part in answers(delivery.request, answer):
            batch = unanswered.pop(where, None)
            if batch is not None:
                self._settle_one(batch, part, now)
        for batch in unanswered.values():  # never success by default
            batch.outcome_unknown = True
            what = f"{delivery.node} left {batch.where} out of its answer to Produce"
            self._retry(batch, OutcomeUnknownError(what), now)

    def _settle_one(self, batch: ProducerBatch, part: PartitionProduceResponse, now: float) -> None:
        code = part.error_code
        if code in (NONE, DUPLICATE_SEQUENCE_NUMBER):
            self._confirm(batch, part.base_offset, part.log_append_time_ms)
            return
        error = BrokerError(code, f"produce to {batch.where}", message=part.error_message or "")
        verdict = judge_code(code)
        if verdict.refresh == "metadata":
            self._want(batch.where.topic)
        if code == MESSAGE_TOO_LARGE and batch.count > 1:
            self._split(batch)
        elif verdict.retriable:
            self._retry(batch, error, now)
        elif self._idempotence is not None and code in _LOST_NUMBERS:
            self._numbers_lost(self._idempotence, batch, error, now)
        else:
            self._fail(batch, error)

    def _numbers_lost(
        self, numbers: Idempotence, batch: ProducerBatch, error: BrokerError, now: float
    ) -> None:
        """The broker misses a batch before this one: it comes again, or the producer starts a new epoch."""
        first = self._accumulator.peek(batch.where)
        others = [*self._in_flight.get(batch.where, []), *([first] if first else [])]
        earlier = any(other.numbered and other.goes_before(batch) for other in others)
        if error.code != OUT_OF_ORDER_SEQUENCE_NUMBER or not earlier:
            numbers.request_bump(batch.where, str(error))
            # It is not stored, and nothing behind it can be: the broker takes numbers without gaps only.
            for one in (batch, *(b for b in self._accumulator.queued() if b.where == batch.where)):
                one.outcome_unknown = False
        self._retry(batch, error, now)

    def _confirm(self, batch: ProducerBatch, base_offset: int, log_append_time: int) -> None:
        batch.confirm(base_offset, log_append_time)
        self._done(batch)

    def _retry(self, batch: ProducerBatch, error: KcliError, now: float) -> None:
        batch.not_before = now + Backoff.of_requests(self._options, batch.attempts - 1).next()
        batch.last_error = error
        batch.cell.apply(BatchEvent.RETRY, str(error))
        self._accumulator.put_back(batch)
        self._cluster.hooks.log("debug", "proto", f"{batch.where}: {error}; trying again")

    def _split(self, batch: ProducerBatch) -> None:
        """The broker finds the batch too large: it goes again in parts, which share its sequence numbers."""
        parts, sequence = [], batch.sequence
        room = max(1, batch.builder.size // 2)
        self._accumulator.shrink(batch.where.topic, room)
        for builder in batch.builder.split(room):
            part = ProducerBatch(batch.where, builder, batch.created, batch.deadline)
            part.cell.apply(BatchEvent.CLOSE)
            if batch.numbered:
                part.number(batch.producer_id, batch.epoch, sequence)
                sequence = (sequence + part.count) % SEQUENCES
            part.attempts = batch.attempts
            parts.append(part)
        batch.split_into(parts)
        self._accumulator.replace(batch, parts)

    def _fail(self, batch: ProducerBatch, error: KcliError) -> None:
        if self._idempotence is not None and batch.numbered:
            self._idempotence.request_bump(batch.where, str(error))
        batch.fail(error)
        self._done(batch)

    def _done(self, batch: ProducerBatch) -> None:
        self._settled(batch)
        self._accumulator.settled(batch)

    # --- the producer id -----------------------------------------------------------------------------

    def _keep_producer_id(self, numbers: Idempotence, now: float) -> None:
        if self._asking_id is not None or numbers.ready or self._cluster.view.version == 0:
            return
        queued = list(self._accumulator.queued())
        if numbers.producer_id >= 0 and not numbers.may_bump(len(self._in_flight), queued):
            return
        if now < self._ask_id_at:
            self._wake_at = min(self._wake_at, self._ask_id_at)
            return
        producer_id, epoch = numbers.asks_for() if numbers.producer_id >= 0 else (-1, -1)
        request = InitProducerIdRequest(
            transactional_id=None,
            transaction_timeout_ms=0x7FFFFFFF,
            producer_id=producer_id,
            producer_epoch=epoch,
        )
        self._asking_id = self._cluster.send(request)
        self._asking_id.on_done(lambda future: self._got_producer_id(numbers, future))

    def _got_producer_id(self, numbers: Idempotence, future: Future[Any]) -> None:
        self._asking_id = None
        now = self._cluster.loop.now()
        error: KcliError | None = None
        if isinstance(future.error, KcliError):
            error = future.error
        else:
            answer: InitProducerIdResponse = future.value
            if answer.error_code == NONE:
                self._id_backoff.reset()
                numbers.renew(answer.producer_id, answer.producer_epoch, list(self._accumulator.queued()))
                return
            error = BrokerError(answer.error_code, "asking for a producer id")
        self._ask_id_at = now + self._id_backoff.next()
        if not judge(error).retriable:
            self._fail_all(error)

    def _fail_all(self, error: KcliError, *, last: bool = False) -> None:
        batches, parked = self._accumulator.shut() if last else self._accumulator.take_all()
        for one in parked:
            one.fail(error)
        for batch in batches:
            unknown = OutcomeUnknownError(f"{batch.where}: {error.what}", why="it may be stored all the same")
            batch.fail(unknown if batch.outcome_unknown else error)
            self._done(batch)

    # --- time and the end ----------------------------------------------------------------------------

    def _expire(self, now: float) -> None:
        batches, parked, wake = self._accumulator.expired(now)
        self._wake_at = min(self._wake_at, wake)
        for one in parked:
            one.fail(TimedOutError("the topic's partitions could not be found out in time"))
        for batch in batches:
            self._fail(batch, self._timed_out(batch))

    def _timed_out(self, batch: ProducerBatch) -> KcliError:
        seconds = self._options.delivery_timeout_ms / 1000
        why = str(batch.last_error) if batch.last_error else "it could not be sent: " + self._obstacle(batch)
        what = f"{batch.where}: not confirmed within {seconds:g} s (delivery.timeout.ms)"
        if batch.outcome_unknown:
            return OutcomeUnknownError(what, why=why + "; the broker may have it all the same")
        return TimedOutError(what, why=why)

    def _obstacle(self, batch: ProducerBatch) -> str:
        leader = self._cluster.view.leader(batch.where)
        if leader is None:
            return "the partition has no leader that is known"
        failure = self._cluster.brokers.failure(leader, PRODUCE)
        return str(failure) if failure else f"{leader} did not take it"

    def _abandon(self) -> None:
        """Fails what is left, so that nobody waits for ever; answers that still come are not looked at."""
        self._abandoned = True
        error = KcliError("the producer was closed before the record was sent")
        unknown = OutcomeUnknownError("the producer was closed before the broker answered")
        for flying in list(self._in_flight.values()):
            for batch in flying:
                batch.fail(unknown)
                self._done(batch)
        self._in_flight.clear()
        self._fail_all(error, last=True)
