"""What the screens of one group share: its summary, its events, and the way from one of them to the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from textual.app import ComposeResult
from textual.binding import Binding

from kcli.flows.monitor.cluster_reading import View
from kcli.flows.monitor.snapshot import Event, GroupLine, Snapshot
from kcli.output.progress import counted
from kcli.tui import figures
from kcli.tui.cells import Cell, Line, fitted
from kcli.tui.fitting import cut, line_width
from kcli.tui.group_columns import course_of, verdict_cell
from kcli.tui.head import joined
from kcli.tui.rewind_form import Scope
from kcli.tui.screens.listing import Listing
from kcli.tui.shell import command
from kcli.tui.standing import meaning
from kcli.tui.widgets.lines import Lines

R = TypeVar("R")
GROUP_KEYS = (
    ("w", "rewind"),
    ("u", "undo"),
    ("l", "lag over time"),
    ("c", "copy"),
    ("/", "filter"),
    ("s", "sort"),
)
"""The keys of all screens of one group."""
_BETWEEN = "   "
_LEAST_COURSE, _WIDEST_COURSE = 5, 30
_COURSE = 6
"""Rows of the course of the lag."""
_WIDEST_READING = 4
"""Columns of it."""


class OfGroup(Listing[R]):
    """``group`` names the group; it may vanish while the screen is open."""

    SHARED_BY = "a group"
    BINDINGS = [
        Binding("tab", "next", "partitions, members, configuration", priority=True),
        Binding("l", "course", "show the lag over time, or hide it"),
    ]

    def __init__(self, group: str) -> None:
        super().__init__()
        self.group = group
        self.course = Lines(id="course")

    def compose(self) -> ComposeResult:
        """The course of the lag is above the table."""
        for widget in super().compose():
            if widget.id == "pane":
                yield self.course
            yield widget

    def view(self) -> tuple[View, str | None]:
        return View((self.group,), self.app.time), self.group

    def line(self, snapshot: Snapshot) -> GroupLine | None:
        """The group in a snapshot; None if it is not there."""
        return next((line for line in (*snapshot.groups, *snapshot.unread) if line.group == self.group), None)

    def events(self, snapshot: Snapshot) -> Sequence[Event]:
        return [event for event in snapshot.events if event.group == self.group]

    @property
    def tab(self) -> str:
        return "groups"

    def summary(self, snapshot: Snapshot | None, width: int) -> Sequence[Line]:
        line = None if snapshot is None else self.line(snapshot)
        if line is None:
            why = "reading …" if snapshot is None else "the group does not exist, or may not be described"
            return joined([(Cell(f" group {self.group}", "title"),), (Cell(why, "warn"),)], "  ", width), ()
        facts: list[tuple[Cell, ...]] = [
            (Cell(f" group {self.group}", "title"),),
            (Cell(" ".join(word for word in (line.type, line.state) if word)),),
            (Cell(figures.UNKNOWN if line.members is None else counted(line.members, "member")),),
            (verdict_cell(line.verdict),),
        ]
        cause = [(Cell(line.judged.why, meaning(line.verdict)),)] if line.judged.why else []
        whole = joined([*facts, *cause], "  ", 10_000)
        if line_width(whole) <= width or not cause:
            return joined([*facts, *cause], "  ", width), lag_line(line, width)
        return joined(facts, "  ", width), cut((Cell(" "), *cause[0]), width), lag_line(line, width)

    def paint_status(self) -> None:
        """With the course of the lag, where it is wanted."""
        super().paint_status()
        snapshot = self.app.snapshot
        line = None if snapshot is None else self.line(snapshot)
        shown = self.app.course_shown and line is not None and self.size.height > 2 * _COURSE
        self.course.show(
            course_lines(line.recent, self.size.width, meaning(line.verdict))
            if shown and line is not None
            else ()
        )

    def action_course(self) -> None:
        """Shows the lag over time, or hides it."""
        self.app.course_shown = not self.app.course_shown
        self.repaint()

    def rewind_target(self) -> tuple[str, Sequence[Scope]] | None:
        if self.app.snapshot is None:
            return None
        rows = self.app.snapshot.rows.get(self.group, ())
        return self.group, (Scope(), *(Scope(topic) for topic in dict.fromkeys(row.tp.topic for row in rows)))

    def copied(self) -> str:
        return command(("groups", "lag"), (self.group,), (), self.app.facts.options)

    def action_next(self) -> None:
        """The next screen of this group."""
        raise NotImplementedError


def lag_line(line: GroupLine, width: int) -> Line:
    """The lag in figures; its course has what room is left."""
    found = line.summary
    parts = [
        *([] if found.seconds is None else [(Cell(f"{figures.age(found.seconds, found.method)} behind"),)]),
        (Cell(f"reads {figures.rate(line.trend.consumed)} of {figures.rate(line.trend.produced)}"),),
        *([(Cell(outlook),)] if (outlook := figures.outlook(line.trend)) else []),
        *([(Cell(found.note, "warn"),)] if found.note else []),
    ]
    lag = Cell(f" lag {figures.count(found.lag)} ", "title")
    room = width - line_width((lag, *(cell for part in parts for cell in part))) - len(_BETWEEN) * len(parts)
    if room >= _LEAST_COURSE:
        course = course_of(line, min(_WIDEST_COURSE, room))
        return joined([(lag, Cell(course, meaning(line.verdict))), *parts], _BETWEEN, width)
    return joined([(lag,), *parts], _BETWEEN, width)


def course_lines(lags: Sequence[int | None], width: int, style: str) -> list[Line]:
    """The lag over the last five minutes; few readings are drawn wider, as far as there is room."""
    known = [lag for lag in lags if lag is not None]
    most = max(known, default=None)
    title = f" lag over the last 5 minutes: least {figures.count(min(known, default=None))}, most {figures.count(most)}"
    each = min(_WIDEST_READING, max(1, width // max(1, len(lags))))
    rows = figures.chart([lag for lag in lags for _ in range(each)], width, _COURSE - 1)
    return [(Cell(fitted(title, width), "dim"),), *((Cell(row, style),) for row in rows)]
