"""The columns of a table for which a terminal has room, and their widths. Pure.

A number is never cut. What does not fit gives way in this order: columns move closer together, a long name that is the
same in all rows is shortened, prose wraps, ``spare`` columns and prose without a value in any row go, headings break at
their hyphens, the other columns that are ``spare`` go, other names are shortened.
"""

from collections.abc import Container, Sequence

from kcli.core.classes import NamedTuple
from kcli.output.tables import Column

GAP, NARROW_GAP = 3, 2
"""Blanks between columns."""
_PROSE, _REPEATED = 24, 20
_FLOORS = ((18, 24), (12, 8))
"""The least widths of prose and of names, as long as that helps; then those below."""


class Layout(NamedTuple):
    """The width of each column that is shown, and the blanks between them."""

    widths: dict[Column, int]
    gap: int


def layout(
    columns: Sequence[Column], widest: Sequence[int], width: int | None, repeated: Container[Column] = ()
) -> Layout:
    """How the columns are laid out. ``width`` is the terminal's, None for any.

    ``widest`` is how wide the cells of each column are, 0 where nothing is known in any row; ``repeated`` are those that
    have the same cell in all of several rows.
    """
    cells = dict(zip(columns, widest, strict=True))
    natural = {column: max(cell, len(column.heading)) for column, cell in cells.items()}
    if width is None or _sum(natural, GAP) <= width:
        return Layout(natural, GAP)
    return Layout(_narrow(cells, natural, width, repeated), NARROW_GAP)


def _narrow(
    cells: dict[Column, int], natural: dict[Column, int], width: int, repeated: Container[Column]
) -> dict[Column, int]:
    if _sum(natural) <= width:
        return natural
    empty = [column for column in natural if not cells[column] and (column.spare or column.kind == "prose")]
    names = [column for column in cells if column.kind == "text" and column in repeated and cells[column]]
    if names:
        natural = dict(natural)
        _drop_spare(natural, empty, width)
    for name in names:
        room = max(_REPEATED, len(name.heading), natural[name] - (_sum(natural) - width))
        natural[name] = min(natural[name], room)
        cells[name] = min(cells[name], natural[name])
    if _sum(natural) <= width:
        return natural
    wrapped = {
        column: _least(column, cell) if column.kind == "prose" else natural[column]
        for column, cell in cells.items()
        if column in natural
    }
    _drop_spare(wrapped, [column for column in empty if column in wrapped], width)
    least = {column: _least(column, cells[column]) for column in wrapped}
    _drop_spare(least, [c for c in least if c.spare], width)
    if _sum(least) > width:
        return _shortened(least, width)
    return _widened(least, natural, width - _sum(least))


def heading_lines(column: Column, width: int) -> list[str]:
    """``CONSUMED-PER-SECOND`` in lines of at most ``width``, where its longest word leaves that choice."""
    lines = [""]
    for piece in column.heading.replace("-", "-\n").split("\n"):
        if lines[-1] and len(lines[-1]) + len(piece) > width:
            lines.append(piece)
        else:
            lines[-1] += piece
    return lines


def _drop_spare(widths: dict[Column, int], spare: list[Column], width: int) -> None:
    """Columns go until the others fit: those with the highest number first, of equal ones the last."""
    left = sorted(spare, key=lambda column: column.spare)
    while left and _sum(widths) > width:
        del widths[left.pop()]


def _least(column: Column, cell: int) -> int:
    word = max(map(len, heading_lines(column, 0)))
    return max(word, min(cell, _PROSE) if column.kind == "prose" else cell)


def _shortened(widths: dict[Column, int], width: int) -> dict[Column, int]:
    """Narrows prose, then the longest names, and both again; if all are short, lines are longer than the terminal."""
    for prose, text in _FLOORS:
        floors = {"prose": prose, "text": text}
        while _sum(widths) > width:
            longer = [column for column in widths if widths[column] > floors.get(column.kind, widths[column])]
            if not longer:
                break
            widths[max(longer, key=lambda column: (column.kind == "prose", widths[column]))] -= 1
    return widths


def _widened(widths: dict[Column, int], natural: dict[Column, int], left: int) -> dict[Column, int]:
    """Gives what is left to prose, which has a cell in each row, then to headings."""
    for column in sorted(widths, key=lambda column: column.kind != "prose"):
        more = min(left, natural[column] - widths[column])
        widths[column] += more
        left -= more
    return widths


def _sum(widths: dict[Column, int], gap: int = NARROW_GAP) -> int:
    return sum(widths.values()) + gap * (len(widths) - 1)
