"""Golden output of every format, byte by byte; ``kcat.out`` is what kcat 1.7.1 itself printed for these records."""

import base64
import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.kernels import render_ops as op
from kcli.core.records.batch import RecordBatch
from kcli.core.types import Record
from kcli.output.decoding import Decoders
from kcli.output.record_data import CsvFormatter, JsonFormatter, KcatFormatter, NdjsonFormatter, RawFormatter
from kcli.output.record_dumps import HexFormatter, TableFormatter
from kcli.output.records import Formatter, TemplateFormatter, ValueFormatter
from kcli.output.template import Template
from kcli.serde.errors import DecodeError
from kcli.serde.serde import Serde, SerdeContext
from tests.batches import batch_of, fetched_of

GOLDEN = Path(__file__).parent / "golden"
STAMP = 1_700_000_000_123
HOSTILE = b'a"b\\c/d\n\r\t\x08\x0c\x00\x1f\x7f\xe2\x80\xa8\xf0\x9f\x98\x80'
RECORDS = [
    Record("j", 0, 0, STAMP, 0, b"k", HOSTILE, (("h", b"1"), ("h", None), ("e", b"")), 0),
    Record("j", 0, 1, STAMP + 1, 0, b"", b"", (), 0),
    Record("j", 0, 2, STAMP + 2, 0, None, None, (), 0),
    Record("j", 0, 3, STAMP + 2, 0, b"\xff", b"\xff\xfe", (("x", b"\xff"),), 0),
]
EVERY_VERB = r"%t %p %o %k %v %s %K %V %S %R %T %d %d{strftime[%H:%M:%S]} %h %h{[%k=%v]} %H %e %x %y %%"

FORMATS: dict[str, Callable[[], Formatter]] = {
    "value": lambda: ValueFormatter(b"\n", b""),
    "value-null": lambda: ValueFormatter(b"\0", b"NULL"),
    "ndjson": NdjsonFormatter,
    "json": lambda: JsonFormatter(lambda: b'{"items":[', lambda: b"\n]}\n"),
    "kcat": lambda: KcatFormatter(lambda _where: 1),
    "csv": lambda: CsvFormatter(b"", headers=True),
    "csv-null": lambda: CsvFormatter(b"NULL", headers=False),
    "raw": RawFormatter,
    "hex": HexFormatter,
    "table": lambda: TableFormatter(headers=True, topics=1, width=None),
    "template": lambda: TemplateFormatter(Template(EVERY_VERB + r"\n", null=b"NULL")),
    "template-encoded": lambda: TemplateFormatter(Template(r"%k{hex} %v{base64} %v{json}\n")),
}


def shown(formatter: Formatter, *batches: FetchedBatch) -> bytes:
    parts = [formatter.batch(fetched, None, b"").data for fetched in batches]
    return formatter.begin() + b"".join(parts) + formatter.end()


@pytest.mark.case("C11")
@pytest.mark.parametrize("name", FORMATS)
def test_golden(name: str) -> None:
    whole = shown(FORMATS[name](), fetched_of(RECORDS))
    assert whole == (GOLDEN / f"{name}.out").read_bytes()
    # Cut into batches in any other way it is the same.
    assert shown(FORMATS[name](), fetched_of(RECORDS[:1]), fetched_of(RECORDS[1:])) == whole


def test_every_golden_file_has_its_format() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(FORMATS)


BYTES = st.none() | st.binary(max_size=20) | st.text(max_size=20).map(str.encode)


@pytest.mark.case("C11", "X23")
@given(st.lists(st.tuples(BYTES, BYTES), min_size=1, max_size=8))
def test_csv_and_raw_can_be_read_back(pairs: list[tuple[bytes | None, bytes | None]]) -> None:
    """Any bytes; with a null marker that no field has, null is told apart from empty by any reader of CSV."""
    rows = [Record("t", 0, n, STAMP, 0, key, value, (("n", value),)) for n, (key, value) in enumerate(pairs)]
    text = shown(CsvFormatter(b"\x01null", headers=True), fetched_of(rows)).decode()
    found = list(csv.DictReader(io.StringIO(text, newline="")))
    assert len(found) == len(rows)
    for row, told in zip(rows, found, strict=True):
        assert from_csv(told["key"], told["key_encoding"]) == row.key
        assert from_csv(told["value"], told["value_encoding"]) == row.value
        assert len(json.loads(told["headers"])) == 1
    raw, values = shown(RawFormatter(), fetched_of(rows)), []
    while raw:
        size = int.from_bytes(raw[:4], "big", signed=True)
        values.append(raw[4 : 4 + size] if size >= 0 else None)
        raw = raw[4 + max(size, 0) :]
    assert values == [row.value for row in rows]


def from_csv(text: str, encoding: str) -> bytes | None:
    if text == "\x01null":
        return None
    return base64.b64decode(text) if encoding == "base64" else text.encode()


# --- transactions' markers ---------------------------------------------------------------------------


def marker(kind: int) -> FetchedBatch:
    key, value = b"\0\0" + kind.to_bytes(2, "big"), bytes(6)
    return fetched_of([Record("j", 0, 9, STAMP, 0, key, value)], producer=5, epoch=1, flags=0x30)


@pytest.mark.parametrize(("kind", "name"), [(0, b"ABORT"), (1, b"COMMIT")])
def test_a_marker_says_what_it_is(kind: int, name: bytes) -> None:
    assert shown(NdjsonFormatter(), marker(kind)).endswith(b',"control":"' + name + b'"}\n')
    assert name in shown(HexFormatter(), marker(kind)).splitlines()[0]
    assert name in shown(TableFormatter(headers=False, topics=1, width=None), marker(kind))
    assert shown(TemplateFormatter(Template("%x %y %K %V")), marker(kind)) == b"5 1 4 6"


def test_records_and_markers_of_one_partition_do_not_share_a_program() -> None:
    lines = shown(NdjsonFormatter(), fetched_of(RECORDS[:1]), marker(1), fetched_of(RECORDS[:1])).splitlines()
    assert [b'"control"' in line for line in lines] == [False, True, False]


# --- old formats ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [0, 1])
def test_batches_of_old_formats_look_the_same(magic: int, codec: int) -> None:
    from kcli.core.records.batch import split_batches
    from kcli.core.types import TopicPartition
    from tests.unit.records.samples import kafka_python_batch

    rows = [(STAMP + i, b"k%d" % i, None if i == 1 else b"v%d" % i, ()) for i in range(3)]
    old = list(split_batches(kafka_python_batch(rows, codec, magic)))  # type: ignore[arg-type]
    found = [
        FetchedBatch(TopicPartition("j", 0), b, b.base_offset, b.next_offset, b.next_offset) for b in old
    ]
    lines = shown(TemplateFormatter(Template(r"%o %k %v %T %H\n", null=b"-")), *found).splitlines()
    stamps = [-1] * 3 if magic == 0 else [STAMP + i for i in range(3)]
    values = [b"v0", b"-", b"v2"]
    assert lines == [b"%d k%d %b %d 0" % (i, i, values[i], stamps[i]) for i in range(3)]
    kinds = {
        line.split(b'"timestamp_type":')[1].split(b",")[0]
        for line in shown(NdjsonFormatter(), *found).splitlines()
    }
    assert kinds == {b"null" if magic == 0 else b'"CreateTime"'}


@pytest.mark.parametrize("codec", [0, 1])
@pytest.mark.parametrize(
    ("magic", "stamp", "printed"),
    [
        (0, STAMP, b""),
        (1, STAMP, b',"tstype":"create","ts":%d' % STAMP),
        (1, -1, b',"tstype":"create","ts":-1'),
    ],
)
def test_kcat_prints_no_time_where_the_format_has_none(
    magic: int, stamp: int, printed: bytes, codec: int
) -> None:
    """As json.c of kcat does where librdkafka says that there is no timestamp; −1 in a format that has one is −1."""
    from kcli.core.records.batch import split_batches
    from kcli.core.types import TopicPartition
    from tests.unit.records.samples import kafka_python_batch

    (old,) = split_batches(kafka_python_batch([(stamp, b"k", b"v", ())], codec, magic))  # type: ignore[arg-type]
    found = FetchedBatch(TopicPartition("j", 0), old, 0, 1, 1)
    line = b'{"topic":"j","partition":0,"offset":0%b,"broker":1,"key":"k","payload":"v"}\n' % printed
    one = KcatFormatter(lambda _where: 1)
    assert shown(one, found) == line
    assert [b"tstype" in shown(one, batch) for batch in (fetched_of(RECORDS), found)] == [True, bool(printed)]


def test_the_append_time_is_that_of_the_batch() -> None:
    records = [Record("j", 0, n, STAMP, 1, None, b"v") for n in range(2)]
    batch: RecordBatch = batch_of(records)
    assert batch.timestamp_type == 1
    assert (
        shown(TemplateFormatter(Template("%T %d{strftime[%S]},")), fetched_of(records))
        == b"1700000000123 20," * 2
    )
    assert b'"LogAppendTime"' in shown(NdjsonFormatter(), fetched_of(records))
    assert b'"tstype":"logappend"' in shown(KcatFormatter(lambda _where: 1), fetched_of(records))


# --- decoders --------------------------------------------------------------------------------------------


class Number(Serde):
    """Decodes four bytes to an object, or to text where a header says so; the first two are the id of its schema."""

    name = "number"
    seen: list[SerdeContext]

    def __init__(self, *, names_schemas: bool = False) -> None:
        self.names_schemas = names_schemas
        self.seen = []

    def decode(self, data: bytes, place: SerdeContext) -> object:
        self.seen.append(place)
        if len(data) != 4:
            raise DecodeError(f"the {place.part} is no number", why="not four bytes", do="look at it")
        number = int.from_bytes(data, "big")
        return f"text {number}" if place.headers else {"n": number}

    def decode_text(self, data: bytes, place: SerdeContext) -> str:
        found = self.decode(data, place)
        return found if isinstance(found, str) else json.dumps(found, separators=(",", ":"))

    def schema_id(self, data: bytes, place: SerdeContext) -> int | UUID | None:
        if data[:1] == b"\xff":
            return UUID(int=7)
        return int.from_bytes(data[:2], "big") if data[0] == 0 else None

    def encode(self, value: object, place: SerdeContext) -> bytes:
        raise NotImplementedError


DECODED = [
    Record("j", 0, 0, STAMP, 0, b"key", bytes([0, 0, 1, 0])),
    Record("j", 0, 1, STAMP, 0, b"key", bytes([0, 0, 1, 1]), (("text", b""),)),
    Record("j", 0, 2, STAMP, 0, b"key", b"\xff bad"),
    Record("j", 0, 3, STAMP, 0, b"key", None),
    Record("j", 0, 4, STAMP, 0, b"key", b'"bad"'),
]


def decoded(make: Callable[[Decoders], Formatter], serde: Number | None = None) -> tuple[list[bytes], int]:
    decoders = Decoders(value=serde or Number())
    return shown(make(decoders), fetched_of(DECODED)).splitlines(), decoders.undecoded[op.VALUE].count


def values_of(lines: list[bytes]) -> list[bytes]:
    return [line.split(b'"value":')[1].split(b',"headers"')[0] for line in lines]


def test_decoded_values_are_json_in_json_and_say_by_what() -> None:
    lines, failed = decoded(NdjsonFormatter)
    assert values_of(lines) == [
        b'{"n":256},"value_encoding":"number"',
        b'"text 257","value_encoding":"number"',
        b'"/yBiYWQ=","value_encoding":"base64"',
        b"null",
        b'"\\"bad\\"","value_encoding":"str"',
    ]
    assert failed == 2
    assert all(b'"key":"key","value"' in line for line in lines)


def test_the_schema_s_id_is_there_also_where_nothing_could_be_decoded() -> None:
    lines, _ = decoded(NdjsonFormatter, Number(names_schemas=True))
    ids = [json.loads(line)["value_schema_id"] for line in lines]
    assert ids == [0, 0, str(UUID(int=7)), None, None]
    assert all(b"key_schema_id" not in line for line in lines)


def test_decoded_values_are_text_elsewhere() -> None:
    texts = [b'{"n":256}', b"text 257", b"\xff bad", b"", b'"bad"']
    assert decoded(lambda d: ValueFormatter(b"\n", b"", d)) == (texts, 2)
    assert decoded(lambda d: TemplateFormatter(Template("%v\\n"), d)) == (texts, 2)
    assert decoded(lambda d: TemplateFormatter(Template("%v{hex}\\n"), d))[0][0] == b"00000100"
    assert decoded(lambda d: TemplateFormatter(Template("%v{json}\\n"), d))[0][1] == b'"text 257"'
    rows, failed = decoded(lambda d: TableFormatter(headers=False, topics=1, width=None, decoders=d))
    assert [row.split()[4] for row in rows] == [b'{"n":256}', b"text", b"\\xff", "∅".encode(), b'"bad"']
    assert failed == 2
    rows, _ = decoded(lambda d: CsvFormatter(b"", headers=False, decoders=d))
    assert rows[0].split(b",", 5)[5] == b'"{""n"":256}",[],,number'
    assert rows[2].split(b",", 5)[5] == b"/yBiYWQ=,[],,base64"
    assert rows[4].split(b",", 5)[5] == b'"""bad""",[],,str'
    lines, _ = decoded(lambda d: KcatFormatter(lambda _where: 1, d))
    assert lines[0].endswith(b'"payload":{"n":256}}')


def test_decoding_twice_counts_once_a_record() -> None:
    """CSV asks for value and its encoding, a format may ask for text and JSON: a record is one failure."""
    assert decoded(lambda d: CsvFormatter(b"", headers=False, decoders=d))[1] == 2
    assert decoded(lambda d: TemplateFormatter(Template("%v %v{json} %s\\n"), d))[1] == 2


def test_only_what_is_written_is_decoded_and_counted() -> None:
    serde = Number()
    decoders = Decoders(value=serde)
    formatter, fetched = NdjsonFormatter(decoders), fetched_of(DECODED)
    formatter.batch(fetched, 1, b"")
    assert len(serde.seen) == 1
    formatter.batch(fetched, None, bytes([0, 1, 0, 0, 0]))
    formatter.batch(fetched._replace(first=1, stop=3), None, b"")
    assert len(serde.seen) == 4
    assert decoders.undecoded[op.VALUE].count == 1
    assert decoders.undecoded[op.VALUE].first == "j-0@2: the value is no number: not four bytes; look at it"


def test_a_serde_error_names_the_position_of_the_bytes() -> None:
    key, value = Number(), Number()
    decoders = Decoders(key, value)
    NdjsonFormatter(decoders).batch(fetched_of(DECODED[1:2]), None, b"")
    TableFormatter(headers=False, topics=1, width=None, decoders=decoders).batch(
        fetched_of(DECODED[1:2]), None, b""
    )
    headers = (("text", b""),)
    assert key.seen == [SerdeContext("j", "key", headers, b"key")] * 2
    assert value.seen == [SerdeContext("j", "value", headers, b"key")] * 2


def test_the_end_of_a_transaction_is_not_decoded() -> None:
    serde = Number()
    for make in (NdjsonFormatter, lambda d: TableFormatter(headers=False, topics=1, width=None, decoders=d)):
        shown(make(Decoders(serde, serde)), marker(1))
    assert serde.seen == []
