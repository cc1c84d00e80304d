"""What all screens with a table share: the head, the filter, the events and the keys around it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import Screen
from textual.widgets import Input

from kcli.flows.monitor.reading import View
from kcli.flows.monitor.snapshot import Event, Snapshot
from kcli.tui.cells import Cell, Line
from kcli.tui.columns import Column
from kcli.tui.head import event_lines, keys_line, title_line, totals_lines
from kcli.tui.widgets.filter_field import FilterField
from kcli.tui.widgets.lines import Lines
from kcli.tui.widgets.table import Table

if TYPE_CHECKING:
    from kcli.tui.app import TopApp

R = TypeVar("R")
_EVENTS = 2
LISTS = (
    ("1", "groups"),
    ("2", "topics"),
    ("3", "brokers"),
    ("4", "events"),
    ("space", "pause"),
    ("+/-", "pace"),
    ("e", "export"),
    ("?", "help"),
)
"""The keys of every list."""


class Listing(Screen[None], Generic[R]):
    """A table of rows of one kind. Subclasses say which rows, and what they want to know of the cluster."""

    app: TopApp
    COLUMNS: ClassVar[Sequence[Column[Any]]]
    SORTED_BY: ClassVar[str]
    NOTHING: ClassVar[str]
    KEYS: ClassVar[Sequence[tuple[str, str]]]
    BINDINGS = [
        Binding("slash", "filter", "filter"),
        Binding("escape", "back", "back", show=False),
        Binding("s", "choose_order", "sort"),
    ]
    DEFAULT_CSS = """
    Listing { layout: vertical; }
    Listing #filter { display: none; }
    Listing #filter.open { display: block; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.head = Lines(id="head")
        self.table: Table[R] = Table(self.COLUMNS, self.key, self.SORTED_BY, empty=self.NOTHING)
        self.filter = FilterField(placeholder="text or regular expression", id="filter", compact=True)
        self.strip = Lines(id="events")
        self.keys = Lines(id="keys")
        self.wanted = ""

    # --- for subclasses ----------------------------------------------------------------------------------------------

    def key(self, row: R) -> str:
        """The name of a row."""
        raise NotImplementedError

    def rows(self, snapshot: Snapshot) -> Sequence[R]:
        """The rows of a snapshot."""
        raise NotImplementedError

    def view(self) -> tuple[View, str | None]:
        """What is wanted now, and the group whose partitions are followed."""
        raise NotImplementedError

    def summary(self, snapshot: Snapshot | None, width: int) -> tuple[Line, Line]:
        """The two lines below the title: those of the whole cluster."""
        return totals_lines(snapshot, width)

    def events(self, snapshot: Snapshot) -> Sequence[Event]:
        """Those that the last lines are taken from."""
        return snapshot.events

    # --- frame -------------------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Top to bottom."""
        yield self.head
        yield self.filter
        yield self.table
        yield self.strip
        yield self.keys

    def on_mount(self) -> None:
        """The table has the keys."""
        self.table.focus()
        self.repaint()

    def on_screen_resume(self) -> None:
        """Another screen was left for this one: it wants something else."""
        self.repaint()
        self.app.look()

    def on_resize(self) -> None:
        """Everything around the table is cut to the new width."""
        self.repaint()

    def repaint(self) -> None:
        """Shows the last snapshot."""
        snapshot, stale = self.app.snapshot, self.app.stale
        self.paint_status()
        if snapshot is not None:
            matches = _matcher(self.wanted)
            rows = [row for row in self.rows(snapshot) if matches(self.key(row))]
            self.table.show(rows, stale=stale)

    def paint_status(self) -> None:
        """The lines that change with the time, without the table."""
        app, width = self.app, self.size.width
        if not width:
            return
        status = app.status()
        shown = f"  filter: {self.wanted}" if self.wanted else ""
        first, second = self.summary(app.snapshot, max(0, width - len(shown)))
        self.head.show(
            (title_line(app.facts, status, app.snapshot, width), first, (*second, Cell(shown, "warn")))
        )
        events = self.events(app.snapshot) if app.snapshot is not None else []
        rule = (Cell("─" * width, "dim"),)
        self.strip.show((rule, *event_lines(events, _EVENTS if self.size.height > 15 else 0, width)))
        self.keys.show((keys_line(self.KEYS, status, width),))

    def on_table_looked(self) -> None:
        """Other rows are in sight."""
        self.app.look()

    # --- filter ------------------------------------------------------------------------------------------------------

    def action_filter(self) -> None:
        """Opens the line in which the filter is typed."""
        self.filter.add_class("open")
        self.filter.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filters while it is typed."""
        self.wanted = event.value
        self.repaint()

    def on_input_submitted(self) -> None:
        """The filter stays; the keys are the table's again."""
        self._close_filter()

    def action_back(self) -> None:
        """Leaves the filter, or the screen."""
        if self.filter.has_focus:
            self._close_filter()
        elif self.wanted:
            self.filter.value = ""
        else:
            self.app.back()

    def _close_filter(self) -> None:
        self.filter.remove_class("open")
        self.table.focus()
        self.app.look()

    def action_choose_order(self) -> None:
        """The next column in its usual order; < and > go to the columns beside, S turns it round."""
        self.table.action_sort_by(1)


def _matcher(wanted: str) -> Any:
    try:
        return re.compile(wanted, re.IGNORECASE).search
    except re.error:
        return re.compile(re.escape(wanted), re.IGNORECASE).search
