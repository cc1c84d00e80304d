"""A block of lines of cells: the head, the events, the footer. No markup, no wrapping."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from kcli.output.sanitise import visible_line
from kcli.tui.cells import Cell, Line
from kcli.tui.look import look


class Lines(Widget):
    """``show`` replaces the lines and redraws those that have changed."""

    def __init__(self, lines: Sequence[Line] = (), *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.lines: list[Line] = list(lines)

    def show(self, lines: Sequence[Line]) -> None:
        """Cells are already as wide as they shall be; what is too long is cut."""
        old, self.lines = self.lines, list(lines)
        if len(old) != len(self.lines):
            self.refresh(layout=True)
            return
        changed = [y for y, (one, other) in enumerate(zip(old, self.lines, strict=True)) if one != other]
        if changed:
            self.refresh(*(Region(0, y, self.size.width, 1) for y in changed))

    def get_content_height(self, *_sizes: object) -> int:
        """As many as there are."""
        return len(self.lines)

    def render_line(self, y: int) -> Strip:
        """The line as a strip of the widget's width."""
        return drawn(self, self.lines[y] if y < len(self.lines) else ())


def drawn(widget: Widget, line: Line, *, over: str = "", marked: bool = False) -> Strip:
    """The cells in the styles of the current theme, over the widget's own; ``over`` is that of all cells in place of
    theirs, ``marked``: on the background of the row under the cursor.

    Whatever is in a cell, no control character reaches the terminal, and the strip is as wide as the widget.
    """
    styles = look(widget.app.current_theme)
    base = widget.rich_style + styles["cursor" if marked else ""]
    strip = Strip(
        [Segment(visible_line(cell.text), base + styles[_style(cell, over)]) for cell in line if cell.text]
    )
    return strip.adjust_cell_length(widget.size.width, base)


def _style(cell: Cell, over: str) -> str:
    return over if over and cell.style != "edge" else cell.style
