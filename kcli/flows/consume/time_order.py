"""Records of several partitions in one order of time, by (timestamp, partition, offset).

``--merge`` (``Merger``): each partition keeps its own order; of the first records of all partitions the earliest is
returned. It is returned once the next record of every other partition is known, or that partition has ended. A partition
that was read up to its current end may still get an earlier record: a record waits for that until ``PATIENCE`` after its
arrival. The buffer is limited: a partition that is far ahead is paused.

``--tail N`` (``tail``): the last N records in total; with filters, the last N that match. It reads backwards in growing
steps: on compacted and transactional topics offsets are not record counts, so a step that found too few is made longer
until there are enough or the log begins.
"""

import heapq
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping

from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.consumer.ranges import Bounds
from kcli.core.consumer.subscription import Span
from kcli.core.errors import CorruptRecordsError, StoppedError
from kcli.core.records.slice import cut_record
from kcli.core.types import TopicPartition
from kcli.flows.filters.selection import Selection
from kcli.flows.stop import Stop

PATIENCE = 1.0
"""Seconds that a record waits for earlier records of partitions that have no more records at present."""
MEMORY = 64 << 20
_OVERHEAD = 1_000  # of the objects per record, approximately, in bytes

Order = tuple[int, int, int, str]


class _Queue:
    """The buffered records of a partition: order, record, time of arrival."""

    __slots__ = ("paused", "records", "size")

    def __init__(self) -> None:
        self.records: deque[tuple[Order, FetchedBatch, float]] = deque()
        self.size = 0
        self.paused = False


class Merger:
    """``add_batch`` fetched batches, ``take_ready`` records, ``drain`` at the end."""

    def __init__(self, consumer: Consumer, clock: Callable[[], float] = time.monotonic) -> None:
        self._consumer = consumer
        self._clock = clock
        self._committed_only = consumer.options.isolation_level == "read_committed"
        self._queues: dict[TopicPartition, _Queue] = {}
        self._heads: list[tuple[Order, TopicPartition]] = []
        self._by_clock = False

    def add_batch(self, fetched: FetchedBatch, selected: bytes | bytearray) -> None:
        """Adds the selected records of a batch."""
        tp, batch, now = fetched.tp, fetched.batch, self._clock()
        queue = self._queues.setdefault(tp, _Queue())
        columns, append = batch.columns(), batch.timestamp_type == 1
        for index, delta in enumerate(columns.offset_deltas):
            offset = batch.base_offset + delta
            if not fetched.first <= offset < fetched.stop or (selected and not selected[index]):
                continue
            stamp = batch.max_timestamp if append else batch.base_timestamp + columns.timestamp_deltas[index]
            one = cut_record(batch, columns, index)
            order = (stamp, tp.partition, offset, tp.topic)
            if not queue.records:
                heapq.heappush(self._heads, (order, tp))
            queue.records.append((order, FetchedBatch(tp, one, offset, offset + 1, offset + 1), now))
            queue.size += one.size + _OVERHEAD
        self._throttle(tp, queue)

    def take_ready(self) -> Iterator[FetchedBatch]:
        """Returns the records, one by one, that no earlier record can precede."""
        missing = self._missing()
        self._by_clock = missing is not None
        while self._heads and missing is not None:
            tp = self._heads[0][1]
            if missing and self._clock() - self._queues[tp].records[0][2] < PATIENCE:
                return
            yield self._pop()
            if not self._queues[tp].records:
                missing = self._missing()
                self._by_clock = missing is not None

    def drain(self) -> Iterator[FetchedBatch]:
        """Returns all remaining records, in order."""
        while self._heads:
            yield self._pop()

    @property
    def wait(self) -> float:
        """Seconds until the next record is ready by the clock; 1 where none waits for that."""
        if not (self._heads and self._by_clock):
            return 1.0
        came = self._queues[self._heads[0][1]].records[0][2]
        return min(1.0, max(0.0, came + PATIENCE - self._clock()))

    def _pop(self) -> FetchedBatch:
        _, tp = heapq.heappop(self._heads)
        queue = self._queues[tp]
        _, fetched, _ = queue.records.popleft()
        queue.size -= fetched.batch.size + _OVERHEAD
        if queue.records:
            heapq.heappush(self._heads, (queue.records[0][0], tp))
        self._throttle(tp, queue)
        return fetched

    def _missing(self) -> bool | None:
        """Whether partitions without a buffered record may get one later; None: some have records that were not fetched
        yet.
        """
        missing = False
        for tp in self._consumer.assignment:
            state, queue = self._consumer.state(tp), self._queues.get(tp)
            if state.reached_stop or (queue is not None and queue.records):
                continue
            end = state.last_stable if self._committed_only else state.high_watermark
            if state.position < 0 or end < 0 or state.position < end:
                return None
            missing = True
        return missing

    def _throttle(self, tp: TopicPartition, queue: _Queue) -> None:
        share = MEMORY // max(1, len(self._consumer.assignment))
        if queue.size > share and not queue.paused:
            queue.paused = True
            self._consumer.pause(tp)
        elif queue.paused and queue.size < share // 2:
            queue.paused = False
            self._consumer.resume(tp)


def tail(
    consumer: Consumer, now: Bounds, count: int, stop: Stop, selection: Selection | None = None
) -> list[FetchedBatch]:
    """At most ``count`` records, each as a batch of its own, oldest first. No record is read twice: filters count what
    they are given.
    """
    newest, step = _Newest(count), count
    chosen = Selection() if selection is None else selection
    unread = {tp: end for tp, end in now.ends.items() if now.starts[tp] < end}
    while unread and not stop:
        starts = {tp: max(now.starts[tp], now.ends[tp] - step) for tp in unread}
        _read(consumer, {tp: Span(starts[tp], end) for tp, end in unread.items()}, newest, stop, chosen)
        # A partition has returned its newest ``count`` only if what was read contained as many, or it has no more.
        unread = {
            tp: start
            for tp, start in starts.items()
            if start > now.starts[tp] and newest.seen.get(tp, 0) < count
        }
        step *= 4
    return newest.oldest_first()


class _Newest:
    """The ``count`` greatest by order, the markers of transactions after the first of them, and how many records each
    partition had.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.heap: list[tuple[Order, FetchedBatch]] = []
        self.markers: list[tuple[Order, FetchedBatch]] = []
        self.seen: dict[TopicPartition, int] = {}

    def add(self, fetched: FetchedBatch, selected: bytes | bytearray) -> None:
        tp, batch = fetched.tp, fetched.batch
        columns, append = batch.columns(), batch.timestamp_type == 1
        for index, delta in enumerate(columns.offset_deltas):
            offset = batch.base_offset + delta
            if not fetched.first <= offset < fetched.stop or (selected and not selected[index]):
                continue
            stamp = batch.max_timestamp if append else batch.base_timestamp + columns.timestamp_deltas[index]
            order = (stamp, tp.partition, offset, tp.topic)
            full = len(self.heap) >= self.count
            if not batch.is_control:
                self.seen[tp] = self.seen.get(tp, 0) + 1
            if full and order <= self.heap[0][0]:
                continue
            one = order, FetchedBatch(tp, cut_record(batch, columns, index), offset, offset + 1, offset + 1)
            if batch.is_control:
                self.markers.append(one)
            elif full:
                heapq.heapreplace(self.heap, one)
            else:
                heapq.heappush(self.heap, one)

    def oldest_first(self) -> list[FetchedBatch]:
        """By time; each partition in the order of its offsets, whatever times its records have."""
        logs: dict[TopicPartition, list[tuple[Order, FetchedBatch]]] = {}
        markers = (one for one in self.markers if len(self.heap) < self.count or one[0] > self.heap[0][0])
        for order, one in (*self.heap, *markers):
            logs.setdefault(one.tp, []).append((order, one))
        for log in logs.values():
            log.sort(key=lambda pair: pair[1].first)
        return [one for _, one in heapq.merge(*logs.values(), key=lambda pair: pair[0])]


def _read(
    consumer: Consumer,
    spans: Mapping[TopicPartition, Span],
    newest: _Newest,
    stop: Stop,
    selection: Selection,
) -> None:
    consumer.assign(spans)
    while not consumer.done and not stop:
        for fetched in consumer.poll(1.0):
            try:
                selected = selection.select(fetched)
                if selected is not None:
                    newest.add(fetched, selected)
            except StoppedError:
                return
            except CorruptRecordsError as error:
                raise error.in_partition(fetched.tp) from error
            fetched.batch.forget_payload()
