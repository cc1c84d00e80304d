"""Tables of pyarrow, polars, pandas and DuckDB become the records that they hold, whatever their types and slices."""

from typing import Any

import duckdb
import pandas
import polars
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.arrow.foreign import open_tables
from kcli.core.arrow.record_columns import RecordSchema
from kcli.core.errors import ConfigError
from tests.unit.core.arrow.sent_rows import NOW, Sent, rows_of

BYTES = [pa.binary(), pa.large_binary(), pa.binary_view()]
TEXTS = [pa.utf8(), pa.large_utf8(), pa.string_view()]


def sent(data: Any) -> list[Sent]:
    field, tables = open_tables(data)
    schema = RecordSchema(field)
    return [row for table in tables for row in rows_of(schema.records(table))]


VALUES = st.none() | st.binary(max_size=30)
HEADERS = st.none() | st.lists(st.tuples(st.text(max_size=15), VALUES), max_size=3)
ROWS = st.lists(st.tuples(VALUES, VALUES, HEADERS, st.none() | st.integers(-1, 1 << 62)), max_size=12)


def headers_type(draw: int) -> pa.DataType:
    name, value = TEXTS[draw % 2], BYTES[draw // 2 % 2]
    if draw % 5 == 0:
        return pa.map_(name, value)
    entry = pa.struct([("value", value), ("key", name)] if draw % 3 else [("key", name), ("value", value)])
    return pa.large_list(entry) if draw % 7 == 0 else pa.list_(entry)


@given(ROWS, st.integers(0, 210), st.integers(0, 3), st.booleans())
def test_any_table_of_any_layout_and_slice(
    rows: list[tuple[Any, ...]], draw: int, before: int, as_struct: bool
) -> None:
    padded = [(b"before", b"it", [("n", b"v")], 5)] * before + rows + [(None, b"behind", None, 7)]
    keys, values, headers, times = (list(column) for column in zip(*padded, strict=True))
    kind = headers_type(draw)
    entries: list[Any] = headers
    if not pa.types.is_map(kind):
        entries = [h if h is None else [{"key": name, "value": value} for name, value in h] for h in headers]
    batch = pa.record_batch(
        {
            "timestamp": pa.array(times, pa.int64()),
            "key": pa.array(keys, BYTES[draw % 3]),
            "headers": pa.array(entries, kind),
            "value": pa.array(values, BYTES[draw // 3 % 3]),
            "offset": pa.array(range(len(padded)), pa.int64()),
        }
    )
    sliced: Any = batch.to_struct_array() if as_struct else batch
    sliced = sliced.slice(before, len(rows))

    assert sent(sliced) == [
        (key, value, tuple(head or ()), NOW if time is None else time) for key, value, head, time in rows
    ]


@pytest.mark.parametrize("kind", TEXTS)
def test_text_is_sent_as_utf_8(kind: pa.DataType) -> None:
    table = pa.table({"key": pa.array(["ü", None, ""], kind), "value": pa.array([None, "€" * 9, "x"], kind)})
    assert [row[:2] for row in sent(table)] == [
        ("ü".encode(), None),
        (None, "€€€€€€€€€".encode()),
        (b"", b"x"),
    ]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_timestamps_of_each_unit(unit: str, zone: str | None) -> None:
    table = pa.table({"value": [b"x", b"y"], "timestamp": pa.array([12, None], pa.int64())})
    times = table["timestamp"].cast(pa.timestamp(unit, zone))
    factor = {"s": 1000, "ms": 1, "us": 1 / 1000, "ns": 1 / 1_000_000}[unit]
    assert [row[3] for row in sent(table.set_column(1, "timestamp", times))] == [int(12 * factor), NOW]


def test_a_table_in_chunks_and_columns_of_nulls() -> None:
    table = pa.concat_tables([pa.table({"value": [b"a"]}), pa.table({"value": [b"b", b"c"]})])
    assert [row[1] for row in sent(table)] == [b"a", b"b", b"c"]
    nothing = pa.table(
        {"value": pa.nulls(2), "key": pa.nulls(2), "headers": pa.nulls(2), "timestamp": pa.nulls(2)}
    )
    assert sent(nothing) == [(None, None, (), NOW)] * 2
    assert sent(table.slice(0, 0)) == []


def test_packed_headers() -> None:
    block = b"\x02\x02n\x02v"
    for name in ("headers", "headers_packed"):
        table = pa.table({"value": [b"a", b"b", b"c"], name: [block, None, b"\0"]})
        assert [row[2] for row in sent(table)] == [(("n", b"v"),), (), ()]


def test_header_names_that_are_no_text() -> None:
    kind = pa.list_(pa.struct([("key", pa.binary()), ("value", pa.null())]))
    table = pa.table({"value": [b"a"], "headers": pa.array([[{"key": b"\xff", "value": None}]], kind)})
    assert sent(table)[0][2] == ((b"\xff", None),)


def test_polars_pandas_and_duckdb() -> None:
    frame = polars.DataFrame({"key": ["k", None], "value": [b"a value that is no inline view", b""]})
    assert [row[:2] for row in sent(frame)] == [(b"k", b"a value that is no inline view"), (None, b"")]
    assert [row[:2] for row in sent(frame.slice(1))] == [(None, b"")]
    pandas_frame = pandas.DataFrame({"value": ["a", None], "timestamp": pandas.to_datetime([1, 2], unit="s")})
    assert [(row[1], row[3]) for row in sent(pandas_frame)] == [(b"a", 1000), (None, 2000)]
    relation = duckdb.sql(
        "select 'duck' || i as value, map {'n': 'v'::blob} as headers, to_timestamp(i) as timestamp "
        "from range(5000) r(i)"
    )
    assert sent(relation) == [(None, b"duck%d" % at, (("n", b"v"),), at * 1000) for at in range(5000)]


def test_dictionaries_are_requested_as_plain_columns() -> None:
    table = pa.table(
        {"value": pa.array(["x", None, "y", "x"]).dictionary_encode(), "timestamp": [1, 2, 3, 4]}
    )
    expected = [(b"x", 1), (None, 2), (b"y", 3), (b"x", 4)]
    assert [(row[1], row[3]) for row in sent(table)] == expected
    assert [(row[1], row[3]) for row in sent(table.to_batches()[0].slice(1))] == expected[1:]
    assert [(row[1], row[3]) for row in sent(table.to_reader())] == expected
    frame = pandas.DataFrame({"value": pandas.Categorical(["x", "y", "x"])})
    assert [row[1] for row in sent(frame)] == [b"x", b"y", b"x"]


REFUSED = {
    "unknown": (
        pa.table({"value": [b"x"], "valeu": [1]}),
        "the column valeu is unknown: the columns of records are",
    ),
    "integers": (
        pa.table({"value": [1]}),
        "the column value is of the type int64: accepted is binary or utf8",
    ),
    "floats": (
        pa.table({"value": [b""], "partition": [1.5]}),
        "the column partition is of the type float64: .* int32",
    ),
    "dates": (
        pa.table({"value": [b""], "timestamp": pa.array([0], pa.date32())}),
        "the column timestamp is of the type date32: accepted is timestamp of any unit",
    ),
    "dictionary of a library that does not convert": (
        polars.DataFrame(
            {"value": ["x"], "topic": ["t"]}, schema={"value": polars.Utf8, "topic": polars.Categorical}
        ),
        "the column topic is of the type dictionary<.*utf8.*>: accepted is utf8",
    ),
    "dictionary of numbers": (
        pa.table({"value": pa.array([7]).dictionary_encode()}),
        "the column value is of the type int64",
    ),
    "decimals": (
        pa.table({"value": [b""], "timestamp": pa.array([1], pa.decimal128(9, 2))}),
        "the column timestamp is of the type decimal",
    ),
    "headers": (
        pa.table({"value": [b""], "headers": [[{"key": "k", "val": b"v"}]]}),
        "the column headers is of the type list<struct<key: utf8, val: binary>>: accepted is list<struct<key: utf8,",
    ),
    "text as headers": (
        pa.table({"value": [b""], "headers": ["k=v"]}),
        "the column headers is of the type utf8",
    ),
    "no value": (pa.table({"key": [b""]}), "there is no column value: the columns are key"),
    "no columns": (pa.table({}), "there is no column value: the columns are none"),
    "twice": (
        pa.table([pa.array([b""]), pa.array([b""])], names=["value", "value"]),
        "there are several columns value",
    ),
    "headers twice": (
        pa.table({"value": [b""], "headers": [b"\0"], "headers_packed": [b"\0"]}),
        "there are the columns headers and headers_packed",
    ),
    "no table": (pa.array([1]), "the Arrow data are of the type int64: a table is needed"),
}


@pytest.mark.parametrize(("data", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_wrong_columns_are_refused(data: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        sent(data)


def test_rows_of_a_table_that_are_null_are_refused() -> None:
    struct = pa.StructArray.from_arrays([pa.array([b"a", b"b"])], ["value"], mask=pa.array([False, True]))
    with pytest.raises(Exception, match="some rows of the table are null"):
        sent(struct)
    assert [row[1] for row in sent(struct.slice(0, 1))] == [b"a"]
