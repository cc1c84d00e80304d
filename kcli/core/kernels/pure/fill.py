"""Fills lines of text in Python: cells of columns into the gaps of a template, and the sequence numbers of performance
tests into prepared text (``flows/perf/marks.py``). The results are the specification for the C twins.
"""

from array import array
from collections.abc import Sequence

_DIGITS = 12


def mark_lines(text: bytearray, starts: bytes, first: int, stop: int, at: int, sequence: int) -> None:
    """Writes the numbers from ``sequence`` on in place, one into each of the lines ``first`` to ``stop`` (exclusive).

    ``starts``: where the lines of ``text`` begin, as packed native int32. A number is 12 hexadecimal digits at byte
    ``at`` of its line. ValueError, before anything is written, for lines or numbers that do not exist or have no room.
    """
    if len(starts) % 4:
        raise ValueError(f"{len(starts)} bytes are no whole int32")
    lines = array("i", starts)
    if not 0 <= first <= stop <= len(lines):
        raise ValueError(f"lines {first} to {stop} of {len(lines)}")
    if sequence < 0 or sequence + stop - first > 16**_DIGITS:
        raise ValueError(f"a sequence number has {_DIGITS} digits")
    most = len(text) - _DIGITS
    for line in range(first, stop):
        if at < 0 or not 0 <= lines[line] <= most - at:
            raise ValueError(f"line {line} has no room for its number")
    for number, start in enumerate(lines[first:stop], sequence):
        text[start + at : start + at + _DIGITS] = b"%012x" % number


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
