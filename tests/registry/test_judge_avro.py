"""Confluent's Avro serializer writes what we read, and reads what we write; so does the other way round."""

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from confluent_kafka.schema_registry import (
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    header_schema_id_serializer,
    record_subject_name_strategy,
    topic_record_subject_name_strategy,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from kcli.serde.framing import schema_id_of
from kcli.serde.serde import Serde, SerdeContext

CONTEXT = SerializationContext("orders", MessageField.VALUE)
PLACE = SerdeContext("orders")
UUID_TEXT = "89791762-2336-4186-9674-299b90a802e2"

SCHEMA = {
    "type": "record",
    "name": "shop.Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "small", "type": "int", "default": 7},
        {"name": "ok", "type": "boolean"},
        {"name": "ratio", "type": "float"},
        {"name": "price", "type": "double"},
        {"name": "blob", "type": "bytes"},
        {"name": "name", "type": "string"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "either", "type": ["string", "long", "boolean"]},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "counts", "type": {"type": "map", "values": "int"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "code", "type": {"type": "fixed", "name": "Code", "size": 2}},
        {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "clock", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "at_micros", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "uid", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "inner", "type": ["null", "Order"], "default": None},
    ],
}
THEIRS: dict[str, Any] = {
    "id": 2**62,
    "small": -1,
    "ok": True,
    "ratio": 0.5,
    "price": 1.25,
    "blob": b"\x00\xff",
    "name": "é",
    "note": None,
    "either": 5,
    "tags": ["a", "b"],
    "counts": {"x": 1},
    "kind": "B",
    "code": b"\x80\x01",
    "amount": Decimal("-12.50"),
    "day": date(2026, 11, 21),
    "clock": time(10, 30, 0, 123000),
    "at": datetime(2026, 11, 21, 10, 30, 0, 123000, UTC),
    "at_micros": datetime(2026, 11, 21, 10, 30, 0, 123456, UTC),
    "uid": UUID(UUID_TEXT),
    "inner": None,
}
OURS: dict[str, Any] = THEIRS | {
    "blob": "\x00\xff",
    "either": {"long": 5},
    "code": "\x80\x01",
    "amount": "-12.50",
    "day": "2026-11-21",
    "clock": "10:30:00.123",
    "at": "2026-11-21T10:30:00.123Z",
    "at_micros": "2026-11-21T10:30:00.123456Z",
    "uid": UUID_TEXT,
}


def test_they_write_and_we_read(client: SchemaRegistryClient, ours: Callable[[str], Serde]) -> None:
    theirs = AvroSerializer(client, json.dumps(SCHEMA))
    data = theirs({**THEIRS, "inner": THEIRS}, CONTEXT)
    assert ours("avro").decode(data, PLACE) == {**OURS, "inner": OURS}
    assert schema_id_of(data) == 1


def test_we_write_and_they_read(client: SchemaRegistryClient, ours: Callable[[str], Serde]) -> None:
    client.register_schema("orders-value", Schema(json.dumps(SCHEMA), "AVRO"))
    data = ours("avro").encode({**OURS, "inner": OURS}, PLACE)
    assert AvroDeserializer(client)(data, CONTEXT) == {**THEIRS, "inner": THEIRS}


def test_the_same_bytes(client: SchemaRegistryClient, ours: Callable[[str], Serde]) -> None:
    theirs = AvroSerializer(client, json.dumps(SCHEMA))
    data = theirs(THEIRS, CONTEXT)
    one = ours("avro")
    again = one.encode(one.decode(data, PLACE), PLACE)
    # fastavro writes a decimal in more bytes than it needs; Java does not.
    assert AvroDeserializer(client)(again, CONTEXT) == AvroDeserializer(client)(data, CONTEXT)


@pytest.mark.parametrize("schema", ["null", "long", "string", "bytes"])
def test_schemas_that_are_no_record(
    schema: str, client: SchemaRegistryClient, ours: Callable[[str], Serde]
) -> None:
    value: Any = {"null": None, "long": 5, "string": "x", "bytes": b"\xff"}[schema]
    shown = "\xff" if schema == "bytes" else value
    client.register_schema("orders-value", Schema(json.dumps(schema), "AVRO"))
    data = ours("avro").encode(shown, PLACE)
    if value is not None:  # it takes a null inside for a null record
        theirs = AvroSerializer(client, json.dumps(schema))(value, CONTEXT)
        assert theirs[5:] == data[5:]  # it registers the same schema in longer words, under an id of its own
        assert AvroDeserializer(client)(data, CONTEXT) == value
    assert ours("avro").decode(data, PLACE) == shown


def test_references(client: SchemaRegistryClient, ours: Callable[[str], Serde]) -> None:
    inner = {"type": "record", "name": "lib.Inner", "fields": [{"name": "n", "type": "int"}]}
    many = {"type": "array", "items": "lib.Inner"}
    outer = {
        "type": "record",
        "name": "lib.Outer",
        "fields": [{"name": "one", "type": "lib.Inner"}, {"name": "many", "type": many}],
    }
    client.register_schema("inner", Schema(json.dumps(inner), "AVRO"))
    schema = Schema(json.dumps(outer), "AVRO", [SchemaReference("lib.Inner", "inner", 1)])
    client.register_schema("orders-value", schema)
    value = {"one": {"n": 1}, "many": [{"n": 2}]}
    data = AvroSerializer(client, schema)(value, CONTEXT)
    assert ours("avro").decode(data, PLACE) == value
    assert ours("avro").encode(value, PLACE) == data
    assert AvroDeserializer(client)(data, CONTEXT) == value


def test_the_id_in_a_header(client: SchemaRegistryClient, ours: Callable[[str], Serde]) -> None:
    context = SerializationContext("orders", MessageField.VALUE, [])
    theirs = AvroSerializer(client, '"string"', conf={"schema.id.serializer": header_schema_id_serializer})
    data = theirs("x", context)
    place = SerdeContext("orders", "value", tuple(context.headers))
    assert place.headers
    assert ours("avro").decode(data, place) == "x"
    assert str(schema_id_of(data, place.headers)) == client.get_latest_version("orders-value").guid


@pytest.mark.parametrize("strategy", ["record", "topic-record"])
def test_names_of_subjects(strategy: str, client: SchemaRegistryClient, ours: Callable[[str], Serde]) -> None:
    schema = {"type": "record", "name": "a.B", "fields": [{"name": "n", "type": "int"}]}
    theirs = {"record": record_subject_name_strategy, "topic-record": topic_record_subject_name_strategy}
    conf = {"subject.name.strategy": theirs[strategy]}
    data = AvroSerializer(client, json.dumps(schema), conf=conf)({"n": 1}, CONTEXT)
    assert ours(f"avro:strategy={strategy},record=a.B").encode({"n": 1}, PLACE) == data
