"""What all screens with a table share: the head, the filter, the events and the keys around it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import Screen
from textual.widgets import Input

from kcli.account.survey import Missing
from kcli.core.errors import KcliError
from kcli.flows.monitor.cluster_reading import View
from kcli.flows.monitor.snapshot import Event, Snapshot
from kcli.output.progress import counted
from kcli.output.sanitise import visible_line
from kcli.tui.cells import Cell, Line
from kcli.tui.columns import Column
from kcli.tui.export import Contents, default_name, write
from kcli.tui.fitting import cut, line_width, spread
from kcli.tui.head import event_lines, events_rule, keys_line, summary_lines, title_line
from kcli.tui.host import Host
from kcli.tui.rewind_form import Scope
from kcli.tui.screens.export_name import ExportName
from kcli.tui.screens.sort_menu import SortMenu
from kcli.tui.widgets.filter_field import FilterField
from kcli.tui.widgets.lines import Lines
from kcli.tui.widgets.table import Table
from kcli.tui.widgets.tabs import Tabs
from kcli.tui.widgets.timeline import Timeline

R = TypeVar("R")
_EVENTS = 2
_WIDE, _HIGH = 160, 30
"""Columns from which on the detail is beside the table, and lines from which on it is below."""
_MOST_BELOW, _AROUND, _HEAD = 14, 4, 2
"""Lines of the detail below the table, of what is above and below the detail beside it, and of the table's titles."""
LISTS = (
    ("space", "pause"),
    ("+/-", "pace"),
    ("e", "export"),
    ("?", "help"),
)
"""The keys of every list; those that show another one are in the line of tabs."""
RECORDS = ("↵", "records")
IN_A_RECORDING = (("space", "play"), ("+/-", "speed"), ("←/→", "position"))
"""What keys are there; the last one is added."""
_CHANGING = ("w", "u")


class Listing(Screen[None], Generic[R]):
    """A table of rows of one kind. Subclasses say which rows, and what they want to know of the cluster.

    ``NAME`` is that of the screen in help and file names, ``ITEM`` the kind of its rows in JSON. What several of them
    share has no name: ``SHARED_BY`` says for the help of what they are.
    """

    app: Host
    NAME: ClassVar[str]
    ITEM: ClassVar[str]
    COLUMNS: ClassVar[Sequence[Column[Any]]]
    SORTED_BY: ClassVar[str]
    NOTHING: ClassVar[str]
    KEYS: ClassVar[Sequence[tuple[str, str]]]
    AUTO_FOCUS = "#table"
    BINDINGS = [
        Binding("slash", "filter", "show only rows with a text, or a regular expression"),
        Binding("escape", "back", "end the filter, or go back", show=False),
        Binding("s", "choose_order", "sort: choose a column"),
        Binding("e", "export", "write what is on the screen to a file"),
        Binding("w", "rewind", "rewind the group: target, plan, confirmation"),
        Binding("u", "undo", "undo the last rewind of the group"),
        Binding("c", "copy", "copy the command that shows the row"),
    ]
    DEFAULT_CSS = """
    Listing { layout: vertical; }
    Listing #pane { height: 1fr; }
    Listing #table { width: 1fr; height: 1fr; }
    Listing #detail { display: none; }
    Listing.below #detail { display: block; }
    Listing.beside #pane { layout: horizontal; }
    Listing.beside #detail { display: block; height: 100%; }
    Listing #filter { display: none; padding: 0 1; }
    Listing #filter.open { display: block; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.head = Lines(id="head")
        self.tabs = Tabs()
        self.totals = Lines(id="totals")
        self.table: Table[R] = Table(self.COLUMNS, self.key, self.SORTED_BY, empty=self.NOTHING)
        self.detail_lines = Lines(id="detail")
        self.filter = FilterField(placeholder="text or regular expression", id="filter", compact=True)
        self.timeline = None if self.app.replay is None else Timeline(self.app.replay)
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

    def summary(self, snapshot: Snapshot | None, width: int) -> Sequence[Line]:
        """The lines below the tabs: of the whole cluster."""
        return summary_lines(snapshot, width)

    def detail(self, width: int, height: int) -> Sequence[Line]:  # noqa: ARG002 - for subclasses
        """What is known of the row under the cursor; without lines the table has the room."""
        return ()

    def nothing(self, snapshot: Snapshot) -> str:  # noqa: ARG002 - for subclasses
        """What a table without rows says."""
        return self.NOTHING

    def lacks(self, snapshot: Snapshot) -> Sequence[Missing]:
        """What is missing of what it shows."""
        return snapshot.lacks

    def is_awaited(self, snapshot: Snapshot) -> bool:  # noqa: ARG002 - for subclasses
        """Whether what it shows was not wanted when the snapshot was taken, and comes with the next one."""
        return False

    def is_old(self, snapshot: Snapshot) -> bool:
        """Whether its rows are of an earlier reading than the snapshot."""
        return self.is_awaited(snapshot)

    @property
    def tab(self) -> str:
        """The list that it belongs to."""
        return self.NAME

    def events(self, snapshot: Snapshot) -> Sequence[Event]:
        """Those that the last lines are taken from."""
        return snapshot.events

    def rewind_target(self) -> tuple[str, Sequence[Scope]] | None:
        """The group under the cursor, and what of it can be chosen; None on lists without groups."""
        return None

    def copied(self) -> str | None:
        """The command that shows the row under the cursor."""
        return None

    # --- frame -------------------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Top to bottom."""
        yield self.head
        yield self.tabs
        yield self.totals
        yield self.filter
        yield Vertical(self.table, self.detail_lines, id="pane")
        if self.timeline is not None:
            yield self.timeline
        yield self.strip
        yield self.keys

    def on_mount(self) -> None:
        """The table has the keys, at once: with ``focus`` it would take them from a field that a key has opened since."""
        self.set_focus(self.table)
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
        if snapshot is not None:
            matches = _matcher(self.wanted)
            rows = [row for row in self.rows(snapshot) if matches(self.key(row))]
            self.table.empty = f"nothing has {self.wanted}" if self.wanted else self.nothing(snapshot)
            stale = stale or self.is_old(snapshot)
            self.table.show(rows, stale=stale, steady=self.app.replay is None)
        self.paint_detail()
        self.paint_status()

    def paint_detail(self) -> None:
        """Beside the table where the terminal is wide, below it where it is high: there in a third of the height, or in
        what the table leaves.
        """
        width, height = self.size
        place = "beside" if width >= _WIDE else "below" if height >= _HIGH else ""
        share = width * 2 // 5 if place == "beside" else width
        below = max(height // 3, height - _AROUND - _HEAD - len(self.table.rows))
        room = height - _AROUND if place == "beside" else min(_MOST_BELOW, below)
        lines = self.detail(share - 3, room - 1) if place else ()
        if not lines:
            place = ""
        for name in ("beside", "below"):
            self.set_class(place == name, name)
        if place:
            self.detail_lines.styles.width = share
            self.detail_lines.show(_framed(lines, share, room, beside=place == "beside"))

    @property
    def _detailed(self) -> bool:
        return self.has_class("beside") or self.has_class("below")

    def paint_status(self) -> None:
        """The lines that change with the time, without the table."""
        app, width = self.app, self.size.width
        if not width:
            return
        status = app.status()
        lines = list(self.summary(app.snapshot, width))
        if self.wanted:
            shown = (Cell(f"filter: {self.wanted} ", "warn"),)
            narrow = self.summary(app.snapshot, max(0, width - line_width(shown) - 2))[-1]
            lines[-1] = spread(cut(narrow, max(0, width - line_width(shown) - 2)), shown, width)
        lacks = None if app.snapshot is None else self.lacks(app.snapshot)
        awaited = app.snapshot is not None and self.is_awaited(app.snapshot)
        self.head.show((title_line(app.facts, status, app.snapshot, width, lacks, awaited=awaited),))
        self.tabs.paint(self.tab, app.news)
        self.totals.show(lines)
        events = self.events(app.snapshot) if app.snapshot is not None else []
        count = _EVENTS if self.size.height > 15 and not self._detailed and self.tab != "events" else 0
        self.strip.show(
            (events_rule(width), *event_lines(events, count, width, status.utc_offset))
            if count and events
            else ()
        )
        if self.timeline is not None:
            self.timeline.paint(status.utc_offset)
        self.keys.show((app.note_line(width) or keys_line(self._keys(), status, width),))

    def _keys(self) -> Sequence[tuple[str, str]]:
        """Without those that would be refused."""
        read_only = self.app.facts.read_only is not None
        keys = [one for one in self.KEYS if not read_only or one[0] not in _CHANGING]
        return keys if self.app.replay is None else _in_a_recording(keys)

    def on_table_looked(self) -> None:
        """Other rows are in sight, or another one is under the cursor."""
        self.paint_detail()
        self.app.look()

    # --- the row under the cursor ------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys for groups do nothing on lists without groups."""
        if action in ("rewind", "undo"):
            return type(self).rewind_target is not Listing.rewind_target
        return super().check_action(action, parameters)

    def action_rewind(self) -> None:
        """The dialog of a rewind."""
        self.app.open_rewind(self.rewind_target())

    def action_undo(self) -> None:
        """The dialog, for an undo of the last rewind."""
        self.app.open_rewind(self.rewind_target(), undo=True)

    def action_copy(self) -> None:
        """Puts the command that shows the row into the clipboard."""
        if (text := self.copied()) is not None:
            self.app.note(self.app.copy(text))

    # --- filter ------------------------------------------------------------------------------------------------------

    def action_filter(self) -> None:
        """Opens the line in which the filter is typed."""
        self.filter.add_class("open")
        self.set_focus(self.filter)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filters while it is typed."""
        self.wanted = event.value
        self.repaint()

    def on_input_submitted(self) -> None:
        """The filter stays; the keys are the table's again."""
        self._close_filter()

    def action_back(self) -> None:
        """Leaves the filter, or the screen."""
        if self.focused is self.filter:
            self._close_filter()
        elif self.filter.value:
            self.filter.value = ""
        else:
            self.app.back()

    def _close_filter(self) -> None:
        self.filter.remove_class("open")
        self.set_focus(self.table)
        self.app.look()

    def action_choose_order(self) -> None:
        """Asks for the column; < and > go to the columns beside, S turns it round."""
        table = self.table

        def sort(title: str | None) -> None:
            if title is not None:
                table.sort(title)

        self.app.push_screen(SortMenu(table.columns, table.sorted_by.title), sort)

    # --- export ------------------------------------------------------------------------------------------------------

    def action_export(self) -> None:
        """Asks for the name of a file, and writes what was on the screen when e was pressed."""
        snapshot = self.app.snapshot
        if snapshot is None:
            return
        contents = self.contents(snapshot)

        def report(name: str | None) -> None:
            if name is not None:
                text = visible_line(f"{counted(len(contents.rows), 'row')} written to {name}")
                self.app.notify(text, markup=False)

        reading = snapshot.reading
        suggestion = default_name(self.NAME, reading.sample.at_ms, reading.utc_offset)
        self.app.push_screen(ExportName(suggestion, lambda name: write(name, contents)), report)

    def contents(self, snapshot: Snapshot) -> Contents:
        """The rows of the table in their order, with all its columns, and the text of the screen."""
        reading = snapshot.reading
        below = self.detail_lines.lines if self._detailed else self.strip.lines
        parts = (self.head.lines, self.totals.lines, self.table.lines_in_sight(), below)
        text = ["".join(cell.text for cell in line) for lines in parts for line in lines]
        return Contents(
            self.ITEM,
            reading.cluster.description.cluster_id or "",
            reading.sample.at_ms,
            self.table.columns,
            tuple(self.table.rows),
            text,
            [*self.lacks(snapshot), *self._awaited(snapshot)],
        )

    def _awaited(self, snapshot: Snapshot) -> list[Missing]:
        if not self.is_awaited(snapshot):
            return []
        return [Missing.of(KcliError(f"{self.NAME} not read yet"))]


def _framed(lines: Sequence[Line], width: int, height: int, *, beside: bool) -> list[Line]:
    """With the line that parts them from the table."""
    if beside:
        return [(Cell("│", "dim"), *line) for line in (*lines, *((),) * max(0, height - len(lines)))]
    return [(Cell("─" * width, "dim"),), *lines]


def _in_a_recording(keys: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    words = dict(IN_A_RECORDING)
    kept = [(key, words.get(key, word)) for key, word in keys if (key, word) != RECORDS]
    return [*kept[:-1], IN_A_RECORDING[-1], *kept[-1:]]


def _matcher(wanted: str) -> Any:
    try:
        return re.compile(wanted, re.IGNORECASE).search
    except re.error:
        return re.compile(re.escape(wanted), re.IGNORECASE).search
