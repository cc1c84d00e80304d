"""The table of groups."""

from operator import attrgetter

from kcli.flows.groups.description import SHARE, STREAMS
from kcli.flows.lag import partition_lag as fields
from kcli.flows.lag.verdicts import (
    EMPTY,
    HELD,
    LOSS_RISK,
    OK,
    REBALANCING,
    REWOUND,
    SLOW,
    STALLED,
    STOPPED,
    UNREAD,
    VERDICT,
)
from kcli.flows.monitor.snapshot import GroupLine
from kcli.output.tables import Field
from kcli.tui import figures
from kcli.tui.cells import Cell
from kcli.tui.columns import Column, fields_of
from kcli.tui.look import SIGNS
from kcli.tui.standing import GroupRow, meaning

TREND = 10
_CALM = 10
"""Seconds of what is written: a lag of less is no mountain range."""
_SHORT = {
    REBALANCING: "rebal", LOSS_RISK: "risk", STALLED: "stall", STOPPED: "stop", REWOUND: "back", UNREAD: "?"
}  # fmt: skip
VERDICTS_MEAN = {
    OK: "it reads as fast as is written, or has nothing to read",
    SLOW: "it reads, but falls behind",
    STALLED: "it has members and unread records, but commits nothing",
    STOPPED: "it has unread records and no members",
    LOSS_RISK: "retention has deleted unread records, or soon will",
    HELD: "an open transaction keeps its readers back",
    REWOUND: "its commits moved back",
    UNREAD: "a part of it could not be read",
    REBALANCING: "its partitions are being handed out again",
    EMPTY: "no members, and nothing to read",
}


def verdict_cell(verdict: str | None) -> Cell:
    """The word with the sign of its meaning, in its colour."""
    if verdict is None:
        return Cell(f"  {figures.UNKNOWN}", "dim")
    return Cell(f"{SIGNS[meaning(verdict)]} {verdict}", meaning(verdict))


def _verdict(row: GroupRow) -> Cell:
    return _styled(row, verdict_cell(row.line.verdict))


def _short_verdict(row: GroupRow) -> Cell:
    cell, word = _verdict(row), row.line.verdict
    return cell._replace(text=f"{cell.text[0]} {_SHORT[word]}") if word in _SHORT else cell


def _styled(row: GroupRow, cell: Cell) -> Cell:
    """Dimmed where the group has recovered, or cannot be read."""
    if row.line.verdict == UNREAD:
        return cell._replace(style="unread")
    return cell._replace(style="dim") if row.faded else cell


def _text(row: GroupRow, text: str) -> Cell:
    return _styled(row, Cell(text))


def _old(row: GroupRow, text: str) -> Cell:
    """A value that may have changed since is in brackets."""
    return _text(row, f"({text})" if row.age is not None and text != figures.UNKNOWN else text)


def _lag(row: GroupRow, text: str) -> Cell:
    """At least so much, where some of its partitions could not be read."""
    words = row.line.judged.partitions
    partial = row.age is None and not isinstance(words, str) and UNREAD in (words or ())
    return _old(row, figures.at_least(text, partial=partial))


def _now(row: GroupRow, text: str) -> Cell:
    """A value that means nothing once it is old."""
    return _text(row, text if row.age is None else figures.UNKNOWN)


def _behind(row: GroupRow) -> Cell:
    if row.age is not None:
        return _text(row, figures.ago(row.age))
    return _text(row, figures.age(row.line.summary.seconds, row.line.summary.method))


def _members(row: GroupRow) -> Cell:
    line = row.line
    if line.members is None or row.age is not None:
        return _text(row, figures.UNKNOWN)
    if line.reading is None or line.reading == line.members:
        return _text(row, str(line.members))
    return Cell(f"{line.reading}/{line.members}", "warn")


def course_of(line: GroupLine, width: int) -> str:
    """The lag of the last five minutes, flat where it is read within seconds."""
    return figures.course(line.recent, width, calm=calm_of(line))


def calm_of(line: GroupLine) -> float:
    """The lag, in records, that is written within seconds."""
    return _pace(line) * _CALM


def _pace(line: GroupLine) -> float:
    """Records written per second; of a group that cannot be read now, as its last lags in records and in time say."""
    if line.trend.produced is not None or line.last is None:
        return line.trend.produced or 0
    lag, seconds = line.last.lag, line.last.seconds
    return 0 if lag is None or seconds is None else lag / max(seconds, 0.1)


def _course(row: GroupRow, width: int = TREND) -> Cell:
    return _styled(row, Cell(course_of(row.line, width), meaning(row.line.verdict)))


def _topics(row: GroupRow) -> str:
    return figures.UNKNOWN if row.line.topics is None else str(row.line.topics)


def _why(row: GroupRow) -> Cell:
    return Cell(row.line.judged.why if row.line.verdict == UNREAD else "", "unread")


_line = attrgetter("line")
_summary, _trend = attrgetter("line.summary"), attrgetter("line.trend")

COLUMNS: tuple[Column[GroupRow], ...] = (
    Column(
        "VERDICT", 13, _verdict, lambda one: (one.rank, one.line.group), least=7, narrow=_short_verdict,
        about="the state in a word; sorts by what needs a person, where a group that recovers stays for a minute",
        data=(Field("verdict", of=lambda one: one.line.verdict, values=VERDICT.values, meaning=VERDICT.meaning),),
    ),
    Column(
        "GROUP", 14, lambda one: _text(one, one.line.group), lambda one: one.line.group, grows=True, least=4,
        middle=True,
        about="the group's name",
        data=(fields.GROUP.within(_line),),
    ),
    Column(
        "TYPE", 8, lambda one: _text(one, one.line.type or figures.UNKNOWN), lambda one: one.line.type, drop=6,
        about="classic, consumer, share or streams; shown where a group is of the last two",
        data=(fields.TYPE.within(_line),), needed=lambda one: one.line.type in (SHARE, STREAMS),
    ),
    Column(
        "LAG", 9, lambda one: _lag(one, figures.count(one.seen.lag)), lambda one: one.seen.lag,
        right=True, grows=True, falling=True, least=6,
        narrow=lambda one: _lag(one, figures.short(one.seen.lag)),
        about="records between the committed offsets and the ends of the partitions; ≥: some could not be read",
        data=(fields.LAG_RECORDS.within(_summary),),
    ),
    Column(
        "BEHIND", 9, _behind, lambda one: one.line.summary.seconds, drop=1, right=True, grows=True, falling=True,
        about="age of the first unread record of the worst partition; ≈: estimated",
        data=(fields.LAG_SECONDS.within(_summary), fields.LAG_METHOD.within(_summary)),
    ),
    Column(
        "5 MIN", TREND, _course, lambda one: one.line.trend.net, drop=2, right=True, falling=True, stretch=_course,
        about="the lag of the last five minutes; sorts by how fast it grows",
        data=(fields.NET.within(_trend),),
    ),
    Column(
        "IN/S", 7, lambda one: _now(one, figures.per_second(one.line.trend.produced)),
        lambda one: one.line.trend.produced, drop=5, right=True, grows=True, falling=True,
        about="records written per second to what it reads, over the last minute",
        data=(fields.PRODUCED.within(_trend),),
    ),
    Column(
        "OUT/S", 7, lambda one: _now(one, figures.per_second(one.line.trend.consumed)),
        lambda one: one.line.trend.consumed, drop=4, right=True, grows=True, falling=True,
        about="records read per second, over the last minute",
        data=(fields.CONSUMED.within(_trend),),
    ),
    Column(
        "ETA", 8, lambda one: _now(one, figures.time_to_drain(one.line.trend)), lambda one: one.line.trend.eta, drop=3,
        right=True, grows=True, falling=True,
        about="time until nothing is unread at this rate; growing: never",
        data=(fields.ETA.within(_trend),),
    ),
    Column(
        "MEMBERS", 8, _members, lambda one: one.line.members, drop=7, right=True, falling=True,
        about="members; 4/6: four of six have partitions",
        data=(
            Field("members", "number", of=lambda one: one.line.members, meaning="Members; null where they are unknown."),
            Field(
                "members_with_partitions", "number", of=lambda one: one.line.reading,
                meaning="Members that have partitions; null where it is unknown.",
            ),
        ),
    ),
    Column(
        "STATE", 11, lambda one: _text(one, one.line.state.removesuffix("Rebalance") or figures.UNKNOWN),
        lambda one: one.line.state, drop=8, grows=True,
        about="what the coordinator says: Stable, Empty, Preparing or Completing a rebalance, …",
        data=(fields.STATE.within(_line),),
    ),
    Column(
        "TOPICS", 7, lambda one: _text(one, _topics(one)), lambda one: one.line.topics, drop=9, right=True,
        falling=True,
        data=(
            Field(
                "topics", "number", of=lambda one: one.line.topics, values="count",
                meaning="Topics with a committed offset, or read by a member.",
            ),
        ),
    ),
    Column(
        "NOT READ", 12, _why, lambda one: one.line.judged.why or None, drop=10, grows=True,
        about="why the group could not be read",
    ),
)  # fmt: skip
FIELDS = fields_of(COLUMNS)
