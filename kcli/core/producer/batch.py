"""A batch being sent: its records, destination, attempts and delivery result.

Filled by the caller's thread under the accumulator's lock; once queued, it belongs to the sender.

The transactional bit survives a split: a broker accepts a plain batch in a transactional request without an error
and shows its records at once.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import accumulate
from operator import itemgetter
from threading import Lock

from kcli.core.errors import KcliError
from kcli.core.producer.origins import OriginRows
from kcli.core.protocol.codec import Buffer
from kcli.core.records.builder import BatchBuilder
from kcli.core.state_cell import StateCell, TableKey
from kcli.core.types import RecordMetadata, TopicPartition


class BatchState(TableKey):
    """OPEN accepts records; QUEUED waits to be sent, for the first time or again."""

    OPEN = "open"
    QUEUED = "queued"
    IN_FLIGHT = "in flight"
    DONE = "done"
    FAILED = "failed"
    REPLACED = "replaced"


class BatchEvent(TableKey):
    """What can happen to a batch."""

    CLOSE = "close"
    SEND = "send"
    RETRY = "retry"
    CONFIRM = "confirm"
    FAIL = "fail"
    SPLIT = "split"


TABLE: dict[tuple[BatchState, BatchEvent], BatchState] = {
    (BatchState.OPEN, BatchEvent.CLOSE): BatchState.QUEUED,
    (BatchState.QUEUED, BatchEvent.SEND): BatchState.IN_FLIGHT,
    (BatchState.QUEUED, BatchEvent.SPLIT): BatchState.REPLACED,
    (BatchState.IN_FLIGHT, BatchEvent.RETRY): BatchState.QUEUED,
    (BatchState.IN_FLIGHT, BatchEvent.CONFIRM): BatchState.DONE,
    (BatchState.IN_FLIGHT, BatchEvent.SPLIT): BatchState.REPLACED,
    (BatchState.OPEN, BatchEvent.FAIL): BatchState.FAILED,
    (BatchState.QUEUED, BatchEvent.FAIL): BatchState.FAILED,
    (BatchState.IN_FLIGHT, BatchEvent.FAIL): BatchState.FAILED,
}

NO_SEQUENCE = -1
_FIRST = itemgetter(0)


class Delivery:
    """The result of a batch, shared by all its records. ``base_offset`` −1: not reported by the broker.

    ``watchers`` are called by the sender's thread when it completes. ``reported``: it has been counted and reported
    as well. A batch that was split delegates to the deliveries of its ``parts``: for each run of its records, the index
    of the first, the delivery, and the index there.
    """

    __slots__ = ("base_offset", "done", "error", "log_append_time", "parts", "reported", "watchers")

    def __init__(self) -> None:
        self.base_offset = -1
        self.log_append_time = -1
        self.error: KcliError | None = None
        self.done = False
        self.reported = False
        self.parts: Sequence[tuple[int, Delivery, int]] = ()
        self.watchers: list[Callable[[], None]] = []

    @property
    def all_reported(self) -> bool:
        """Whether all its records are counted and reported, which completes a flush."""
        return self.reported or (bool(self.parts) and all(part.all_reported for _, part, _ in self.parts))

    def of(self, index: int) -> "tuple[Delivery, int]":
        """The delivery of the record at ``index`` after splits, and its index there."""
        if not self.parts:
            return self, index
        first, part, start = self.parts[bisect_right(self.parts, index, key=_FIRST) - 1]
        return part.of(index - first + start)


class ProducerBatch:
    """``created`` and ``deadline`` are on the loop's clock; the producer fields are set when it is numbered.

    ``first`` is the index of its first record among all this producer was given for the partition. ``origins`` say
    which rows of the caller its records are, where the caller gave an origin. ``whole``: if a broker refuses one of its
    records, the others are not sent without it.
    """

    def __init__(
        self, tp: TopicPartition, builder: BatchBuilder, created: float, deadline: float, first: int = 0
    ) -> None:
        self.tp = tp
        self.builder = builder
        self.created = created
        self.deadline = deadline
        self.first = first
        self.delivery = Delivery()
        self.cell = StateCell(BatchState.OPEN, TABLE)
        self.attempts = 0
        self.not_before = 0.0
        self.last_error: KcliError | None = None
        self.outcome_unknown = False
        self.producer_id, self.epoch, self.sequence = -1, -1, NO_SEQUENCE
        self.transactional = False
        self.full = False  # what did not fit is put into the next batch
        self.sent_to = -1
        self.sent_at: float | None = None
        self.size = 0
        self.origins: list[OriginRows] = []
        self.whole = False
        self.sealed: Lock | None = None  # of a thread that compresses it

    @property
    def state(self) -> BatchState:
        """The current state."""
        return self.cell.state

    @property
    def count(self) -> int:
        """The number of records."""
        return self.builder.count

    @property
    def numbered(self) -> bool:
        """Whether it has a sequence number: the broker may already have it."""
        return self.sequence != NO_SEQUENCE

    def goes_before(self, other: "ProducerBatch") -> bool:
        """Whether it precedes the other in the partition's sequence, whose numbers wrap at 2³¹."""
        return 0 < (other.sequence - self.sequence) & 0x7FFFFFFF < 0x40000000

    def number(self, producer_id: int, epoch: int, sequence: int) -> None:
        """Assigns its sequence number in the partition (KIP-98)."""
        self.producer_id, self.epoch, self.sequence = producer_id, epoch, sequence

    def seal(self) -> None:
        """Compresses it, or waits until it is compressed: its size on the wire is known then."""
        if self.sealed is not None:
            with self.sealed:
                self.sealed = None
        self.builder.seal()

    def wire(self) -> list[Buffer]:
        """Its encoded bytes; the same for every attempt as long as its sequence number is the same."""
        if self.sealed is not None:
            self.seal()
        return self.builder.wire(
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=self.sequence,
            transactional=self.transactional,
        )

    def confirm(self, base_offset: int, log_append_time: int) -> None:
        """The broker has stored it.

        To a batch that it has already a broker responds with the largest timestamp of what is stored (UnifiedLog.append),
        whatever the topic's timestamp type: if that is the batch's own, the broker kept all of them.
        """
        self.cell.apply(BatchEvent.CONFIRM)
        self.delivery.base_offset = base_offset
        kept = log_append_time == self.builder.max_timestamp
        self.delivery.log_append_time = -1 if kept else log_append_time
        self.delivery.done = True

    def split_into(
        self, parts: "Sequence[ProducerBatch]", taken: Sequence[Sequence[range]] | None = None
    ) -> None:
        """Replaces a refused batch by its parts, which are sent or fail.

        ``taken``: for each part, which records of this batch are its own; by default they follow each other.
        """
        self.cell.apply(BatchEvent.SPLIT)
        if taken is None:
            ends = list(accumulate(part.count for part in parts))
            taken = [[range(end - part.count, end)] for part, end in zip(parts, ends, strict=True)]
        found: list[tuple[int, Delivery, int]] = []
        for part, runs in zip(parts, taken, strict=True):
            start = 0
            for run in runs:
                found.append((run.start, part.delivery, start))
                start += len(run)
        self.delivery.parts = sorted(found, key=_FIRST)
        for watcher in self.delivery.watchers:
            watcher()  # each then waits for its part

    def fail(self, error: KcliError) -> None:
        """Fails the batch: it will not be retried."""
        self.cell.apply(BatchEvent.FAIL, str(error))
        self.delivery.error = error
        self.delivery.done = True


class RecordFuture:
    """The delivery of one record: (delivery of its batch, index). ``wait`` blocks until something completes.

    ``lock`` is held while a callback is added, and by the sender when it collects the callbacks that are due.
    """

    __slots__ = ("_callbacks", "_delivery", "_error", "_index", "_lock", "_timestamp", "_tp", "_wait")

    def __init__(
        self,
        wait: Callable[[Callable[[], bool], float | None], bool],
        lock: AbstractContextManager[object],
        on_completion: "Callable[[RecordFuture], None] | None" = None,
    ) -> None:
        self._wait = wait
        self._lock = lock
        self._delivery: Delivery | None = None
        self._tp: TopicPartition | None = None
        self._index = 0
        self._timestamp = -1
        self._error: KcliError | None = None
        self._callbacks: list[Callable[[RecordFuture], None]] | None = (
            [on_completion] if on_completion is not None else None
        )

    def bind(self, tp: TopicPartition, delivery: Delivery, index: int, timestamp: int) -> None:
        """The record was added to a batch."""
        self._tp, self._index, self._timestamp = tp, index, timestamp
        self._delivery = delivery  # first: a thread adding a callback now reads it last
        if self._callbacks is not None:
            with self._lock:
                delivery.watchers.append(self._completed)

    def fail(self, error: KcliError) -> None:
        """The record failed before it was added to a batch."""
        with self._lock:
            self._error = error
        self._completed()

    def on_completion(self, callback: "Callable[[RecordFuture], None]") -> None:
        """Calls ``callback(self)`` on completion: in the sender's thread, or immediately if already done.

        It must not block, nor wait for other records; it may send.
        """
        with self._lock:
            if not self.done:
                self._callbacks = [*(self._callbacks or ()), callback]
                found = self._found()
                if found is not None:
                    found[0].watchers.append(self._completed)
                return
        callback(self)

    def _completed(self) -> None:
        with self._lock:
            found = self._found()
            if self._error is None and found is not None and not found[0].done:
                found[0].watchers.append(self._completed)  # its batch was split: wait for the part
                return
            callbacks, self._callbacks = self._callbacks, None
        defect: BaseException | None = None
        for callback in callbacks or ():
            try:
                callback(self)
            except BaseException as error:  # noqa: BLE001 - the other callbacks must still be called
                defect = defect or error
        if defect is not None:
            raise defect

    def _found(self) -> tuple[Delivery, int] | None:
        return self._delivery.of(self._index) if self._delivery is not None else None

    @property
    def done(self) -> bool:
        """Whether the record is confirmed or has failed."""
        found = self._found()
        return self._error is not None or (found is not None and found[0].done)

    @property
    def error(self) -> KcliError | None:
        """The error; None unless the record has failed."""
        found = self._found()
        return self._error or (found[0].error if found else None)

    def result(self, timeout: float | None = None) -> RecordMetadata:
        """Waits at most ``timeout`` seconds; raises the error if the record failed, or TimeoutError."""
        if not self._wait(lambda: self.done, timeout):
            raise TimeoutError("the record is not confirmed yet")
        if self.error is not None:
            raise self.error.with_traceback(None)  # shared by the whole batch: tracebacks would accumulate
        found = self._found()
        assert found is not None
        assert self._tp is not None
        delivery, index = found
        offset = delivery.base_offset + index if delivery.base_offset >= 0 else -1
        stamp = delivery.log_append_time
        return RecordMetadata(*self._tp, offset, stamp if stamp >= 0 else self._timestamp)
