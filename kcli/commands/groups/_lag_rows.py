"""What ``kcli groups lag`` prints: columns and rows, by group, topic, partition or member. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

from kcli.core.errors import KcliError
from kcli.flows.lag.lag_columns import LagColumns
from kcli.flows.lag.summary import Summary, added_up, summary
from kcli.output.blocks import Block, Frame
from kcli.output.progress import duration_text
from kcli.output.tables import Column

if TYPE_CHECKING:
    from kcli.flows.lag.look import LagLook
    from kcli.flows.lag.partition_lag import PartitionLag
    from kcli.flows.lag.verdicts import Trend

Row = dict[str, Any]

_LAG = (
    Column("lag_records", "number"),
    Column("lag_seconds", "duration", spare=1),
    Column("lag_method", wide=True),
    Column("retention_margin_seconds", "duration", wide=True),
    Column("lost_records", "number", wide=True),
)
_MEMBER = (Column("member_id", wide=True), Column("client_id", spare=4), Column("host", wide=True))
_NOBODY: Row = {"member_id": None, "client_id": None, "host": None}
_SAID = (Column("verdict"), Column("note", "prose"))
_TREND = (
    Column("consumed_per_second", "number", spare=2),
    Column("produced_per_second", "number", spare=3),
    Column("net_per_second", "number"),
    Column("eta_seconds", "duration"),
)
_TOLD_EACH = 3  # groups that exceed a limit; of more of them one error is told
_PARTITIONS = Column("partitions", "number", spare=5)

COLUMNS: dict[str, tuple[Column, ...]] = {
    "group": (Column("group"), Column("state", spare=4), _PARTITIONS, *_LAG, *_SAID),
    "topic": (Column("group"), Column("topic"), _PARTITIONS, *_LAG, *_SAID),
    "partition": (
        Column("group"), Column("topic"), Column("partition", "id"), Column("committed", "number", spare=2),
        Column("end", "number", spare=3), Column("log_start", "number", wide=True), *_LAG, *_MEMBER, *_SAID,
    ),
    "member": (
        Column("group"), Column("member_id", spare=4), Column("client_id"), Column("host", spare=6), _PARTITIONS,
        *_LAG, *_SAID,
    ),
}  # fmt: skip
KINDS = {"group": "GroupLag", "topic": "TopicLag", "partition": "PartitionLag", "member": "MemberLag"}


class LagTooLargeError(KcliError):
    """A limit that the user gave is exceeded."""

    exit_code = 8


class Said(NamedTuple):
    """The verdict on a group, and its trend while it is watched."""

    verdict: str | None
    trend: Trend | None = None


def columns(by: str, *, watched: bool) -> tuple[Column, ...]:
    """Rates are known of groups that are watched."""
    if not watched or by != "group":
        return COLUMNS[by]
    place = COLUMNS[by].index(_SAID[0])
    return (*COLUMNS[by][:place], *_TREND, *COLUMNS[by][place:])


def lag_rows(
    seen: LagLook, said: dict[str, Said], by: str, *, only_lagging: bool
) -> Iterator[Iterable[Mapping[str, Any]]]:
    """The rows of a look, group by group; as a Block where they can be."""
    blocks = _Blocks()
    for one in seen.sample.groups:
        rows, word = seen.rows[one.group], said[one.group]
        if by == "partition" and not only_lagging and isinstance(rows, LagColumns):
            yield blocks.block(rows, word)
        else:
            told = _rows_of(one.group, one.state, rows, word, by)
            yield [row for row in told if not only_lagging or row["lag_records"] or row["lost_records"]]


def breaches(seen: LagLook, most: int | None, longest: float | None) -> list[KcliError]:
    """What is more than it may be: a group's sum in records, the worst of its partitions in seconds."""
    if most is None and longest is None:
        return []
    sums = {one.group: summary(seen.rows[one.group]) for one in seen.sample.groups}
    found: list[KcliError] = []
    if most is not None:
        many = {group: one.lag for group, one in sums.items() if one.lag is not None and one.lag > most}
        allowed = f"--max-lag allows at most {most:,}"
        found += _too_large(many, lambda lag: f"{lag:,} records", allowed)
    if longest is not None:
        late = {
            group: one.seconds
            for group, one in sums.items()
            if one.seconds is not None and one.seconds > longest
        }
        allowed = f"--max-lag-time allows at most {duration_text(longest)}"
        found += _too_large(late, duration_text, allowed)
    return found


def _too_large(lags: Mapping[str, float], text: Callable[[float], str], allowed: str) -> list[KcliError]:
    """An error for each group; of many groups one, which names the worst."""
    if len(lags) > _TOLD_EACH:
        worst = sorted(lags, key=lambda group: -lags[group])[:_TOLD_EACH]
        named = ", ".join(f"{group} {text(lags[group])}" for group in worst)
        return [
            LagTooLargeError(
                f"{len(lags):,} groups are too far behind, the furthest of them: {named}",
                why=allowed,
                do="the rows tell the lag of each group; `kcli groups lag --watch` shows whether they catch up",
            )
        ]
    return [
        LagTooLargeError(
            f"group {group} is {text(lags[group])} behind",
            why=allowed,
            do=f"`kcli groups lag {quote(group)} --watch` shows whether it catches up",
        )
        for group in lags
    ]


def _rows_of(group: str, state: str, rows: Sequence[PartitionLag], said: Said, by: str) -> Iterable[Row]:
    if by == "partition":
        return (_partition(row, said) for row in rows)
    if by == "topic":
        found = added_up(rows, lambda row: row.tp.topic)
        return ({"group": group, "topic": topic, **_sum(one, said)} for topic, one in found.items())
    if by == "member":
        members = added_up(rows, lambda row: row.member)
        return ({"group": group, **_member(member), **_sum(one, said)} for member, one in members.items())
    return [{"group": group, "state": state or None, **_sum(summary(rows), said), **_trend(said.trend)}]


def _sum(one: Summary, said: Said) -> Row:
    return {
        "partitions": one.partitions,
        "lag_records": one.lag,
        "lag_seconds": _rounded(one.seconds),
        "lag_method": one.method,
        "retention_margin_seconds": _rounded(one.margin),
        "lost_records": one.lost,
        "verdict": said.verdict,
        "note": one.note or None,
    }


class _Blocks:
    """Rows by partition of groups of which nothing special is to be said; those with the same logs share a frame."""

    def __init__(self) -> None:
        self._frames: dict[tuple[int, str | None, bool | None], Frame] = {}

    def block(self, lags: LagColumns, said: Said) -> Block:
        """The rows of a group."""
        alike = True if all(lags.lags) else None if any(lags.lags) else False
        logs, key = lags.logs, (id(lags.logs), said.verdict, alike)
        frame = self._frames.get(key)
        if frame is None:
            frame = self._frames[key] = _frame(lags, said, alike=alike is not None)
        columns: dict[str, Sequence[Any]] = {"committed": lags.committed, "lag_records": lags.lags}
        if alike is None:
            columns |= {"lag_seconds": lags.seconds, "lag_method": lags.methods}
        if lags.owners:
            members = [_member(lags.owners.get(tp)) for tp in logs.partitions]
            columns |= {key: [member[key] for member in members] for key in _NOBODY}
        return Block(frame, {"group": lags.group}, columns)


def _frame(lags: LagColumns, said: Said, *, alike: bool) -> Frame:
    """``alike``: all partitions have something to read, or none has."""
    logs = lags.logs
    shared = {
        **_NOBODY,
        "retention_margin_seconds": None,
        "lost_records": 0,
        "verdict": said.verdict,
        "note": None,
    }
    if alike:
        shared |= {"lag_seconds": lags.seconds[0], "lag_method": lags.methods[0]}
    columns: dict[str, Sequence[Any]] = {
        "topic": logs.topics,
        "partition": logs.numbers,
        "end": logs.ends,
        "log_start": logs.starts,
    }
    return Frame(len(lags), shared, columns)


def _partition(row: PartitionLag, said: Said) -> Row:
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
        **_member(row.member),
        "verdict": said.verdict,
        "note": row.note or None,
    }


def _member(member: Any) -> Row:
    if member is None:
        return _NOBODY
    return {"member_id": member.member_id, "client_id": member.client_id, "host": member.host}


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
