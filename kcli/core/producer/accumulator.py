"""Collects records into batches: one queue per partition, and a parked queue per topic.

Records sent before the topic's partitions are known wait in the parked queue (partition "−1"), so that a send never
waits for metadata, only for memory. Filled by caller threads, drained by the sender; one lock guards the queues, and
its Condition signals free memory. Time-dependent methods receive ``now``.

The sender is woken only for news (``take_news``): a batch was begun, or the memory is full. A batch that is held
back because its leader has the maximum of requests in flight is reconsidered with the leader's next response
anyway.

A flush covers parked records: their batches are begun after the flush and would otherwise linger. It waits for the
batches that existed when it began, batch by batch; counters would drift if Ctrl-C arrived in the middle of a send.

Tested in ``tests/unit/core/producer/test_accumulator.py``.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from kcli.core.errors import BufferFullError, ClosedError, KcliError
from kcli.core.producer.batch import BatchEvent, ProducerBatch
from kcli.core.records.builder import BatchBuilder
from kcli.core.types import TopicPartition

NEVER = float("inf")
_SLICE = 0.2  # seconds between a waiter's checks for an interrupt

Fill = Callable[[ProducerBatch], int]
"""Puts records into an open batch and returns how many; 0 means that the batch is full."""


@dataclass(slots=True, eq=False, repr=False)
class Parked:
    """Records of a topic whose partitions are unknown. ``place`` puts them into batches later; ``over``: they have
    been placed or have failed.
    """

    count: int
    size: int
    deadline: float
    place: Callable[[], None]
    fail: Callable[[KcliError], None]
    topic: str = ""
    over: bool = False


@dataclass(slots=True, eq=False, repr=False)
class PartitionQueue:
    """Batches of one partition, oldest first; the last may still be open. ``placed``: records so far."""

    batches: deque[ProducerBatch] = field(default_factory=deque)
    open: ProducerBatch | None = None
    placed: int = 0


class Accumulator:
    """Sizes are bytes of encoded records before compression; times are on the event loop's clock, in seconds."""

    def __init__(
        self,
        *,
        batch_size: int,
        linger: float,
        memory: int,
        max_block: float,
        delivery_timeout: float,
        new_builder: Callable[[int], BatchBuilder],
        now: Callable[[], float],
    ) -> None:
        self._batch_size = batch_size
        self._linger = linger
        self._memory = memory
        # wakes waiters only below this, so that they can add several batches
        self._roomy = memory - memory // 4
        self._max_block = max_block
        self._delivery_timeout = delivery_timeout
        self._new_builder = new_builder
        self._now = now
        # A plain lock is acquired without executing Python code, where Ctrl-C could leave it locked
        # permanently.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._queues: dict[TopicPartition, PartitionQueue] = {}
        self._parked: dict[str, deque[Parked]] = {}
        self._rooms: dict[str, int] = {}
        self._held: set[TopicPartition] = set()
        self._news = False
        self._unsettled: set[ProducerBatch] = set()
        self._used = 0
        self._waiters = 0
        self._flush_before = -1.0
        self._flush_parked: set[str] = set()
        self._closed: KcliError | None = None
        self._interrupted = False
        self._shut = False

    # --- caller threads ------------------------------------------------------------------------------

    @property
    def used(self) -> int:
        """Bytes of records that are neither confirmed nor failed."""
        return self._used

    @property
    def waiters(self) -> int:
        """Threads that wait for memory."""
        return self._waiters

    @property
    def records(self) -> int:
        """Approximate count of unconfirmed records; acquires no lock, so a signal handler may call it."""
        parked = [one for waiting in list(self._parked.values()) for one in list(waiting)]
        batches = [batch for batch in list(self._unsettled) if not batch.delivery.told]
        return sum(batch.count for batch in batches) + sum(one.count for one in parked)

    def parked(self) -> list[Parked]:
        """The records that wait for the partitions of their topics."""
        with self._lock:
            return [one for waiting in self._parked.values() for one in waiting]

    def unsettled(self) -> list[ProducerBatch]:
        """The batches that are neither confirmed nor failed."""
        with self._lock:
            return list(self._unsettled)

    def wait_for_memory(self) -> None:
        """Returns when there is room for records; BufferFullError after ``max_block`` seconds."""
        with self._lock:
            if self._used < self._memory or self._closed:
                self._refuse_if_closed()
                return
            self._waiters += 1
            deadline = self._now() + self._max_block
            try:
                while not self._changed.wait_for(self._has_room, min(_SLICE, self._max_block)):
                    if self._now() < deadline:
                        continue
                    raise BufferFullError(
                        f"no room for more records after {self._max_block:g} s",
                        why=f"{self._used:,} bytes wait for their confirmation (buffer.memory)",
                        do="check that the brokers answer; --debug=proto shows what they say",
                    )
            finally:
                self._waiters -= 1
            if self._interrupted and self._used >= self._memory:
                raise ClosedError("stopped while waiting for memory", why="records waited to be confirmed")
            self._refuse_if_closed()

    def interrupt(self) -> None:
        """Makes threads that wait for memory raise ClosedError. Safe inside a signal handler.

        The handler may have interrupted the thread that holds the lock, so it acquires none; waiters check the flag at
        least every ``_SLICE`` seconds.
        """
        self._interrupted = True

    def append(self, tp: TopicPartition, fill: Fill) -> int:
        """Lets ``fill`` put records into the partition's open batch, or a new one; returns how many it put."""
        with self._lock:
            if self._shut:
                raise ClosedError("the producer is closed")
            before = self._used
            queue = self._queues.setdefault(tp, PartitionQueue())
            taken = self._fill(queue.open, fill) if queue.open is not None else 0
            begun = taken == 0
            if begun:
                self._close_open(queue)
                now = self._now()
                builder, deadline = self._new_builder(self._room(tp.topic)), now + self._delivery_timeout
                batch = ProducerBatch(tp, builder, now, deadline, queue.placed)
                taken = self._fill(batch, fill)
                queue.open = batch
                queue.batches.append(batch)
                self._unsettled.add(batch)
            queue.placed += taken
            self._news = self._news or (begun and tp not in self._held) or self._fills_up(before)
            return taken

    def append_sealed(
        self, tp: TopicPartition, builder: BatchBuilder, place: Callable[[ProducerBatch], None]
    ) -> None:
        """Queues a complete batch after the partition's other batches; ``place`` receives it first."""
        with self._lock:
            if self._shut:
                raise ClosedError("the producer is closed")
            queue = self._queues.setdefault(tp, PartitionQueue())
            self._close_open(queue)
            now = self._now()
            batch = ProducerBatch(tp, builder, now, now + self._delivery_timeout, queue.placed)
            queue.placed += batch.count
            batch.size = builder.size
            batch.cell.apply(BatchEvent.CLOSE)
            place(batch)
            self._used += batch.size
            queue.batches.append(batch)
            self._unsettled.add(batch)
            self._news = True

    def take_news(self) -> bool:
        """Whether the sender must be woken for something queued since the last call.

        Without the lock: a caller that reads False changes nothing, and one that reads True wakes the sender after
        resetting it.
        """
        if not self._news:
            return False
        self._news = False
        return True

    def park(self, topic: str, parked: Parked) -> None:
        """Keeps records until the partitions of ``topic`` are known."""
        with self._lock:
            self._refuse_if_closed()
            self._parked.setdefault(topic, deque()).append(parked)
            self._used += parked.size

    def is_parked(self, topic: str) -> bool:
        """Whether earlier records of the topic still wait: later ones must queue after them."""
        with self._lock:
            return topic in self._parked

    def flush(self) -> None:
        """Sends everything appended so far without lingering."""
        with self._lock:
            self._flush_before = self._now()
            self._flush_parked.update(self._parked)  # their batches do not exist yet

    def close(self, error: KcliError) -> None:
        """Rejects further records; waiting callers get ``error``."""
        with self._lock:
            self._closed = error
            self._flush_before = NEVER
            self._changed.notify_all()

    # --- the sender ----------------------------------------------------------------------------------

    def parked_topics(self) -> list[str]:
        """Topics whose partitions are not known yet."""
        with self._lock:
            return list(self._parked)

    def unpark(self, topic: str) -> None:
        """The partitions are known now: places the parked records, in order. Runs in the sender's thread."""
        while True:
            with self._lock:
                queue = self._parked.get(topic)
                if not queue:
                    self._parked.pop(topic, None)
                    if topic in self._flush_parked:
                        self._flush_parked.remove(topic)
                        self._flush_before = max(self._flush_before, self._now())
                    return
                parked = queue[0]
            parked.place()
            with self._lock:
                queue.popleft()
                self._used -= parked.size
                self._let_in()

    def ready(self, now: float) -> tuple[list[TopicPartition], float]:
        """The partitions whose first batch may be sent now, and when the next one is due. Clears all holds."""
        ready, wake = [], NEVER
        with self._lock:
            self._held.clear()
            for tp, queue in self._queues.items():
                if not queue.batches:
                    continue
                due = self._due(queue, now)
                if due <= now:
                    ready.append(tp)
                else:
                    wake = min(wake, due)
        return ready, wake

    def hold(self, partitions: Iterable[TopicPartition]) -> None:
        """Their leader accepts no more until it responds, which triggers a check anyway: new records need no wakeup."""
        with self._lock:
            self._held.update(partitions)

    def due(self, tp: TopicPartition, now: float) -> float:
        """When the partition's first batch may be sent; NEVER if it has none."""
        with self._lock:
            queue = self._queues[tp]
            return self._due(queue, now) if queue.batches else NEVER

    def take(self, tp: TopicPartition, now: float) -> ProducerBatch | None:
        """Removes and closes the partition's first batch; None while it must still wait."""
        with self._lock:
            queue = self._queues[tp]
            if not queue.batches or queue.batches[0].not_before > now:
                return None
            if queue.batches[0] is queue.open:
                self._close_open(queue)
            return queue.batches.popleft()

    def peek(self, tp: TopicPartition) -> ProducerBatch | None:
        """The partition's first batch, left in the queue."""
        with self._lock:
            queue = self._queues.get(tp)
            return queue.batches[0] if queue and queue.batches else None

    def put_back(self, batch: ProducerBatch) -> None:
        """Requeues a batch for a retry: at the front, in the order of the sequence numbers."""
        with self._lock:
            batches = self._queues.setdefault(batch.tp, PartitionQueue()).batches
            place = 0
            while place < len(batches) and _goes_before(batches[place], batch):
                place += 1
            batches.insert(place, batch)

    def shrink(self, topic: str, size: int) -> None:
        """A broker rejected a batch of the topic as too large: later batches have at most ``size`` bytes."""
        with self._lock:
            self._rooms[topic] = max(1, min(size, self._room(topic)))

    def replace(self, batch: ProducerBatch, parts: list[ProducerBatch]) -> None:
        """Queues the parts of a split batch at the front."""
        with self._lock:
            self._used -= batch.size
            self._unsettled.discard(batch)
            self._unsettled.update(parts)
            for part in parts:
                part.size = part.builder.size
                self._used += part.size
            queue = self._queues.setdefault(batch.tp, PartitionQueue())
            queue.batches.extendleft(reversed(parts))

    def settled(self, batch: ProducerBatch) -> None:
        """The batch was confirmed or has failed: frees its memory."""
        with self._lock:
            self._used -= batch.size
            self._unsettled.discard(batch)
            self._let_in()

    def expired(self, now: float) -> tuple[list[ProducerBatch], list[Parked], float]:
        """Removes what is past its delivery timeout; also returns the next deadline."""
        batches: list[ProducerBatch] = []
        parked: list[Parked] = []
        wake = NEVER
        with self._lock:
            for queue in self._queues.values():
                while queue.batches and queue.batches[0].deadline <= now:
                    batch = queue.batches.popleft()
                    if batch is queue.open:
                        self._close_open(queue)
                    batches.append(batch)
                if queue.batches:
                    wake = min(wake, queue.batches[0].deadline)
            for topic, waiting in list(self._parked.items()):
                while waiting and waiting[0].deadline <= now:
                    parked.append(waiting.popleft())
                    self._used -= parked[-1].size
                if not waiting:
                    del self._parked[topic]
                else:
                    wake = min(wake, waiting[0].deadline)
            if parked:
                self._let_in()
        return batches, parked, wake

    def take_topic(self, topic: str) -> tuple[list[ProducerBatch], list[Parked]]:
        """Removes everything queued for one topic."""
        with self._lock:
            queues = [q for tp, q in self._queues.items() if tp.topic == topic]
            batches = [batch for queue in queues for batch in queue.batches]
            for queue in queues:
                self._close_open(queue)
                queue.batches.clear()
            parked = list(self._parked.pop(topic, ()))
            self._used -= sum(one.size for one in parked)
            self._let_in()
            return batches, parked

    def take_all(self) -> tuple[list[ProducerBatch], list[Parked]]:
        """Removes everything queued: none of it will be sent."""
        with self._lock:
            batches = [batch for queue in self._queues.values() for batch in queue.batches]
            parked = [one for waiting in self._parked.values() for one in waiting]
            self._queues.clear()
            self._parked.clear()
            self._used -= sum(one.size for one in parked)
            self._let_in()
            return batches, parked

    def queued(self) -> Iterable[ProducerBatch]:
        """A snapshot of the queued batches, in order per partition."""
        with self._lock:
            return [batch for queue in self._queues.values() for batch in queue.batches]

    def shut(self) -> tuple[list[ProducerBatch], list[Parked]]:
        """The sender is stopping: rejects all further records and returns what is left."""
        with self._lock:
            self._shut = True
        return self.take_all()

    @property
    def empty(self) -> bool:
        """Whether nothing is queued; batches in flight are not counted."""
        with self._lock:
            return not self._parked and not any(queue.batches for queue in self._queues.values())

    # --- internal, under the lock ----------------------------------------------------------------------

    def _fill(self, batch: ProducerBatch, fill: Fill) -> int:
        taken = fill(batch)
        size = batch.builder.size
        self._used += size - batch.size
        batch.size = size
        return taken

    def _fills_up(self, before: int) -> bool:
        """Whether memory has become exhausted since ``before`` bytes, which makes batches due that are not full."""
        if not before < self._memory <= self._used:
            return False
        return any(queue.batches and tp not in self._held for tp, queue in self._queues.items())

    def _due(self, queue: PartitionQueue, now: float) -> float:
        first = queue.batches[0]
        if first is not queue.open:
            return first.not_before
        hurry = self._waiters > 0 or self._used >= self._memory
        lingered = first.created <= self._flush_before or hurry
        return max(first.not_before, now if lingered else first.created + self._linger)

    def _close_open(self, queue: PartitionQueue) -> None:
        if queue.open is not None:
            queue.open.cell.apply(BatchEvent.CLOSE)
            queue.open = None

    def _room(self, topic: str) -> int:
        return self._rooms.get(topic, self._batch_size)

    def _let_in(self) -> None:
        """Wakes threads that wait for memory, if there is enough room."""
        if self._waiters and self._has_room():
            self._changed.notify_all()

    def _has_room(self) -> bool:
        return self._used < self._roomy or self._closed is not None or self._interrupted

    def _refuse_if_closed(self) -> None:
        if self._closed is not None:
            raise ClosedError(self._closed.what, why=self._closed.why, do=self._closed.do)


def _goes_before(queued: ProducerBatch, again: ProducerBatch) -> bool:
    """Whether ``queued`` stays ahead of a batch being requeued: an older sequence number, or an older retry."""
    if queued.numbered and again.numbered:
        return queued.goes_before(again)
    return queued.attempts > 0 and queued.created < again.created
