"""Confluent's Protobuf serializer writes what we read, and reads what we write: paths, oneof, maps, enums, references."""

import base64
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import json_format, message_factory

from kcli.serde.protobuf.descriptors import ProtoFile, from_path
from kcli.serde.serde import Serde, SerdeContext
from tests.registry.server import RunningRegistry

CONTEXT = SerializationContext("orders", MessageField.VALUE)
PLACE = SerdeContext("orders")

PROTO3 = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "part.proto";
message First { int32 a = 1; }
message Order {
  int64 id = 1;
  map<string, Line> lines = 2;
  enum Kind { NONE = 0; BIG = 1; }
  Kind kind = 3;
  oneof where { string city = 4; int32 zip = 5; }
  message Line { double price = 1; message Deep { bytes x = 1; } repeated Deep deep = 2; }
  google.protobuf.Timestamp at = 6;
  lib.Part part = 7;
  optional int32 count = 8;
}
"""
PART = 'syntax = "proto3"; package lib; message Part { string name = 1; }'
PROTO2 = """
syntax = "proto2";
package old;
message Old { required int32 must = 1; optional string may = 2 [default = "d"]; extensions 100 to 200; }
"""
VALUE = {
    "id": str(2**62),
    "lines": {"a": {"price": 1.5, "deep": [{"x": "AP8="}]}},
    "kind": "BIG",
    "zip": 0,
    "at": "2026-11-21T10:30:00.123Z",
    "part": {"name": "p"},
    "count": 0,
}


@pytest.fixture
def compiled(tmp_path: Any) -> Callable[[str], ProtoFile]:
    def compile_text(text: str) -> ProtoFile:
        (tmp_path / "part.proto").write_text(PART)
        (tmp_path / "top.proto").write_text(text)
        return from_path(tmp_path / "top.proto", [])

    return compile_text


def message_type(linked: ProtoFile, name: str) -> Any:
    return message_factory.GetMessageClass(linked.message_called(name))


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        (PROTO3, "shop.First", {"a": 5}),
        (PROTO3, "shop.Order", VALUE),
        (PROTO3, "shop.Order.Line", {"price": 0.5, "deep": [{"x": "AA=="}]}),
        (PROTO3, "shop.Order.Line.Deep", {"x": "AA=="}),
        (PROTO2, "old.Old", {"must": 1, "may": "x"}),
    ],
)
def test_both_ways(
    text: str,
    name: str,
    value: dict[str, Any],
    client: SchemaRegistryClient,
    ours: Callable[[str], Serde],
    compiled: Callable[[str], ProtoFile],
) -> None:
    kind = message_type(compiled(text), name)
    message = json_format.ParseDict(value, kind())
    theirs = ProtobufSerializer(kind, client, {"use.deprecated.format": False})
    data = theirs(message, CONTEXT)
    one = ours(f"protobuf:message={name}")
    assert one.decode(data, PLACE) == value
    written = one.encode(value, PLACE)
    assert (
        written[: len(data) - len(message.SerializeToString())] == data[: -len(message.SerializeToString())]
    )
    read = ProtobufDeserializer(kind, {"use.deprecated.format": False}, client)(written, CONTEXT)
    assert json_format.MessageToDict(read) == json_format.MessageToDict(message)


def test_a_schema_that_was_registered_as_text(
    running: RunningRegistry,
    client: SchemaRegistryClient,
    ours: Callable[[str], Serde],
    compiled: Callable[[str], ProtoFile],
) -> None:
    running.content.register("part.proto", {"schema": PART, "schemaType": "PROTOBUF"})
    references = [{"name": "part.proto", "subject": "part.proto", "version": 1}]
    body = {"schema": PROTO3, "schemaType": "PROTOBUF", "references": references}
    running.content.register("orders-value", body)
    data = ours("protobuf:message=shop.Order").encode(VALUE, PLACE)
    kind = message_type(compiled(PROTO3), "shop.Order")
    read = ProtobufDeserializer(kind, {"use.deprecated.format": False}, client)(data, CONTEXT)
    assert json_format.MessageToDict(read)["part"] == {"name": "p"}
    assert ours("protobuf").decode(data, PLACE) == VALUE


def test_the_id_in_a_header(
    client: SchemaRegistryClient, ours: Callable[[str], Serde], compiled: Callable[[str], ProtoFile]
) -> None:
    kind = message_type(compiled(PROTO3), "shop.Order.Line")
    context = SerializationContext("orders", MessageField.VALUE, [])
    conf = {"use.deprecated.format": False, "schema.id.serializer": header_schema_id_serializer}
    data = ProtobufSerializer(kind, client, conf)(kind(price=2.5), context)
    place = SerdeContext("orders", "value", tuple(context.headers))
    assert ours("protobuf").decode(data, place) == {"price": 2.5, "deep": []}


def test_registered_schemas_are_compiled(
    running: RunningRegistry, client: SchemaRegistryClient, compiled: Callable[[str], ProtoFile]
) -> None:
    kind = message_type(compiled(PROTO3), "shop.First")
    ProtobufSerializer(kind, client, {"use.deprecated.format": False})(kind(a=1), CONTEXT)
    base64.b64decode(running.content.subjects["orders-value"][0].body["schema"], validate=True)
