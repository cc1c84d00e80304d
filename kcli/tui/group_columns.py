"""The table of groups."""

from collections.abc import Callable
from operator import attrgetter

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
    WORST_FIRST,
)
from kcli.flows.monitor.snapshot import GroupLine
from kcli.output.progress import duration_text
from kcli.output.tables import Field
from kcli.tui import figures
from kcli.tui.cells import Cell
from kcli.tui.columns import Column, fields_of

TREND = 8
VERDICT_STYLES = {
    OK: "ok", EMPTY: "dim", REBALANCING: "accent", REWOUND: "accent", SLOW: "warn", STOPPED: "warn", HELD: "warn",
    STALLED: "bad", LOSS_RISK: "bad", UNREAD: "dim",
}  # fmt: skip
_SHORT = {REBALANCING: "REBAL", LOSS_RISK: "AT RISK"}
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
_SEVERITY = (*WORST_FIRST, REBALANCING, OK, EMPTY)


def verdict_text(verdict: str | None) -> str:
    """In capitals where somebody should look."""
    if verdict is None:
        return figures.UNKNOWN
    return verdict if verdict in (OK, EMPTY) else verdict.upper()


def _members(line: GroupLine) -> Cell:
    if line.members is None:
        return Cell(figures.UNKNOWN, "dim")
    if line.reading is None or line.reading == line.members:
        return Cell(str(line.members))
    return Cell(f"{line.reading}/{line.members}", "warn")


def _verdict(line: GroupLine) -> Cell:
    return Cell(verdict_text(line.verdict), VERDICT_STYLES.get(line.verdict or "", "dim"))


def _short_verdict(line: GroupLine) -> Cell:
    cell = _verdict(line)
    return cell._replace(text=_SHORT.get(line.verdict or "", cell.text))


def _severity(line: GroupLine) -> int | None:
    return None if line.verdict is None else -_SEVERITY.index(line.verdict)


def _lag(line: GroupLine, text: Callable[[int | None], str]) -> Cell:
    """In brackets where it is that of an earlier reading."""
    if line.last is None:
        return Cell(text(line.summary.lag))
    return Cell(f"({text(line.last.lag)})", "dim")


def _time(line: GroupLine) -> Cell:
    if line.age is None:
        return Cell(figures.age(line.summary.seconds, line.summary.method))
    return Cell(f"{duration_text(line.age)} ago", "dim")


_summary, _trend = attrgetter("summary"), attrgetter("trend")

COLUMNS: tuple[Column[GroupLine], ...] = (
    Column(
        "GROUP", 14, lambda one: Cell(one.group), lambda one: one.group, grows=True, least=4,
        about="the group's name",
        data=(fields.GROUP,),
    ),
    Column(
        "STATE", 11, lambda one: Cell(one.state or figures.UNKNOWN), lambda one: one.state, drop=4, grows=True,
        about="what the coordinator says: Stable, Empty, PreparingRebalance, …",
        data=(fields.STATE,),
    ),
    Column(
        "MEMB", 5, _members, lambda one: one.members, drop=5, right=True, falling=True,
        about="members; 4/6: four of six have partitions",
        data=(
            Field("members", "number", of=lambda one: one.members, meaning="Members; null where they are unknown."),
            Field(
                "members_with_partitions", "number", of=lambda one: one.reading,
                meaning="Members that have partitions; null where it is unknown.",
            ),
        ),
    ),
    Column(
        "TOPICS", 6, lambda one: Cell(figures.count(one.topics)), lambda one: one.topics, drop=7, right=True,
        falling=True,
        data=(
            Field(
                "topics", "number", of=lambda one: one.topics, values="count",
                meaning="Topics with a committed offset, or read by a member.",
            ),
        ),
    ),
    Column(
        "LAG", 11, lambda one: _lag(one, figures.count), lambda one: (one.last or one.summary).lag, right=True,
        falling=True, least=6, narrow=lambda one: _lag(one, figures.short),
        about="records between the committed offsets and the ends of the partitions; in brackets: when it was read last",
        data=(fields.LAG_RECORDS.within(_summary),),
    ),
    Column(
        "TIME", 9, _time,
        lambda one: one.summary.seconds, drop=1, right=True, falling=True,
        about="age of the first unread record of the worst partition; ≈: estimated; 3m ago: when it was read last",
        data=(fields.LAG_SECONDS.within(_summary), fields.LAG_METHOD.within(_summary)),
    ),
    Column(
        "RATE", 9, lambda one: Cell(figures.rate(one.trend.consumed)), lambda one: one.trend.consumed,
        drop=2, right=True, falling=True,
        about="records read per second, over the last minute",
        data=(fields.CONSUMED.within(_trend),),
    ),
    Column(
        "ETA", 8, lambda one: Cell(figures.time_to_drain(one.trend)), lambda one: one.trend.eta, drop=3,
        right=True, falling=True,
        about="time until nothing is unread at this rate; growing: never",
        data=(fields.ETA.within(_trend),),
    ),
    Column(
        "TREND(5m)", 9, lambda one: Cell(figures.course(one.recent, TREND), "accent"),
        lambda one: one.trend.net, drop=6, falling=True,
        stretch=lambda one, width: Cell(figures.course(one.recent, width), "accent"),
        about="the lag of the last five minutes; sorts by how fast it grows",
        data=(fields.NET.within(_trend),),
    ),
    Column(
        "HEALTH", 11, _verdict, _severity, falling=True, least=7,
        narrow=_short_verdict,
        about="the verdict; in capitals where it needs attention",
        data=(Field("verdict", of=lambda one: one.verdict, values=VERDICT.values, meaning=VERDICT.meaning),),
    ),
)  # fmt: skip
FIELDS = fields_of(COLUMNS)
