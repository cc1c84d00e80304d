"""What a partition remembers of producers: epoch, sequences, the last five batches (KIP-98, KIP-360, KIP-890).

Decides about a batch before it is appended; knows no log. The rules are those of Kafka's ProducerAppendInfo.
"""

from collections import deque
from dataclasses import dataclass, field

from kcli.core.records.batch import RecordBatch
from tests.fake.codes import Code, RefusedError

REMEMBERED = 5
_INT32_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Appended:
    """One remembered batch of a producer."""

    first_sequence: int
    last_sequence: int
    base_offset: int


@dataclass(slots=True)
class ProducerState:
    """``next_sequence`` is set by a test that wants a producer to stand elsewhere (wrap tests)."""

    epoch: int
    batches: deque[Appended] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    last_sequence: int = -1

    @property
    def next_sequence(self) -> int:
        return advance(self.last_sequence, 1) if self.last_sequence >= 0 else 0


class ProducerStates:
    """By producer id, of one partition."""

    def __init__(self) -> None:
        self.by_id: dict[int, ProducerState] = {}

    def duplicate(self, batch: RecordBatch) -> Appended | None:
        """The batch that was stored already, if it is one of the last five."""
        state = self.by_id.get(batch.producer_id)
        if state is None or state.epoch != batch.producer_epoch:
            return None
        wanted = (batch.base_sequence, last_sequence(batch))
        return next((b for b in state.batches if (b.first_sequence, b.last_sequence) == wanted), None)

    def check(self, batch: RecordBatch) -> None:
        """RefusedError for an old epoch or a sequence that does not follow."""
        state = self.by_id.get(batch.producer_id)
        if state is None:
            return  # nothing is known of this producer: it may start anywhere
        if batch.producer_epoch < state.epoch:
            raise RefusedError(
                Code.INVALID_PRODUCER_EPOCH, f"epoch {batch.producer_epoch} is older than {state.epoch}"
            )
        expected = 0 if batch.producer_epoch > state.epoch else state.next_sequence
        if batch.base_sequence != expected:
            raise RefusedError(
                Code.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"sequence {batch.base_sequence} where {expected} is expected",
            )

    def appended(self, batch: RecordBatch) -> None:
        """Remembers a batch that is in the log now."""
        state = self.by_id.get(batch.producer_id)
        if state is None or state.epoch != batch.producer_epoch:
            state = self.by_id[batch.producer_id] = ProducerState(batch.producer_epoch)
        state.last_sequence = last_sequence(batch)
        state.batches.append(Appended(batch.base_sequence, state.last_sequence, batch.base_offset))

    def marked(self, producer_id: int, epoch: int) -> None:
        """A transaction marker was written. A newer epoch makes sequences start again at 0 (KIP-890)."""
        state = self.by_id.get(producer_id)
        if state is None or epoch > state.epoch:
            self.by_id[producer_id] = ProducerState(epoch)


def advance(sequence: int, by: int) -> int:
    """Sequence numbers go from 2³¹−1 to 0."""
    return (sequence + by) % (_INT32_MAX + 1)


def last_sequence(batch: RecordBatch) -> int:
    return advance(batch.base_sequence, batch.last_offset_delta)
