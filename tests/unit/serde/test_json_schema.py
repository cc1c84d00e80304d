"""JSON with a schema: read without a registry, validated when written, references from the registry only."""

import json
from pathlib import Path
from typing import Any

import pytest

from kcli.core.errors import ConfigError
from kcli.serde.errors import DecodeError, EncodeError
from kcli.serde.names import parse_serdes
from kcli.serde.opening import open_serdes
from tests.registry.fake import FakeRegistry
from tests.unit.serde.schemas import PLACE, serde

SCHEMA = {
    "title": "Order",
    "type": "object",
    "properties": {"id": {"type": "integer"}, "items": {"type": "array", "items": {"$ref": "item.json"}}},
    "required": ["id"],
    "additionalProperties": False,
}
ITEM = {"type": "object", "properties": {"n": {"type": "number", "minimum": 0}}}


@pytest.fixture
def content() -> FakeRegistry:
    found = FakeRegistry()
    found.register("item", {"schema": json.dumps(ITEM), "schemaType": "JSON"})
    references = [{"name": "item.json", "subject": "item", "version": 1}]
    body = {"schema": json.dumps(SCHEMA), "schemaType": "JSON", "references": references}
    found.register("topic-value", body)
    return found


def test_values_come_back(content: FakeRegistry) -> None:
    one, value = serde("jsonschema", content), {"id": 2**70, "items": [{"n": 1.5}]}
    data = one.encode(value, PLACE)
    assert data == b"\0\0\0\0\2" + json.dumps(value, separators=(",", ":")).encode()
    assert one.decode(data, PLACE) == value
    assert one.encode_text(one.decode_text(data, PLACE).encode(), PLACE) == data


def test_reading_sends_no_request() -> None:
    one = open_serdes(parse_serdes(["value=jsonschema"])).value
    assert one is not None
    assert one.decode(b'\0\0\0\0\7{"a":1}', PLACE) == {"a": 1}
    with pytest.raises(DecodeError) as caught:
        one.decode(b"\0\0\0\0\7{", PLACE)
    assert caught.value.schema_id == 7
    with pytest.raises(ConfigError, match="no schema registry is named"):
        open_serdes(parse_serdes(["value=jsonschema"]), writing=True)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({}, "the whole: 'id' is a required property"),
        ({"id": "x"}, "id: 'x' is not of type 'integer'"),
        ({"id": 1, "items": [{"n": 1}, {"n": -1}]}, "items[1].n: -1 is less than the minimum of 0"),
        ({"id": 1, "more": 1}, "'more' was unexpected"),
        ({"id": "x" * 1000}, "…"),
    ],
)
def test_what_does_not_fit_says_where(content: FakeRegistry, value: Any, why: str) -> None:
    with pytest.raises(EncodeError) as caught:
        serde("jsonschema", content).encode(value, PLACE)
    assert why in caught.value.why
    assert caught.value.what == "the value does not fit schema 2 (topic-value version 1)"


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://registry.invalid/other.json"},
        {"$ref": "#/nowhere"},
        {"$ref": "#"},
        {"type": "no such type"},
        {"pattern": "("},
    ],
)
def test_a_schema_that_cannot_be_applied_is_reported_and_nothing_is_fetched(schema: Any) -> None:
    found = FakeRegistry()
    found.register("topic-value", {"schema": json.dumps(schema), "schemaType": "JSON"})
    with pytest.raises(EncodeError, match="cannot be applied"):
        serde("jsonschema", found).encode("x", PLACE)


def test_a_file_without_framing(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text('{"type": "integer"}')
    one = serde(f"jsonschema:file={path}")
    assert one.encode(5, PLACE) == b"5"
    assert one.decode(b"5", PLACE) == 5
    with pytest.raises(EncodeError, match="not of type 'integer'"):
        one.encode("x", PLACE)
    with pytest.raises(DecodeError):
        one.decode(b"x", PLACE)
    path.write_text("{")
    with pytest.raises(ConfigError, match="cannot use the schema in"):
        serde(f"jsonschema:file={path}")
