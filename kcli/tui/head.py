"""The lines above and below a table: the state of the screen, totals, events, keys. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kcli.flows.lag.verdicts import EMPTY, LOSS_RISK, OK, REBALANCING, REWOUND, SLOW, STALLED, STOPPED
from kcli.flows.monitor.snapshot import Event, Snapshot
from kcli.output.progress import counted, duration_text
from kcli.tui import figures
from kcli.tui.cells import Cell, Line, fitted, width_of
from kcli.tui.facts import Facts
from kcli.tui.group_columns import VERDICT_STYLES

_SHORT = {REBALANCING: "rebal", LOSS_RISK: "at risk"}
_COUNTED = (OK, SLOW, STALLED, STOPPED, LOSS_RISK, REWOUND, REBALANCING, EMPTY)
_COURSE = 12


@dataclass(frozen=True, slots=True)
class Status:
    """How the screen is: ``at_ms`` is now, ``lost`` why the cluster cannot be read and since when."""

    at_ms: int
    interval: float
    paused: bool = False
    lost: tuple[int, str] | None = None
    requests: float | None = None


def title_line(facts: Facts, status: Status, snapshot: Snapshot | None, width: int) -> Line:
    """Cluster, brokers, pace, time, the age of the data, and whether it may be changed."""
    brokers = [] if snapshot is None else snapshot.brokers
    alive = sum(1 for one in brokers if one.broker.state == "online")
    good = status.lost is None and alive == len(brokers)
    light = Cell("●" if good else "○", "ok" if good else "bad")
    parts: list[tuple[Cell, ...]] = [
        (Cell("kcli top", "title"),),
        (Cell(facts.name, "title"), Cell(f" ({_shortened(facts.cluster_id)})" if facts.cluster_id else "", "dim")),
        (light, Cell(f" {counted(alive, 'broker')}" if brokers else " –")),
        (Cell("paused", "warn") if status.paused else Cell(f"every {_pace(status.interval)}"),),
        (Cell(figures.clock(status.at_ms)),),
        (_age(status, snapshot),),
    ]  # fmt: skip
    if facts.replay is not None:
        parts.append((Cell("REPLAY", "warn"),))
    elif facts.read_only is not None:
        parts.append((Cell("READ ONLY", "warn"),))
    return joined(parts, " ─ ", width)


def totals_lines(snapshot: Snapshot | None, width: int) -> tuple[Line, Line]:
    """How many groups there are of each verdict, their lag, and the records in and out."""
    if snapshot is None:
        return (Cell("reading the cluster …", "dim"),), ()
    totals = snapshot.totals
    parts: list[tuple[Cell, ...]] = [(Cell(f"groups {len(snapshot.groups):,}", "title"),)]
    parts += [
        (Cell(f"{_SHORT.get(one, one)} {number:,}", VERDICT_STYLES[one]),)
        for one in _COUNTED
        if (number := totals.verdicts.get(one, 0)) or one == OK
    ]
    if snapshot.unread:
        parts.append((Cell(f"not read {len(snapshot.unread):,}", "bad"),))
    lags = [one.lag for one in snapshot.recent]
    parts.append(
        (Cell(f"lag {figures.short(totals.lag)} ", "title"), Cell(figures.course(lags, _COURSE), "accent"))
    )
    rates: list[tuple[Cell, ...]] = [
        (Cell(f"{word} {figures.rate(now)} "), Cell(figures.course(past, _COURSE), "accent"))
        for word, now, past in (
            ("in", totals.produced, [one.produced for one in snapshot.recent]),
            ("out", totals.consumed, [one.consumed for one in snapshot.recent]),
        )
    ]
    if snapshot.reading.problems:
        first, more = str(snapshot.reading.problems[0]), len(snapshot.reading.problems) - 1
        rates.append((Cell(first + (f" (and {more} more)" if more else ""), "bad"),))
    return joined(parts, "  ", width), joined(rates, "   ", width)


def event_lines(events: Sequence[Event], count: int, width: int) -> list[Line]:
    """The last events, the newest first."""
    return [event_line(event, width) for event in reversed(events[-count:])]


def event_line(event: Event, width: int) -> Line:
    """Time, group and what has happened."""
    text = fitted(f"{event.group}  {event.kind}: {event.text}", max(0, width - 10))
    return Cell(figures.clock(event.at_ms), "dim"), Cell("  "), Cell(text, event_style(event))


def event_style(event: Event) -> str:
    """That of the verdict, where it is about one."""
    return VERDICT_STYLES.get(event.text.partition(",")[0].partition(";")[0], "")


def keys_line(keys: Sequence[tuple[str, str]], status: Status, width: int) -> Line:
    """Keys with what they do, and the cost of the last reading at the right."""
    cells: list[Cell] = []
    used = 0
    cost = "" if status.requests is None else f"{status.requests:.1f} requests/s"
    for key, word in keys:
        size = width_of(key) + width_of(word) + 3
        if used + size > width - len(cost) - 1:
            break
        cells += [Cell(key, "key"), Cell(f" {word}  ")]
        used += size
    return *cells, Cell(" " * max(0, width - used - len(cost))), Cell(cost, "dim")


def _age(status: Status, snapshot: Snapshot | None) -> Cell:
    if status.lost is not None:
        since, why = status.lost
        return Cell(f"no contact since {figures.clock(since)}: {why}", "bad")
    if snapshot is None:
        return Cell("no data yet", "dim")
    seconds = max(0.0, (status.at_ms - snapshot.reading.sample.at_ms) / 1000)
    text = f"{seconds:.0f}s" if seconds < 60 else duration_text(seconds)
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
