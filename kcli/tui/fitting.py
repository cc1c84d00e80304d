"""Lines of parts: the least important parts give way where a terminal is narrow. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from kcli.core.classes import NamedTuple
from kcli.output.sanitise import visible_line
from kcli.tui.cells import Cell, Line, fitted, width_of


class Part(NamedTuple):
    """``drop``: narrow terminals drop the part with the largest number first; 0 is never dropped.

    ``glued``: nothing but a blank is put before it.
    """

    cells: Sequence[Cell]
    drop: int = 0
    glued: bool = False


def fitting(parts: Sequence[Part], between: str, width: int) -> Line:
    """The parts that fit, in their order; if even the most important ones do not fit, the line is cut."""
    kept = list(parts)
    while (line := _joined(kept, between)) and line_width(line) > width:
        spare = max(kept, key=lambda part: part.drop)
        if not spare.drop:
            return cut(line, width)
        kept.remove(spare)
    return line


def cut(line: Line, width: int) -> Line:
    """The line in at most ``width`` columns."""
    cells: list[Cell] = []
    for cell in line:
        size = min(width_of(cell.text), width)
        cells.append(Cell(fitted(cell.text, size), cell.style))
        width -= size
    return tuple(cells)


def spread(left: Line, right: Line, width: int) -> Line:
    """``left`` at the left, ``right`` at the right, where there is room for both; else ``left``."""
    left, right = visible(left), visible(right)
    room = width - line_width(left) - line_width(right)
    if not right or room < 2:
        return left
    return *left, Cell(" " * room), *right


def line_width(line: Sequence[Cell]) -> int:
    """The columns that a line takes."""
    return sum(width_of(cell.text) for cell in line)


def _joined(parts: Sequence[Part], between: str) -> Line:
    cells: list[Cell] = []
    for part in parts:
        if cells:
            cells.append(Cell(" " if part.glued else between, "dim"))
        cells += part.cells
    return visible(cells)


def visible(line: Sequence[Cell]) -> Line:
    """The line with control characters as visible escapes."""
    return tuple(Cell(visible_line(cell.text), cell.style) for cell in line)
