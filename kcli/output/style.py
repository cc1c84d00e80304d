"""The only importer of rich: tables for people. Loaded on first use, in a pipe only with ``-o``.

Only rich's widths of characters are used: its tables cost 2 ms per row.
"""

from collections.abc import Sequence
from itertools import accumulate, zip_longest
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, chop_cells, set_cell_size

from kcli.output.layout import GAP, heading_lines, layout
from kcli.output.progress import duration_text, size_text
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column, Row, Rows, Screen, flat

if TYPE_CHECKING:
    from kcli.output.stdout import Output

AT_ONCE = 10_000
"""Rows that are kept for the widths of columns. Later ones get the same: a number that is longer sticks out."""
_UNKNOWN = "-"
BOLD, DIM, RESET = "\x1b[1m", "\x1b[2m", "\x1b[0m"


class TableRows(Rows):
    """table and wide: grouped digits, as wide as the terminal (``layout.py``) except with ``wide``."""

    def __init__(
        self, out: "Output", columns: Sequence[Column], *, wide: bool, screen: Screen | None = None
    ) -> None:
        super().__init__(out, [column for column in columns if wide or not column.wide])
        self._cells: list[list[str]] = []
        self._width = None if wide else out.width
        self._screen = screen
        self._widths: dict[Column, int] = {}
        self._gap = GAP
        self._left_out: list[Column] = []  # without room; not those without a value
        self._shown: list[tuple[int, Column, int]] = []

    def put(self, row: Row) -> None:
        """Keeps the row until the widths are known."""
        if self._screen is not None and self.count > self._screen.lines:
            return
        self._cells.append([visible_line(_cell(c, row.get(c.key))) for c in self.columns])
        if len(self._cells) == AT_ONCE:
            self._print()

    def show(self) -> None:
        """See ``Rows``."""
        if self._cells:
            self._print()
        super().show()

    def close(self) -> None:
        """Prints the table, or the rest of it; nothing without rows."""
        if not self.count and self._screen is None:
            super().close()
            return
        if self._cells or not self._widths:
            self._print()
        for line in self._note():
            self.out.text(self._styled(DIM, line) + "\n")
        super().close()

    def _print(self) -> None:
        """The rows so far; the first time with a head."""
        head = [] if self._widths else self._head()
        rows = [self._lines(cells) for cells in self._cells]
        shown = len(rows) if self._screen is None else self._fitting(head, rows, self._screen.lines)
        head[:-1] = [self._styled(BOLD, line) for line in head[:-1]]
        self.out.text("".join(f"{line}\n" for lines in (head, *rows[:shown]) for line in lines))
        if self._screen is not None and shown < self.count:
            more = self.count - shown
            text = f"… and {more:,} more row{'s' if more > 1 else ''} ({self._screen.more})"
            self.out.text(self._styled(DIM, cut(text, self.out.width or cell_len(text))) + "\n")
        self._cells = []

    def _head(self) -> list[str]:
        """Headings and a rule. Determines the widths."""
        columns = zip(*self._cells, strict=True) if self._cells else [()] * len(self.columns)
        widest = [
            max((cells_wide(cell) for cell in cells if cell != _UNKNOWN), default=0) for cells in columns
        ]
        repeated = [
            column
            for column, cells in zip(self.columns, zip(*self._cells, strict=True), strict=False)
            if len(cells) > 1 and cells.count(cells[0]) == len(cells)
        ]
        self._widths, self._gap = layout(self.columns, widest, self._width, repeated)
        known = zip(self.columns, widest, strict=True)
        self._left_out = [c for c, cell in known if c not in self._widths and cell]
        if self._widths == layout(self.columns, widest, None).widths:
            self._width = None  # all fits: there is nothing to fold or cut
        self._shown = [(n, c, self._widths[c]) for n, c in enumerate(self.columns) if c in self._widths]
        headings = [heading_lines(column, width) for column, width in self._widths.items()]
        lines = max(map(len, headings))
        padded = [[""] * (lines - len(one)) + one for one in headings]
        rule = "─" * (sum(self._widths.values()) + self._gap * (len(self._widths) - 1))
        return [*map(self._line, zip(*padded, strict=True)), rule]

    def _lines(self, cells: Sequence[str]) -> list[str]:
        """A row: as many lines as its prose needs."""
        fitted = [cells[number] for number, _, _ in self._shown]
        if self._width is None:
            return [self._line(fitted)]
        parts = [
            [cell]
            if column.right or column.kind == "time" or cells_wide(cell) <= width
            else folded(cell, width)
            if column.kind == "prose"
            else [shortened(cell, width)]
            for cell, (_, column, width) in zip(fitted, self._shown, strict=True)
        ]
        return [self._line(line) for line in zip_longest(*parts, fillvalue="")]

    def _line(self, cells: Sequence[str]) -> str:
        padded = []
        for cell, (_, column, width) in zip(cells, self._shown, strict=True):
            blanks = " " * (width - cells_wide(cell))
            padded.append(blanks + cell if column.right else cell + blanks)
        return (" " * self._gap).join(padded).rstrip()

    def _fitting(self, head: Sequence[str], rows: Sequence[Sequence[str]], lines: int) -> int:
        """How many of the rows fit into so many lines of the terminal, with a last line if some do not."""
        across = self.out.width or 0
        room = lines - sum(_height(line, across) for line in (*head, *self._note()))
        heights = [sum(_height(line, across) for line in row) for row in rows]
        if sum(heights) <= room and len(rows) == self.count:
            return len(rows)
        ends = accumulate(heights)
        return max(1, sum(end < room for end in ends))

    def _note(self) -> list[str]:
        """The columns that were left out."""
        names = ", ".join(column.heading for column in self._left_out)
        text = f"… no room for {names}: -o wide, -o json or a wider terminal has them"
        return folded(text, self._width or cell_len(text)) if names else []

    def _styled(self, style: str, line: str) -> str:
        return f"{style}{line}{RESET}" if self.out.colour else line


def folded(text: str, width: int) -> list[str]:
    """Lines of at most ``width``; a word that is longer is broken."""
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if cells_wide(joined) <= width:
            lines[-1] = joined
        else:
            lines += chop_cells(word, width)
    return [line for line in lines if line] or [""]


def cells_wide(text: str) -> int:
    """The width of the text on a terminal."""
    return len(text) if text.isascii() else cell_len(text)


def _height(line: str, across: int) -> int:
    return -(-cells_wide(line) // across) if across and line else 1


def cut(text: str, width: int) -> str:
    """Without its end, if it is longer."""
    return text if cells_wide(text) <= width else set_cell_size(text, width - 1) + "…"


def shortened(name: str, width: int) -> str:
    """Without its middle, if it is longer: names differ at their ends, too."""
    if cells_wide(name) <= width:
        return name
    end = ""
    for sign in reversed(name):
        if cells_wide(sign + end) > (width - 1) // 3:
            break
        end = sign + end
    return cut(name, width - cells_wide(end)) + end


def _cell(column: Column, value: Any) -> str:
    if column.kind == "number" and isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,}"
    if column.kind == "duration" and isinstance(value, int | float):
        return duration_text(value)
    if column.kind == "size" and isinstance(value, int):
        return size_text(value)
    return flat(column, value, _UNKNOWN)
