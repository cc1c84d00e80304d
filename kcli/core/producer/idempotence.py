"""Producer id, epoch and sequence numbers (KIP-98, KIP-360): what makes a retry harmless.

Numbers survive a topic that vanishes from metadata for a while. The epoch is bumped only while nothing is in
flight on any partition: a batch that was sent under the old epoch and stored would be stored again under the
new one. Pure bookkeeping, used by the sender's thread only.

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
    """``producer_id`` is −1 until a broker has given one. ``transactional`` marks the batches that it numbers."""

    def __init__(self, *, transactional: bool = False) -> None:
        self._transactional = transactional
        self.producer_id = -1
        self.epoch = -1
        self.renewals = 0
        self.bump_requested = False
        self.bump_reason = ""
        self._next: dict[TopicPartition, int] = {}
        self._broken: set[TopicPartition] = set()
        self._known_at: set[TopicPartition] = set()

    @property
    def ready(self) -> bool:
        """Whether new batches can be numbered."""
        return self.producer_id >= 0 and not self.bump_requested

    def number(self, batch: ProducerBatch) -> None:
        """Gives a batch the next sequence numbers of its partition; a batch that has some keeps them."""
        if not batch.numbered:
            first = self._next.get(batch.tp, 0)
            batch.number(self.producer_id, self.epoch, first)
            batch.transactional = self._transactional
            self._next[batch.tp] = (first + batch.count) % SEQUENCES

    def confirmed(self, batch: ProducerBatch) -> None:
        """The partition's leader has taken a batch: it knows the producer id now."""
        if batch.producer_id == self.producer_id:
            self._known_at.add(batch.tp)

    def pipelines(self, tp: TopicPartition) -> bool:
        """Whether a second batch may follow before the first is confirmed.

        A leader that has not seen the producer id takes *any* number as its first, so it would take the second
        batch although the first one failed.
        """
        return tp in self._known_at

    def may_send(self, batch: ProducerBatch) -> bool:
        """Numbered batches go out even before a bump, so that it becomes known what the broker has."""
        if batch.tp in self._broken:
            # Whether the broker has it is told by the answer to its old number: a duplicate, or out of order.
            return batch.numbered and batch.outcome_unknown
        return self.ready or batch.numbered

    def request_bump(self, tp: TopicPartition, reason: str) -> None:
        """The numbers of ``tp`` have a gap at the broker: nothing behind it can be accepted any more."""
        self._broken.add(tp)
        self.bump_requested = True
        self.bump_reason = self.bump_reason or reason

    def may_bump(self, in_flight: int, queued: list[ProducerBatch]) -> bool:
        """Whether everything sent under this epoch is settled, but for what stands behind a gap."""
        open_numbers = any(b.numbered and (b.outcome_unknown or b.tp not in self._broken) for b in queued)
        return self.bump_requested and in_flight == 0 and not open_numbers

    def asks_for(self) -> tuple[int, int]:
        """Producer id and epoch to be bumped: (−1, −1) asks for a new id, due when epochs are used up."""
        if self.epoch >= LAST_EPOCH - 1:
            return -1, -1
        return self.producer_id, self.epoch

    def renew(self, producer_id: int, epoch: int, queued: list[ProducerBatch]) -> None:
        """A new id or epoch: all sequences start at 0, what waits is numbered anew when it is sent."""
        if producer_id != self.producer_id:
            self._known_at.clear()
        self.producer_id, self.epoch = producer_id, epoch
        self.renewals += 1
        self.bump_requested, self.bump_reason = False, ""
        self._next.clear()
        self._broken.clear()
        for batch in queued:
            batch.number(-1, -1, NO_SEQUENCE)
