"""A table of any number of rows, of which only those in sight are formatted, and only cells that change are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from kcli.tui.cells import Cell, Line, fitted
from kcli.tui.columns import Column, Layout, in_order, layout, needs_of
from kcli.tui.widgets.lines import drawn

R = TypeVar("R")
_HEAD = 1
_EDGE, _EDGE_BEHIND, _NO_EDGE = Cell("▌ ", "edge"), Cell("│ ", "edge"), Cell("  ")
"""What a row begins with: under the cursor, under it while something else has the keys, and as a rule."""
_MARGIN = len(_NO_EDGE.text)


class Table(ScrollView, Generic[R], can_focus=True):
    """Rows in the order of a column; the cursor stays on its row while rows come, go and move.

    ``key`` names a row. ``show`` takes a new list; rows are formatted when they come into sight.
    """

    BINDINGS = [
        Binding("j,down", "move(1)", "down", show=False),
        Binding("k,up", "move(-1)", "up", show=False),
        Binding("g,home", "first", "to the first row", show=False),
        Binding("G,end", "last", "to the last row", show=False),
        Binding("pagedown,ctrl+f", "page(1)", "a screen down", show=False),
        Binding("pageup,ctrl+b", "page(-1)", "a screen up", show=False),
        Binding("enter", "open", "open the row; also a double click", show=False),
        Binding("less_than_sign", "sort_by(-1)", "sort by the column to the left", show=False),
        Binding("greater_than_sign", "sort_by(1)", "sort by the column to the right", show=False),
        Binding("S", "turn", "turn the order round; also a click on the title", show=False),
    ]
    DEFAULT_CSS = "Table { height: 1fr; overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; }"

    class Opened(Message):
        """Enter was pressed, or a row clicked twice."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    class Looked(Message):
        """Other rows are in sight now, or another one is under the cursor."""

    def __init__(
        self, columns: Sequence[Column[R]], key: Callable[[R], str], sorted_by: str, *, empty: str = ""
    ) -> None:
        super().__init__()
        self.columns, self._key, self.empty = columns, key, empty
        self._needed = [column for column in columns if column.needed is None]
        self.rows: list[R] = []
        self.cursor = 0
        self.stale = False
        self._choose(next(column for column in columns if column.title == sorted_by))
        self._needs: dict[str, int] = {}
        self._fit: tuple[int, Layout[R]] = 80, layout(self._needed, 80)
        self._drawn: dict[int, Line] = {}
        self._marked = _HEAD

    # --- rows --------------------------------------------------------------------------------------------------------

    def show(self, rows: Sequence[R], *, stale: bool = False, steady: bool = True) -> None:
        """Replaces the rows. ``stale``: they are old, and shown so. ``steady``: no column becomes narrower."""
        chosen = self.chosen
        restyled, self.stale = stale != self.stale, stale
        self.rows = in_order(rows, self.sorted_by, falling=self.falling)
        self._needed, before = (
            [one for one in self.columns if one.needed is None or any(map(one.needed, rows))],
            self._needed,
        )
        if self._needed != before:
            self._fit = -1, self._fit[1]
            restyled = True
        if chosen is not None:
            name = self._key(chosen)
            places = (place for place, row in enumerate(self.rows) if self._key(row) == name)
            self.cursor = next(places, self.cursor)
        self.cursor = max(0, min(self.cursor, len(self.rows) - 1))
        size = Size(self.size.width, len(self.rows) + _HEAD)
        if size != self.virtual_size:
            self.virtual_size = size
        if not steady:
            self._needs = {}
        self._redraw(everything=self._widened() or restyled)

    @property
    def chosen(self) -> R | None:
        """The row under the cursor."""
        return self.rows[self.cursor] if 0 <= self.cursor < len(self.rows) else None

    @property
    def in_sight(self) -> list[R]:
        """The rows that are on the screen."""
        top = self.scroll_offset.y
        return self.rows[top : top + max(0, self.size.height - _HEAD)]

    def lines_in_sight(self) -> list[Line]:
        """The titles and the rows that are on the screen, as they are shown."""
        return [self._line(y) for y in range(min(self.size.height, len(self.in_sight) + _HEAD))]

    # --- order -------------------------------------------------------------------------------------------------------

    def sort(self, title: str) -> None:
        """By the column of this title, in its usual order."""
        self._choose(next(column for column in self.columns if column.title == title))
        self.show(self.rows, stale=self.stale)
        self.post_message(self.Looked())

    def _choose(self, column: Column[R]) -> None:
        self.sorted_by, self.falling = column, column.falling

    def action_sort_by(self, step: int) -> None:
        """By the next column on the screen."""
        titles = [column.title for column in self._layout.columns]
        at = titles.index(self.sorted_by.title) if self.sorted_by.title in titles else 0
        self.sort(titles[(at + step) % len(titles)])

    def action_turn(self) -> None:
        """In the other direction."""
        self.falling = not self.falling
        self.show(self.rows, stale=self.stale)
        self.post_message(self.Looked())

    # --- cursor ------------------------------------------------------------------------------------------------------

    def move_to(self, place: int) -> None:
        """Puts the cursor on a row, and the row in sight."""
        self.cursor = max(0, min(place, len(self.rows) - 1))
        height = max(1, self.size.height - _HEAD)
        top = self.scroll_offset.y
        if self.cursor < top or self.cursor >= top + height:
            self.scroll_to(
                y=self.cursor if self.cursor < top else self.cursor - height + 1,
                animate=False,
                immediate=True,
            )
        self._mark()
        self.post_message(self.Looked())

    def action_move(self, step: int) -> None:
        """By some rows."""
        self.move_to(self.cursor + step)

    def action_page(self, pages: int) -> None:
        """By some screens."""
        self.move_to(self.cursor + pages * max(1, self.size.height - _HEAD))

    def action_first(self) -> None:
        """To the first row."""
        self.move_to(0)

    def action_last(self) -> None:
        """To the last row."""
        self.move_to(len(self.rows) - 1)

    def action_open(self) -> None:
        """Opens the row under the cursor."""
        if (row := self.chosen) is not None:
            self.post_message(self.Opened(self._key(row)))

    def on_click(self, event: events.Click) -> None:
        """Once: the cursor; twice: opens. On a title: sorts by it."""
        if event.y == 0:
            self._sort_at(event.x)
            return
        place = event.y - _HEAD + self.scroll_offset.y
        if place < len(self.rows):
            self.move_to(place)
            if event.chain > 1:
                self.action_open()

    def _sort_at(self, x: int) -> None:
        x -= _MARGIN
        for column, cell in zip(self._layout.columns, self._head(), strict=True):
            x -= len(cell.text)
            if x < 0:
                if column is self.sorted_by:
                    self.action_turn()
                else:
                    self.sort(column.title)
                return

    # --- drawing -----------------------------------------------------------------------------------------------------

    def on_resize(self, _event: events.Resize) -> None:
        """Other columns may fit."""
        self.virtual_size = Size(self.size.width, len(self.rows) + _HEAD)
        self._needs = {}
        self._widened()
        self._drawn.clear()
        self.refresh()
        self.post_message(self.Looked())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Other rows are in sight."""
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            if self._widened():
                self.refresh()
            self._drawn.clear()
            self.post_message(self.Looked())

    def render_line(self, y: int) -> Strip:
        """The titles, then the rows in sight; that under the cursor keeps its colours, and has an edge."""
        line = self._line(y)
        self._drawn[y] = line
        place = y - _HEAD + self.scroll_offset.y
        on_row = y >= _HEAD and place < len(self.rows)
        marked = on_row and place == self.cursor
        edge = (_EDGE if self.has_focus else _EDGE_BEHIND) if marked else _NO_EDGE
        over = "stale" if on_row and self.stale else ""
        return drawn(self, (edge, *line), over=over, marked=marked)

    @property
    def _layout(self) -> Layout[R]:
        """For the width that there is: the first lines are drawn before the size is reported."""
        width = max(1, self.size.width - _MARGIN) if self.size.width else self._fit[0]
        if width != self._fit[0]:
            self._fit = width, layout(self._needed, width, self._needs)
        return self._fit[1]

    def _widened(self) -> bool:
        """Whether columns have other widths for the texts in sight. They become no narrower: a table that is scrolled
        keeps its columns where they are.
        """
        before = self._layout
        width = self._fit[0]
        now = needs_of(self._needed, self.in_sight, width)
        needs = {title: max(need, self._needs.get(title, 0)) for title, need in now.items()}
        if needs == self._needs:
            return False
        self._needs, self._fit = needs, (width, layout(self._needed, width, needs))
        return self._fit[1].widths != before.widths

    def _head(self) -> Line:
        return self._layout.head(self.sorted_by.title, falling=self.falling)

    def _line(self, y: int) -> Line:
        if y < _HEAD:
            return self._head()
        place = y - _HEAD + self.scroll_offset.y
        if place < len(self.rows):
            return self._layout.line(self.rows[place])
        return (Cell(fitted(self.empty, self.size.width), "dim"),) if not self.rows and y == _HEAD else ()

    def _redraw(self, *, everything: bool = False) -> None:
        """Marks the cells that have changed since they were drawn."""
        if everything:
            self._drawn.clear()
            self.refresh()
            return
        regions = []
        for y in range(self.size.height):
            old, new = self._drawn.get(y, ()), self._line(y)
            if len(old) != len(new):
                regions.append(Region(0, y, self.size.width, 1))
                continue
            x = _MARGIN
            for before, now in zip(old, new, strict=True):
                width = cell_len(now.text)
                if before != now:
                    regions.append(Region(x, y, width, 1))
                x += width
        if regions:
            self.refresh(*regions)
        self._mark()

    def _mark(self) -> None:
        """Marks the rows that the cursor left and reached; the texts of all rows are as they were drawn."""
        left, self._marked = self._marked, self.cursor - self.scroll_offset.y + _HEAD
        if left != self._marked:
            self.refresh(*(Region(0, y, self.size.width, 1) for y in (left, self._marked)))
