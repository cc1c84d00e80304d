"""The records around commits: the last ones that a group has read, and the next ones that it will read."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from kcli.core.consumer.consumer import Consumer
from kcli.core.types import Record, TopicPartition
from kcli.flows.groups.budget import Budget
from kcli.flows.groups.reading_back import backwards, known_bounds, read_spans


@dataclass(slots=True)
class Around:
    """Records in offset order: ``read`` are below the commit, ``next`` from it on."""

    read: list[Record] = field(default_factory=list)
    next: list[Record] = field(default_factory=list)


def peek(
    consumer: Consumer, commits: Mapping[TopicPartition, int], count: int, budget: Budget, timeout: float
) -> dict[TopicPartition, Around]:
    """At most ``count`` records around each offset; an odd count gives one more of the next than of the last.

    Records that exceed the budget are missing, and so are partitions whose log bounds are not known.
    """
    logs = known_bounds(consumer, commits, timeout)
    places = {tp: offset for tp, offset in commits.items() if tp in logs.starts}
    ahead = {tp: range(max(offset, logs.starts[tp]), logs.ends[tp]) for tp, offset in places.items()}
    found = {tp: Around() for tp in places}
    wanted = count - count // 2

    def take_next(record: Record) -> bool:
        records = found[TopicPartition(record.topic, record.partition)].next
        records.append(record)
        return len(records) >= wanted

    read_spans(consumer, {tp: span for tp, span in ahead.items() if span}, take_next, budget)
    below = {tp: min(offset, logs.ends[tp]) for tp, offset in places.items()}
    for tp, records in _read_before(consumer, below, logs.starts, count // 2, budget).items():
        found[tp].read = records
    return found


def _read_before(
    consumer: Consumer,
    below: Mapping[TopicPartition, int],
    starts: Mapping[TopicPartition, int],
    count: int,
    budget: Budget,
) -> dict[TopicPartition, list[Record]]:
    """The last ``count`` records below each offset. A step back that found too few is followed by a longer step."""
    steps: dict[TopicPartition, list[deque[Record]]] = {tp: [] for tp in below}

    def begin(tp: TopicPartition) -> bool:
        missing = count - sum(map(len, steps[tp]))
        if missing > 0:
            steps[tp].append(deque(maxlen=missing))
        return missing > 0

    def take(record: Record) -> None:
        steps[TopicPartition(record.topic, record.partition)][-1].append(record)

    backwards(consumer, below, starts, max(1, count), take, begin, budget)
    return {tp: [record for step in reversed(rows) for record in step] for tp, rows in steps.items()}
