"""What an input parser returns: rows, and bad input; and chunks, input that was read together and is sent together.

A chunk is the token that maps deliveries back to their input. A *unit* is a record of the input or a bad piece of it,
counted from 0 in each input; *rows* are the records sent of a chunk, counted from 0 in it. Pure.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from kcli.core.classes import NamedTuple, dataclass
from kcli.core.errors import KcliError

BAD_INPUT = "BAD_INPUT"
"""Written to the ``--failed`` file in place of Kafka's error name."""


class InputError(KcliError):
    """The input cannot be read, or contains what cannot be sent."""


class InputRow(NamedTuple):
    """A record of the input. ``timestamp`` None: the current time, −1: none; ``partition`` None: not specified.

    ``line`` counts from 1: lines where a record is a line, otherwise records. ``raw`` is the raw input.
    """

    line: int
    key: bytes | None
    value: bytes | None
    headers: bytes
    timestamp: int | None
    partition: int | None
    raw: bytes | None


make_row: Callable[[tuple[Any, ...]], InputRow] = partial(tuple.__new__, InputRow)
"""An InputRow of its fields, without a call of a function in Python: for rows that are read by the thousand."""


class BadInput(NamedTuple):
    """A piece of input that is not a valid record: where (``column`` counts bytes from 1, 0 is not known) and why.

    ``raw`` is None when it was too long to be kept.
    """

    line: int
    column: int
    reason: str
    raw: bytes | None


Item = InputRow | BadInput


class BadLine(Exception):  # noqa: N818 - a finding inside a parser, never seen outside
    """Raised inside a parser: ``reason``, and the column in bytes from 1 (0: not known)."""

    def __init__(self, reason: str, column: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.column = column


class Parser(Protocol):
    """Receives the input of one file in pieces of any size; every record and every bad piece is one item, in order."""

    def feed(self, data: bytes) -> list[Item]:
        """The items that ``data`` completes."""

    def finish(self) -> list[Item]:
        """The items that the end of the input completes, or shows to be cut off."""


class InputPosition(NamedTuple):
    """A unit of an input (``source`` is its number), and a checksum of the first ``offset`` bytes before it."""

    source: int = 0
    unit: int = 0
    offset: int = 0
    crc: int = 0


class Mark(NamedTuple):
    """Input that was read at once: bytes and checksum before and after it, its size, and whether more was ready."""

    before: tuple[int, int]
    after: tuple[int, int]
    size: int = 0
    more: bool = False


@dataclass(slots=True, eq=False, repr=False)
class Chunk:
    """``start`` is the position of its first unit, ``units`` their number, bad units included. ``read``: how many bytes
    of the input had been read when it was made, and their checksum.
    """

    start: InputPosition
    units: int
    name: str
    read: tuple[int, int] = (0, 0)

    @property
    def rows(self) -> int:
        """How many records are sent of it."""
        raise NotImplementedError

    def unit(self, row: int) -> int:
        """The unit of a row, counted in its input."""
        raise NotImplementedError

    def line(self, row: int) -> int:
        """The line number of a row, from 1."""
        raise NotImplementedError

    def raw(self, row: int) -> bytes | None:
        """The raw input; None when it was not kept."""
        raise NotImplementedError

    def position(self, unit: int) -> InputPosition:
        """The position of one of its units, or of the unit that follows the chunk.

        The checksum must not cover the end of that unit or of a later one: it covers the bytes before the chunk, or
        all bytes that had been read.
        """
        if unit < self.start.unit + self.units:
            return self.start._replace(unit=unit)
        return InputPosition(self.start.source, unit, *self.read)


@dataclass(slots=True, eq=False, repr=False)
class TextChunk(Chunk):
    """Lines that are sent without being parsed: ``text`` holds them if they have to be kept."""

    delimiter: bytes = b"\n"
    text: bytes | None = None
    _lines: list[bytes] | None = None

    @property
    def rows(self) -> int:
        """See Chunk: each line is sent."""
        return self.units

    def unit(self, row: int) -> int:
        """See Chunk."""
        return self.start.unit + row

    def line(self, row: int) -> int:
        """See Chunk."""
        return self.start.unit + row + 1

    def raw(self, row: int) -> bytes | None:
        """See Chunk."""
        if self.text is None:
            return None
        if self._lines is None:
            self._lines = self.text.split(self.delimiter)
        return self._lines[row]


@dataclass(slots=True, eq=False, repr=False)
class RowChunk(Chunk):
    """Records that a parser made; ``numbers`` are the units of its rows where there is bad input between them."""

    records: Sequence[InputRow] = ()
    numbers: Sequence[int] | None = None
    header: bytes | None = None

    @property
    def rows(self) -> int:
        """See Chunk."""
        return len(self.records)

    def unit(self, row: int) -> int:
        """See Chunk."""
        return self.start.unit + row if self.numbers is None else self.numbers[row]

    def line(self, row: int) -> int:
        """See Chunk."""
        return self.records[row].line

    def raw(self, row: int) -> bytes | None:
        """See Chunk."""
        return self.records[row].raw
