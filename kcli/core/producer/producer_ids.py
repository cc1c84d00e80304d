"""Obtains the producer id of an idempotent producer, and a new one when its sequence numbers have a gap.

Runs in the sender's thread. A transactional producer obtains its id from its coordinator instead.
"""

from collections.abc import Callable
from typing import Any

from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.retry import Backoff, classify_error
from kcli.core.error_codes import CLUSTER_AUTHORIZATION_FAILED, NONE
from kcli.core.errors import BrokerError, KcliError, UnsupportedError
from kcli.core.future import Future
from kcli.core.permissions import on_topic
from kcli.core.producer.accumulator import NEVER, Accumulator
from kcli.core.producer.batch import ProducerBatch
from kcli.core.producer.idempotence import Idempotence
from kcli.core.producer.requests import NOT_IDEMPOTENT
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

_NEW_ID = "producer id"
_NO_TIMEOUT = 0x7FFF_FFFF  # the field only matters for transactions


class ProducerIds:
    """``in_flight`` counts partitions with unanswered batches; ``refused(error)``: no id can be obtained."""

    def __init__(
        self,
        cluster: Cluster,
        numbers: Idempotence,
        accumulator: Accumulator,
        in_flight: Callable[[], int],
        refused: Callable[[KcliError], None],
    ) -> None:
        self._cluster = cluster
        self._numbers = numbers
        self._accumulator = accumulator
        self._in_flight = in_flight
        self._refused = refused
        self._asking = False
        self._not_before = 0.0
        self._backoff = Backoff.of_requests(cluster.options)
        self.may_send = numbers.may_send
        """Whether a batch may be sent as far as its sequence number is concerned."""
        self.number_batch = numbers.number
        """The batch is being sent: numbers it."""

    def turn(self, now: float) -> float:
        """Requests an id when one is needed and possible; returns when to be called again."""
        numbers = self._numbers
        if self._asking or numbers.ready or self._cluster.view.version == 0:
            return NEVER
        if numbers.producer_id >= 0:
            queued = list(self._accumulator.queued())
            # What is still in flight, or may be stored, has numbers of the old epoch: bumped now, it would be
            # stored again under the new one.
            if not numbers.may_bump(self._in_flight(), queued):
                return NEVER
        if now < self._not_before:
            refusal = self._cluster.brokers.refusal(now)
            if refusal is not None:
                self._refused(refusal)  # what was queued since need not wait for the next attempt
            return self._not_before
        producer_id, epoch = numbers.ids_to_bump() if numbers.producer_id >= 0 else (-1, -1)
        request = _request(producer_id, epoch)
        self._asking = True
        asked = self._cluster.foreseen(_NEW_ID, request) if producer_id < 0 else self._cluster.send(request)
        asked.on_done(self._answered)
        return NEVER

    def foresee(self) -> None:
        """An id will be needed: see ``Cluster.foresee``."""
        self._cluster.foresee(_NEW_ID, _request(-1, -1))

    def batch_failed(self, batch: ProducerBatch, error: KcliError) -> None:
        """A batch has failed: if it was numbered, its sequence may now have a gap."""
        if batch.numbered:
            self._numbers.request_bump(batch.tp, str(error))

    def may_retry_after_gap(self, batch: ProducerBatch, error: BrokerError) -> bool:
        """The broker lacks batches before this one. True: it is retried under a new epoch."""
        self._numbers.request_bump(batch.tp, str(error))
        # It is not stored, nor is anything after it: the broker accepts no gaps.
        for one in (batch, *(b for b in self._accumulator.queued() if b.tp == batch.tp)):
            one.outcome_unknown = False
        return True

    def _answered(self, future: Future[Any]) -> None:
        self._asking = False
        if isinstance(future.error, KcliError):
            error = future.error
            if isinstance(error, UnsupportedError):
                error.do = error.do or NOT_IDEMPOTENT
        else:
            answer: InitProducerIdResponse = future.value
            if answer.error_code == NONE:
                self._backoff.reset()
                self._numbers.renew(
                    answer.producer_id, answer.producer_epoch, list(self._accumulator.queued())
                )
                return
            do = self._grant() if answer.error_code == CLUSTER_AUTHORIZATION_FAILED else ""
            error = BrokerError(answer.error_code, "requesting a producer id", do=do)
        self._not_before = self._cluster.loop.now() + self._backoff.next()
        if not classify_error(error).retriable:
            self._refused(error)

    def _grant(self) -> str:
        """The remedy: since Kafka 2.8, the permission to write to a topic is enough."""
        topic = next((batch.tp.topic for batch in self._accumulator.queued()), "TOPIC")
        own = on_topic("WRITE", topic).grant
        return f"{own} (on brokers before 2.8 also --operation idempotent_write --cluster)"


def _request(producer_id: int, epoch: int) -> InitProducerIdRequest:
    return InitProducerIdRequest(
        transactional_id=None,
        transaction_timeout_ms=_NO_TIMEOUT,
        producer_id=producer_id,
        producer_epoch=epoch,
    )
