"""Many rows at a time: what several of them have in common is given once, and formatted once. Pure.

A list of all groups by partition has tens of thousands of rows that differ in two numbers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.kernels.active import fill_lines

Values = Mapping[str, Any]
Columns = Mapping[str, Sequence[Any]]
Text = Callable[[str, Any], str]
"""A cell's text, of its key and its value."""
CellsOf = Callable[[str, Sequence[Any]], Sequence[Any]]
"""The cells of a column, of its key and its values."""


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
    """Makes lines of blocks, with ``sign`` between cells. ``text`` makes a cell of a key and a value.

    The lines of a frame become a template that is filled in for each of its blocks; the last one is remembered.
    ``refused``: characters that no cell may contain, as they would have to be escaped.
    """

    def __init__(
        self, keys: Sequence[str], sign: str, text: Text, times: frozenset[str], refused: str
    ) -> None:
        self._keys = keys
        self._sign = sign
        self._text = text
        self._times = times
        self._refused = refused.encode()
        self._frame: Frame | None = None
        self._own: tuple[str, ...] = ()
        self._places: list[str] = []
        self._template: Sequence[bytes] | None = None

    def lines(self, block: Block) -> bytes | None:
        """All lines of a block; None if a cell would have to be escaped."""
        own = (*block.shared, *block.columns)
        if block.frame is not self._frame or own != self._own:
            self._frame, self._own = block.frame, own
            self._places = [key for key in self._keys if key in own]
            self._template = self._template_of(block.frame, frozenset(own))
        if self._template is None:
            return None
        if not self._times.intersection(block.columns):
            lines = self._filled(self._template, block, None)
            if lines is not None:
                return lines
        return self._filled(self._template, block, self._as_text)

    def _template_of(self, frame: Frame, own: frozenset[str]) -> list[bytes] | None:
        """The text before, between and after the cells of blocks."""
        columns = [repeat(None, frame.size) if key in own else self._framed(frame, key) for key in self._keys]
        pieces, piece = [], ""
        for cells in zip(*columns, strict=True):
            for place, cell in enumerate(cells):
                piece += self._sign if place else ""
                if cell is None:
                    pieces.append(piece)
                    piece = ""
                elif self._must_be_escaped(cell):
                    return None
                else:
                    piece += cell
            piece += "\n"
        return [one.encode() for one in (*pieces, piece)]

    def _framed(self, frame: Frame, key: str) -> Sequence[str]:
        column = frame.columns.get(key)
        if column is None:
            return [self._text(key, frame.shared.get(key))] * frame.size
        return [self._text(key, value) for value in column]

    def _must_be_escaped(self, cell: str) -> bool:
        """Whether a cell must be escaped: a lone surrogate, too, as UTF-8 has none."""
        data = cell.encode("utf-8", "surrogatepass")
        return any(byte in self._refused for byte in data) or len(data) != len(cell.encode("utf-8", "ignore"))

    def _filled(self, template: Sequence[bytes], block: Block, cells: CellsOf | None) -> bytes | None:
        """Without ``cells`` a column is taken as it is: strings and numbers are cells, others are refused."""
        shared, columns = block.shared, block.columns
        values: list[Any] = []
        for key in self._places:  # thousands of blocks: few calls
            if key in shared:
                values += (self._text(key, shared[key]),)
            else:
                values += (columns[key] if cells is None else cells(key, columns[key]),)
        return fill_lines(template, values, self._refused)

    def _as_text(self, key: str, column: Sequence[Any]) -> Sequence[Any]:
        return [self._text(key, value) for value in column]
