"""Avro values as JSON: every type, every logical type, unions, defaults, references; what does not fit says where."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.errors import ConfigError
from kcli.serde.errors import DecodeError, EncodeError, SchemaNotFoundError
from kcli.serde.serde import SerdeContext
from tests.registry.fake import FakeRegistry
from tests.unit.serde.schemas import PLACE, serde, with_schema

UUID_TEXT = "89791762-2336-4186-9674-299b90a802e2"


def record(*fields: dict[str, Any], name: str = "x.R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


def logical(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


ROUND_TRIPS: list[tuple[Any, Any]] = [
    ("null", None),
    ("boolean", True),
    ("int", -(2**31)),
    ("long", 2**63 - 1),
    ("float", 0.1),
    ("double", 1e300),
    ("double", "NaN"),
    ("float", "-Infinity"),
    ("string", "é\0"),
    ("bytes", "\x00\xff"),
    ({"type": "string"}, "x"),
    ({"type": "array", "items": "long"}, [1, 2, 3]),
    ({"type": "array", "items": "null"}, [None, None]),
    ({"type": "map", "values": {"type": "array", "items": "int"}}, {"a": [1], "": []}),
    ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B"),
    ({"type": "fixed", "name": "F", "size": 2}, "\x80\x01"),
    (["null", "string"], None),
    (["null", "string"], "x"),
    (["string", "null"], "x"),
    (["null", {"type": "map", "values": "int"}], {"map": 5}),
    (["null", {"type": "map", "values": {"type": "map", "values": "int"}}], {"map": {"map": 5}}),
    (["int", "long", "string"], {"long": 1}),
    (["int", "long", "null"], None),
    (["float", "double"], {"double": 0.5}),
    (["string", {"type": "enum", "name": "n.E", "symbols": ["A"]}], {"n.E": "A"}),
    (["null", record(name="x.A"), record(name="x.B")], {"x.B": {}}),
    (logical("bytes", "decimal", precision=10, scale=2), "-12345.60"),
    (logical("bytes", "decimal", precision=40), "1234567890123456789012345678901234567890"),
    (logical("bytes", "decimal", precision=4, scale=4), "0.0001"),
    (logical("bytes", "decimal", precision=4, scale=4), "-0.0128"),
    ({"type": "fixed", "name": "D", "size": 8, "logicalType": "decimal", "precision": 9, "scale": 3}, "0.000"),
    (logical("int", "date"), "1969-12-31"),
    (logical("int", "date"), "2026-11-21"),
    (logical("int", "date"), 2**31 - 1),
    (logical("int", "time-millis"), "23:59:59.999"),
    (logical("int", "time-millis"), -1),
    (logical("long", "time-micros"), "00:00:00.000001"),
    (logical("long", "timestamp-millis"), "2026-11-21T10:30:00.123Z"),
    (logical("long", "timestamp-millis"), "1969-12-31T23:59:59.999Z"),
    (logical("long", "timestamp-millis"), 2**62),
    (logical("long", "timestamp-micros"), "2026-11-21T10:30:00.123456Z"),
    (logical("long", "timestamp-nanos"), "2026-11-21T10:30:00.123456789Z"),
    (logical("long", "local-timestamp-millis"), "2026-11-21T10:30:00.123"),
    (logical("long", "local-timestamp-micros"), "0001-01-01T00:00:00.000000"),
    (logical("string", "uuid"), UUID_TEXT),
    ({"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}, UUID_TEXT),
    (
        {"type": "fixed", "name": "P", "size": 12, "logicalType": "duration"},
        {"months": 1, "days": 2, "millis": 2**32 - 1},
    ),
    (logical("string", "nobody-knows-it"), "x"),
    (record({"name": "a", "type": "int"}, {"name": "b", "type": ["null", "x.R"]}), {"a": 1, "b": {"a": 2, "b": None}}),
    (record({"name": "c", "type": {"type": "array", "items": "x.R"}}), {"c": [{"c": []}]}),
    (
        record({"name": "a", "type": {"type": "fixed", "name": "f.F", "size": 1}}, {"name": "b", "type": "f.F"}),
        {"a": "a", "b": "b"},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value"), ROUND_TRIPS, ids=repr)
def test_values_come_back(schema: Any, value: Any) -> None:
    one = with_schema(schema)
    data = one.encode(value, PLACE)
    assert one.decode(data, PLACE) == value
    assert one.encode_text(one.decode_text(data, PLACE).encode(), PLACE) == data


@pytest.mark.parametrize(("schema", "value"), ROUND_TRIPS, ids=repr)
def test_values_come_back_in_the_json_of_the_specification(schema: Any, value: Any) -> None:
    plain, tagged = with_schema(schema), with_schema(schema, ":json=avro")
    data = plain.encode(value, PLACE)
    assert tagged.encode(tagged.decode(data, PLACE), PLACE) == data


AMBIGUOUS = (["int", "long", "string"], ["float", "double"])
"""Unions of which fastavro writes the first that fits, whatever was read."""


def without_logical_types(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {name: without_logical_types(part) for name, part in schema.items() if name != "logicalType"}
    return [without_logical_types(part) for part in schema] if isinstance(schema, list) else schema


@pytest.mark.parametrize(("schema", "value"), ROUND_TRIPS, ids=repr)
def test_fastavro_reads_what_is_written(schema: Any, value: Any) -> None:
    plain = without_logical_types(schema)  # its dates end in the year 9999
    data = io.BytesIO(with_schema(schema, ":id=1,framing=none").encode(value, PLACE))
    found = fastavro.schemaless_reader(data, fastavro.parse_schema(plain), None, return_named_type=True)
    assert not data.read()
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(plain), found)
    if schema not in AMBIGUOUS:
        assert out.getvalue() == data.getvalue()


@pytest.mark.parametrize(
    ("schema", "value", "shown"),
    [
        (["null", "string"], "x", {"string": "x"}),
        (logical("int", "date"), "1970-01-02", 1),
        (logical("bytes", "decimal", precision=4, scale=2), "1.00", "d"),
    ],
)
def test_the_json_of_the_specification(schema: Any, value: Any, shown: Any) -> None:
    data = with_schema(schema).encode(value, PLACE)
    assert with_schema(schema, ":json=avro").decode(data, PLACE) == shown


@pytest.mark.parametrize(
    ("schema", "given_value", "same_as"),
    [
        (["null", "string"], {"string": "x"}, "x"),
        (["null", record({"name": "a", "type": "int"})], {"x.R": {"a": 1}}, {"a": 1}),
        (["null", "int", "string"], 5, {"int": 5}),
        (["null", "int", "string"], "5", {"string": "5"}),
        (logical("int", "date"), 1, "1970-01-02"),
        (logical("long", "timestamp-millis"), "1970-01-01T01:00:01+01:00", "1970-01-01T00:00:01.000Z"),
        (logical("long", "timestamp-micros"), "1970-01-01 00:00Z", 0),
        (logical("bytes", "decimal", precision=6, scale=2), 12.5, "12.50"),
        (logical("bytes", "decimal", precision=6, scale=2), "1.2e3", "1200.00"),
        (logical("int", "time-millis"), "10:30", "10:30:00.000"),
        ("long", 5.0, 5),
        ("double", 5, 5.0),
    ],
)
def test_other_ways_to_say_a_value(schema: Any, given_value: Any, same_as: Any) -> None:
    one = with_schema(schema)
    assert one.encode(given_value, PLACE) == one.encode(same_as, PLACE)


def test_fields_that_are_not_given_take_their_default() -> None:
    one = with_schema(
        record(
            {"name": "a", "type": "int", "default": 7},
            {"name": "b", "type": ["null", "string"], "default": None},
            {"name": "c", "type": ["string", "int"], "default": "x"},
            {
                "name": "d",
                "type": logical("bytes", "decimal", precision=4, scale=2),
                "default": "\u0001\u0000",
            },
            {
                "name": "e",
                "type": record({"name": "f", "type": "int", "default": 1}, name="E"),
                "default": {},
            },
            {"name": "g", "type": logical("int", "date"), "default": 1},
        )
    )
    expected = {"a": 7, "b": None, "c": {"string": "x"}, "d": "2.56", "e": {"f": 1}, "g": "1970-01-02"}
    assert one.decode(one.encode({}, PLACE), PLACE) == expected


@pytest.mark.parametrize(
    ("schema", "value", "why"),
    [
        (record({"name": "a", "type": "int"}), {}, "a: it is missing"),
        (record({"name": "name", "type": "int"}), {"nmae": 1}, "did you mean 'name'?"),
        (record({"name": "a", "type": "int"}), [], "no object"),
        (record({"name": "a", "type": {"type": "array", "items": "int"}}), {"a": [1, "x"]}, "a[1]: it is not a whole"),
        ({"type": "map", "values": "int"}, {"k": None}, "['k']: it is not a whole number"),
        (["null", "int", "string"], True, "it fits none of null, int, string"),
        (["null", "int"], "x", "it is not a whole number"),
        (["int", "string"], {"int": "x"}, "['int']: it is not a whole number"),
        ("int", 2**31, "32 bits"),
        ("long", -(2**63) - 1, "64 bits"),
        ("int", True, "not a whole number"),
        ("int", 1.5, "not a whole number"),
        ("boolean", 1, "neither true nor false"),
        ("float", 1e300, "too large"),
        ("double", "x", "no number"),
        ("string", 5, "not a string"),
        ("string", "\ud800", "surrogate"),
        ("bytes", "€", "above U+00FF"),
        ("null", 0, "not null"),
        ({"type": "array", "items": "int"}, {}, "no array"),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "C", "none of A, B"),
        ({"type": "fixed", "name": "F", "size": 2}, "abc", "3 bytes, not 2"),
        (logical("bytes", "decimal", precision=4, scale=2), "1.234", "2 digits behind"),
        (logical("bytes", "decimal", precision=4, scale=2), "123.45", "more than 4 digits"),
        (logical("bytes", "decimal", precision=4, scale=2), "1e999999999", "more than 4 digits"),
        (logical("bytes", "decimal", precision=4, scale=2), "1e-999999999", "2 digits behind"),
        (logical("bytes", "decimal", precision=4, scale=2), "NaN", "finite"),
        (logical("bytes", "decimal", precision=4, scale=2), "x", "no decimal"),
        (logical("bytes", "decimal", precision=4, scale=2), True, "a decimal is"),
        (logical("int", "date"), "2026-02-30", "a date is"),
        (logical("int", "time-millis"), "24:00", "a time is"),
        (logical("int", "time-millis"), "10:00:00.0001", "3 digits"),
        (logical("long", "timestamp-millis"), "2026-11-21T10:00", "with its zone"),
        (logical("long", "local-timestamp-millis"), "2026-11-21T10:00Z", "without a zone"),
        (logical("long", "timestamp-millis"), "2026-11-21T24:00Z", "a timestamp is"),
        (logical("long", "timestamp-millis"), "2026-13-21T10:00Z", "month"),
        (logical("string", "uuid"), "x", "no UUID"),
        ({"type": "fixed", "name": "P", "size": 12, "logicalType": "duration"}, {"days": 1}, "months, days"),
    ],
)  # fmt: skip
def test_what_does_not_fit_says_where_and_why(schema: Any, value: Any, why: str) -> None:
    with pytest.raises(EncodeError) as caught:
        with_schema(schema).encode(value, PLACE)
    assert why in caught.value.why
    assert "schema 1 (topic-value version 1)" in caught.value.what


def test_bytes_alone_have_no_length_in_confluents_framing() -> None:
    assert with_schema("bytes").encode("ab", PLACE) == b"\0\0\0\0\1ab"
    assert with_schema("bytes").encode("", PLACE) == b"\0\0\0\0\1"
    assert with_schema("bytes").decode(b"\0\0\0\0\1ab", PLACE) == "ab"
    assert with_schema("bytes", ":id=1,framing=none").encode("ab", PLACE) == b"\4ab"


@given(st.data())
def test_decimals_come_back_exactly(data: st.DataObject) -> None:
    precision = data.draw(st.integers(1, 60))
    scale = data.draw(st.integers(0, precision))
    number = data.draw(st.decimals(places=scale, allow_nan=False, allow_infinity=False))
    digits = len(number.as_tuple().digits)
    if digits > precision or abs(number) >= 10 ** (precision - scale):
        return
    one = with_schema(logical("bytes", "decimal", precision=precision, scale=scale))
    text = one.decode(one.encode(f"{number:f}", PLACE), PLACE)
    assert type(number)(text) == number
    assert "e" not in text.lower()


@given(st.integers(-(2**63), 2**63 - 1))
@pytest.mark.parametrize("kind", ["timestamp-millis", "timestamp-micros", "timestamp-nanos", "time-micros"])
def test_any_number_of_a_time_comes_back(kind: str, number: int) -> None:
    one = with_schema(logical("long", kind))
    data = one.encode(number, PLACE)
    assert one.encode(one.decode(data, PLACE), PLACE) == data


# --- which schema -----------------------------------------------------------------------------------------


def content(**subjects: Any) -> FakeRegistry:
    found = FakeRegistry()
    for subject, schema in subjects.items():
        found.register(subject.replace("_", "-"), {"schema": json.dumps(schema)})
    return found


@pytest.mark.parametrize(
    ("text", "schema_id"),
    [
        ("avro", 1),
        ("avro:id=2", 2),
        ("avro:subject=other-value", 2),
        ("avro:subject=other-value,version=1", 2),
        ("avro:strategy=record,record=x.R", 3),
        ("avro:strategy=topic-record,record=x.R", 4),
    ],
)
def test_which_schema_is_written(text: str, schema_id: int) -> None:
    found = content(topic_value="int", other_value="long", **{"x.R": "string", "topic-x.R": "bytes"})
    one = serde(text, found)
    value: Any = "x" if schema_id > 2 else 5
    assert one.encode(value, PLACE)[:5] == b"\0\0\0\0" + bytes([schema_id])


def test_keys_have_a_subject_of_their_own_that_is_requested_once() -> None:
    found = content(topic_key="string")
    one = serde("avro", found)
    one.prepare("topic", "key")
    for _ in range(3):
        one.encode("k", SerdeContext("topic", "key"))
    assert found.asked == ["GET /subjects/topic-key/versions/latest"]


def test_a_strategy_without_a_name_is_reported() -> None:
    with pytest.raises(ConfigError, match="needs the name of the record"):
        serde("avro:strategy=record", FakeRegistry()).prepare("topic", "value")


def test_a_missing_subject_is_reported_with_a_remedy() -> None:
    with pytest.raises(SchemaNotFoundError) as caught:
        serde("avro", FakeRegistry()).encode(1, PLACE)
    assert "register=true" in caught.value.do


def test_references_are_followed() -> None:
    found = FakeRegistry()
    found.register("money", {"schema": json.dumps(logical("bytes", "decimal", precision=4, scale=2))})
    found.register("currency", {"schema": json.dumps({"type": "enum", "name": "c.Cur", "symbols": ["EUR"]})})
    price = record({"name": "cur", "type": "c.Cur"}, name="c.Price")
    found.register(
        "price",
        {"schema": json.dumps(price), "references": [{"name": "c.Cur", "subject": "currency", "version": 1}]},
    )
    order = record({"name": "a", "type": "c.Price"}, {"name": "b", "type": "c.Cur"})
    references = [
        {"name": "c.Price", "subject": "price", "version": 1},
        {"name": "c.Cur", "subject": "currency", "version": 1},
    ]
    found.register("topic-value", {"schema": json.dumps(order), "references": references})
    one = serde("avro", found)
    value = {"a": {"cur": "EUR"}, "b": "EUR"}
    assert one.decode(one.encode(value, PLACE), PLACE) == value


@pytest.fixture
def schema_file(tmp_path: Path) -> Callable[[Any], Path]:
    def write(schema: Any) -> Path:
        path = tmp_path / "schema.avsc"
        path.write_text(schema if isinstance(schema, str) else json.dumps(schema))
        return path

    return write


def test_a_file_needs_no_registry(schema_file: Callable[[Any], Path]) -> None:
    one = serde(f"avro:file={schema_file(record({'name': 'a', 'type': 'int'}))}")
    assert one.encode({"a": 1}, PLACE) == b"\x02"
    assert one.decode(b"\x02", PLACE) == {"a": 1}
    with pytest.raises(DecodeError, match=r"does not fit .*schema\.avsc"):
        one.decode(b"", PLACE)


def test_a_file_is_registered_only_when_asked(schema_file: Callable[[Any], Path]) -> None:
    path, found = schema_file('"int"'), FakeRegistry()
    with pytest.raises(SchemaNotFoundError) as caught:
        serde(f"avro:file={path},framing=confluent", found).encode(1, PLACE)
    assert "register=true" in caught.value.do
    assert not found.schemas
    assert serde(f"avro:file={path},register=true", found).encode(1, PLACE) == b"\0\0\0\0\1\2"
    assert list(found.subjects) == ["topic-value"]
    one = serde(f"avro:file={path},framing=confluent", found)
    assert one.encode(1, PLACE) == b"\0\0\0\0\1\2"
    assert one.decode(b"\0\0\0\0\1\2", PLACE) == 1


@pytest.mark.parametrize("text", ['{"type":"nothing"}', "{", "[" * 500])
def test_a_file_that_is_no_schema_is_a_config_error(text: str, schema_file: Callable[[Any], Path]) -> None:
    with pytest.raises(ConfigError, match="cannot use the schema in"):
        serde(f"avro:file={schema_file(text)}")


def test_a_file_that_is_not_there_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="No such file"):
        serde("avro:file=no-such.avsc")


def test_bare_data_of_a_schema_in_the_registry() -> None:
    one = serde("avro:id=1,framing=none", content(topic_value="int"))
    assert one.encode(1, PLACE) == b"\2"
    assert one.decode(b"\2", PLACE) == 1


def test_a_schema_of_another_kind_says_which_serde_reads_it() -> None:
    found = FakeRegistry()
    found.register("topic-value", {"schema": "{}", "schemaType": "JSON"})
    for _ in range(2):
        with pytest.raises(DecodeError, match="use -s jsonschema") as caught:
            serde("avro", found).decode(b"\0\0\0\0\1{}", PLACE)
        assert caught.value.schema_id == 1
    with pytest.raises(ConfigError, match="use -s jsonschema"):
        serde("avro", found).prepare("topic", "value")


def test_a_misfit_names_schema_and_subject() -> None:
    with pytest.raises(DecodeError) as caught:
        with_schema("string").decode(b"\0\0\0\0\1\x10abc", PLACE)
    assert caught.value.what == "the value does not fit schema 1 (topic-value version 1)"
    assert caught.value.why == "8 bytes where 3 are left"
    assert caught.value.schema_id == 1
