"""Producer id, epoch and sequence numbers (KIP-98, KIP-360), which make retries safe.

Sequence numbers survive a topic that is temporarily missing from metadata. The epoch is bumped only while nothing is
in flight on any partition: a batch sent and stored under the old epoch would be stored again under the new one. Pure
bookkeeping, used by the sender's thread only.

Nor is it bumped while a numbered batch may still be at the broker (``may_bump``). After a gap such a batch is sent
once more under its old number, and the response (duplicate, or out of order) shows whether it was stored.

One batch per partition is in flight until its leader has confirmed one. A leader that does not know the producer
id accepts any sequence number as the first, so it would store the second batch when the first has failed. The Java
client has this gap. Tested in ``tests/fault/test_producer.py`` (P1, P2).
"""

from kcli.core.producer.batch import NO_SEQUENCE, ProducerBatch
from kcli.core.types import TopicPartition

SEQUENCES = 1 << 31
LAST_EPOCH = 0x7FFF


class Idempotence:
    """``producer_id`` is −1 until assigned by a broker. ``transactional`` marks the batches it numbers."""

    def __init__(self, *, transactional: bool = False) -> None:
        self._transactional = transactional
        self.producer_id = -1
        self.epoch = -1
        self.ready = False
        """Whether new batches can be numbered."""
        self.renewals = 0
        self.bump_requested = False
        self.bump_reason = ""
        self._next: dict[TopicPartition, int] = {}
        self._broken: set[TopicPartition] = set()
        self._known_at: set[TopicPartition] = set()

    def number(self, batch: ProducerBatch) -> None:
        """Assigns the partition's next sequence numbers to a batch, unless it has some already."""
        if batch.sequence == NO_SEQUENCE:
            first = self._next.get(batch.tp, 0)
            batch.producer_id, batch.epoch, batch.sequence = self.producer_id, self.epoch, first
            batch.transactional = self._transactional
            self._next[batch.tp] = (first + batch.builder.count) % SEQUENCES

    def shorten(self, batch: ProducerBatch, count: int) -> None:
        """Only ``count`` records of a refused batch are sent again: what follows is numbered without a gap.

        Where a later batch has its numbers already, brokers refuse it for the gap; it is numbered again after a bump.
        """
        end = (batch.sequence + batch.count) % SEQUENCES
        if batch.numbered and self._next.get(batch.tp) == end and batch.epoch == self.epoch:
            self._next[batch.tp] = (batch.sequence + count) % SEQUENCES

    def confirmed(self, batch: ProducerBatch) -> None:
        """The partition's leader has stored a batch, and so is aware of the producer id."""
        if batch.producer_id == self.producer_id and batch.tp not in self._known_at:
            self._known_at.add(batch.tp)

    def pipelines(self, tp: TopicPartition) -> bool:
        """Whether a second batch may be sent before the first is confirmed.

        A leader that has not seen the producer id accepts *any* number as the first, so it would store the second
        batch even if the first one failed.
        """
        return tp in self._known_at

    def may_send(self, batch: ProducerBatch) -> bool:
        """Numbered batches are sent even before an epoch bump, to determine what the broker has."""
        if batch.tp in self._broken:
            # The response to its old number says whether the broker has it: duplicate, or out of order.
            return batch.numbered and batch.outcome_unknown
        return self.ready or batch.numbered

    def request_bump(self, tp: TopicPartition, reason: str) -> None:
        """The sequence of ``tp`` has a gap at the broker: no later batch can be accepted."""
        self._broken.add(tp)
        self.bump_requested, self.ready = True, False
        self.bump_reason = self.bump_reason or reason

    def may_bump(self, in_flight: int, queued: list[ProducerBatch]) -> bool:
        """Whether everything sent under this epoch is completed, except for batches after a gap."""
        open_numbers = any(b.numbered and (b.outcome_unknown or b.tp not in self._broken) for b in queued)
        return self.bump_requested and in_flight == 0 and not open_numbers

    def ids_to_bump(self) -> tuple[int, int]:
        """The producer id and epoch to bump; (−1, −1) requests a new id, when epochs are exhausted."""
        # As the coordinator counts (KIP-360): 32,766 is the last epoch that is handed out, 32,767 is kept for
        # fencing.
        if self.epoch >= LAST_EPOCH - 1:
            return -1, -1
        return self.producer_id, self.epoch

    def renew(self, producer_id: int, epoch: int, queued: list[ProducerBatch]) -> None:
        """A new id or epoch: sequences restart at 0, and queued batches are numbered again when sent."""
        # Of an id that they know, leaders demand that a higher epoch begins with sequence 0, so batches may be
        # pipelined at once. A new id is known to none of them (`pipelines`).
        if producer_id != self.producer_id:
            self._known_at.clear()
        self.producer_id, self.epoch = producer_id, epoch
        self.renewals += 1
        self.bump_requested, self.bump_reason = False, ""
        self.ready = producer_id >= 0
        self._next.clear()
        self._broken.clear()
        for batch in queued:
            batch.number(-1, -1, NO_SEQUENCE)
