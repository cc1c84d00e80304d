"""Rows of typed columns, printed as ``-o`` requires. JSON forms are in ``envelope.py``, the table in
``style.py``.

A row is a dict of JSON-ready values by column key; further keys appear in JSON only. None is unknown.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from kcli.core.classes import NamedTuple, dataclass, replace
from kcli.output.sanitise import visible_line
from kcli.output.stdout import Output

if TYPE_CHECKING:
    from kcli.output.blocks import Block, BlockLines
    from kcli.output.stdout import Output


Row = Mapping[str, Any]
R = TypeVar("R")
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Column:
    """A column. ``kind``: ``text``, ``number`` (grouped in a table, right-aligned), ``id`` (right-aligned, never
    grouped), ``time`` (ms since the epoch, shown as RFC 3339), ``epoch`` (the same; the number in the formats for
    programs), ``duration`` (seconds; in a table ``3m20s``), ``size`` (bytes; in a table ``1.2 MB``), ``prose`` (in a
    table it wraps, so that the other columns keep their width).
    ``wide`` ones appear with ``-o wide`` and in the formats for programs, not in table and plain.
    ``spare``: a table that is too wide for the terminal goes without it, the highest first; 0 stays. ``meaning``: a
    sentence for the schema of the rows; without one it is that of ``docgen/common_keys.py``.
    ``values``: what JSON has, where the kind does not say, as in ``docgen/list_schemas.py``: ``count?`` is a number from
    0 on, or null; a tuple has all that there are. ``inner``: the keys of an object, or of those in an array.
    ``sometimes``: JSON has the key only where it was asked for. A ``Column`` may also be a key that JSON alone has.
    """

    key: str
    kind: str = "text"
    wide: bool = False
    spare: int = 0
    meaning: str = ""
    values: str | tuple[str | None, ...] = ""
    inner: "tuple[Column, ...]" = ()
    sometimes: bool = False

    @property
    def heading(self) -> str:
        """``log_start`` → ``LOG-START``."""
        return self.key.upper().replace("_", "-")

    @property
    def right(self) -> bool:
        """Whether cells are right-aligned."""
        return self.kind in ("number", "id", "duration", "size")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field(Column, Generic[R]):
    """A column that knows where its value is: ``of`` takes it from what a row is made from. ``digits`` are those of a
    fraction. ``metric`` is its name in OpenMetrics.
    """

    of: Callable[[R], Any]
    digits: int | None = None
    metric: str = ""

    @property
    def sentence(self) -> str:
        """The meaning without what it says of null, after a semicolon: tables and metrics leave such a value out."""
        return self.meaning.partition(";")[0].removesuffix(".") + "."

    def value(self, one: R) -> Any:
        """The value, rounded."""
        found = self.of(one)
        return found if found is None or self.digits is None else round(found, self.digits)

    def within(self, inner: Callable[[S], R]) -> "Field[S]":
        """The same field, of something that contains what has it."""
        of = self.of
        return replace(cast("Field[S]", self), of=lambda outer: of(inner(outer)))


def row_of(fields: Sequence[Field[R]], one: R) -> dict[str, Any]:
    """The values of the fields by their keys."""
    return {field.key: field.value(one) for field in fields}


class Screen(NamedTuple):
    """Limits a table to ``lines``, the last of which counts the other rows; ``more`` is a hint about them."""

    lines: int
    more: str


class Rows:
    """Prints rows: immediately where the format can stream, aligned ones at the end.

    A context manager: it completes the output also when an error or a signal ends the loop, so that a JSON
    document is always valid; if the first row never came and an error ends it, nothing is written. A watch that a
    signal ends before that has an empty list.
    """

    def __init__(self, out: "Output", columns: Sequence[Column]) -> None:
        self.out = out
        self.columns = tuple(columns)
        self.count = 0
        self.endless = False
        """Rows come until a signal: it cuts nothing off."""
        self.cut: BaseException | None = None
        """What ended the rows before their end."""

    def __enter__(self) -> "Rows":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, BrokenPipeError):
            return
        self.cut = error if isinstance(error, Exception) or not self.endless else None
        if error is None or self.count or (self.endless and not isinstance(error, Exception)):
            self.close()

    def add(self, row: Row) -> None:
        """Adds a row."""
        self.count += 1
        self.put(row)

    def add_block(self, block: "Block") -> None:
        """Adds several rows."""
        for row in block:
            self.add(row)

    def put(self, row: Row) -> None:
        """What a format does with a row."""
        raise NotImplementedError

    def show(self) -> None:
        """Prints the rows so far, for a reader who waits: the widths of columns are then those of these rows."""
        self.out.flush()

    def close(self) -> None:
        """What a format does at the end."""
        self.out.flush()


class Separated(Rows):
    """tsv, csv and name: a line per row as it comes; unknown is empty."""

    def __init__(self, out: "Output", columns: Sequence[Column], form: str) -> None:
        super().__init__(out, columns[:1] if form == "name" else columns)
        self.form = form
        self._headed = not out.headers or form == "name"
        self._named: set[str] = set()
        self._cells = [(column, column.key) for column in self.columns]
        self._blocks: BlockLines | None = None

    def put(self, row: Row) -> None:
        """Writes the row as a line."""
        self._head()
        self._line([_text(column, row.get(key)) for column, key in self._cells])

    def add_block(self, block: "Block") -> None:
        """All lines at once, where nothing has to be escaped in them: most blocks are like that."""
        lines = None
        if self.form != "name" and not self.out.isatty:
            lines = (self._blocks or self._block_lines()).lines(block)
        if lines is None:
            super().add_block(block)
            return
        if not self._headed:
            self._head()
        self.count += block.frame.size
        self.out.write(lines)

    def _block_lines(self) -> "BlockLines":
        from kcli.output.blocks import BlockLines  # the kernels

        by_key = {column.key: column for column in self.columns}
        times = frozenset(key for key, column in by_key.items() if column.kind == "time")
        sign, special, _ = _SEPARATED[self.form]
        refused = f"\n{sign}{special}"
        self._blocks = BlockLines(
            [*by_key], sign, lambda key, value: _text(by_key[key], value), times, refused
        )
        return self._blocks

    def close(self) -> None:
        """An empty list has its header too."""
        self._head()
        super().close()

    def _head(self) -> None:
        if not self._headed:
            self._headed = True
            self._line([column.key for column in self.columns])

    def _line(self, cells: list[str]) -> None:
        """Checks the whole line for characters to be escaped: most have none. A terminal gets visible text only."""
        sign, special, escaped = _SEPARATED[self.form]
        if self.out.isatty:
            cells = [visible_line(cell) for cell in cells]
        line = sign.join(cells)
        if self.form == "name":
            if line in self._named:
                return  # of one name there may be several rows, a partition each
            self._named.add(line)
        elif "\n" in line or _has(special, line) or line.count(sign) >= len(cells):
            line = sign.join(map(escaped, cells))
        self.out.text(line + "\n")


_KEPT = 50_000
"""Rows of plain output that are kept until the widths of their columns are known."""


class Aligned(Rows):
    """plain: columns two blanks apart, nothing cut, no grouping; unknown is ``-``. Of very many rows the widths
    are those of the first ones, and grow where they have to.
    """

    def __init__(self, out: "Output", columns: Sequence[Column]) -> None:
        super().__init__(out, [column for column in columns if not column.wide])
        self._cells: list[list[str]] = [[c.heading for c in self.columns]] if out.headers else []
        self._widths = [0] * len(self.columns)

    def put(self, row: Row) -> None:
        """Keeps the row until the widths are known."""
        self._cells.append([visible_line(flat(c, row.get(c.key), "-")) or "-" for c in self.columns])
        if len(self._cells) > _KEPT:
            self._print()

    def show(self) -> None:
        """See ``Rows``; a longer cell makes its column wider from then on."""
        if self.count:
            self._print()
        super().show()

    def close(self) -> None:
        """Prints all."""
        self._print()
        super().close()

    def _print(self) -> None:
        own = [max(map(len, cells)) for cells in zip(*self._cells, strict=True)]
        self._widths = [max(pair) for pair in zip(self._widths, own, strict=False)] if own else self._widths
        for cells in self._cells:
            self.out.text(aligned(cells, self._widths, self.columns) + "\n")
        self._cells = []


def aligned(cells: Sequence[str], widths: Sequence[int], columns: Sequence[Column]) -> str:
    """One line of plain output."""
    padded = (
        cell.rjust(width) if column.right else cell.ljust(width)
        for cell, width, column in zip(cells, widths, columns, strict=True)
    )
    return "  ".join(padded).rstrip()


def indented_table(columns: Sequence[Column], rows: Sequence[Row]) -> list[str]:
    """The table of a plan: indented lines, without the columns in which no row has anything."""
    shown = [column for column in columns if any(row[column.key] is not None for row in rows)]
    cells = [[visible_line(flat(column, row[column.key], "-")) for column in shown] for row in rows]
    if not cells:
        return []
    lines = [[column.heading for column in shown], *cells]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  " + aligned(line, widths, shown) for line in lines]


def _text(column: Column, value: Any) -> str:
    """A cell of tsv and csv before it is escaped."""
    kind = type(value)
    if kind is str:
        return value  # type: ignore[no-any-return]
    if kind is int and column.kind != "time":
        return str(value)
    return "" if value is None else flat(column, value, "")


def _has(special: str, text: str) -> bool:
    """Whether the text contains one of these characters."""
    return any(sign in text for sign in special)


def flat(column: Column, value: Any, missing: str) -> str:
    """A value as one cell of text."""
    if value is None:
        return missing
    if column.kind in ("time", "epoch"):
        return time_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(str(element) for element in value) or missing
    if isinstance(value, Mapping):
        return ",".join(f"{key}={element}" for key, element in value.items()) or missing
    return str(value)


def time_text(ms: int) -> str:
    """RFC 3339, UTC, ms; the number itself if it is out of range."""
    try:
        when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
    except OverflowError:
        return str(ms)
    return when.strftime("%Y-%m-%dT%H:%M:%S") + f".{ms % 1000:03d}Z"


def csv_cell(text: str) -> str:
    """Quoted where RFC 4180 requires it."""
    if any(sign in text for sign in ',"\n\r'):
        return '"' + text.replace('"', '""') + '"'
    return text


def tsv_cell(text: str) -> str:
    """Tabs, line ends and backslashes as escapes, so that ``cut`` is always right."""
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


_SEPARATED: dict[str, tuple[str, str, Callable[[str], str]]] = {
    "csv": (",", '"\r', csv_cell),
    "tsv": ("\t", "\\\r", tsv_cell),
    "name": ("", "", str),
}
"""The separator, other characters that have to be escaped, and how."""
