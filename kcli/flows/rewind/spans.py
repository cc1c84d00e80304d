"""How much time lies between the first and the last record of a range of offsets, and what follows the offset at a time:
reads a few records only.
"""

from collections.abc import Mapping, Sequence

from kcli.core.admin.admin import Admin
from kcli.core.admin.first_records import FirstRecord
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.groups.first_records import PartitionOffset, first_records_at
from kcli.flows.time_limits import TimeLimit, disorder_text, look, newest_of

MOST_PARTITIONS = 200
"""For more partitions it would not be cheap."""
SECONDS = 1.0
"""Limits the reads; what is not known by then stays unknown."""


def time_spans(
    admin: Admin, groups: Sequence[Mapping[TopicPartition, tuple[int, int]]]
) -> list[dict[TopicPartition, int]]:
    """Milliseconds by partition, of the ranges of each group; partitions without a cheaply known span are omitted. Failed
    reads raise no error.
    """
    few = [ranges if len(ranges) <= MOST_PARTITIONS else {} for ranges in groups]
    # At the end of a transaction the last offset is that of its marker; the last record precedes it.
    positions = [
        (tp, max(low, at))
        for ranges in few
        for tp, (low, high) in ranges.items()
        for at in (low, high - 1, high - 2)
    ]
    try:
        found = first_records_at(admin, positions, committed_only=False, timeout=SECONDS)
    except KcliError:
        return [{} for _ in groups]
    return [_spans(ranges, found) for ranges in few]


def _spans(
    ranges: Mapping[TopicPartition, tuple[int, int]],
    found: Mapping[PartitionOffset, FirstRecord | KcliError | None],
) -> dict[TopicPartition, int]:
    spans = {}
    for tp, (low, high) in ranges.items():
        first, *last = (_time(found[tp, max(low, at)], high) for at in (low, high - 1, high - 2))
        end = next((time for time in last if time is not None), None)
        if first is not None and end is not None:
            spans[tp] = max(0, end - first)
    return spans


def time_disorders(admin: Admin, limits: Sequence[TimeLimit]) -> dict[TopicPartition, str]:
    """What is to be said of the records that follow limits in time and are older; partitions where none are known are
    omitted. Failed reads raise no error.
    """
    try:
        found = look(admin.cluster, limits, SECONDS, committed_only=True)
        newest = newest_of(admin.cluster, found, SECONDS)
    except KcliError:
        return {}
    return {one.limit.tp: disorder_text(one, newest) for one in found if one.records}


def _time(record: FirstRecord | KcliError | None, high: int) -> int | None:
    """When a record below ``high`` was written; None where there is none, or it has no timestamp."""
    if isinstance(record, FirstRecord) and record.offset < high and record.timestamp >= 0:
        return record.timestamp
    return None
