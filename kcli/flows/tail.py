"""The last N records of some topics in total, by (timestamp, partition, offset); with filters, the last N that match.

Reads backwards in growing steps: on compacted and transactional topics offsets are not record counts, so a step that
found too few is made longer until there are enough or the log begins.
"""

import heapq
from collections.abc import Mapping

from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.consumer.ranges import Bounds
from kcli.core.consumer.subscription import Span
from kcli.core.errors import CorruptRecordsError, StoppedError
from kcli.core.records.slice import cut_record
from kcli.core.types import TopicPartition
from kcli.flows.filters.selection import Selection
from kcli.flows.stop import Stop

Order = tuple[int, int, int, str]


def tail(
    consumer: Consumer, now: Bounds, count: int, stop: Stop, selection: Selection | None = None
) -> list[FetchedBatch]:
    """At most ``count`` records, each as a batch of its own, oldest first."""
    step = count
    chosen = selection or Selection()
    while True:
        starts = {tp: max(now.starts[tp], end - step) for tp, end in now.ends.items()}
        found = _newest(consumer, starts, now.ends, count, stop, chosen)
        # A partition has returned its newest ``count`` only if the step contained as many, or it has no
        # more.
        enough = all(starts[tp] <= now.starts[tp] or found.seen.get(tp, 0) >= count for tp in starts)
        if stop or enough:
            return [record for _, record in sorted(found.heap, key=lambda pair: pair[0])]
        step *= 4


class _Newest:
    """The ``count`` greatest by order, and how many records each partition had."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.heap: list[tuple[Order, FetchedBatch]] = []
        self.seen: dict[TopicPartition, int] = {}

    def add(self, fetched: FetchedBatch, selected: bytes | bytearray) -> None:
        tp, batch = fetched.tp, fetched.batch
        columns, append = batch.columns(), batch.timestamp_type == 1
        for index, delta in enumerate(columns.offset_deltas):
            offset = batch.base_offset + delta
            if not fetched.first <= offset < fetched.stop or (selected and not selected[index]):
                continue
            self.seen[tp] = self.seen.get(tp, 0) + 1
            stamp = batch.max_timestamp if append else batch.base_timestamp + columns.timestamp_deltas[index]
            order = (stamp, tp.partition, offset, tp.topic)
            if len(self.heap) >= self.count and order <= self.heap[0][0]:
                continue
            one = FetchedBatch(tp, cut_record(batch, columns, index), offset, offset + 1, offset + 1)
            if len(self.heap) < self.count:
                heapq.heappush(self.heap, (order, one))
            else:
                heapq.heapreplace(self.heap, (order, one))


def _newest(
    consumer: Consumer,
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
    count: int,
    stop: Stop,
    selection: Selection,
) -> _Newest:
    newest = _Newest(count)
    consumer.assign({tp: Span(starts[tp], ends[tp]) for tp in starts})
    while not consumer.done and not stop:
        for fetched in consumer.poll(1.0):
            try:
                selected = selection.select(fetched)
                if selected is not None:
                    newest.add(fetched, selected)
            except StoppedError:
                return newest
            except CorruptRecordsError as error:
                raise error.in_partition(fetched.tp) from error
            fetched.batch.forget_payload()
    return newest
