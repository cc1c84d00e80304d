"""Lines of text from a template whose gaps are filled with the cells of columns."""

from collections.abc import Sequence

Cells = str | Sequence[int | str]
"""A column: a cell for each row, or a text that all rows have."""


def fill_lines(pieces: Sequence[bytes], columns: Sequence[Cells], refused: bytes) -> bytes | None:
    """The pieces with a cell between each two, those of the first row first, as UTF-8.

    None if a cell is neither an int nor a string, or contains one of the bytes ``refused`` or a lone surrogate.
    ValueError if there are more or fewer cells than gaps.
    """
    rows = (len(pieces) - 1) // len(columns) if columns else 0
    if not pieces or len(pieces) != rows * len(columns) + 1:
        raise ValueError(f"{len(pieces)} pieces do not fit {len(columns)} columns")
    for column in columns:
        if type(column) is not str and len(column) != rows:
            raise ValueError(f"a column has {len(column)} cells for {rows} rows")
    parts: list[bytes] = [b""] * (2 * len(pieces) - 1)
    parts[::2] = pieces
    for place, column in enumerate(columns):
        cells = [column] * rows if type(column) is str else column
        for row, cell in enumerate(cells):
            text = _encoded(cell, refused)
            if text is None:
                return None
            parts[1 + 2 * (row * len(columns) + place)] = text
    return b"".join(parts)


def _encoded(cell: int | str, refused: bytes) -> bytes | None:
    if type(cell) is int:
        return b"%d" % cell
    if type(cell) is not str:
        return None
    try:
        text = cell.encode()
    except UnicodeEncodeError:
        return None
    return None if any(byte in refused for byte in text) else text
