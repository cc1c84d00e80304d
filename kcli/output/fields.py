"""Chosen fields of records on stdout, ``consume --select``: text, a table that grows, JSON, CSV.

A cell is bytes (a key, a value or a header that is not decoded), a value of JSON, or None. Text and CSV have bytes as
they are; JSON has those that are not UTF-8 as base64, which is counted.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.types import TopicPartition
from kcli.output.decoding import csv_field
from kcli.output.record_dumps import GrowingTable
from kcli.output.records import Formatter, Rendered
from kcli.serde.json_text import dump_json

_SPECIAL = {b"\\": b"\\\\", b"\t": b"\\t", b"\n": b"\\n", b"\r": b"\\r"}
"""What would end a cell or a line, and how it is written; the escape itself first."""

Rows = tuple[Iterable[Sequence[Any]], int, int]
"""The rows, their number, and the offset of the last one, −1 where it was no limit that ended them."""
RowsOf = Callable[[FetchedBatch, int | None, bytes | bytearray], Rows]


class FieldsFormatter(Formatter):
    """``one`` writes a row; ``names`` are those of the fields."""

    def __init__(self, names: Sequence[str], rows: RowsOf) -> None:
        self.names = tuple(names)
        self._rows = rows

    def one(self, row: Sequence[Any]) -> bytes:
        """The bytes of a row."""
        raise NotImplementedError

    def batch(self, fetched: FetchedBatch, limit: int | None, selected: bytes | bytearray) -> Rendered:
        """See Formatter."""
        rows, count, last = self._rows(fetched, limit, selected)
        return Rendered(b"".join(map(self.one, rows)), count, last)


class FieldTexts(FieldsFormatter):
    """``-o value``: one field as it is; several with a tab between them, and escapes for tabs and line ends within."""

    def __init__(self, names: Sequence[str], rows: RowsOf, delimiter: bytes, null: bytes) -> None:
        super().__init__(names, rows)
        self._delimiter, self._null = delimiter, null

    def batch(self, fetched: FetchedBatch, limit: int | None, selected: bytes | bytearray) -> Rendered:
        """See Formatter; by column, since few cells need more than to be joined."""
        rows, count, last = self._rows(fetched, limit, selected)
        columns = list(zip(*rows, strict=True))
        if not columns:
            return Rendered(b"", count, last)
        if len(columns) == 1:
            lines = self._texts(columns[0])
        else:
            lines = list(map(b"\t".join, zip(*map(self._escaped, columns), strict=True)))
        lines.append(b"")
        return Rendered(self._delimiter.join(lines), count, last)

    def _texts(self, column: Sequence[Any]) -> list[bytes]:
        null = self._null
        if set(map(type, column)) == {int}:
            return [b"%d" % cell for cell in column]
        return [cell if type(cell) is bytes else null if cell is None else _text(cell) for cell in column]

    def _escaped(self, column: Sequence[Any]) -> list[bytes]:
        texts = self._texts(column)
        joined = b"".join(texts)
        if any(sign in joined for sign in _SPECIAL):
            return [
                text if cell is None else _without_special(text)
                for cell, text in zip(column, texts, strict=True)
            ]
        return texts


class FieldsCsv(FieldsFormatter):
    """``-o csv``: a header line, then a line per record."""

    def __init__(self, names: Sequence[str], rows: RowsOf, null: bytes, *, headers: bool) -> None:
        super().__init__(names, rows)
        self._null, self._headers = null, headers

    def begin(self) -> bytes:
        """See Formatter."""
        return (
            self._line(name.encode("utf-8", "surrogateescape") for name in self.names)
            if self._headers
            else b""
        )

    def one(self, row: Sequence[Any]) -> bytes:
        """See FieldsFormatter."""
        return self._line(text_of(cell) for cell in row)

    def _line(self, cells: Iterable[bytes | None]) -> bytes:
        return b",".join(self._null if cell is None else csv_field(cell) for cell in cells) + b"\n"


class FieldsNdjson(FieldsFormatter):
    """``-o ndjson``: one object a line. ``encoded`` counts the cells that are base64."""

    is_json = True

    def __init__(self, names: Sequence[str], rows: RowsOf) -> None:
        super().__init__(names, rows)
        self.encoded = 0
        labels = [dump_json(name).encode() + b":" for name in self.names]
        self._labels = [(b"{" if not n else b",") + label for n, label in enumerate(labels)]

    def one(self, row: Sequence[Any]) -> bytes:
        """See FieldsFormatter."""
        return self.item(row) + b"\n"

    def item(self, row: Sequence[Any]) -> bytes:
        """The object."""
        parts = [label + self._json(cell) for label, cell in zip(self._labels, row, strict=True)]
        return b"".join(parts) + b"}"

    def _json(self, cell: Any) -> bytes:
        if isinstance(cell, bytes):
            try:
                cell = cell.decode()
            except UnicodeDecodeError:
                self.encoded += 1
                cell = b64encode(cell).decode()
        return dump_json(cell).encode()


class FieldsJson(FieldsNdjson):
    """``-o json``: one document, closed also when a signal ends the reading."""

    def __init__(
        self, names: Sequence[str], rows: RowsOf, head: Callable[[], bytes], tail: Callable[[], bytes]
    ) -> None:
        super().__init__(names, rows)
        self._head, self._tail = head, tail
        self._before = b"\n"

    def begin(self) -> bytes:
        """See Formatter."""
        return self._head()

    def end(self) -> bytes:
        """See Formatter."""
        return self._tail()

    def one(self, row: Sequence[Any]) -> bytes:
        """See FieldsFormatter."""
        before, self._before = self._before, b",\n"
        return before + self.item(row)

    def move(self, broker: Callable[[TopicPartition], int]) -> None:  # noqa: ARG002 - see Formatter
        """See Formatter."""
        self._before = b",\n"

    def joined(self, rendered: Rendered) -> Rendered:
        """See Formatter."""
        before, self._before = self._before, b",\n" if rendered.count else self._before
        return Rendered(rendered.data[len(b",\n") - len(before) :], rendered.count, rendered.last)


class FieldsTable(FieldsFormatter):
    """``-o table``: aligned columns that grow with their content."""

    def __init__(self, names: Sequence[str], rows: RowsOf, *, headers: bool, width: int | None) -> None:
        super().__init__(names, rows)
        headings = [name.upper().replace("_", "-") if name.isidentifier() else name for name in self.names]
        self._table = GrowingTable(headings, {"time": 24}, width, loose=1)
        self._headings = headings if headers else None

    def begin(self) -> bytes:
        """The headings."""
        return self._table.line(self._headings) if self._headings else b""

    def one(self, row: Sequence[Any]) -> bytes:
        """See FieldsFormatter."""
        texts = (text_of(cell) for cell in row)
        return self._table.line(
            "∅" if text is None else text.decode("utf-8", "backslashreplace") for text in texts
        )


def text_of(cell: Any) -> bytes | None:
    """A cell as text: bytes and strings as they are, JSON for others; None for null."""
    if cell is None or isinstance(cell, bytes):
        return cell
    return _text(cell)


def _text(cell: Any) -> bytes:
    return (cell if isinstance(cell, str) else dump_json(cell)).encode()


def shown(cell: Any) -> Any:
    """A cell as a value of JSON: bytes as text, those that are not UTF-8 as base64."""
    if not isinstance(cell, bytes):
        return cell
    try:
        return cell.decode()
    except UnicodeDecodeError:
        return b64encode(cell).decode()


def _without_special(text: bytes) -> bytes:
    for sign, name in _SPECIAL.items():
        text = text.replace(sign, name)
    return text
