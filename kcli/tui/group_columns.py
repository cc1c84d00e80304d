"""The table of groups."""

from kcli.flows.lag.verdicts import EMPTY, LOSS_RISK, OK, REBALANCING, REWOUND, SLOW, STALLED, STOPPED
from kcli.flows.monitor.snapshot import GroupLine
from kcli.tui import figures
from kcli.tui.cells import Cell
from kcli.tui.columns import Column

TREND = 8
VERDICT_STYLES = {
    OK: "ok", EMPTY: "dim", REBALANCING: "accent", REWOUND: "accent", SLOW: "warn", STOPPED: "warn",
    STALLED: "bad", LOSS_RISK: "bad",
}  # fmt: skip
_SEVERITY = (LOSS_RISK, STALLED, STOPPED, SLOW, REWOUND, REBALANCING, OK, EMPTY)


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


def _severity(line: GroupLine) -> int | None:
    return None if line.verdict is None else -_SEVERITY.index(line.verdict)


COLUMNS: tuple[Column[GroupLine], ...] = (
    Column("GROUP", 14, lambda one: Cell(one.group), lambda one: one.group, grows=True),
    Column("STATE", 11, lambda one: Cell(one.state or figures.UNKNOWN), lambda one: one.state, drop=4),
    Column("MEMB", 5, _members, lambda one: one.members, drop=5, right=True, falling=True),
    Column(
        "TOPICS", 6, lambda one: Cell(figures.offset(one.topics)), lambda one: one.topics,
        drop=7, right=True, falling=True,
    ),
    Column(
        "LAG", 11, lambda one: Cell(figures.count(one.summary.lag)),
        lambda one: one.summary.lag, right=True, falling=True,
    ),
    Column(
        "TIME", 9, lambda one: Cell(figures.age(one.summary.seconds, one.summary.method)),
        lambda one: one.summary.seconds, drop=1, right=True, falling=True,
    ),
    Column(
        "RATE", 9, lambda one: Cell(figures.rate(one.trend.consumed)),
        lambda one: one.trend.consumed, drop=2, right=True, falling=True,
    ),
    Column(
        "ETA", 8, lambda one: Cell(figures.time_to_drain(one.trend)),
        lambda one: one.trend.eta, drop=3, right=True, falling=True,
    ),
    Column(
        "TREND(5m)", 9, lambda one: Cell(figures.course(one.recent, TREND), "accent"),
        lambda one: one.trend.net, drop=6, falling=True,
    ),
    Column("HEALTH", 11, _verdict, _severity, falling=True),
)  # fmt: skip
