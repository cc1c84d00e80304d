"""Records on stdout, a batch at a time: values, a table that grows, JSON, or a format of the user's.

A formatter turns the wanted part of a batch into bytes; ``RecordSink`` writes them. On a terminal everything
that came from a record is made visible first; elsewhere bytes stay as they are.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.types import Record
from kcli.output.record_json import record_dict, rfc3339
from kcli.output.sanitise import visible, visible_line
from kcli.output.stdout import Output
from kcli.output.template import Source, Template

if TYPE_CHECKING:
    from collections.abc import Callable


class Formatter(Protocol):
    """Bytes of records; ``begin`` and ``end`` frame them."""

    def begin(self) -> bytes:
        """What stands before the first record."""

    def batch(self, fetched: FetchedBatch, limit: int | None) -> tuple[bytes, int]:
        """At most ``limit`` records of the batch, and how many they are."""

    def records(self, records: Sequence[Record]) -> bytes:
        """Records that were collected before."""

    def end(self) -> bytes:
        """What stands behind the last record."""


class RecordSink:
    """Writes what a formatter makes; a context manager, so that a document is always closed."""

    def __init__(self, out: Output, formatter: Formatter, *, escape: bool) -> None:
        self._out = out
        self._formatter = formatter
        self._escape = escape
        self._begun = False

    def __enter__(self) -> "RecordSink":
        return self

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        if isinstance(error, OSError) or (error is not None and not self._begun):
            return
        self._begin()
        self._write(self._formatter.end())
        self._out.flush()

    def batch(self, fetched: FetchedBatch, limit: int | None) -> int:
        """Writes at most ``limit`` records of the batch and returns how many."""
        self._begin()
        data, count = self._formatter.batch(fetched, limit)
        self._write(data)
        return count

    def records(self, records: Sequence[Record]) -> int:
        """Writes records that were collected before."""
        self._begin()
        self._write(self._formatter.records(records))
        return len(records)

    def flush(self) -> None:
        """What was written is with the reader."""
        self._out.flush()

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self._write(self._formatter.begin())

    def _write(self, data: bytes) -> None:
        if not data:
            return
        if self._escape:
            self._out.text(visible(data.decode("utf-8", "backslashreplace")))
        else:
            self._out.write(data)


def wanted_records(fetched: FetchedBatch, limit: int | None) -> Iterator[Record]:
    """The records that were asked for, at most ``limit``."""
    return (source.record for source in _wanted_sources(fetched, limit))


def _wanted_sources(fetched: FetchedBatch, limit: int | None) -> Iterator[Source]:
    left = limit if limit is not None else fetched.batch.count
    for batch in fetched.batch.batches():
        for record in batch.records(*fetched.where):
            if fetched.first <= record.offset < fetched.stop:
                if left <= 0:
                    return
                left -= 1
                yield Source(record, batch.producer_id, batch.producer_epoch)


class _RecordByRecord:
    """What formatters share that look at each record."""

    def begin(self) -> bytes:
        return b""

    def end(self) -> bytes:
        return b""

    def one(self, source: Source) -> bytes:
        raise NotImplementedError

    def batch(self, fetched: FetchedBatch, limit: int | None) -> tuple[bytes, int]:
        parts = [self.one(source) for source in _wanted_sources(fetched, limit)]
        return b"".join(parts), len(parts)

    def records(self, records: Sequence[Record]) -> bytes:
        return b"".join([self.one(Source(record)) for record in records])


class ValueFormatter:
    """``-o value``: the value and a delimiter, straight from the batch's bytes."""

    def __init__(self, delimiter: bytes, null: bytes) -> None:
        self._delimiter = delimiter
        self._null = null

    def begin(self) -> bytes:
        return b""

    def end(self) -> bytes:
        return b""

    def batch(self, fetched: FetchedBatch, limit: int | None) -> tuple[bytes, int]:
        batch = fetched.batch
        if limit is not None and limit < batch.count:
            records = list(wanted_records(fetched, limit))
            return self.records(records), len(records)
        return batch.values(fetched.first, fetched.stop - 1, self._delimiter, self._null)

    def records(self, records: Sequence[Record]) -> bytes:
        delimiter, null = self._delimiter, self._null
        return b"".join([(null if r.value is None else r.value) + delimiter for r in records])


class TemplateFormatter(_RecordByRecord):
    """``-f FORMAT``."""

    def __init__(self, template: Template) -> None:
        self._render = template.render

    def one(self, source: Source) -> bytes:
        return self._render(source)


class NdjsonFormatter(_RecordByRecord):
    """``-o ndjson``: one object a line."""

    def __init__(self) -> None:
        self._encode = json_encoder()

    def one(self, source: Source) -> bytes:
        return self._encode(record_dict(source.record)) + b"\n"


class JsonFormatter(_RecordByRecord):
    """``-o json``: one document, closed also when a signal ends the reading."""

    def __init__(self, head: "Callable[[], bytes]", tail: "Callable[[], bytes]") -> None:
        self._encode = json_encoder()
        self._head, self._tail = head, tail
        self._comma = b""

    def begin(self) -> bytes:
        return self._head()

    def end(self) -> bytes:
        return self._tail()

    def one(self, source: Source) -> bytes:
        item = self._comma + b"\n" + self._encode(record_dict(source.record))
        self._comma = b","
        return item


class TableFormatter(_RecordByRecord):
    """``-o table``: aligned columns that grow with their content; a row never waits for the next."""

    _HEADINGS = ("TIME", "PARTITION", "OFFSET", "KEY", "VALUE", "HEADERS")

    def __init__(self, *, headers: bool, topics: int, width: int | None) -> None:
        self._show_topic = topics > 1
        self._headings = ("TOPIC", *self._HEADINGS) if self._show_topic else self._HEADINGS
        self._widths = [24 if name == "TIME" else len(name) for name in self._headings]
        self._with_headings = headers
        self._width = width

    def begin(self) -> bytes:
        return self._line(self._headings) if self._with_headings else b""

    def one(self, source: Source) -> bytes:
        record = source.record
        cells = [
            rfc3339(record.timestamp) or str(record.timestamp),
            str(record.partition),
            str(record.offset),
            _cell(record.key),
            _cell(record.value),
            " ".join(f"{_name(name)}={_cell(value)}" for name, value in record.headers),
        ]
        return self._line([record.topic, *cells] if self._show_topic else cells)

    def _line(self, cells: Iterable[str]) -> bytes:
        shown = [visible_line(cell) for cell in cells]
        for index, cell in enumerate(shown[:-2]):
            self._widths[index] = max(self._widths[index], min(len(cell), 40))
        line = "  ".join(cell.ljust(width) for cell, width in zip(shown, self._widths, strict=True)).rstrip()
        if self._width is not None and len(line) > self._width:
            line = line[: self._width - 1] + "…"
        return line.encode("utf-8", "backslashreplace") + b"\n"


def _cell(data: bytes | None) -> str:
    return "∅" if data is None else data.decode("utf-8", "backslashreplace")


def _name(name: str | bytes) -> str:
    return name if isinstance(name, str) else name.decode("utf-8", "backslashreplace")


def json_encoder() -> "Callable[[object], bytes]":
    """Encodes to compact UTF-8 JSON."""
    import msgspec

    return msgspec.json.Encoder().encode
