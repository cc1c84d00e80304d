"""The lines above and below a table: the state of the screen, totals, events, keys. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from kcli.account.survey import Missing
from kcli.core.classes import dataclass
from kcli.flows.lag.verdicts import UNREAD
from kcli.flows.monitor.snapshot import Event, Snapshot, Totals
from kcli.output.progress import counted, duration_text
from kcli.tui import figures
from kcli.tui.cells import Cell, Line, fitted, width_of
from kcli.tui.facts import Facts
from kcli.tui.fitting import Part, cut, fitting, line_width, spread
from kcli.tui.look import SIGNS
from kcli.tui.standing import MEANINGS, meaning

_WORDS = {"bad": "wrong", "warn": "attention", "unread": "not read", "ok": "ok"}
"""What the counts of groups are called, by their meaning."""
_LAG_COURSE = 16
_SLOW = 3.0
"""Seconds from which on a reading that is on its way is mentioned."""
_RULE = "─"
_BETWEEN = "   "
_LEAST_NAME = 6
TABS = tuple(
    (str(number), name)
    for number, name in enumerate(
        ("groups", "topics", "brokers", "quorum", "transactions", "mirrors", "events"), 1
    )
)
"""The lists, with the keys that show them."""


@dataclass(frozen=True, slots=True)
class Status:
    """How the screen is: ``at_ms`` is now, ``lost`` why the cluster cannot be read and since when.

    ``speed`` is that of a recording, whose zone is ``utc_offset``; None for a cluster. ``note``: what became of readings.
    ``waiting``: seconds since the reading began that is on its way.
    """

    at_ms: int
    interval: float
    paused: bool = False
    lost: tuple[int, str] | None = None
    requests: float | None = None
    speed: float | None = None
    utc_offset: int | None = None
    note: str = ""
    waiting: float = 0.0


def title_line(
    facts: Facts,
    status: Status,
    snapshot: Snapshot | None,
    width: int,
    lacks: Sequence[Missing] | None = None,
    *,
    awaited: bool = False,
) -> Line:
    """Of what at the left, in the profile's colour; how complete and how old at the right, and the time.

    ``lacks``: what is missing of what the screen shows; None: all that is missing of groups and brokers. ``awaited``: it
    is not read yet.
    """
    if lacks is None:
        lacks = () if snapshot is None else snapshot.lacks
    title = f"on {facts.color}" if facts.color else ""
    left = [
        Part((Cell(" kcli top", title or "accent"),), 6),
        Part((Cell(f" {facts.name} " if title else f" {facts.name}", title or "title"),), glued=True),
        *_size_parts(facts, snapshot),
    ]
    right = [_age_part(status, snapshot, lacks, awaited=awaited)]
    pace = f"×{status.speed:g}" if status.speed else f"every {_pace(status.interval)}"
    right.append(Part((Cell("paused", "warn"),), 1) if status.paused else Part((Cell(pace, "dim"),), 7))
    if status.note:
        right.append(Part((Cell(status.note, "warn"),), 2))
    if facts.replay is not None:
        right.append(Part((Cell("REPLAY", "warn"),)))
    elif facts.read_only is not None:
        right.append(Part((Cell("READ ONLY", "warn"),)))
        right.append(Part((Cell(f"({facts.read_only})", "dim"),), 9, glued=True))
    clock = figures.date_and_clock if status.speed else figures.clock
    right.append(Part((Cell(f"{clock(status.at_ms, status.utc_offset)} "),), 4))
    return _fitted(left, right, width, " · ")


def _size_parts(facts: Facts, snapshot: Snapshot | None) -> list[Part]:
    if snapshot is None:
        return []
    alive = sum(1 for one in snapshot.brokers if one.broker.state == "online")
    whole = len(snapshot.brokers)
    brokers = counted(alive, "broker") if alive == whole else f"{alive} of {whole} brokers"
    parts = [Part((Cell(brokers, "dim" if alive == whole else "bad"),), 5)] if whole else []
    groups = len(snapshot.groups) + len(snapshot.unread)
    parts.append(Part((Cell(counted(groups, "group"), "dim"),), 3))
    controller = snapshot.reading.cluster.controller
    if controller is not None:
        parts.append(Part((Cell(f"controller {controller}", "dim"),), 8))
    cluster = snapshot.reading.cluster.description.cluster_id if facts.replay else facts.cluster_id
    return [*parts, *([Part((Cell(_shortened(cluster), "dim"),), 10)] if cluster else [])]


def _fitted(left: Sequence[Part], right: Sequence[Part], width: int, between: str = _BETWEEN) -> Line:
    """Both sides without the parts that find no room, the largest ``drop`` first."""
    least = max((part.drop for part in (*left, *right)), default=0)
    for most in range(least, -1, -1):
        sides = [
            fitting([part for part in side if part.drop <= most], gap, 10_000)
            for side, gap in ((left, between), (right, "  "))
        ]
        if line_width(sides[0]) + line_width(sides[1]) + 2 <= width:
            return spread(sides[0], sides[1], width)
    room = width - line_width(sides[1]) - 2
    if room < _LEAST_NAME:
        return cut((*sides[0], Cell("  "), *sides[1]), width)
    return (*cut(sides[0], room), Cell("  "), *sides[1])


def tabs_line(shown: str, new: Mapping[str, int], width: int) -> Line:
    """The lists; ``new`` counts what happened in one of them since it was shown last."""
    return cut(tuple(cell for _, cells in tab_cells(shown, new, width) for cell in cells), width)


def tab_cells(shown: str, new: Mapping[str, int], width: int) -> list[tuple[str, tuple[Cell, ...]]]:
    """The names of the lists with their cells, for who has to know where they are: closer on narrow terminals, and at
    last the keys only.
    """
    ways = [
        _tabs(shown, new, gap, names=names) for gap, names in ((3, True), (2, True), (1, True), (1, False))
    ]
    return next((cells for cells in ways if sum(line_width(one) for _, one in cells) <= width), ways[-1])


def _tabs(shown: str, new: Mapping[str, int], gap: int, *, names: bool) -> list[tuple[str, tuple[Cell, ...]]]:
    found: list[tuple[str, tuple[Cell, ...]]] = [("", (Cell(" "),))]
    for key, name in TABS:
        style = "accent" if name == shown else "dim"
        count = min(new.get(name, 0), 99)
        mark = "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(count)) if count else ""
        word = name.capitalize() if names or name == shown else ""
        between = " " * gap if name != TABS[-1][1] else ""
        found.append(
            (name, (Cell(f"{key} " if word else key, style), Cell(word, "tab" if name == shown else "dim"),
                    Cell(f" {mark}" if mark else "", "accent"), Cell(between)))
        )  # fmt: skip
    return found


def totals_line(snapshot: Snapshot | None, width: int) -> Line:
    """How many groups there are of each meaning, and their lag."""
    if snapshot is None:
        return cut((Cell(" reading the cluster …", "dim"),), width)
    totals, past = snapshot.totals, snapshot.recent
    counts = meaning_counts(totals, len(snapshot.unread))
    left = [
        Part(
            (Cell(f"{SIGNS[one]} {counts[one]:,} {word}", one if one != "ok" else "dim"),),
            0 if one != "ok" else 1,
        )
        for one, word in _WORDS.items()
        if counts[one] or one == "ok"
    ]
    left[0] = left[0]._replace(cells=(Cell(" "), *left[0].cells))
    partial = bool(counts[MEANINGS[UNREAD]] or snapshot.reading.sample.missing)
    lag = Cell(f"lag {figures.at_least(figures.short(totals.lag), partial=partial)} ", "title")
    course = Cell(figures.course([one.lag for one in past], _LAG_COURSE), "dim")
    rates = Part(
        (Cell(f"in {figures.rate(totals.produced)}  out {figures.rate(totals.consumed)}", "dim"),), 3
    )
    return _fitted(left, [rates, Part((lag,)), Part((course, Cell(" ")), 2, glued=True)], width)


def summary_lines(snapshot: Snapshot | None, width: int) -> list[Line]:
    """Totals, and below them what is missing."""
    return [totals_line(snapshot, width), *missing_lines(() if snapshot is None else snapshot.lacks, width)]


def figures_lines(parts: Sequence[Part], lacks: Sequence[Missing], width: int) -> list[Line]:
    """What a list shows in figures, and below them what is missing."""
    found = cut((Cell(" "), *fitting(parts, _BETWEEN, max(0, width - 1))), width)
    return [found, *missing_lines(lacks, width)]


def missing_lines(lacks: Sequence[Missing], width: int) -> list[Line]:
    """The first of what is missing, in the colour of ``incomplete``; none where nothing is."""
    if not lacks:
        return []
    first, more = lacks[0], len(lacks) - 1
    place = f" ({first.where})" if first.where and first.where not in first.what else ""
    text = f"{first.what}{place}: {first.why}"
    return [cut((Cell(f" {text}" + (f" (and {more} more)" if more else ""), "warn"),), width)]


def meaning_counts(totals: Totals, unread: int) -> Mapping[str, int]:
    """How many groups there are of each meaning."""
    counts = Counter[str]()
    for verdict, number in totals.verdicts.items():
        counts[meaning(verdict)] += number
    counts[MEANINGS[UNREAD]] += unread
    return counts


def events_rule(width: int) -> Line:
    """The line above the events."""
    return (Cell((f"{_RULE} events  " + _RULE * width)[:width], "dim"),)


def event_lines(events: Sequence[Event], count: int, width: int, utc_offset: int | None = None) -> list[Line]:
    """The last events, the newest first."""
    last = events[-count:] if count else ()
    return [event_line(event, width, utc_offset) for event in reversed(last)]


def event_line(event: Event, width: int, utc_offset: int | None = None) -> Line:
    """Time, group and what has happened; why, where there is room for it."""
    room = max(0, width - 12)
    text = f"{event.group}  {event.kind}: {event.text}"
    text = fitted(text if width_of(text) <= room else text.partition("; ")[0], room)
    return cut(
        (
            Cell("  "),
            Cell(figures.clock(event.at_ms, utc_offset), "dim"),
            Cell("  "),
            Cell(text, event_style(event)),
        ),
        width,
    )


def event_style(event: Event) -> str:
    """That of the verdict, where it is about one."""
    return MEANINGS.get(event.text.partition(",")[0].partition(";")[0], "")


def keys_line(keys: Sequence[tuple[str, str]], status: Status, width: int) -> Line:
    """Keys with what they do, and the cost of the last reading at the right. The last key is always shown."""
    cost = "" if status.requests is None else f"{status.requests:.1f} requests/s"
    whole = key_cells(keys, 10_000)
    if line_width(whole) + len(cost) + 4 <= width:
        return spread((Cell(" "), *whole), (Cell(f"{cost} ", "dim"),), width)
    return cut((Cell(" "), *key_cells(keys, max(0, width - 1))), width)


def key_cells(keys: Sequence[tuple[str, str]], width: int) -> Line:
    """Keys with what they do. The last one is always shown, the others as far as they fit."""
    parts = [
        Part((Cell(key, "key"), Cell(f" {word}", "dim")), number if number < len(keys) else 0)
        for number, (key, word) in enumerate(keys, 1)
    ]
    return fitting(parts, _BETWEEN, width)


def _age_part(status: Status, snapshot: Snapshot | None, lacks: Sequence[Missing], *, awaited: bool) -> Part:
    """How complete it is, and how old: that counts up by itself."""
    if status.lost is not None:
        since, why = status.lost
        return Part((Cell(f"{SIGNS['bad']} no contact since {figures.clock(since)}: {why}", "bad"),))
    if snapshot is None:
        return Part((Cell(f"{SIGNS['unread']} no data yet{_on_its_way(status)}", "dim"),), 3)
    if awaited:
        return Part((Cell(f"{SIGNS['unread']} not read yet{_on_its_way(status)}", "dim"),), 3)
    seconds = max(0.0, (status.at_ms - snapshot.reading.sample.at_ms) / 1000)
    missing = bool(lacks or snapshot.unread)
    old = not status.speed and seconds > 3 * status.interval + 5
    word = "incomplete" if missing else "complete"
    style = "warn" if missing or old else "ok"
    if status.speed:
        return Part((Cell(f"{SIGNS[style]} {word}", style),), 3)
    age = f"{seconds:.1f}s" if seconds < 10 else duration_text(seconds)
    return Part(
        (Cell(f"{SIGNS[style]} {word}  {age} ago{_on_its_way(status)}", style),), 3 if style == "ok" else 0
    )


def _on_its_way(status: Status) -> str:
    return f", reading for {duration_text(status.waiting)}" if status.waiting >= _SLOW else ""


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
