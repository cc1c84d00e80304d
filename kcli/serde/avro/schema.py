"""Avro schemas: parsed by fastavro (names, references, defaults), then used as a tree. Nothing here reads data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kcli.core.classes import dataclass, field
from kcli.core.extras import library
from kcli.serde.json_text import parse_json

PRIMITIVES = frozenset(("null", "boolean", "int", "long", "float", "double", "bytes", "string"))
_LEAST = {"null": 0, "float": 4, "double": 8}

Node = Any
"""A type: a name, a dict with ``type``, or a list of types (a union), as returned by fastavro: names are full names."""


@dataclass(frozen=True, slots=True)
class AvroSchema:
    """A schema and every named type that it may refer to."""

    root: Node
    named: dict[str, Node] = field(repr=False)

    @property
    def name(self) -> str:
        """The full name of the record, enum or fixed; for other types the type's name."""
        return branch_name(self.root)


def load(text: str, references: Iterable[str] = ()) -> AvroSchema:
    """The schema; ``references`` are those it needs, each after its own dependencies. Raises ValueError."""
    fastavro = library("fastavro.schema", extra="avro", wanted_by="the serde avro")
    named: dict[str, Node] = {}
    try:
        for reference in references:
            fastavro.parse_schema(parse_json(reference), named)
        root = fastavro.parse_schema(parse_json(text), named)
    except Exception as error:
        # fastavro has some exceptions of its own, and raises KeyError and TypeError for odd schemas
        raise ValueError(f"it is no Avro schema: {type(error).__name__}: {error}") from error
    return AvroSchema(root, named)


def unwrapped(node: Node) -> Node:
    """Removes redundant dicts around a type: ``{"type": {"type": "array", …}}``."""
    while isinstance(node, dict) and isinstance(node["type"], dict | list):
        node = node["type"]
    if isinstance(node, dict) and (node["type"] in PRIMITIVES and "logicalType" not in node):
        return node["type"]
    return node


def branch_name(node: Node) -> str:
    """The name of a union branch in Avro's JSON: a full name, or the type's name."""
    node = unwrapped(node)
    if isinstance(node, list):
        return "union"
    if isinstance(node, str):
        return node
    return str(node["name"]) if "name" in node else str(node["type"])


def least_size(node: Node, named: dict[str, Node], inside: frozenset[str] = frozenset()) -> int:
    """The minimum size of a value in bytes: the length of an array is checked against it."""
    node = unwrapped(node)
    if isinstance(node, list):
        return 1
    if isinstance(node, str):
        if node in PRIMITIVES:
            return _LEAST.get(node, 1)
        if node in inside:
            return 0
        return least_size(named[node], named, inside)
    kind = node["type"]
    if kind == "fixed":
        return int(node["size"])
    if kind in ("record", "error"):
        within = inside | {node["name"]}
        return sum(least_size(row["type"], named, within) for row in node["fields"])
    if kind in named:
        return least_size(kind, named, inside)
    return _LEAST.get(kind, 1)
