"""From a sample to the lag of every partition of every group, and its fields. Pure.

Lag in records is the difference of offsets, as in Kafka's own tools. Lag in time is the age of the first unread record.

Lists, schemas, top and metrics are made of the fields. A field takes its value from an attribute: of a ``PartitionLag``,
of ``LagColumns``, where it is a sequence or one value for all partitions, or of a ``Summary``, which has some of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from kcli.core.classes import NamedTuple, replace
from kcli.core.errors import KcliError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.groups.description import SHARE, assigned
from kcli.flows.groups.offsets import NO_LAG, NO_START, LogEnds
from kcli.flows.lag.sample import GroupSample, LagSample
from kcli.output.progress import counted
from kcli.output.tables import Field

if TYPE_CHECKING:  # loaded where groups are described
    from kcli.core.admin.group_description import MemberDescription

_RISKY = 0.1  # of the retention: records read that late may be deleted during the next outage
NO_COMMIT = "no committed offset"
READ, INTERPOLATED, UNKNOWN = "read", "interpolated", "unknown"
"""How a lag in time is known."""


class RecordTime(NamedTuple):
    """When the first unread record at an offset was written. ``time_ms`` None: there is no readable record."""

    time_ms: int | None
    method: str


class PartitionLag(NamedTuple):
    """One row. None is unknown; ``committed`` None: there is no commit. Times are in seconds.

    ``lost`` are the offsets between the commit and the log start; ``margin`` is how long the first unread record is
    still kept at least, by its topic's retention.ms; ``at_risk``: records are lost or soon will be; ``drained``:
    between commit and end there are only transaction markers and aborted records. ``stable``: the last stable offset.

    Of a share group (``type``) ``committed`` is the start offset, as it was last stored: records after it may have been
    acknowledged, so that the lag is what the broker reports, and ``lost`` the least that it can be. ``judged`` is False
    where the lag is not known though nothing failed.
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
    stable: int | None = None
    type: str = ""
    judged: bool = True

    @property
    def read(self) -> int | None:
        """How far the group is: its commit; of a share group the end less the lag."""
        if self.type != SHARE:
            return self.committed
        return None if self.end is None or self.lag is None else self.end - self.lag

    @property
    def is_empty(self) -> bool:
        """Whether the log has no records, so that nothing is unread there, with a commit or without."""
        return self.end is not None and self.end == self.log_start

    @property
    def without_commit(self) -> bool:
        """Whether its group has committed nothing there, which is known."""
        return self.committed is None and not self.judged and self.type != SHARE

    @property
    def topic(self) -> str:
        """The topic's name."""
        return self.tp.topic

    @property
    def partition(self) -> int:
        """The partition's number."""
        return self.tp.partition


def _of_member(name: str) -> Callable[[Any], Any]:
    """What is known of the member that reads a partition."""

    def of(row: Any) -> Any:
        if isinstance(row.member, list):
            return [None if one is None else getattr(one, name) for one in row.member]
        return None if row.member is None else getattr(row.member, name)

    return of


def _state(group: Any) -> str | None:
    return group.state or None


def _type(group: Any) -> str | None:
    return group.type or None


GROUP = Field("group", of=attrgetter("group"))
TYPE = Field(
    "type",
    spare=7,
    of=_type,
    values="string?",
    meaning="Type of the group: classic, consumer, share or streams; null where the broker does not report it.",
)
STATE = Field(
    "state",
    spare=4,
    of=_state,
    meaning="State of the group, as Kafka names it; null where it is unknown.",
)
TOPIC = Field("topic", of=attrgetter("topic"))
PARTITION = Field("partition", "id", of=attrgetter("partition"))
COMMITTED = Field(
    "committed",
    "number",
    spare=2,
    of=attrgetter("committed"),
    meaning="The committed offset; of a share group its start offset, null without one.",
    metric="kcli_group_committed_offset",
)
START = replace(
    COMMITTED,
    meaning="The start offset of a share group as it was last stored: records after it may have been acknowledged.",
    metric="kcli_share_group_start_offset",
)
END = Field(
    "end",
    "number",
    spare=3,
    of=attrgetter("end"),
    meaning="The end of the log; that is the offset after the last record, null where it is unknown.",
    metric="kcli_group_log_end_offset",
)
LOG_START = Field(
    "log_start",
    "number",
    wide=True,
    of=attrgetter("log_start"),
    meaning="Offset of the first record that is still there; null where it is unknown.",
)
LAG_RECORDS = Field(
    "lag_records",
    "number",
    of=attrgetter("lag"),
    meaning="Records between the committed offset and the end of the log; of a share group those that are not "
    "acknowledged, as its coordinator reports them, null where it is unknown.",
    metric="kcli_group_lag_records",
)
LAG_SECONDS = Field(
    "lag_seconds",
    "duration",
    spare=1,
    of=attrgetter("seconds"),
    digits=3,
    meaning="Age of the first unread record; 0 where nothing is unread, null where it is unknown.",
    metric="kcli_group_lag_seconds",
)
LAG_METHOD = Field(
    "lag_method",
    wide=True,
    of=attrgetter("method"),
    values=(READ, INTERPOLATED, UNKNOWN),
    meaning="How lag_seconds was found: from the record itself, or between records with known times.",
)
MARGIN = Field(
    "retention_margin_seconds",
    "duration",
    wide=True,
    of=attrgetter("margin"),
    digits=3,
    meaning="How long the first unread record is kept at least; null where it is unknown or nothing is deleted by time.",
    metric="kcli_group_retention_margin_seconds",
)
LOST = Field(
    "lost_records",
    "number",
    wide=True,
    of=attrgetter("lost"),
    meaning="Offsets between the commit and the start of the log; their records are deleted, of a share group the "
    "least that it can be, null where it is unknown.",
    metric="kcli_group_lost_records",
)
MEMBER_ID = Field(
    "member_id",
    wide=True,
    of=_of_member("member_id"),
    meaning="Id of the member to which the partition is assigned; null where there is none.",
)
CLIENT_ID = Field(
    "client_id",
    spare=4,
    of=_of_member("client_id"),
    meaning="Client id of the member; null where there is none.",
)
HOST = Field(
    "host", wide=True, of=_of_member("host"), meaning="Host of the member; null where there is none."
)
CONSUMED = Field(
    "consumed_per_second",
    "number",
    spare=2,
    of=attrgetter("consumed"),
    digits=1,
    values="number?",
    meaning="Records a second that the group has read; null where it is unknown.",
)
PRODUCED = Field(
    "produced_per_second",
    "number",
    spare=3,
    of=attrgetter("produced"),
    digits=1,
    values="number?",
    meaning="Records a second that were written; null where it is unknown.",
)
NET = Field(
    "net_per_second",
    "number",
    of=attrgetter("net"),
    digits=1,
    values="number?",
    meaning="Growth of the lag in records a second; negative while it shrinks, null where it is unknown.",
)
ETA = Field(
    "eta_seconds",
    "duration",
    of=attrgetter("eta"),
    digits=0,
    meaning="Seconds until nothing is unread at this rate; null where it is unknown, or never.",
)
LAG = (LAG_RECORDS, LAG_SECONDS, LAG_METHOD, MARGIN, LOST)
MEASURED = tuple(field for field in (*LAG, COMMITTED, END) if field.metric)
"""Those of a partition that are metrics, in the order of pages."""

OF_PARTITION = (
    GROUP,
    TOPIC,
    PARTITION,
    COMMITTED,
    END,
    LOG_START,
    *LAG,
    MEMBER_ID,
    CLIENT_ID,
    HOST,
    replace(TYPE, wide=True, spare=0),
)
OF_SUMMARY = (
    Field(
        "partitions",
        "number",
        spare=5,
        of=attrgetter("partitions"),
        values="count",
        meaning="How many partitions.",
    ),
    *LAG,
)
TREND = tuple(replace(field, sometimes=True) for field in (CONSUMED, PRODUCED, NET, ETA))

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
    """The rows of one group. ``notes``: remarks for partitions whose last stable offset is below the end.

    A partition that several members of a share group read is nobody's.
    """
    members = {} if one.description is None else assigned(one.description)
    if one.type == SHARE and one.description is not None:
        readers = Counter(tp for member in one.description.members for tp in member.assignment or ())
        members = {tp: member for tp, member in members.items() if readers[tp] == 1}
    for tp, commit in one.committed.items():
        log, member = sample.bounds[tp], members.get(tp)
        if one.type == SHARE:
            yield _share_lag(sample, one, tp, times, retention)._replace(member=member)
            continue
        offset = commit.offset if isinstance(commit, OffsetAndMetadata) else None
        start, end = log.start, log.end
        if start is None or end is None or offset is None:
            note = str(commit) if isinstance(commit, KcliError) else NO_COMMIT
            if start is None or end is None:
                note = log.note or ""
            yield PartitionLag(
                one.group,
                tp,
                offset,
                end,
                start,
                None,
                None,
                UNKNOWN,
                None,
                None,
                member,
                note,
                stable=log.stable,
                type=one.type,
                judged=commit is not None or log.error is not None,
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
            stable=log.stable,
            type=one.type,
        )


def _share_lag(
    sample: LagSample, one: GroupSample, tp: TopicPartition, times: RecordTimes, retention: Retention
) -> PartitionLag:
    """The row of a share group, without its member."""
    commit, log, lag = one.committed[tp], sample.bounds[tp], one.lags.get(tp)
    start = commit.offset if isinstance(commit, OffsetAndMetadata) else None
    row = PartitionLag(
        one.group, tp, start, log.end, log.start, lag, None, UNKNOWN, None, None, None, log.note or "",
        stable=log.stable, type=SHARE,
    )  # fmt: skip
    if isinstance(commit, KcliError):
        return row._replace(note=str(commit))
    if start is None:
        row = row._replace(note=log.note or NO_START, judged=log.error is not None)
        nothing = log.end is not None and log.start == log.end
        return row._replace(lag=0, seconds=0.0, method=READ, drained=True) if nothing else row
    if lag is None:
        if log.end is None:
            return row
        most = f"at most {max(0, log.end - start):,} unread, {NO_LAG}"
        return row._replace(note=most, judged=False)
    first = unread_of_share(one, tp, log)
    seconds, method, margin = (
        _age(sample.at_ms, tp, first, times, retention)
        if first is not None or not lag
        else (None, UNKNOWN, None)
    )
    lost = None if log.start is None or row.read is None else max(0, log.start - row.read)
    kept = retention.get(tp.topic)
    soon = margin is not None and kept is not None and margin * 1000 < kept * _RISKY
    past = log.end is not None and start > log.end
    return row._replace(
        seconds=seconds,
        method=method,
        margin=0.0 if lost else margin,
        lost=lost,
        note=f"starts {start - (log.end or 0):,} past the end: the log was truncated or the topic recreated"
        if past
        else f"at least {counted(lost, 'offset')} below the log start lost"
        if lost
        else row.note,
        at_risk=bool(lost) or past or soon,
        drained=not lag,
    )


def unread_of_share(one: GroupSample, tp: TopicPartition, bounds: LogEnds) -> int | None:
    """The first record that a share group has not acknowledged, if it is known: where its lag is all that follows the
    start offset.
    """
    commit, lag = one.committed[tp], one.lags.get(tp)
    if not lag or not isinstance(commit, OffsetAndMetadata) or bounds.end is None:
        return None
    return unread_from(commit, bounds) if lag == bounds.end - commit.offset else None


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
