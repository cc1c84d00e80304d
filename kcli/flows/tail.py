"""The last N records of some topics in all, by (timestamp, partition, offset).

Reads backwards in growing steps: on compacted and transactional topics offsets are not record counts, so a
step that found too few is made longer until there are enough or the log begins.
"""

import heapq
from collections.abc import Mapping

from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.types import Record, TopicPartition
from kcli.flows.ranges import Bounds
from kcli.flows.stop import Stop

Order = tuple[int, int, int, str]


def tail(consumer: Consumer, now: Bounds, count: int, stop: Stop) -> list[Record]:
    """At most ``count`` records, oldest first."""
    step = count
    while True:
        starts = {where: max(now.starts[where], end - step) for where, end in now.ends.items()}
        found = _newest(consumer, starts, now.ends, count, stop)
        at_start = all(starts[where] <= now.starts[where] for where in starts)
        # Every partition gave its own newest ``count`` only if it had that many in the step, or has no more.
        enough = all(
            starts[where] <= now.starts[where] or found.seen.get(where, 0) >= count for where in starts
        )
        if stop or at_start or enough:
            return [record for _, record in sorted(found.heap, key=lambda pair: pair[0])]
        step *= 4


class _Newest:
    """The ``count`` greatest by order, and how many records each partition had."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.heap: list[tuple[Order, Record]] = []
        self.seen: dict[TopicPartition, int] = {}

    def add(self, record: Record) -> None:
        order = (record.timestamp, record.partition, record.offset, record.topic)
        where = TopicPartition(record.topic, record.partition)
        self.seen[where] = self.seen.get(where, 0) + 1
        if len(self.heap) < self.count:
            heapq.heappush(self.heap, (order, record))
        elif order > self.heap[0][0]:
            heapq.heapreplace(self.heap, (order, record))


def _newest(
    consumer: Consumer,
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
    count: int,
    stop: Stop,
) -> _Newest:
    newest = _Newest(count)
    consumer.assign({where: Span(starts[where], ends[where]) for where in starts})
    while not consumer.done and not stop:
        for record in consumer.records(1.0):
            newest.add(record)
    return newest
