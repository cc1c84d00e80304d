"""Records on stdout for people, one after the other: hex dumps, a table that grows; see ``records.py``."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.kernels import render_ops as op
from kcli.core.types import Record
from kcli.output.sanitise import visible_line
from kcli.output.template import (
    rfc3339,
)

if TYPE_CHECKING:
    from kcli.output.decoding import Decoders


from kcli.output.records import Formatter, Rendered, marker_of, wanted_records

_WIDTH, _LONGEST_ROW = 16, 78


_MARGIN = 8


def dump_record(record: Record, marker: str | None = None) -> bytes:
    """The record, followed by an empty line; ``marker`` is COMMIT or ABORT of a transaction."""
    when = rfc3339(record.timestamp) or str(record.timestamp)
    title = f"{record.topic}-{record.partition}@{record.offset}  {when}" + (f"  {marker}" if marker else "")
    lines = [title, *_field("key", record.key), *_field("value", record.value)]
    for name, value in record.headers:
        shown = name if isinstance(name, str) else name.decode("utf-8", "backslashreplace")
        lines += [f"header  {shown!r}", *_field("", value)]
    return "\n".join([*lines, "", ""]).encode("utf-8", "backslashreplace")


def _field(label: str, data: bytes | None) -> list[str]:
    if not data:
        return [f"{label:{_MARGIN}}{'null' if data is None else 'empty'}"]
    return [f"{label if not number else '':{_MARGIN}}{row}" for number, row in enumerate(dump_rows(data))]


def dump_rows(data: bytes, width: int | None = None) -> Iterator[str]:
    """Offset, bytes and ASCII of 16 bytes a row, of 8 where that is too long for a terminal of ``width``."""
    many = _WIDTH if width is None or width >= _LONGEST_ROW else _WIDTH // 2
    return (_row(data[at : at + many], at, many) for at in range(0, len(data), many))


def _row(data: bytes, at: int, many: int) -> str:
    halves = "  ".join(data[half : half + 8].hex(" ").ljust(23) for half in range(0, many, 8))
    text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data)
    return f"{at:08x}  {halves}  |{text}|"


class RecordByRecord(Formatter):
    """A formatter for people, which formats each record."""

    def one(self, record: Record, marker: str | None) -> bytes:
        """The bytes of one record, or of a marker of a transaction."""
        raise NotImplementedError

    def batch(self, fetched: FetchedBatch, limit: int | None, selected: bytes | bytearray) -> Rendered:
        """See Formatter."""
        marker, last, parts = marker_of(fetched), -1, []
        for record in wanted_records(fetched, limit, selected):
            parts.append(self.one(record, marker))
            last = record.offset
        return Rendered(b"".join(parts), len(parts), last)


class HexFormatter(RecordByRecord):
    """``-o hex``: see ``hexdump``."""

    def one(self, record: Record, marker: str | None) -> bytes:
        """The bytes of one record."""
        return dump_record(record, marker)


class GrowingTable:
    """Aligned columns that grow with their content, except the last ``loose``; a row never waits for the next. ``least``
    are widths by heading.
    """

    def __init__(
        self, headings: Sequence[str], least: Mapping[str, int], width: int | None, *, loose: int
    ) -> None:
        self._widths = [max(least.get(name.lower(), 0), len(name)) for name in headings]
        self._width = width
        self._growing = len(self._widths) - loose

    def line(self, cells: Iterable[str]) -> bytes:
        """A row, cut where the terminal ends."""
        shown = [visible_line(cell) for cell in cells]
        for index, cell in enumerate(shown[: self._growing]):
            self._widths[index] = max(self._widths[index], min(len(cell), 40))
        if self._width is None and all(map(str.isascii, shown)):
            padded = (cell.ljust(width) for cell, width in zip(shown, self._widths, strict=True))
            return "  ".join(padded).rstrip().encode() + b"\n"
        from kcli.output.style import (  # rich is loaded only where widths are those of a terminal
            cells_wide,
            cut,
        )

        line = "  ".join(
            cell + " " * (width - cells_wide(cell)) for cell, width in zip(shown, self._widths, strict=True)
        ).rstrip()
        line = line if self._width is None else cut(line, self._width)
        return line.encode("utf-8", "backslashreplace") + b"\n"


class TableFormatter(RecordByRecord):
    """``-o table``: place and time, key, value and headers in columns. On a terminal with room for both a value ends
    where headers begin; elsewhere headers follow the value, in one column.
    """

    _HEADINGS = ("TIME", "PARTITION", "OFFSET", "KEY", "VALUE", "HEADERS")
    _LEAST: Mapping[str, int] = {"topic": 12, "time": 24, "offset": 8, "key": 12}
    _JOINED = "VALUE, HEADERS"
    _OF_HEADERS = 20

    def __init__(
        self, *, headers: bool, topics: int, width: int | None, decoders: "Decoders | None" = None
    ) -> None:
        self._show_topic = topics > 1
        self._headings = ("TOPIC", *self._HEADINGS) if self._show_topic else self._HEADINGS
        least, self._value = {"time": 24}, 0
        if width is not None:
            more = sum(
                wide - len(name) for name, wide in self._LEAST.items() if name.upper() in self._headings
            )
            room = width - more - sum(len(name) + 2 for name in self._headings[:-2]) - 2
            self._value = room - self._OF_HEADERS if room >= 2 * self._OF_HEADERS else 0
            least = {**self._LEAST, "value": self._value}
        if not self._value:
            self._headings = (*self._headings[:-2], self._JOINED)
        self._table = GrowingTable(self._headings, least, width, loose=2 if self._value else 1)
        self._with_headings = headers
        self._decoders = decoders

    def begin(self) -> bytes:
        """The headings."""
        return self._table.line(self._headings) if self._with_headings else b""

    def one(self, record: Record, marker: str | None) -> bytes:
        """A row."""
        value = marker or _text(self._shown(op.VALUE, record))
        cells = [
            rfc3339(record.timestamp) or str(record.timestamp),
            str(record.partition),
            str(record.offset),
            _text(record.key if marker else self._shown(op.KEY, record)),
            self._cut(value) if record.headers else value,
            " ".join(f"{_text(name)}={_text(value)}" for name, value in record.headers),
        ]
        if not self._value:
            cells[-2:] = ["  ".join(filter(None, cells[-2:]))]
        return self._table.line([record.topic, *cells] if self._show_topic else cells)

    def _cut(self, value: str) -> str:
        """The beginning of a value that leaves no room for the headers."""
        if not self._value:
            return value
        from kcli.output.style import cut  # rich is loaded only where widths are those of a terminal

        return cut(visible_line(value[: 4 * self._value]), self._value)

    def _shown(self, which: int, record: Record) -> bytes | None:
        decoded = self._decoders.text(which, record) if self._decoders is not None else None
        data = record.key if which == op.KEY else record.value
        return data if decoded is None else decoded


def _text(data: str | bytes | None) -> str:
    if data is None:
        return "∅"
    return data if isinstance(data, str) else data.decode("utf-8", "backslashreplace")
