"""Confluent's JSON Schema serializer writes what we read, and reads what we write, references included."""

import json
from collections.abc import Callable

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from kcli.serde.errors import EncodeError
from kcli.serde.serde import Serde, SerdeContext

CONTEXT = SerializationContext("orders", MessageField.VALUE)
PLACE = SerdeContext("orders")
SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Order",
    "type": "object",
    "properties": {"id": {"type": "integer"}, "item": {"$ref": "item.json"}},
    "required": ["id"],
}
ITEM = {"title": "Item", "type": "object", "properties": {"n": {"type": ["number", "null"]}}}


def test_both_ways_with_a_reference(client: SchemaRegistryClient, ours: Callable[[str], Serde]) -> None:
    client.register_schema("item", Schema(json.dumps(ITEM), "JSON"))
    schema = Schema(json.dumps(SCHEMA), "JSON", [SchemaReference("item.json", "item", 1)])
    theirs = JSONSerializer(schema, client)
    value = {"id": 1, "item": {"n": None}}
    data = theirs(value, CONTEXT)
    assert ours("jsonschema").decode(data, PLACE) == value
    written = ours("jsonschema").encode(value, PLACE)
    assert written[:5] == data[:5]
    assert JSONDeserializer(schema, schema_registry_client=client)(written, CONTEXT) == value
    with pytest.raises(EncodeError, match=r"item\.n"):
        ours("jsonschema").encode({"id": 1, "item": {"n": "x"}}, PLACE)
