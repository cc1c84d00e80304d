"""Many rows at a time: what several of them have in common is given once, and formatted once. Pure.

A list of all groups by partition has tens of thousands of rows that differ in two numbers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple

Values = Mapping[str, Any]
Columns = Mapping[str, Sequence[Any]]
Text = Callable[[str, Any], str]
"""A cell's text, of its key and its value."""

_PLAIN = {int, str}


class Frame(NamedTuple):
    """What blocks of ``size`` rows have in common: ``shared`` values of all rows, ``columns`` with one of each."""

    size: int
    shared: Values
    columns: Columns


class Block:
    """Rows: those of a frame, with their own ``shared`` values and ``columns``."""

    __slots__ = ("columns", "frame", "shared")

    def __init__(self, frame: Frame, shared: Values, columns: Columns) -> None:
        self.frame = frame
        self.shared = shared
        self.columns = columns

    def __iter__(self) -> Iterator[dict[str, Any]]:
        columns = {**self.frame.columns, **self.columns}
        for values in zip(*columns.values(), strict=True):
            yield {**self.frame.shared, **self.shared, **dict(zip(columns, values, strict=True))}

    def __len__(self) -> int:
        return self.frame.size


class BlockLines:
    """Writes blocks out as lines of cells with ``sign`` between them. ``text`` makes a cell of a key and a value.

    The lines of a frame become a template that is filled in for each of its blocks; the last one is remembered.
    """

    def __init__(self, keys: Sequence[str], sign: str, text: Text, times: frozenset[str]) -> None:
        self._keys = keys
        self._sign = sign
        self._text = text
        self._times = times
        self._frame: Frame | None = None
        self._own: tuple[str, ...] = ()
        self._places: list[str] = []
        self._template = ""

    def lines(self, block: Block) -> str:
        """All lines of a block, with nothing escaped."""
        own = (*block.shared, *block.columns)
        if block.frame is not self._frame or own != self._own:
            self._frame, self._own = block.frame, own
            self._places = [key for key in self._keys if key in own]
            self._template = self._lines_of(block.frame, frozenset(own))
        width = len(self._places)
        cells: list[Any] = [None] * (width * len(block))
        for at, key in enumerate(self._places):
            cells[at::width] = self._cells(block, key)
        return self._template % tuple(cells)

    def _lines_of(self, frame: Frame, own: frozenset[str]) -> str:
        """A line for each row, with ``%s`` in place of the cells of blocks."""
        columns = [
            self._framed(frame, key) if key not in own else repeat("%s", frame.size) for key in self._keys
        ]
        return "".join([self._sign.join(cells) + "\n" for cells in zip(*columns, strict=True)])

    def _framed(self, frame: Frame, key: str) -> Sequence[str]:
        column = frame.columns.get(key)
        if column is None:
            return [self._text(key, frame.shared.get(key)).replace("%", "%%")] * frame.size
        return [self._text(key, value).replace("%", "%%") for value in column]

    def _cells(self, block: Block, key: str) -> Sequence[Any]:
        """The values for ``%s``: strings and numbers as they are, others as text."""
        if key in block.shared:
            return [self._text(key, block.shared[key])] * len(block)
        column = block.columns[key]
        plain = key not in self._times and set(map(type, column)) <= _PLAIN
        return column if plain else [self._text(key, value) for value in column]
