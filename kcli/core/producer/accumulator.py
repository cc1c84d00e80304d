"""Collects records into batches: one queue per partition, and parked records per topic.

Filled by caller threads, drained by the sender; one lock guards the queues, the parked records and the memory.
Time-dependent methods receive ``now``.

The sender is woken only where needed (``must_wake_sender``): a batch was begun, or the memory is full. A batch that is
held back because its leader has the maximum of requests in flight is reconsidered with the leader's next response
anyway.

A flush covers parked records: their batches are begun after the flush and would otherwise linger. It waits for the
batches that existed when it began, batch by batch; counters would drift if Ctrl-C arrived in the middle of a send.

Tested in ``tests/unit/core/producer/test_accumulator.py``.
"""

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence, Set
from typing import TYPE_CHECKING

from kcli.core.classes import dataclass, field
from kcli.core.errors import ClosedError, KcliError
from kcli.core.producer.batch import BatchEvent, ProducerBatch
from kcli.core.producer.buffer_memory import BufferMemory
from kcli.core.producer.parked import Parked, ParkedRecords
from kcli.core.producer.requests import BESIDE_BATCH
from kcli.core.records.builder import BatchBuilder
from kcli.core.types import TopicPartition

if TYPE_CHECKING:
    from kcli.core.producer.sealing import Sealing

NEVER = float("inf")
_NOTHING_HELD = frozenset[TopicPartition]()

Fill = Callable[[ProducerBatch], int]
"""Puts records into an open batch and returns how many; 0 means that the batch is full, which it may also set."""


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
        sealing: "Sealing | None" = None,
    ) -> None:
        self._batch_size = batch_size
        self._linger = linger
        self._delivery_timeout = delivery_timeout
        self._new_builder = new_builder
        self._now = now
        self._sealing = sealing
        self._lock = threading.Lock()
        self.memory = BufferMemory(self._lock, memory, max_block, now)
        self._queues: dict[TopicPartition, PartitionQueue] = {}
        self._parked = ParkedRecords()
        self.parked_queues = self._parked.queues
        """What waits for the partitions of its topic: others only look whether something is there, without the lock.

        For a caller: once a topic is not parked, only this caller, or another one at the same time, can park it. For the
        sender: a wakeup follows each call of ``park``.
        """
        self._rooms: dict[str, int] = {}
        self._held: Set[TopicPartition] = _NOTHING_HELD
        self._must_wake = False
        self._incomplete: set[ProducerBatch] = set()
        self._flush_before = -1.0
        self._flush_parked: set[str] = set()
        self._shut = False

    # --- caller threads ------------------------------------------------------------------------------

    @property
    def records(self) -> int:
        """Approximate count of unconfirmed records; acquires no lock, so a signal handler may call it."""
        batches = [batch for batch in list(self._incomplete) if not batch.delivery.reported]
        return sum(batch.count for batch in batches) + sum(one.count for one in self._parked.snapshot())

    def incomplete(self, before: float, topics: Collection[str]) -> list[ProducerBatch]:
        """The batches that are neither confirmed nor failed, and were begun by ``before`` or are of ``topics``."""
        with self._lock:
            return [
                batch for batch in self._incomplete if batch.created <= before or batch.tp.topic in topics
            ]

    def append(self, tp: TopicPartition, fill: Fill) -> int:
        """Lets ``fill`` put records into the partition's open batch, or a new one; returns how many it put."""
        with self._lock:
            if self._shut:
                raise ClosedError("the producer is closed")
            memory = self.memory
            was_exhausted = memory.used >= memory.size
            if tp not in self._queues:
                self._queues[tp] = PartitionQueue()
            queue = self._queues[tp]
            taken = self._fill(queue.open, fill) if queue.open is not None else 0
            begun = taken == 0
            if begun:
                if queue.open is not None:
                    self._close_open(queue)
                now, room = self._now(), self._batch_size
                if tp.topic in self._rooms:
                    room = self._rooms[tp.topic]
                builder = self._new_builder(room)
                batch = ProducerBatch(tp, builder, now, now + self._delivery_timeout, queue.placed)
                taken = self._fill(batch, fill)
                queue.open = batch
                queue.batches.append(batch)
                self._incomplete.add(batch)
            queue.placed += taken
            if queue.open is not None and queue.open.full:
                self._close_open(queue)
            # A record that joins an open batch changes nothing for the sender: when that batch is due was known
            # when it was begun.
            if begun and tp not in self._held:
                self._must_wake = True
            elif not was_exhausted and memory.used >= memory.size and self._any_not_held():
                self._must_wake = True  # there is no room: batches are due that are not full
            return taken

    def append_sealed(
        self, tp: TopicPartition, builder: BatchBuilder, bind: Callable[[ProducerBatch], None]
    ) -> None:
        """Queues a complete batch after the partition's other batches; ``bind`` receives it first.

        Who sends batches counts by batch: if a broker refuses a record of it, nothing of it is stored.
        """
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
            batch.whole = True
            bind(batch)
            self.memory.used += batch.size
            queue.batches.append(batch)
            self._incomplete.add(batch)
            self._must_wake = True

    def must_wake_sender(self) -> bool:
        """Whether the sender must be woken for something queued since the last call.

        Without the lock: a caller that reads False changes nothing, and one that reads True wakes the sender after
        resetting it.
        """
        if not self._must_wake:
            return False
        self._must_wake = False
        return True

    def park(self, topic: str, parked: Parked) -> None:
        """Keeps records until the partitions of ``topic`` are known."""
        with self._lock:
            self.memory.refuse_if_closed()
            self._parked.append(topic, parked)
            self.memory.used += parked.size

    def flush(self) -> tuple[float, dict[str, list[Parked]]]:
        """Sends everything appended so far without lingering. Returns when this was, and by topic what waits for its
        partitions: these batches are begun later.
        """
        with self._lock:
            self._flush_before = now = self._now()
            self._flush_parked.update(self._parked.queues)
            return now, {topic: list(queue) for topic, queue in self._parked.queues.items()}

    def close(self, error: KcliError) -> None:
        """Rejects further records; waiting callers get ``error``."""
        with self._lock:
            self.memory.close(error)
            self._flush_before = NEVER

    # --- the sender ----------------------------------------------------------------------------------

    @property
    def parked_topics(self) -> list[str]:
        """Topics whose partitions are not known yet."""
        return list(self.parked_queues)

    def unpark(self, topic: str) -> None:
        """The partitions are known now: places the parked records, in order. Runs in the sender's thread."""
        while True:
            with self._lock:
                parked = self._parked.first(topic)
                if parked is None:
                    # A flush came while these records had no batches. Those begun since then are younger than
                    # the flush, and would linger.
                    if topic in self._flush_parked:
                        self._flush_parked.remove(topic)
                        self._flush_before = max(self._flush_before, self._now())
                    return
            # Without the lock, which `append` takes. The entry stays in its queue until it is placed: as long
            # as the topic is parked, callers park behind it, and no record of theirs is placed before these.
            parked.place()
            with self._lock:
                self._parked.remove_first(topic)
                self.memory.release(parked.size)

    def ready(self, now: float) -> tuple[list[TopicPartition], float]:
        """The partitions whose first batch may be sent now, and when the next one is due. Clears all holds."""
        ready, wake = [], NEVER
        with self._lock:
            # Together with the look at the queues, under one lock: a batch that is begun after it wakes the
            # sender.
            self._held = _NOTHING_HELD
            for tp, queue in self._queues.items():
                if not queue.batches:
                    continue
                due = self._due(queue, now)
                if due <= now:
                    ready.append(tp)
                elif due < wake:
                    wake = due
        return ready, wake

    def hold_partitions(self, partitions: Iterable[TopicPartition]) -> None:
        """Their leader accepts no more until it responds, which triggers a check anyway: new records need no wakeup."""
        with self._lock:
            self._held = {*self._held, *partitions}

    def take_batches(
        self,
        partitions: Sequence[TopicPartition],
        now: float,
        may_send: Callable[[ProducerBatch], bool],
        size: int,
    ) -> tuple[list[ProducerBatch], list[TopicPartition], float]:
        """Removes and closes the first batch of each partition, as many as a request of ``size`` bytes has room for, and
        one at least: see ``requests.py``.

        Left out are batches that must still wait, or that ``may_send``, which decides only, does not allow. Also
        returns the partitions that may have more to send now, and when another one of those taken from is due.
        """
        taken: list[ProducerBatch] = []
        more: list[TopicPartition] = []
        wake = NEVER
        with self._lock:
            for tp in partitions:
                if size <= 0:
                    more.append(tp)
                    continue
                queue = self._queues[tp]
                first = queue.batches[0] if queue.batches else None
                if first is None or first.not_before > now or not may_send(first):
                    continue
                size -= first.builder.wire_size + len(tp.topic) + BESIDE_BATCH
                if size < 0 and taken:
                    more.append(tp)
                    size = 0
                    continue
                # Under the lock: a caller that appends at this moment finds the batch open, or begins another
                # one.
                if first is queue.open:
                    self._close_open(queue)
                taken.append(queue.batches.popleft())
                due = self._due(queue, now) if queue.batches else NEVER
                if due <= now:
                    more.append(tp)
                elif due < wake:
                    wake = due
        return taken, more, wake

    def first_batch(self, tp: TopicPartition) -> ProducerBatch | None:
        """The partition's first batch, left in the queue."""
        with self._lock:
            queue = self._queues.get(tp)
            return queue.batches[0] if queue and queue.batches else None

    def put_back(self, batch: ProducerBatch) -> None:
        """Requeues a batch for a retry: at the front, in the order of the sequence numbers."""
        with self._lock:
            self._insert([batch])

    def _insert(self, again: list[ProducerBatch]) -> None:
        """Inserts adjacent batches of one partition."""
        batches = self._queues.setdefault(again[0].tp, PartitionQueue()).batches
        # Several batches of a partition may come back, by responses to different requests: their numbers
        # decide, not the order in which they come back.
        index = 0
        while index < len(batches) and _goes_before(batches[index], again[0]):
            index += 1
        for batch in reversed(again):
            batches.insert(index, batch)

    def shrink(self, topic: str, size: int) -> None:
        """A broker rejected a batch of the topic as too large: later batches have at most ``size`` bytes."""
        with self._lock:
            self._rooms[topic] = max(1, min(size, self._rooms.get(topic, self._batch_size)))

    def replace(
        self, batch: ProducerBatch, parts: list[ProducerBatch], failed: Sequence[ProducerBatch] = ()
    ) -> None:
        """Queues the parts of a split batch in its place: other batches may have been split or requeued meanwhile.

        Those that have ``failed`` are not queued, and count until they are released.
        """
        with self._lock:
            self._incomplete.discard(batch)
            for part in (*parts, *failed):
                self._incomplete.add(part)
                part.size = part.builder.size
                self.memory.used += part.size
            self.memory.used -= batch.size
            if parts:
                self._insert(parts)

    def release(self, batch: ProducerBatch) -> None:
        """The batch was confirmed or has failed: frees its memory."""
        with self._lock:
            self._incomplete.discard(batch)
            self.memory.release(batch.size)

    def remove_past_delivery_timeout(self, now: float) -> tuple[list[ProducerBatch], list[Parked], float]:
        """Removes what is past its delivery timeout; also returns the next deadline."""
        batches: list[ProducerBatch] = []
        with self._lock:
            parked, wake = self._parked.remove_past_delivery_timeout(now)
            for queue in self._queues.values():
                while queue.batches and queue.batches[0].deadline <= now:
                    batch = queue.batches.popleft()
                    if batch is queue.open:
                        self._close_open(queue)
                    batches.append(batch)
                if queue.batches:
                    wake = min(wake, queue.batches[0].deadline)
            if parked:
                self._release_parked(parked)
        return batches, parked, wake

    def remove_topic(self, topic: str) -> tuple[list[ProducerBatch], list[Parked]]:
        """Removes everything queued for one topic."""
        with self._lock:
            queues = [q for tp, q in self._queues.items() if tp.topic == topic]
            batches = [batch for queue in queues for batch in queue.batches]
            for queue in queues:
                self._close_open(queue)
                queue.batches.clear()
            parked = self._parked.remove_topic(topic)
            self._release_parked(parked)
            return batches, parked

    def remove_partition(self, tp: TopicPartition) -> list[ProducerBatch]:
        """Removes everything queued for one partition."""
        with self._lock:
            queue = self._queues.get(tp)
            if queue is None:
                return []
            batches = list(queue.batches)
            self._close_open(queue)
            queue.batches.clear()
            return batches

    def remove_all(self) -> tuple[list[ProducerBatch], list[Parked]]:
        """Removes everything queued: none of it will be sent."""
        with self._lock:
            batches = [batch for queue in self._queues.values() for batch in queue.batches]
            parked = self._parked.remove_all()
            self._queues.clear()
            self._release_parked(parked)
            return batches, parked

    def queued(self) -> Iterable[ProducerBatch]:
        """A snapshot of the queued batches, in order per partition."""
        with self._lock:
            return [batch for queue in self._queues.values() for batch in queue.batches]

    def shut_down(self) -> tuple[list[ProducerBatch], list[Parked]]:
        """The sender is stopping: rejects all further records and returns what is left."""
        with self._lock:
            self._shut = True
        return self.remove_all()

    @property
    def empty(self) -> bool:
        """Whether nothing is queued; batches in flight are not counted."""
        with self._lock:
            return not self._parked and not any(queue.batches for queue in self._queues.values())

    def _fill(self, batch: ProducerBatch, fill: Fill) -> int:
        taken = fill(batch)
        size = batch.builder.size
        self.memory.used += size - batch.size
        batch.size = size
        return taken

    def _any_not_held(self) -> bool:
        return any(queue.batches and tp not in self._held for tp, queue in self._queues.items())

    def _due(self, queue: PartitionQueue, now: float) -> float:
        first = queue.batches[0]
        if first is not queue.open:
            return first.not_before
        # Callers wait for memory, which only batches that are completed give back: the records that a batch
        # would linger for cannot come.
        hurry = self.memory.waiters > 0 or self.memory.used >= self.memory.size
        lingered = hurry or first.created <= self._flush_before
        due = now if lingered else first.created + self._linger
        return due if due > first.not_before else first.not_before

    def _close_open(self, queue: PartitionQueue) -> None:
        if queue.open is not None:
            queue.open.cell.apply(BatchEvent.CLOSE)
            if self._sealing is not None:
                queue.open.sealed = self._sealing.add(queue.open.builder)
            queue.open = None

    def _release_parked(self, parked: list[Parked]) -> None:
        self.memory.release(sum(one.size for one in parked))


def _goes_before(queued: ProducerBatch, again: ProducerBatch) -> bool:
    """Whether ``queued`` stays ahead of a batch being requeued: an older sequence number, or an older retry."""
    if queued.numbered and again.numbered:
        return queued.goes_before(again)
    return queued.attempts > 0 and queued.created < again.created
