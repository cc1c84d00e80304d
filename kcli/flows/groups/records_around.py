"""The records around commits: the last that a group has read, and the next that it will read."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from kcli.core.classes import dataclass, field
from kcli.core.errors import KcliError
from kcli.core.types import GroupPartition, Record, TopicPartition
from kcli.flows.groups.bounded_reads import Budget, known_bounds, read_backwards, read_spans
from kcli.flows.groups.description import Described

if TYPE_CHECKING:  # loaded where records are read
    from kcli.core.consumer.consumer import Consumer

MOST_BYTES, MOST_SECONDS = 16 << 20, 10.0


@dataclass(slots=True)
class RecordsAround:
    """Records in offset order: ``read`` are below the commit, ``next`` from it on; of a share group, the start offset."""

    read: list[Record] = field(default_factory=list)
    next: list[Record] = field(default_factory=list)


def read_around_commits(
    consumer: Consumer,
    groups: Sequence[Described],
    count: int,
    *,
    timeout: float,
    warn: Callable[[str], object],
) -> dict[GroupPartition, RecordsAround]:
    """``records_around`` the commits of the groups, within a fixed budget. ``warn`` is called with what is missing."""
    budget = Budget(MOST_BYTES, MOST_SECONDS)
    found: dict[GroupPartition, RecordsAround] = {}
    for group in groups:
        commits = {
            tp: position.committed.offset
            for tp, position in group.positions.items()
            if position.committed is not None and position.end is not None
        }
        if not commits or budget.spent:
            continue
        try:
            around = records_around(consumer, commits, count, budget, timeout)
        except KcliError as error:
            warn(f"records around the commits of group {group.group_id} are not shown: {error}")
            continue
        found |= {GroupPartition(group.group_id, tp): records for tp, records in around.items()}
    if budget.spent:
        warn(
            f"--peek stopped after {MOST_BYTES >> 20} MiB or {MOST_SECONDS:g} s:"
            " some records around commits are missing"
        )
    return found


def records_around(
    consumer: Consumer, commits: Mapping[TopicPartition, int], count: int, budget: Budget, timeout: float
) -> dict[TopicPartition, RecordsAround]:
    """At most ``count`` records around each offset; an odd count gives one more of the next than of the last.

    Records that exceed the budget are missing, and so are partitions whose log bounds are not known.
    """
    logs = known_bounds(consumer, commits, timeout)
    offsets = {tp: offset for tp, offset in commits.items() if tp in logs.starts}
    ahead = {tp: range(max(offset, logs.starts[tp]), logs.ends[tp]) for tp, offset in offsets.items()}
    found = {tp: RecordsAround() for tp in offsets}
    wanted = count - count // 2

    def add_next(record: Record) -> bool:
        records = found[TopicPartition(record.topic, record.partition)].next
        records.append(record)
        return len(records) >= wanted

    read_spans(consumer, {tp: span for tp, span in ahead.items() if span}, add_next, budget)
    below = {tp: min(offset, logs.ends[tp]) for tp, offset in offsets.items()}
    for tp, records in records_before(consumer, below, logs.starts, count // 2, budget).items():
        found[tp].read = records
    return found


def records_before(
    consumer: Consumer,
    below: Mapping[TopicPartition, int],
    starts: Mapping[TopicPartition, int],
    count: int,
    budget: Budget,
) -> dict[TopicPartition, list[Record]]:
    """The last ``count`` records below each offset. A step back that found too few is followed by a longer step."""
    steps: dict[TopicPartition, list[deque[Record]]] = {tp: [] for tp in below}

    def begin_step(tp: TopicPartition) -> bool:
        missing = count - sum(map(len, steps[tp]))
        if missing > 0:
            steps[tp].append(deque(maxlen=missing))
        return missing > 0

    def add_record(record: Record) -> None:
        steps[TopicPartition(record.topic, record.partition)][-1].append(record)

    read_backwards(consumer, below, starts, max(1, count), add_record, begin_step, budget)
    return {tp: [record for step in reversed(rows) for record in step] for tp, rows in steps.items()}
