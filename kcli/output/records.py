"""Records on stdout, a batch at a time: values, a table that grows, JSON, CSV, hex, or a format of the user's.

A formatter turns the wanted part of a batch into bytes, most of them by a render program without an object per
record; ``RecordSink`` writes them. On a terminal everything that came from a record is made visible first; elsewhere
bytes stay as they are.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kcli.core.classes import NamedTuple, dataclass
from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.kernels import render_ops as op
from kcli.core.kernels.render_ops import Program
from kcli.core.records.isolation import is_abort_marker
from kcli.core.types import Record, TopicPartition
from kcli.output.sanitise import visible, visible_json, visible_line
from kcli.output.stdout import Output
from kcli.output.template import (
    BROKER,
    OF_SHARE_GROUPS,
    PARTITION,
    RECORD,
    TOPIC,
    Extra,
    Part,
    Template,
    Wanted,
    bind,
    closing,
    rfc3339,
)

if TYPE_CHECKING:
    from kcli.output.decoding import Decoders


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


ALL = b""
"""For ``selected``: no record is left out."""


@dataclass(slots=True, eq=False, repr=False)
class Rendered:
    """``count`` records as bytes; ``last`` is the offset of the last one, −1 where the whole batch is meant."""

    data: bytes | memoryview
    count: int
    last: int = -1


class Formatter:
    """Makes bytes of records; ``begin`` and ``end`` frame them. ``is_json``: unsafe characters become JSON's escapes;
    ``is_visible``: there are none.
    """

    is_json = is_visible = False
    needs_broker = False

    def move(self, broker: Callable[[TopicPartition], int]) -> None:
        """It is in a process of its own now, and each batch may be any: what depends on those before is in ``joined``.
        ``broker``: the broker of a partition, for formats that need it.
        """

    def joined(self, rendered: "Rendered") -> "Rendered":
        """What another process has formatted, as what follows the batches before it."""
        return rendered

    def begin(self) -> bytes:
        """What precedes the first record."""
        return b""

    def batch(self, fetched: FetchedBatch, limit: int | None, selected: bytes | bytearray) -> Rendered:
        """At most ``limit`` of the selected records; ``selected`` has a byte per record, see ``render_records``."""
        raise NotImplementedError

    def end(self) -> bytes:
        """What follows the last record."""
        return b""


class _Handed(NamedTuple):
    """``records`` records up to offset ``last`` that were handed to the output, of which they are bytes ``start`` to
    ``end``.
    """

    start: int
    end: int
    records: int
    last: int
    fetched: FetchedBatch
    selected: Callable[[], bytes | bytearray]


class Written(NamedTuple):
    """What has left this process: ``records`` are whole ones, ``last`` has the offset of the last one by partition."""

    bytes: int
    records: int
    last: dict[TopicPartition, int]


class RecordSink:
    """Writes the output of a formatter; a context manager, so that a document is always closed. ``before`` is called
    ahead of records.
    """

    def __init__(
        self, out: Output, formatter: Formatter, *, escape: bool, before: Callable[[], None] | None = None
    ) -> None:
        self._out = out
        self._formatter = formatter
        self._before = before
        self._escape = escape and not formatter.is_visible
        self._begun = False
        self._size = self._records = 0  # records: of what is flushed
        self._handed: list[_Handed] = []  # since the last flush
        self._last: dict[TopicPartition, int] = {}

    def __enter__(self) -> "RecordSink":
        return self

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        if isinstance(error, OSError) or (error is not None and not self._begun):
            return
        self._begin()
        self._write(self._formatter.end())
        self._out.flush()

    def batch(
        self, fetched: FetchedBatch, limit: int | None = None, selected: bytes | bytearray = ALL
    ) -> tuple[int, int]:
        """Writes at most ``limit`` records of the batch; how many, and the offset of the last (−1: of the batch)."""
        rendered = self._formatter.batch(fetched, limit, selected)
        self._put(fetched, rendered, lambda: selected)
        return rendered.count, rendered.last

    def put_rendered(
        self, fetched: FetchedBatch, rendered: Rendered, selected: Callable[[], bytes | bytearray]
    ) -> None:
        """Writes what another process has formatted."""
        self._put(fetched, self._formatter.joined(rendered), selected)

    def _put(
        self, fetched: FetchedBatch, rendered: Rendered, selected: Callable[[], bytes | bytearray]
    ) -> None:
        self._begin()
        start, self._size = self._size, self._size + len(rendered.data)
        if rendered.count:
            last = min(fetched.stop, fetched.batch.next_offset) - 1 if rendered.last < 0 else rendered.last
            self._handed.append(_Handed(start, self._size, rendered.count, last, fetched, selected))
            if self._before is not None:
                self._before()
        self._write(rendered.data)

    def flush(self) -> None:
        """Flushes buffered output."""
        self._out.flush()
        for handed in self._handed:
            self._records += handed.records
            self._last[handed.fetched.tp] = handed.last
        self._handed.clear()

    def written(self) -> Written:
        """What has left this process, after an error of the output that has cut a record."""
        size, records, last = self._out.counted, self._records, dict(self._last)
        for handed in self._handed:
            count, offset = handed.records, handed.last
            if handed.end > size:
                count, offset = self._fitting(handed, size - handed.start)
            if count:
                records += count
                last[handed.fetched.tp] = offset
            if count < handed.records:
                break
        return Written(size, records, last)

    def _fitting(self, handed: _Handed, size: int) -> tuple[int, int]:
        """How many of the records fit in ``size`` bytes, and the offset of the last one."""

        def rendered(count: int) -> Rendered:
            return self._formatter.batch(handed.fetched, count, handed.selected())

        count = bisect_right(range(handed.records), size, key=lambda count: len(rendered(count + 1).data))
        return count, rendered(count).last if count else -1

    def check(self) -> None:
        """BrokenPipeError if the reader has closed the pipe."""
        self._out.check_reader()

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            if not self._escape:
                self._out.count()
            head = self._formatter.begin()
            self._size += len(head)
            self._write(head)

    def _write(self, data: bytes | memoryview) -> None:
        if not data:
            return
        if self._escape:
            text = bytes(data).decode("utf-8", "backslashreplace")
            self._out.text(visible_json(text) if self._formatter.is_json else visible(text))
        else:
            self._out.write(data)


def wanted_records(
    fetched: FetchedBatch, limit: int | None, selected: bytes | bytearray = ALL
) -> Iterator[Record]:
    """The selected records of the batch, at most ``limit``."""
    left = limit if limit is not None else fetched.batch.count
    for index, record in enumerate(fetched.batch.records(*fetched.tp)):
        if fetched.first <= record.offset < fetched.stop and (not selected or selected[index]):
            if left <= 0:
                return
            left -= 1
            yield record


def marker_of(fetched: FetchedBatch) -> str | None:
    """COMMIT or ABORT for the end of a transaction, which is no record; None for records."""
    if not fetched.batch.is_control:
        return None
    return "ABORT" if is_abort_marker(fetched.batch) else "COMMIT"


class ProgramFormatter(Formatter):
    """Formats by a render program: ``parts`` become one program per partition.

    ``broker`` returns the id of a partition's broker, for formats that contain it.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        extras: Sequence[Extra] = (),
        *,
        decoders: "Decoders | None" = None,
        closing: Callable[[str | None], Sequence[Part]] = lambda _marker: (),
        broker: Callable[[TopicPartition], int] = lambda _tp: -1,
    ) -> None:
        self._extras = list(extras)
        self._parts = decoders.columns(parts, self._extras) if decoders is not None else list(parts)
        self._closing = closing
        self._broker = broker
        self._programs: dict[tuple[TopicPartition, str | None, int, int], Program] = {}

    def batch(self, fetched: FetchedBatch, limit: int | None, selected: bytes | bytearray) -> Rendered:
        """See Formatter."""
        batch = fetched.batch
        extras: list[Sequence[bytes | None]] = []
        if self._extras:
            wanted = Wanted(fetched, batch.columns(), limit, selected)
            extras = [extra(wanted) for extra in self._extras]
        found = batch.render(
            self._program(fetched),
            fetched.first,
            fetched.stop - 1,
            limit=-1 if limit is None else limit,
            selected=selected,
            extras=extras,
        )
        return Rendered(*found)

    def move(self, broker: Callable[[TopicPartition], int]) -> None:
        """See Formatter."""
        self._broker = broker

    def _program(self, fetched: FetchedBatch) -> Program:
        case = (fetched.tp, marker_of(fetched), self._broker(fetched.tp), fetched.deliveries)
        program = self._programs.get(case)
        if program is None:
            tp, marker, broker, deliveries = case
            parts = [*self._parts, *self._closing(marker)]
            program = self._programs[case] = bind(parts, tp, broker, deliveries)
        return program


class ValueFormatter(ProgramFormatter):
    """``-o value``: the value and a delimiter; whole batches straight from their bytes. The end of a transaction, whose
    value is no text, is COMMIT or ABORT.
    """

    def __init__(self, delimiter: bytes, null: bytes, decoders: "Decoders | None" = None) -> None:
        super().__init__(
            [(op.BYTES, op.VALUE, op.RAW, null, b""), (op.LITERAL, delimiter)], decoders=decoders
        )
        self._delimiter = delimiter
        self._null = null
        self._marker = ProgramFormatter(
            [], closing=lambda marker: [(op.LITERAL, (marker or "").encode() + delimiter)]
        )

    def batch(self, fetched: FetchedBatch, limit: int | None, selected: bytes | bytearray) -> Rendered:
        """See Formatter."""
        batch = fetched.batch
        if batch.is_control:
            return self._marker.batch(fetched, limit, selected)
        if self._extras or selected or (limit is not None and limit < batch.count):
            return super().batch(fetched, limit, selected)
        return Rendered(*batch.values(fetched.first, fetched.stop - 1, self._delimiter, self._null))


class TemplateFormatter(ProgramFormatter):
    """``-f FORMAT``."""

    def __init__(self, template: Template, decoders: "Decoders | None" = None) -> None:
        super().__init__(template.parts, template.extras, decoders=decoders)


class NdjsonFormatter(ProgramFormatter):
    """``-o ndjson``: one object a line."""

    is_json = True

    def __init__(self, decoders: "Decoders | None" = None, *, shared: bool = False) -> None:
        """``shared``: records of a share group have their delivery counts."""
        super().__init__(
            (*RECORD, *OF_SHARE_GROUPS) if shared else RECORD,
            decoders=decoders,
            closing=lambda marker: (*closing(marker), (op.LITERAL, b"\n")),
        )


class JsonFormatter(ProgramFormatter):
    """``-o json``: one document, closed also when a signal ends the reading."""

    is_json = True

    def __init__(
        self,
        head: Callable[[], bytes],
        tail: Callable[[], bytes],
        decoders: "Decoders | None" = None,
        *,
        shared: bool = False,
    ) -> None:
        record = (*RECORD, *OF_SHARE_GROUPS) if shared else RECORD
        super().__init__([(op.LITERAL, b",\n"), *record], decoders=decoders, closing=closing)
        self._head, self._tail = head, tail
        self._first = True

    def begin(self) -> bytes:
        """See Formatter."""
        return self._head()

    def end(self) -> bytes:
        """See Formatter."""
        return self._tail()

    def batch(self, fetched: FetchedBatch, limit: int | None, selected: bytes | bytearray) -> Rendered:
        """See Formatter; no comma before the first item."""
        return self.joined(super().batch(fetched, limit, selected))

    def move(self, broker: Callable[[TopicPartition], int]) -> None:
        """See Formatter."""
        super().move(broker)
        self._first = False

    def joined(self, rendered: Rendered) -> Rendered:
        """See Formatter."""
        if self._first and rendered.count:
            self._first = False
            return Rendered(rendered.data[1:], rendered.count, rendered.last)
        return rendered


class KcatFormatter(ProgramFormatter):
    """``-o kcat``: the lines of ``kcat -J``, bytes as they are; a header list is flat, and left out when empty."""

    is_json = needs_broker = True

    def __init__(self, broker: Callable[[TopicPartition], int], decoders: "Decoders | None" = None) -> None:
        super().__init__((*_KCAT_HEAD, *_KCAT_TIME, *_KCAT_TAIL), decoders=decoders, broker=broker)
        self._without_time = ProgramFormatter((*_KCAT_HEAD, *_KCAT_TAIL), decoders=decoders, broker=broker)

    def move(self, broker: Callable[[TopicPartition], int]) -> None:
        """See Formatter."""
        super().move(broker)
        self._without_time.move(broker)

    def batch(self, fetched: FetchedBatch, limit: int | None, selected: bytes | bytearray) -> Rendered:
        """See Formatter. Records of message format 0 have no timestamp, not even −1: kcat prints none."""
        if fetched.batch.timestamp_type < 0:
            return self._without_time.batch(fetched, limit, selected)
        return super().batch(fetched, limit, selected)


_KCAT_HEAD: tuple[Part, ...] = (
    (op.LITERAL, b'{"topic":"'),
    TOPIC,
    (op.LITERAL, b'","partition":'),
    PARTITION,
    (op.LITERAL, b',"offset":'),
    (op.NUMBER, op.OFFSET),
)
_KCAT_TIME: tuple[Part, ...] = (
    (op.LITERAL, b',"tstype":"'),
    (op.TIMESTAMP_TYPE, b"", b"create", b"logappend"),
    (op.LITERAL, b'","ts":'),
    (op.NUMBER, op.TIMESTAMP),
)
_KCAT_TAIL: tuple[Part, ...] = (
    (op.LITERAL, b',"broker":'),
    BROKER,
    (op.LITERAL, b","),
    (op.HEADERS, op.HEADERS_FLAT, b'"headers":', b","),
    (op.LITERAL, b'"key":'),
    (op.BYTES, op.KEY, op.JSON_AS_IS, b"null", b""),
    (op.LITERAL, b',"payload":'),
    (op.BYTES, op.VALUE, op.JSON_AS_IS, b"null", b""),
    (op.LITERAL, b"}\n"),
)


class RawFormatter(ProgramFormatter):
    """``-o raw``: the length in 4 bytes, big-endian, −1 for a null; then the value."""

    def __init__(self) -> None:
        super().__init__([(op.LENGTH, op.VALUE), (op.BYTES, op.VALUE, op.RAW, b"", b"")])


class CsvFormatter(ProgramFormatter):
    """``-o csv``: a header line, then a line per record; bytes that are not UTF-8 are base64 and marked so."""

    HEADER = b"topic,partition,offset,timestamp,key,value,headers,key_encoding,value_encoding\n"

    def __init__(self, null: bytes, *, headers: bool, decoders: "Decoders | None" = None) -> None:
        comma: Part = (op.LITERAL, b",")
        parts: list[Part] = [TOPIC, comma, PARTITION, comma, (op.NUMBER, op.OFFSET), comma]
        parts += [(op.NUMBER, op.TIMESTAMP, b""), comma]
        parts += [
            (op.BYTES, op.KEY, op.CSV, null, b""),
            comma,
            (op.BYTES, op.VALUE, op.CSV, null, b""),
            comma,
        ]
        parts += [(op.HEADERS, op.HEADERS_CSV), comma]
        parts += [(op.BYTES, op.KEY, op.NOT_TEXT, b"", b"base64"), comma]
        parts += [(op.BYTES, op.VALUE, op.NOT_TEXT, b"", b"base64"), (op.LITERAL, b"\n")]
        super().__init__(parts, decoders=decoders)
        self._headers = headers

    def begin(self) -> bytes:
        """See Formatter."""
        return self.HEADER if self._headers else b""


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
