"""The lines above and below a table: the state of the screen, totals, events, keys. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
)
from kcli.flows.monitor.snapshot import Event, Snapshot
from kcli.output.progress import counted, duration_text
from kcli.tui import figures
from kcli.tui.cells import Cell, Line, fitted, width_of
from kcli.tui.facts import Facts
from kcli.tui.fitting import Part, cut, fitting, line_width, spread
from kcli.tui.group_columns import VERDICT_STYLES

_SHORT = {REBALANCING: "rebal", LOSS_RISK: "at risk"}
_COUNTED = {
    OK: 6, SLOW: 4, STALLED: 2, STOPPED: 3, LOSS_RISK: 1, HELD: 5, UNREAD: 7, REWOUND: 8, REBALANCING: 9, EMPTY: 10,
}  # fmt: skip
"""The verdicts in the order of their counts, and which counts a narrow terminal drops first: see ``Part.drop``."""
_LAG_COURSE, _RATE_COURSE = 16, 8
_RULE = "─"


@dataclass(frozen=True, slots=True)
class Status:
    """How the screen is: ``at_ms`` is now, ``lost`` why the cluster cannot be read and since when.

    ``speed`` is that of a recording, whose zone is ``utc_offset``; None for a cluster. ``note``: what became of readings.
    """

    at_ms: int
    interval: float
    paused: bool = False
    lost: tuple[int, str] | None = None
    requests: float | None = None
    speed: float | None = None
    utc_offset: int | None = None
    note: str = ""


def title_line(facts: Facts, status: Status, snapshot: Snapshot | None, width: int) -> Line:
    """Cluster, brokers, pace, time, the age of the data, and whether it may be changed, in the profile's colour."""
    title = f"on {facts.color}" if facts.color else "title"
    brokers = [] if snapshot is None else snapshot.brokers
    alive = sum(1 for one in brokers if one.broker.state == "online")
    lacks = [] if snapshot is None else snapshot.lacks
    if status.lost is not None or snapshot is None:
        light = Cell("○", "bad" if status.lost is not None else "dim")
    else:
        light = Cell("◐", "warn") if lacks else Cell("●", "ok")
    count = counted(alive, "broker") if alive == len(brokers) else f"{alive} of {len(brokers)} brokers"
    cluster = (
        snapshot.reading.cluster.description.cluster_id if snapshot and facts.replay else facts.cluster_id
    )
    pace = f"×{status.speed:g}" if status.speed else f"every {_pace(status.interval)}"
    clock = figures.date_and_clock if status.speed else figures.clock
    parts = [
        Part((Cell("kcli top", title),), 6),
        Part((Cell(facts.name, title),)),
        *([Part((Cell(f"({_shortened(cluster)})", "dim"),), 8, glued=True)] if cluster else []),
        Part((light, Cell(f" {count}" if brokers else f" {figures.UNKNOWN}")), 5, glued=True),
        Part((Cell("paused", "warn"),), 1) if status.paused else Part((Cell(pace),), 7),
        Part((Cell(clock(status.at_ms, status.utc_offset)),), 4),
    ]
    if not status.speed:
        parts.append(Part((_age(status, snapshot),), 0 if status.lost else 3))
    if status.note:
        parts.append(Part((Cell(status.note, "warn"),), 2))
    if facts.replay is not None:
        parts.append(Part((Cell("REPLAY", "warn"),)))
    elif facts.read_only is not None:
        parts.append(Part((Cell("READ ONLY", "warn"),)))
        parts.append(Part((Cell(f"({facts.read_only})", "dim"),), 9, glued=True))
    line = fitting(parts, f" {_RULE} ", max(0, width - 4))
    left = width - line_width(line) - 3
    if left < 1:
        return cut(line, width)
    return Cell(f"{_RULE} ", "dim"), *line, Cell(" " + _RULE * left, "dim")


def totals_lines(snapshot: Snapshot | None, width: int) -> tuple[Line, Line]:
    """How many groups there are of each verdict, their lag, and the records in and out."""
    if snapshot is None:
        return cut((Cell("reading the cluster …", "dim"),), width), ()
    totals, past = snapshot.totals, snapshot.recent
    counts = [Part((Cell(f"groups {len(snapshot.groups):,}", "title"),))]
    counts += [
        Part((Cell(f"{_SHORT.get(one, one)} {number:,}", VERDICT_STYLES[one]),), drop)
        for one, drop in _COUNTED.items()
        if (number := totals.verdicts.get(one, 0)) or one == OK
    ]
    if snapshot.unread:
        counts.append(Part((Cell(f"not read {len(snapshot.unread):,}", "warn"),)))
    lag = Cell(f"lag {figures.short(totals.lag)}", "title")
    course = Cell(" " + figures.course([one.lag for one in past], _LAG_COURSE), "accent")
    first = _counts_and_lag(counts, (lag, course), width)
    rates = []
    for word, now, before in (
        ("in", totals.produced, [one.produced for one in past]),
        ("out", totals.consumed, [one.consumed for one in past]),
    ):
        course = Cell(figures.course(before, _RATE_COURSE), "accent")
        rates += [Part((Cell(f"{word} {figures.rate(now)}"),)), Part((course,), 2, glued=True)]
    if lacks := snapshot.lacks:
        more = f" (and {len(lacks) - 1:,} more)" if len(lacks) > 1 else ""
        rates.append(Part((Cell(f"incomplete: {lacks[0].error}{more}", "warn"),)))
    return first, fitting(rates, "   ", width)


def _counts_and_lag(counts: Sequence[Part], lag: Line, width: int) -> Line:
    """The lag at the right; without its course, then with fewer counts, where there is no room."""
    for right in (lag, lag[:1]):
        left = fitting(counts, "  ", 10_000)
        if line_width(left) + line_width(right) + 2 <= width:
            return spread(left, right, width)
    left = fitting(counts, "  ", max(0, width - line_width(lag[:1]) - 2))
    return cut((*left, Cell("  "), *lag[:1]), width)


def events_rule(width: int) -> Line:
    """The line above the events."""
    return (Cell((f"{_RULE} events " + _RULE * width)[:width], "dim"),)


def event_lines(events: Sequence[Event], count: int, width: int, utc_offset: int | None = None) -> list[Line]:
    """The last events, the newest first."""
    last = events[-count:] if count else ()
    return [event_line(event, width, utc_offset) for event in reversed(last)]


def event_line(event: Event, width: int, utc_offset: int | None = None) -> Line:
    """Time, group and what has happened."""
    text = fitted(f"{event.group}  {event.kind}: {event.text}", max(0, width - 10))
    return cut(
        (Cell(figures.clock(event.at_ms, utc_offset), "dim"), Cell("  "), Cell(text, event_style(event))),
        width,
    )


def event_style(event: Event) -> str:
    """That of the verdict, where it is about one."""
    return VERDICT_STYLES.get(event.text.partition(",")[0].partition(";")[0], "")


def keys_line(keys: Sequence[tuple[str, str]], status: Status, width: int) -> Line:
    """Keys with what they do, and the cost of the last reading at the right. The last key is always shown."""
    cost = "" if status.requests is None else f"{status.requests:.1f} requests/s"
    whole = key_cells(keys, 10_000)
    if line_width(whole) + len(cost) + 2 <= width:
        return spread(whole, (Cell(cost, "dim"),), width)
    return key_cells(keys, width)


def key_cells(keys: Sequence[tuple[str, str]], width: int) -> Line:
    """Keys with what they do. The last one is always shown, the others as far as they fit."""
    parts = [
        Part((Cell(key, "key"), Cell(f" {word}")), number if number < len(keys) else 0)
        for number, (key, word) in enumerate(keys, 1)
    ]
    return fitting(parts, "  ", width)


def _age(status: Status, snapshot: Snapshot | None) -> Cell:
    if status.lost is not None:
        since, why = status.lost
        return Cell(f"no contact since {figures.clock(since)}: {why}", "bad")
    if snapshot is None:
        return Cell("no data yet", "dim")
    seconds = max(0.0, (status.at_ms - snapshot.reading.sample.at_ms) / 1000)
    text = f"{seconds:.1f}s" if seconds < 10 else duration_text(seconds)
    return Cell(f"data {text} old", "warn" if seconds > 3 * status.interval + 5 else "")


def _pace(interval: float) -> str:
    return duration_text(interval) if interval >= 60 else f"{interval:g}s"


def _shortened(cluster_id: str) -> str:
    return cluster_id if len(cluster_id) <= 8 else f"{cluster_id[:3]}…{cluster_id[-2:]}"


def joined(parts: Sequence[Sequence[Cell]], between: str, width: int) -> Line:
    """The parts that fit; the last one is cut."""
    cells: list[Cell] = []
    left = width
    for part in parts:
        if cells and left > len(between):
            cells.append(Cell(between, "dim"))
            left -= len(between)
        for cell in part:
            size = min(width_of(cell.text), max(0, left))
            cells.append(Cell(fitted(cell.text, size), cell.style))
            left -= size
    return tuple(cells)
