"""What the screens of one group share: its summary, its events, and the way from one of them to the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from textual.binding import Binding

from kcli.flows.monitor.reading import View
from kcli.flows.monitor.snapshot import Event, GroupLine, Snapshot
from kcli.output.progress import counted
from kcli.tui import figures
from kcli.tui.cells import Cell, Line
from kcli.tui.group_columns import VERDICT_STYLES, verdict_text
from kcli.tui.head import joined
from kcli.tui.screens.listing import Listing

R = TypeVar("R")


class OfGroup(Listing[R]):
    """``group`` names the group; it may vanish while the screen is open."""

    BINDINGS = [Binding("tab", "next", "partitions, members", priority=True)]

    def __init__(self, group: str) -> None:
        super().__init__()
        self.group = group

    def view(self) -> tuple[View, str | None]:
        return View((self.group,), self.app.time), self.group

    def line(self, snapshot: Snapshot) -> GroupLine | None:
        """The group in a snapshot; None if it is not there."""
        return next((line for line in (*snapshot.groups, *snapshot.unread) if line.group == self.group), None)

    def events(self, snapshot: Snapshot) -> Sequence[Event]:
        return [event for event in snapshot.events if event.group == self.group]

    def summary(self, snapshot: Snapshot | None, width: int) -> tuple[Line, Line]:
        line = None if snapshot is None else self.line(snapshot)
        if line is None:
            why = "reading …" if snapshot is None else "the group does not exist, or may not be described"
            return joined([(Cell(f"group {self.group}", "title"),), (Cell(why, "warn"),)], "  ", width), ()
        found = line.summary
        parts: list[tuple[Cell, ...]] = [
            (Cell(f"group {self.group}", "title"),),
            (Cell(" ".join(word for word in (line.type, line.state) if word)),),
            (Cell(figures.UNKNOWN if line.members is None else counted(line.members, "member")),),
            (Cell(verdict_text(line.verdict), VERDICT_STYLES.get(line.verdict or "", "dim")),),
        ]
        figures_of: list[tuple[Cell, ...]] = [
            (
                Cell(f"lag {figures.count(found.lag)} ", "title"),
                Cell(figures.course(line.recent, 30), "accent"),
            ),
            (Cell(f"{figures.age(found.seconds, found.method)} behind"),),
            (Cell(f"reads {figures.rate(line.trend.consumed)} of {figures.rate(line.trend.produced)}"),),
            (Cell(f"ETA {figures.time_to_drain(line.trend)}"),),
            (Cell(found.note, "warn"),),
        ]
        return joined(parts, "  ", width), joined(figures_of, "   ", width)

    def action_next(self) -> None:
        """The next screen of this group."""
        raise NotImplementedError
