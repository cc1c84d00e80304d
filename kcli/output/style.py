"""The only importer of rich: tables for people. Loaded on first use, never in a pipe unless asked for."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kcli.output.progress import duration_text
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column, Row, Rows, flat

if TYPE_CHECKING:
    from kcli.output.stdout import Output

UNLIMITED = 10_000


class TableRows(Rows):
    """table and wide: grouped digits, cut with an ellipsis at the terminal's edge (never with ``wide``)."""

    def __init__(self, out: "Output", columns: Sequence[Column], *, wide: bool) -> None:
        super().__init__(out, [column for column in columns if wide or not column.wide])
        self._cells: list[list[str]] = []
        self._cut = not wide

    def put(self, row: Row) -> None:
        """Kept until the widths are known."""
        self._cells.append([visible_line(_cell(c, row.get(c.key))) for c in self.columns])

    def close(self) -> None:
        """Prints the table."""
        width = self.out.width if self._cut else None
        self.out.text(render(self.columns, self._cells, width=width, colour=self.out.colour))
        super().close()


def render(
    columns: Sequence[Column], cells: Sequence[Sequence[str]], *, width: int | None, colour: bool
) -> str:
    """The table as text."""
    import io

    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False, header_style="bold")
    for column in columns:
        justify: Any = "right" if column.right else "left"
        prose = column.kind == "prose"
        table.add_column(
            column.heading, justify=justify, no_wrap=not prose, overflow="fold" if prose else "ellipsis"
        )
    for line in cells:
        table.add_row(*(Text(cell) for cell in line))
    console = Console(
        file=io.StringIO(),
        width=width or UNLIMITED,
        color_system="standard" if colour else None,
        force_terminal=colour,
        no_color=not colour,
        legacy_windows=False,
        _environ={},
    )
    with console.capture() as captured:
        console.print(table)
    return "".join(line.rstrip() + "\n" for line in captured.get().splitlines())


def _cell(column: Column, value: Any) -> str:
    if column.kind == "number" and isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,}"
    if column.kind == "duration" and isinstance(value, int | float):
        return duration_text(value)
    return flat(column, value, "-")
