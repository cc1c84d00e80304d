"""From a sample to the lag of every partition of every group. Pure.

Lag in records is the difference of offsets, as in Kafka's own tools. Lag in time is the age of the first unread record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kcli.core.errors import KcliError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.groups.description import assigned
from kcli.flows.groups.offsets import LogEnds
from kcli.flows.lag.fields import READ, UNKNOWN
from kcli.flows.lag.sample import GroupSample, LagSample
from kcli.output.progress import counted

if TYPE_CHECKING:  # loaded where groups are described
    from kcli.core.admin.group_description import MemberDescription

_RISKY = 0.1  # of the retention: records read that late may be deleted during the next outage


class RecordTime(NamedTuple):
    """When the first unread record at an offset was written. ``time_ms`` None: there is no readable record."""

    time_ms: int | None
    method: str


class PartitionLag(NamedTuple):
    """One row. None is unknown; ``committed`` None: there is no commit. Times are in seconds.

    ``lost`` are the offsets between the commit and the log start; ``margin`` is how long the first unread record is
    still kept at least, by its topic's retention.ms; ``at_risk``: records are lost or soon will be; ``drained``:
    between commit and end there are only transaction markers and aborted records.
    """

    group: str
    tp: TopicPartition
    committed: int | None
    end: int | None
    log_start: int | None
    lag: int | None
    seconds: float | None
    method: str
    margin: float | None
    lost: int | None
    member: MemberDescription | None
    note: str
    at_risk: bool = False
    drained: bool = False

    @property
    def topic(self) -> str:
        """The topic's name."""
        return self.tp.topic

    @property
    def partition(self) -> int:
        """The partition's number."""
        return self.tp.partition


RecordTimes = Mapping[tuple[TopicPartition, int], RecordTime]
Retention = Mapping[str, int]
"""``retention.ms`` of topics that delete by time."""


def partition_lags(
    sample: LagSample,
    one: GroupSample,
    times: RecordTimes,
    retention: Retention,
    notes: Mapping[TopicPartition, str],
) -> Iterator[PartitionLag]:
    """The rows of one group. ``notes``: remarks for partitions whose last stable offset is below the end."""
    members = {} if one.description is None else assigned(one.description)
    for tp, commit in one.committed.items():
        log, member = sample.bounds[tp], members.get(tp)
        offset = commit.offset if isinstance(commit, OffsetAndMetadata) else None
        start, end = log.start, log.end
        if start is None or end is None or offset is None:
            note = str(commit) if isinstance(commit, KcliError) else "no committed offset"
            if start is None or end is None:
                note = log.note or ""
            yield PartitionLag(
                one.group, tp, offset, end, start, None, None, UNKNOWN, None, None, member, note
            )
            continue
        remarks = []
        if offset > end:
            remarks.append(
                f"committed {offset - end:,} past the end: the log was truncated or the topic recreated"
            )
        lost = max(0, start - offset)
        if lost:
            remarks.append(
                f"{counted(lost, 'offset')} below the log start {'is' if lost == 1 else 'are'} lost"
            )
        if tp in notes:
            remarks.append(notes[tp])
        first = unread_from(commit, log)
        seconds, method, margin = _age(sample.at_ms, tp, first, times, retention)
        kept = retention.get(tp.topic)
        soon = margin is not None and kept is not None and margin * 1000 < kept * _RISKY
        time = None if first is None else times.get((tp, first))
        yield PartitionLag(
            one.group,
            tp,
            offset,
            end,
            start,
            max(0, end - offset),
            seconds,
            method,
            0.0 if lost else margin,
            lost,
            member,
            "; ".join(remarks),
            at_risk=lost > 0 or offset > end or soon,
            drained=first is None or (time is not None and time.time_ms is None and time.method == READ),
        )


def unread_from(commit: OffsetAndMetadata | KcliError | None, bounds: LogEnds) -> int | None:
    """The offset from which a group has records to read; None where it has none, or nothing is known."""
    if not isinstance(commit, OffsetAndMetadata) or bounds.start is None or bounds.end is None:
        return None
    first = max(commit.offset, bounds.start)
    return first if first < bounds.end else None


def _age(
    now: int, tp: TopicPartition, first: int | None, times: RecordTimes, retention: Retention
) -> tuple[float | None, str, float | None]:
    """Lag in seconds, how it is known, and the retention margin."""
    if first is None:
        return 0.0, READ, None
    time = times.get((tp, first))
    if time is None or time.method == UNKNOWN:
        return None, UNKNOWN, None
    if time.time_ms is None:  # markers and aborted records only
        return 0.0, time.method, None
    kept = retention.get(tp.topic)
    margin = None if kept is None else max(0.0, (time.time_ms + kept - now) / 1000)
    return max(0.0, (now - time.time_ms) / 1000), time.method, margin
