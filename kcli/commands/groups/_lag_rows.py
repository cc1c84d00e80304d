"""What ``kcli groups lag`` prints: columns and rows, by group, topic, partition or member. Pure."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.names import group_argument
from kcli.flows.groups.description import owner_fields
from kcli.flows.lag.lag_columns import LagColumns
from kcli.flows.lag.measure import Measurement
from kcli.flows.lag.partition_lag import PartitionLag
from kcli.flows.lag.summary import Summary, summaries_by, summary
from kcli.flows.lag.verdicts import Trend
from kcli.output.blocks import Block, Frame
from kcli.output.progress import counted, duration_text
from kcli.output.tables import Column

Row = dict[str, Any]

_LAG = (
    Column("lag_records", "number"),
    Column("lag_seconds", "duration", spare=1),
    Column("lag_method", wide=True),
    Column("retention_margin_seconds", "duration", wide=True),
    Column("lost_records", "number", wide=True),
)
_MEMBER = (Column("member_id", wide=True), Column("client_id", spare=4), Column("host", wide=True))
_NO_MEMBER = owner_fields(None)
_VERDICT = (Column("verdict"), Column("note", "prose"))
_TREND = (
    Column("consumed_per_second", "number", spare=2),
    Column("produced_per_second", "number", spare=3),
    Column("net_per_second", "number"),
    Column("eta_seconds", "duration"),
)
_ERRORS_AT_MOST = 3  # of groups that exceed a limit; more groups are reported by one error
_PARTITIONS = Column("partitions", "number", spare=5)

COLUMNS: dict[str, tuple[Column, ...]] = {
    "group": (Column("group"), Column("state", spare=4), _PARTITIONS, *_LAG, *_VERDICT),
    "topic": (Column("group"), Column("topic"), _PARTITIONS, *_LAG, *_VERDICT),
    "partition": (
        Column("group"), Column("topic"), Column("partition", "id"), Column("committed", "number", spare=2),
        Column("end", "number", spare=3), Column("log_start", "number", wide=True), *_LAG, *_MEMBER, *_VERDICT,
    ),
    "member": (
        Column("group"), Column("member_id", spare=4), Column("client_id"), Column("host", spare=6), _PARTITIONS,
        *_LAG, *_VERDICT,
    ),
}  # fmt: skip
KINDS = {"group": "GroupLag", "topic": "TopicLag", "partition": "PartitionLag", "member": "MemberLag"}


class LagTooLargeError(KcliError):
    """A limit that the user gave is exceeded."""

    exit_code = ExitCode.CHECK


class GroupVerdict(NamedTuple):
    """The verdict on a group, and its trend while it is watched."""

    verdict: str | None
    trend: Trend | None = None


def columns(by: str, *, watched: bool) -> tuple[Column, ...]:
    """Columns for rates are added where groups are watched."""
    if not watched or by != "group":
        return COLUMNS[by]
    index = COLUMNS[by].index(_VERDICT[0])
    return (*COLUMNS[by][:index], *_TREND, *COLUMNS[by][index:])


def lag_rows(
    found: Measurement, verdicts: dict[str, GroupVerdict], by: str, *, only_lagging: bool
) -> Iterator[Iterable[Mapping[str, Any]]]:
    """The rows of each group; as a Block where that is possible."""
    frames: dict[tuple[int, str | None, bool | None], Frame] = {}
    for one in found.sample.groups:
        rows, verdict = found.rows[one.group], verdicts[one.group]
        if by == "partition" and not only_lagging and isinstance(rows, LagColumns):
            yield _block(rows, verdict, frames)
        else:
            all_rows = _rows_of(one.group, one.state, rows, verdict, by)
            yield [row for row in all_rows if not only_lagging or row["lag_records"] or row["lost_records"]]


def exceeded_limits(found: Measurement, most: int | None, longest: float | None) -> list[KcliError]:
    """``most`` limits the sum of a group in records, ``longest`` its worst partition in seconds."""
    errors: list[KcliError] = []
    sums = (
        {} if most is None and longest is None else {one: summary(rows) for one, rows in found.rows.items()}
    )
    if most is not None:
        many = {group: one.lag for group, one in sums.items() if one.lag is not None and one.lag > most}
        errors += _too_large(
            many, lambda lag: counted(round(lag), "record"), f"--max-lag allows at most {most:,}"
        )
    if longest is not None:
        late = {
            group: one.seconds
            for group, one in sums.items()
            if one.seconds is not None and one.seconds > longest
        }
        errors += _too_large(late, duration_text, f"--max-lag-time allows at most {duration_text(longest)}")
    return errors


def _too_large(lags: Mapping[str, float], text: Callable[[float], str], allowed: str) -> list[KcliError]:
    """An error for each group; for many groups one error, which names the worst."""
    if len(lags) > _ERRORS_AT_MOST:
        worst = sorted(lags, key=lambda group: -lags[group])[:_ERRORS_AT_MOST]
        named = ", ".join(f"{group} {text(lags[group])}" for group in worst)
        return [
            LagTooLargeError(
                f"{len(lags):,} groups are too far behind, the furthest of them: {named}",
                why=allowed,
                do="see the lag of each group above; `kcli groups lag --watch` shows whether they catch up",
            )
        ]
    return [
        LagTooLargeError(
            f"group {group} is {text(lags[group])} behind",
            why=allowed,
            do=f"`kcli groups lag {group_argument(group)} --watch` shows whether it catches up",
        )
        for group in lags
    ]


def _rows_of(
    group: str, state: str, rows: Collection[PartitionLag], verdict: GroupVerdict, by: str
) -> Iterable[Row]:
    if by == "partition":
        return (_partition(row, verdict) for row in rows)
    if by == "topic":
        topics = summaries_by(rows, lambda row: row.tp.topic)
        return ({"group": group, "topic": topic, **_sum(one, verdict)} for topic, one in topics.items())
    if by == "member":
        members = summaries_by(rows, lambda row: row.member)
        return (
            {"group": group, **owner_fields(member), **_sum(one, verdict)} for member, one in members.items()
        )
    return [{"group": group, "state": state or None, **_sum(summary(rows), verdict), **_trend(verdict.trend)}]


def _sum(one: Summary, verdict: GroupVerdict) -> Row:
    return {
        "partitions": one.partitions,
        "lag_records": one.lag,
        "lag_seconds": _rounded(one.seconds),
        "lag_method": one.method,
        "retention_margin_seconds": _rounded(one.margin),
        "lost_records": one.lost,
        "verdict": verdict.verdict,
        "note": one.note or None,
    }


def _block(
    lags: LagColumns, verdict: GroupVerdict, frames: dict[tuple[int, str | None, bool | None], Frame]
) -> Block:
    """Rows by partition of a group without notes. Groups with the same logs share a frame, which ``frames`` keeps."""
    logs = lags.logs
    alike = True if all(lags.lags) else None if any(lags.lags) else False
    columns: dict[str, Sequence[Any]] = {"committed": lags.committed, "lag_records": lags.lags}
    if alike is None:
        columns |= {"lag_seconds": lags.seconds, "lag_method": lags.methods}
    if owners := lags.owners:
        members = [owner_fields(owners.get(tp)) for tp in logs.partitions]
        columns |= {key: [member[key] for member in members] for key in _NO_MEMBER}
    key = (id(logs), verdict.verdict, alike)
    if key not in frames:
        shared = {**_NO_MEMBER, "retention_margin_seconds": None, "lost_records": 0}
        shared |= {"verdict": verdict.verdict, "note": None}
        if alike is not None:
            shared |= {"lag_seconds": lags.seconds[0], "lag_method": lags.methods[0]}
        of_logs: dict[str, Sequence[Any]] = {"topic": logs.topics, "partition": logs.numbers}
        of_logs |= {"end": logs.ends, "log_start": logs.starts}
        frames[key] = Frame(len(lags), shared, of_logs)
    return Block(frames[key], {"group": lags.group}, columns)


def _partition(row: PartitionLag, verdict: GroupVerdict) -> Row:
    return {
        "group": row.group,
        "topic": row.tp.topic,
        "partition": row.tp.partition,
        "committed": row.committed,
        "end": row.end,
        "log_start": row.log_start,
        "lag_records": row.lag,
        "lag_seconds": _rounded(row.seconds),
        "lag_method": row.method,
        "retention_margin_seconds": _rounded(row.margin),
        "lost_records": row.lost,
        **owner_fields(row.member),
        "verdict": verdict.verdict,
        "note": row.note or None,
    }


def _trend(trend: Trend | None) -> Row:
    if trend is None:
        return {}
    return {
        "consumed_per_second": _rounded(trend.consumed, 1),
        "produced_per_second": _rounded(trend.produced, 1),
        "net_per_second": _rounded(trend.net, 1),
        "eta_seconds": _rounded(trend.eta, 0),
    }


def _rounded(value: float | None, digits: int = 3) -> float | None:
    return None if value is None else round(value, digits)
