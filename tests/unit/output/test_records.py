"""Records on stdout: the wanted part of a batch, in each form, framed and escaped."""

import errno
import io
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from rich.cells import cell_len

from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.records.batch import RecordBatch
from kcli.core.records.builder import BatchBuilder
from kcli.core.records.slice import cut_record
from kcli.core.types import Record, TopicPartition
from kcli.output.record_data import CsvFormatter, JsonFormatter, KcatFormatter, NdjsonFormatter, RawFormatter
from kcli.output.record_dumps import HexFormatter, TableFormatter, dump_rows
from kcli.output.records import Formatter, RecordSink, TemplateFormatter, ValueFormatter, wanted_records
from kcli.output.stdout import Output
from kcli.output.template import Template
from tests.batches import fetched_of

WHERE = TopicPartition("t", 0)


def fetched(
    values: Sequence[bytes | None], base: int = 100, first: int = 0, stop: int | None = None
) -> FetchedBatch:
    """A batch at ``base`` of which the offsets from ``first`` up to ``stop`` were asked for."""
    builder = BatchBuilder(room=1_000_000)
    for value in values:
        builder.append(b"k", value, (("h", b"1"),), 1_700_000_000_123)
    raw = bytearray(b"".join(builder.wire(producer_id=9, producer_epoch=2)))
    raw[:8] = base.to_bytes(8, "big")
    batch = RecordBatch(memoryview(bytes(raw)))
    end = batch.next_offset if stop is None else stop
    return FetchedBatch(WHERE, batch, max(base, first), end, end)


MAKERS: dict[str, Callable[[], Formatter]] = {
    "value": lambda: ValueFormatter(b"\n", b""),
    "template": lambda: TemplateFormatter(Template("%s\\n")),
    "ndjson": NdjsonFormatter,
    "json": lambda: JsonFormatter(lambda: b"[", lambda: b"]"),
    "table": lambda: TableFormatter(headers=False, topics=1, width=None),
    "csv": lambda: CsvFormatter(b"", headers=False),
    "raw": RawFormatter,
    "hex": HexFormatter,
    "kcat": lambda: KcatFormatter(lambda _where: 1),
    "time": lambda: TemplateFormatter(Template("%d{strftime[%Y]} %s\\n")),
}
FIVE = [b"v%d" % n for n in range(5)]


@pytest.mark.parametrize(
    ("first", "stop", "limit", "offsets"),
    [
        (0, None, None, [100, 101, 102, 103, 104]),
        (102, None, None, [102, 103, 104]),
        (0, 102, None, [100, 101]),
        (101, 103, None, [101, 102]),
        (0, None, 2, [100, 101]),
        (102, None, 2, [102, 103]),
        (103, None, 10, [103, 104]),
        (0, None, 0, []),
        (102, 102, None, []),
    ],
)
@pytest.mark.parametrize("form", MAKERS)
def test_only_what_was_requested(
    form: str, first: int, stop: int | None, limit: int | None, offsets: list[int]
) -> None:
    batch = fetched(FIVE, 100, first, stop)
    assert [r.offset for r in wanted_records(batch, limit)] == offsets
    found = MAKERS[form]().batch(batch, limit, b"")
    data = found.data
    assert found.count == len(offsets)
    assert found.last in (-1, offsets[-1] if offsets else -1)
    for offset in range(100, 105):
        assert (b"v%d" % (offset - 100) in data) is (offset in offsets)


@pytest.mark.parametrize("form", MAKERS)
@pytest.mark.parametrize(
    ("limit", "offsets"), [(None, [101, 104]), (1, [101]), (2, [101, 104]), (3, [101, 104])]
)
def test_only_what_was_selected(form: str, limit: int | None, offsets: list[int]) -> None:
    found = MAKERS[form]().batch(fetched(FIVE, 100), limit, bytes([0, 1, 0, 0, 1]))
    assert (found.count, found.last) == (len(offsets), offsets[-1])
    for offset in range(100, 105):
        assert (b"v%d" % (offset - 100) in found.data) is (offset in offsets)


@pytest.mark.parametrize("form", MAKERS)
def test_a_record_that_was_cut_out_looks_like_one_in_its_batch(form: str) -> None:
    """Merged and collected records are slices of their batches."""
    whole = fetched(FIVE)
    columns = whole.batch.columns()
    formatter, alone = MAKERS[form](), b""
    for index in range(5):
        one = cut_record(whole.batch, columns, index)
        alone += formatter.batch(
            FetchedBatch(WHERE, one, 100 + index, 101 + index, 101 + index), None, b""
        ).data
    assert alone == MAKERS[form]().batch(whole, None, b"").data


@pytest.mark.parametrize("limit", [None, 2, 3])
def test_values_are_bytes_as_they_are_with_a_delimiter_behind_each(limit: int | None) -> None:
    batch = fetched([b"a\n\xff", None, b""])
    expected = [b"a\n\xff\0", b"NULL\0", b"\0"]
    found = ValueFormatter(b"\0", b"NULL").batch(batch, limit, b"")
    assert found.data == b"".join(expected[:limit])
    assert found.count == (limit or 3)


def test_a_template_has_the_fields_of_the_batch() -> None:
    found = TemplateFormatter(Template("%o %x %y\\n")).batch(fetched([b"v"]), None, b"")
    assert found.data == b"100 9 2\n"


def test_ndjson_has_one_object_a_line() -> None:
    data = NdjsonFormatter().batch(fetched([b"a\nb", b"\xff"]), None, b"").data
    rows = [json.loads(line) for line in data.splitlines()]
    assert data.endswith(b"\n")
    assert [(r["offset"], r["value"]) for r in rows] == [(100, "a\nb"), (101, "/w==")]


def written(formatter: Formatter, *batches: FetchedBatch, escape: bool = False) -> bytes:
    stream = io.BytesIO()
    with RecordSink(Output(stream), formatter, escape=escape) as sink:
        for batch in batches:
            sink.batch(batch, None)
        sink.flush()
    return stream.getvalue()


def test_json_is_one_document_over_batches() -> None:
    data = written(
        JsonFormatter(lambda: b'{"items":[', lambda: b"]}\n"), fetched([b"a"]), fetched([b"b", b"c"])
    )
    assert [r["value"] for r in json.loads(data)["items"]] == ["a", "b", "c"]


def test_a_document_without_records_is_complete() -> None:
    assert json.loads(written(JsonFormatter(lambda: b"[", lambda: b"]"))) == []


class Broken(io.BytesIO):
    def write(self, _data: Any) -> int:
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("error", "closed"),
    [(None, True), (KeyboardInterrupt(), True), (ValueError("x"), True), (OSError(28, "full"), False)],
)
def test_the_document_is_closed_unless_the_output_is_broken(
    error: BaseException | None, *, closed: bool
) -> None:
    stream = io.BytesIO()
    try:
        with RecordSink(Output(stream), JsonFormatter(lambda: b"[", lambda: b"]"), escape=False) as sink:
            sink.batch(fetched([b"a"]), None)
            if error is not None:
                raise error
    except (KeyboardInterrupt, ValueError, OSError):
        pass
    assert stream.getvalue().endswith(b"]") is closed


def test_an_error_before_the_first_record_writes_nothing() -> None:
    stream = io.BytesIO()
    sink = RecordSink(Output(stream), JsonFormatter(lambda: b"[", lambda: b"]"), escape=False)
    with pytest.raises(ValueError, match="before"), sink:
        raise ValueError("before anything")
    assert stream.getvalue() == b""


def test_a_full_disk_is_not_hidden() -> None:
    with (
        pytest.raises(OSError, match="No space"),
        RecordSink(Output(Broken()), ValueFormatter(b"\n", b""), escape=False) as sink,
    ):
        sink.batch(fetched([b"a"]), None)


class Disk(io.RawIOBase):
    """Takes ``room`` bytes, then is full."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.data = b""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        taken = bytes(data[: self.room - len(self.data)])
        if not taken:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.data += taken
        return len(taken)


@pytest.mark.case("C2")
@pytest.mark.parametrize("form", MAKERS)
@pytest.mark.parametrize("flushed", [True, False])
def test_after_a_full_disk_it_is_known_which_records_are_whole(form: str, *, flushed: bool) -> None:
    """At any byte; in a document the first record has no comma, so one less may be counted."""
    batches = [fetched(FIVE, base) for base in (100, 200)]
    ends = [len(written(MAKERS[form](), *_first(batches, n))) for n in range(11)]
    tail = len(written(MAKERS[form]())) if form == "json" else 0
    for room in range(0, ends[-1] - tail, 3):
        disk = Disk(room)
        sink = RecordSink(Output(io.BufferedWriter(disk)), MAKERS[form](), escape=False)
        with pytest.raises(OSError, match="No space left"):
            _write(sink, batches, flushed=flushed)
        found = sink.written()
        whole = sum(end - (1 if form == "json" else 0) <= room for end in ends[1:])
        assert found.bytes == room
        assert found.records in ((whole, whole - 1) if form == "json" else (whole,))
        last = [100, 101, 102, 103, 104, 200, 201, 202, 203, 204][: found.records]
        assert found.last == ({WHERE: last[-1]} if last else {})


def _write(sink: RecordSink, batches: Sequence[FetchedBatch], *, flushed: bool) -> None:
    for batch in batches:
        sink.batch(batch, None, b"")
        if flushed:
            sink.flush()
    sink.flush()


def _first(batches: Sequence[FetchedBatch], count: int) -> list[FetchedBatch]:
    """The first ``count`` records."""
    return [
        batch._replace(stop=batch.batch.base_offset + min(5, count - before))
        for batch, before in zip(batches, (0, 5), strict=True)
        if count > before
    ]


def test_a_pipe_gets_bytes_and_a_terminal_gets_no_control_characters() -> None:
    evil = fetched([b"\x1b[31mred\xff\x07"])
    assert written(ValueFormatter(b"\n", b""), evil) == b"\x1b[31mred\xff\x07\n"
    shown = written(ValueFormatter(b"\n", b""), evil, escape=True)
    assert shown == b"\\x1b[31mred\\xff\\x07\n"


@pytest.mark.case("X23")
def test_json_stays_json_on_a_terminal() -> None:
    shown = written(NdjsonFormatter(), fetched(["\x1b\x9b\u202e".encode()]), escape=True)
    assert json.loads(shown)["value"] == "\x1b\x9b\u202e"
    assert shown.isascii()


@pytest.mark.parametrize("escape", [False, True])
def test_the_table_never_shows_control_characters(*, escape: bool) -> None:
    data = written(
        TableFormatter(headers=True, topics=1, width=None), fetched([b"\x1b]0;x\x07\nrow\t"]), escape=escape
    )
    assert data.count(b"\n") == 2
    assert b"\x1b" not in data
    assert b"\\x1b" in data


def table(*records: Record, **how: Any) -> list[str]:
    formatter = TableFormatter(**{"headers": True, "topics": 1, "width": None, **how})
    rows = [formatter.batch(fetched_of([record]), None, b"").data for record in records]
    return (formatter.begin() + b"".join(rows)).decode().splitlines()


def test_columns_are_aligned_and_grow() -> None:
    long = Record("t", 0, 123_456_789, 0, 0, b"key", b"value")
    lines = table(Record("t", 0, 1, 0, 0, None, b"v"), long, Record("t", 0, 2, 0, 0, b"k", None))
    assert lines[0].split() == ["TIME", "PARTITION", "OFFSET", "KEY", "VALUE,", "HEADERS"]
    assert lines[1].split() == ["1970-01-01T00:00:00.000Z", "0", "1", "∅", "v"]
    assert lines[3].index("k") == lines[2].index("key")
    assert not any(line.endswith(" ") for line in lines)


def test_the_topic_is_shown_when_there_are_several() -> None:
    lines = table(Record("orders", 0, 1, 0, 0, None, b"v"), topics=2)
    assert lines[0].startswith("TOPIC")
    assert lines[1].startswith("orders")


def test_lines_are_cut_to_the_terminal() -> None:
    lines = table(Record("t", 0, 1, 0, 0, b"k", b"v" * 200), width=60)
    assert len(lines[1]) == 60
    assert lines[1].endswith("…")


def test_headings_can_be_left_out() -> None:
    assert len(table(Record("t", 0, 1, 0, 0, b"k", b"v"), headers=False)) == 1


@pytest.mark.case("F17")
@pytest.mark.parametrize("timestamp", [-1, 9_223_372_036_854_775_807])
def test_a_time_that_no_calendar_has_is_a_number(timestamp: int) -> None:
    assert table(Record("t", 0, 1, timestamp, 0, b"k", b"v"))[1].startswith(str(timestamp))


def table_lines(width: int | None, *records: Record) -> list[str]:
    formatter = TableFormatter(headers=True, topics=1, width=width)
    data = formatter.begin() + b"".join(formatter.one(record, None) for record in records)
    return data.decode().splitlines()


def test_a_table_of_a_terminal_has_room_for_headers_and_no_line_is_longer() -> None:
    records = [
        Record("t", 3, n, 1_700_000_000_000, 0, b"customer-1", value, (("trace", b"4bf92f3577b34da6"),))
        for n, value in enumerate([b"x" * 500, "注文".encode() * 200, b"short", None])
    ]
    for width in (40, 60, 80, 120, 200):
        lines = table_lines(width, *records)
        assert all(cell_len(line) <= width for line in lines)
        if width >= 120:
            assert len({cell_len(line[: line.index("trace=")]) for line in lines[1:]}) == 1
            assert lines[0].index("HEADERS") == cell_len(lines[1][: lines[1].index("trace=")])
        else:
            assert "VALUE  HEADERS" not in lines[0]
    assert table_lines(None, records[0])[0].endswith("KEY  VALUE, HEADERS")
    assert table_lines(None, records[0])[1].endswith(f"{'x' * 500}  trace=4bf92f3577b34da6")


@pytest.mark.parametrize(("width", "rows"), [(None, 3), (78, 3), (77, 6), (40, 6)])
def test_a_dump_has_shorter_rows_where_a_terminal_is_narrow(width: int | None, rows: int) -> None:
    lines = list(dump_rows(bytes(range(48)), width))
    assert len(lines) == rows
    assert max(map(len, lines)) <= (78 if rows == 3 else 45)
    assert lines[-1].startswith("00000020" if rows == 3 else "00000028")
