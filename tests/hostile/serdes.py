"""Targets: keys and values as serdes with and without a schema read them. Not a test."""

import json
from collections.abc import Callable
from functools import cache, partial
from random import Random
from typing import Any

from kcli.serde.errors import DecodeError
from kcli.serde.json_text import dump_json
from kcli.serde.serde import Serde, SerdeContext
from tests.hostile.mutator import Mark, Sample, mutate
from tests.hostile.target import Family, Target
from tests.registry.fake import FakeRegistry
from tests.unit.serde.schemas import PLACE, serde

_PLAIN = ("str", "json", "short", "int", "long", "float", "double", "hex", "base64")
_TREE = {
    "type": "record",
    "name": "Tree",
    "fields": [
        {"name": "name", "type": "string"},
        {"name": "many", "type": {"type": "array", "items": "long"}},
        {"name": "map", "type": {"type": "map", "values": "double"}},
        {"name": "bytes", "type": ["null", "bytes"]},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "left", "type": ["null", "Tree"]},
    ],
}
_LEAF = {
    "name": "n", "many": [1, 2], "map": {"a": 1.5}, "bytes": {"bytes": "x"}, "price": "1.25",
    "at": "2026-01-01T00:00:00Z", "left": None,
}  # fmt: skip
_PROTO = """
syntax = "proto3";
message Tree { string name = 1; repeated int64 many = 2; map<string, double> map = 3; bytes raw = 4; Tree left = 5; }
"""


@cache
def _with_schema(kind: str) -> tuple[Serde, tuple[Sample, ...]]:
    content = FakeRegistry()
    if kind == "avro":
        content.register("topic-value", {"schema": json.dumps(_TREE)})
        values: list[Any] = [_LEAF, _LEAF | {"bytes": None}]
    elif kind == "protobuf":
        content.register("topic-value", {"schema": _PROTO, "schemaType": "PROTOBUF"})
        leaf = {"name": "n", "many": ["1", "-2"], "map": {"a": 1.5}, "raw": "eA=="}
        values = [leaf, leaf | {"left": leaf}, {}]
    else:
        content.register("topic-value", {"schema": '{"type":"object"}', "schemaType": "JSON"})
        values = [{"a": [1, {"b": None}]}, {}]
    made = serde(kind, content)
    return made, tuple(Sample(made.encode(value, PLACE), (Mark(5, "u"), Mark(6, "u"))) for value in values)


@cache
def _plain(name: str) -> tuple[Serde, tuple[Sample, ...]]:
    data = (
        b'{"a":[1,2.5e3,"\\u00e9"],"b":null}',
        b"text \xc3\xa9",
        bytes(8),
        b"\x7f" * 4,
        b"[" * 300,
        b'{"a":' * 300,
    )
    return serde(name), tuple(map(Sample, data))


def _make(of: Callable[[str], tuple[Serde, tuple[Sample, ...]]], name: str, rng: Random) -> bytes:
    samples = of(name)[1]
    return mutate(rng.choice(samples), rng, samples)


def _run(of: Callable[[str], tuple[Serde, tuple[Sample, ...]]], name: str, data: bytes) -> None:
    """What was read can be printed."""
    made = of(name)[0]
    dump_json(made.decode(data, SerdeContext("topic"))).encode()
    made.decode_text(data, PLACE).encode()


def family() -> Family:
    """Every serde of application data."""
    rows = [(_plain, name) for name in _PLAIN] + [
        (_with_schema, n) for n in ("avro", "protobuf", "jsonschema")
    ] * 3
    targets = [
        Target(f"serde-{name}", "serdes", partial(_make, of, name), partial(_run, of, name), (DecodeError,))
        for of, name in rows
    ]
    return Family("serdes", 0.03, tuple(targets))
