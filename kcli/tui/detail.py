"""What is known of the group under the cursor, beside the list or below it: why, partitions, members, history. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from kcli.core.classes import NamedTuple
from kcli.flows.groups.description import SHARE, STREAMS
from kcli.flows.lag.partition_lag import PartitionLag
from kcli.flows.lag.verdicts import worst
from kcli.flows.monitor.board import RECENT_MS
from kcli.flows.monitor.snapshot import Event, Snapshot
from kcli.output.progress import counted, duration_text
from kcli.tui import figures
from kcli.tui.cells import Cell, Line, fitted, wrapped
from kcli.tui.fitting import cut, line_width
from kcli.tui.group_columns import course_of, verdict_cell
from kcli.tui.head import event_style
from kcli.tui.standing import GroupRow, meaning

if TYPE_CHECKING:
    from kcli.core.admin.group_description import GroupDescription

_LABEL = 12
_BARS = "▁▂▃▄▅▆▇█"
_MARKS = {"rewind": "R", "rebalance": "●", "joined": "+", "left": "-"}
"""What the line of history shows of the kinds of events; the other kinds are verdicts, which the colour shows."""
_SHOWN = 6
"""Members, at most."""


class Detail(NamedTuple):
    """A group in one snapshot: its row, partitions with their words, description and events, at ``now`` in ms."""

    row: GroupRow
    partitions: Collection[PartitionLag]
    words: Sequence[str | None]
    description: GroupDescription | None
    events: Sequence[Event]
    now: int
    utc_offset: int | None = None


def detail_of(row: GroupRow, snapshot: Snapshot) -> Detail:
    """Of the group of this row."""
    name = row.line.group
    samples = snapshot.reading.sample.groups
    partitions = snapshot.rows.get(name, ())
    return Detail(
        row,
        partitions,
        row.line.judged.of(partitions),
        next((one.description for one in samples if one.group == name), None),
        [event for event in snapshot.events if event.group == name],
        snapshot.reading.sample.at_ms,
        snapshot.reading.utc_offset,
    )


def detail_lines(detail: Detail, width: int, height: int) -> list[Line]:
    """As many lines as there is room for, the most important ones first."""
    room = max(1, width - _LABEL - 2)
    lines = [
        *_verdict_lines(detail, width),
        *_type_lines(detail, room),
        *_partition_lines(detail, room),
        *_history_lines(detail, room),
    ]
    left = height - len(lines)
    lines += _member_lines(detail, max(0, min(left, _SHOWN + 1)))
    lines += _event_lines(detail, width, height - len(lines))
    return [cut(line, width) for line in lines[:height]]


def _verdict_lines(detail: Detail, width: int) -> list[Line]:
    line = detail.row.line
    head = verdict_cell(line.verdict)
    since = (detail.now - line.judged.since_ms) / 1000
    parts = [head]
    if line.judged.since_ms and since >= 1:
        parts.append(Cell(f" for {duration_text(since)}", head.style if head.style != "dim" else ""))
    if detail.row.faded:
        parts.append(Cell("  has recovered", "dim"))
    if line.trend.consumed is not None:
        reads = f"reads {figures.rate(line.trend.consumed)} of {figures.rate(line.trend.produced)}"
        parts.append(Cell("   " + ", ".join(filter(None, (reads, figures.outlook(line.trend)))), "dim"))
    why = [(Cell(" "), Cell(text, head.style)) for text in wrapped(line.judged.why, width - 2)[:3]]
    return [(Cell(" "), *parts), *(why if line.judged.why else ())]


def _type_lines(detail: Detail, room: int) -> list[Line]:
    """What only share and streams groups have: start offsets, tasks."""
    kind, description = detail.row.line.type, detail.description
    if kind == SHARE:
        started = [row for row in detail.partitions if row.committed is not None]
        text = f"start offsets in {len(started)} of {counted(len(detail.partitions), 'partition')}"
        if started:
            last = max(started, key=lambda row: row.lag or 0)
            text += f"; {last.tp} starts at {figures.count(last.committed)} of {figures.count(last.end)}"
    elif kind == STREAMS and description is not None:
        tasks = [member.tasks for member in description.members if member.tasks is not None]
        active, standby, warmup = (sum(len(one[place]) for one in tasks) for place in range(3))
        epoch = "none" if description.topology_epoch < 0 else f"epoch {description.topology_epoch}"
        text = f"topology {epoch}; tasks: {active} active, {standby} standby, {warmup} warming up"
    else:
        return []
    return [(*_label(kind), Cell(fitted(text, room)))]


def _partition_lines(detail: Detail, room: int) -> list[Line]:
    """A bar for each partition, as high as its lag, in the colour of its word; of too many the worst of a few each."""
    rows = list(detail.partitions)
    if not rows:
        return []
    most = max((row.lag or 0 for row in rows), default=0)
    size = -(-len(rows) // max(1, room))
    cells = []
    for first in range(0, len(rows), size):
        words = detail.words[first : first + size]
        lag = max((row.lag or 0 for row in rows[first : first + size]), default=0)
        bar = _BARS[round(lag / most * (len(_BARS) - 1))] if most else _BARS[0]
        cells.append(Cell(bar, meaning(worst(words))))
    count = f"{counted(len(rows), 'partition')}, the most lag is {figures.count(most)}"
    each = f", {size} in a bar" if size > 1 else ""
    return [(*_label("partitions"), *cells), (*_label(""), Cell(fitted(count + each, room), "dim"))]


def _member_lines(detail: Detail, most: int) -> list[Line]:
    description = detail.description
    if description is None or not most:
        return []
    lags: dict[str, int] = {}
    for row in detail.partitions:
        if row.member is not None:
            lags[row.member.member_id] = lags.get(row.member.member_id, 0) + (row.lag or 0)
    members = sorted(description.members, key=lambda one: -lags.get(one.member_id, 0))
    shown = members if len(members) <= most else members[: max(0, most - 1)]
    lines: list[Line] = []
    for number, one in enumerate(shown):
        has = figures.UNKNOWN if one.assignment is None else counted(len(one.assignment), "partition")
        text = f"{fitted(one.client_id, 20)} {fitted(one.host.lstrip('/'), 15)}"
        size = f"{has:>15}"
        if description.type != SHARE:  # whose members read the same partitions
            size += f", lag {figures.count(lags.get(one.member_id))}"
        lines.append((*_label("" if number else "members"), Cell(text), Cell(f" {size}", "dim")))
    if len(shown) < len(members):
        lines.append(
            (*_label("" if lines else "members"), Cell(f"and {len(members) - len(shown)} more", "dim"))
        )
    return lines or [(*_label("members"), Cell("none", "dim"))]


def _history_lines(detail: Detail, room: int) -> list[Line]:
    """The lag of the last minutes, and below it what happened when."""
    line = detail.row.line
    width = max(1, min(room - 7, 60))
    marks = dict.fromkeys(range(width), Cell("─", "dim"))
    for event in detail.events:
        at = width - 1 - round((detail.now - event.at_ms) / RECENT_MS * (width - 1))
        if event.kind in _MARKS and 0 <= at < width:
            marks[at] = Cell(_MARKS[event.kind], "title")
    ends = Cell("  5 min", "dim")
    course = Cell(course_of(line, width), meaning(line.verdict))
    return [
        (*_label("lag"), course, ends),
        (*_label("history"), *_merged([marks[at] for at in range(width)])),
    ]


def _merged(cells: Sequence[Cell]) -> list[Cell]:
    found: list[Cell] = []
    for cell in cells:
        if found and found[-1].style == cell.style:
            found[-1] = Cell(found[-1].text + cell.text, cell.style)
        else:
            found.append(cell)
    return found


def _event_lines(detail: Detail, width: int, most: int) -> list[Line]:
    lines: list[Line] = []
    for place, event in enumerate(reversed(detail.events[-most:] if most > 0 else ())):
        mark = _MARKS.get(event.kind, " ")
        lead = (
            *_label("" if place else "events"),
            Cell(f"{mark} ", "title"),
            Cell(f"{figures.clock(event.at_ms, detail.utc_offset)} ", "dim"),
        )
        texts = wrapped(f"{event.kind}: {event.text}", width - line_width(lead))
        for number, text in enumerate(texts):
            before = (Cell(" " * line_width(lead)),) if number else lead
            lines.append((*before, Cell(text, event_style(event))))
    return lines[: max(0, most)]


def _label(word: str) -> tuple[Cell]:
    return (Cell(f" {word:<{_LABEL}}", "dim"),)
