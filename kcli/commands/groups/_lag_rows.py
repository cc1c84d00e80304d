"""What ``kcli groups lag`` prints: columns and rows, by group, topic, partition or member. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from kcli.core.classes import NamedTuple, replace
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.names import group_argument
from kcli.flows.groups.description import owner_fields
from kcli.flows.lag import partition_lag as fields
from kcli.flows.lag.lag_columns import LagColumns
from kcli.flows.lag.measure import Measurement
from kcli.flows.lag.pace import Trend
from kcli.flows.lag.partition_lag import TREND, PartitionLag
from kcli.flows.lag.sample import GroupSample
from kcli.flows.lag.summary import Summary, summaries_by, summary
from kcli.flows.lag.verdicts import VERDICT, Verdict, worst_of
from kcli.output.blocks import Block, Frame
from kcli.output.progress import counted, duration_text
from kcli.output.tables import Column, row_of

if TYPE_CHECKING:  # loaded where groups are described
    from kcli.core.admin.group_description import MemberDescription

K = TypeVar("K", bound=Hashable)

Row = dict[str, Any]
_Own = tuple[str, Callable[[Any], Any]]
_Frames = dict[tuple[object, ...], tuple[Frame, list[_Own]]]
_ERRORS_AT_MOST = 3  # of groups that exceed a limit; more groups are reported by one error

_SOME = "by partition"  # no word: each partition has its own
_END = (VERDICT, Column("note", "prose"))
BY_GROUP = (fields.GROUP, fields.TYPE, fields.STATE, *fields.OF_SUMMARY, *_END)
BY_TOPIC = (fields.GROUP, fields.TOPIC, *fields.OF_SUMMARY, *_END)
BY_PARTITION = (*fields.OF_PARTITION, *_END)
BY_MEMBER = (
    fields.GROUP,
    replace(fields.MEMBER_ID, wide=False, spare=4),
    replace(fields.CLIENT_ID, spare=0),
    replace(fields.HOST, wide=False, spare=6),
    *fields.OF_SUMMARY,
    *_END,
)
WATCHED = (Column("at", values="time", sometimes=True, meaning="When it was measured; only with --watch."),)
COLUMNS = {"group": BY_GROUP, "topic": BY_TOPIC, "partition": BY_PARTITION, "member": BY_MEMBER}
KINDS = {"group": "GroupLag", "topic": "TopicLag", "partition": "PartitionLag", "member": "MemberLag"}


class LagTooLargeError(KcliError):
    """A limit that the user gave is exceeded."""

    exit_code = ExitCode.CHECK


class GroupVerdict(NamedTuple):
    """The verdict on a group, and its trend while it is watched."""

    verdict: Verdict
    trend: Trend | None = None


def columns(by: str, *, watched: bool) -> tuple[Column, ...]:
    """Columns for rates are added where groups are watched."""
    if not watched or by != "group":
        return COLUMNS[by]
    index = COLUMNS[by].index(VERDICT)
    return (*COLUMNS[by][:index], *TREND, *COLUMNS[by][index:])


def lag_rows(
    found: Measurement, verdicts: dict[str, GroupVerdict], by: str, *, only_lagging: bool
) -> Iterator[Iterable[Mapping[str, Any]]]:
    """The rows of each group; as a Block where that is possible."""
    frames: _Frames = {}
    for one in found.sample.groups:
        rows, verdict = found.rows[one.group], verdicts[one.group]
        if by == "partition" and not only_lagging and isinstance(rows, LagColumns):
            yield _block(rows, verdict, frames)
        else:
            all_rows = _rows_of(one, rows, verdict, by)
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


def are_compared(found: Measurement, *, in_time: bool) -> bool:
    """Whether the lag of each partition is known, so that the limits say something of all that was asked for."""
    return (
        bool(found.rows)
        and not found.sample.missing
        and all(_is_known(rows, in_time=in_time) for rows in found.rows.values())
    )


def _is_known(rows: Collection[PartitionLag], *, in_time: bool) -> bool:
    if isinstance(rows, LagColumns):
        return not (in_time and any(rows.lag))
    return bool(rows) and all(
        row.seconds is not None or not in_time if row.lag else row.lag == 0 or row.is_empty for row in rows
    )


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
    one: GroupSample, rows: Collection[PartitionLag], verdict: GroupVerdict, by: str
) -> Iterable[Row]:
    if by == "group":
        trend = {} if verdict.trend is None else row_of(TREND, verdict.trend)
        whole = _sum(summary(rows), verdict.verdict.word, verdict.verdict.why)
        return [{"group": one.group, "type": one.type or None, "state": one.state or None, **whole, **trend}]
    words = verdict.verdict.of(rows)
    if by == "partition":
        return (
            {**row_of(fields.OF_PARTITION, row), "verdict": word, "note": row.note or None}
            for row, word in zip(rows, words, strict=True)
        )
    if by == "topic":
        return [{"group": one.group, "topic": topic, **part} for topic, part in _sums(rows, words, _topic)]
    return [
        {"group": one.group, **owner_fields(member), **part} for member, part in _sums(rows, words, _member)
    ]


def _sums(
    rows: Collection[PartitionLag], words: Sequence[str | None], key: Callable[[PartitionLag], K]
) -> Iterator[tuple[K, Row]]:
    """The sum and the worst word of the rows of each key."""
    found: dict[K, tuple[list[PartitionLag], list[str | None]]] = {}
    for row, word in zip(rows, words, strict=True):
        some, of_some = found.setdefault(key(row), ([], []))
        some.append(row)
        of_some.append(word)
    for one, total in summaries_by(rows, key).items():
        yield one, _sum(total, worst_of(*found[one]))


def _topic(row: PartitionLag) -> str:
    return row.tp.topic


def _member(row: PartitionLag) -> MemberDescription | None:
    return row.member


def _sum(one: Summary, word: str | None, why: str = "") -> Row:
    note = "; ".join(filter(None, (why, one.note)))
    return {**row_of(fields.OF_SUMMARY, one), "verdict": word, "note": note or None}


def _block(lags: LagColumns, verdict: GroupVerdict, frames: _Frames) -> Block:
    """Rows by partition of a group without notes. Groups of the same shape share a frame, which ``frames`` keeps: they
    have the same logs, and records to read in all partitions, in none, or in some.
    """
    unread = True if all(lags.lag) else None if any(lags.lag) else False
    words = verdict.verdict.partitions
    word = words if isinstance(words, str) or words is None else _SOME
    shape = (id(lags.logs), word, unread, lags.description is None or lags.member is None)
    if shape not in frames:
        frames[shape] = _frame(lags, word)
    frame, own = frames[shape]
    columns = {key: of(lags) for key, of in own}
    if word is _SOME:
        columns[VERDICT.key] = words
    return Block(frame, {fields.GROUP.key: lags.group}, columns)


def _frame(lags: LagColumns, word: str | None) -> tuple[Frame, list[_Own]]:
    """What groups of this shape have in common: all but sequences that are not those of the logs."""
    shared: dict[str, Any] = {"note": None} if word is _SOME else {VERDICT.key: word, "note": None}
    of_logs: dict[str, Sequence[Any]] = {}
    own: list[_Own] = []
    for field in fields.OF_PARTITION:
        value = field.of(lags)
        if not isinstance(value, list | tuple):
            shared[field.key] = value
        elif any(value is one for one in lags.logs):
            of_logs[field.key] = value
        else:
            own.append((field.key, field.of))
    del shared[fields.GROUP.key]
    return Frame(len(lags), shared, of_logs), own
