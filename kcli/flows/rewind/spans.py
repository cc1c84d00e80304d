"""How much time lies between the first and the last record of a range of offsets: two small reads for each partition."""

from collections.abc import Mapping

from kcli.core import clock
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition

MOST_PARTITIONS = 200
"""Of more partitions it is not cheap to know."""
SECONDS = 3.0
"""For all of them together; what is not known then stays unknown."""
_LOOK_BACK = 2  # at the end of a transaction the last offset is its marker's
_NO_TIMESTAMP = -1


def time_spans(
    consumer: Consumer, ranges: Mapping[TopicPartition, tuple[int, int]]
) -> dict[TopicPartition, int]:
    """Milliseconds by partition; without an entry where it cannot be known cheaply. Never raises for that."""
    if len(ranges) > MOST_PARTITIONS:
        return {}
    deadline = clock.monotonic() + SECONDS
    try:
        firsts = _first_timestamps(consumer, ranges, deadline)
        lasts = _last_timestamps(consumer, ranges, deadline)
    except KcliError:
        return {}
    return {where: max(0, lasts[where] - firsts[where]) for where in firsts if where in lasts}


def _first_timestamps(
    consumer: Consumer, ranges: Mapping[TopicPartition, tuple[int, int]], deadline: float
) -> dict[TopicPartition, int]:
    found: dict[TopicPartition, int] = {}
    consumer.assign({where: Span(low, high) for where, (low, high) in ranges.items()})
    while not consumer.done and len(found) < len(ranges) and clock.monotonic() < deadline:
        for record in consumer.records(0.1):
            where = TopicPartition(record.topic, record.partition)
            if where not in found:
                found[where] = record.timestamp
                consumer.pause(where)
    return _with_time(found)


def _last_timestamps(
    consumer: Consumer, ranges: Mapping[TopicPartition, tuple[int, int]], deadline: float
) -> dict[TopicPartition, int]:
    found: dict[TopicPartition, int] = {}
    consumer.assign({where: Span(max(low, high - _LOOK_BACK), high) for where, (low, high) in ranges.items()})
    while not consumer.done and clock.monotonic() < deadline:
        for record in consumer.records(0.1):
            found[TopicPartition(record.topic, record.partition)] = record.timestamp
    return _with_time(found) if consumer.done else {}


def _with_time(found: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    return {where: timestamp for where, timestamp in found.items() if timestamp != _NO_TIMESTAMP}
