"""Avro schemas: parsed by fastavro (names, references, defaults), then looked at as a tree. Nothing here reads data."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from kcli.core.dataclass import dataclass
from kcli.serde.extras import library
from kcli.serde.json_text import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable

PRIMITIVES = frozenset(("null", "boolean", "int", "long", "float", "double", "bytes", "string"))
_LEAST = {"null": 0, "float": 4, "double": 8}

Node = Any
"""A type: a name, a dict with ``type``, or a list of types (a union), as fastavro gives it: names are full names."""


@dataclass(frozen=True, slots=True)
class AvroSchema:
    """A schema and every named type that it may refer to."""

    root: Node
    named: dict[str, Node] = field(repr=False)

    @property
    def name(self) -> str:
        """The full name of the record, enum or fixed; the type's name for what has none."""
        return branch_name(self.root)


def load(text: str, references: Iterable[str] = ()) -> AvroSchema:
    """The schema; ``references`` are those it needs, in an order in which each needs only earlier ones. ValueError."""
    fastavro = library("fastavro.schema", extra="avro", wanted_by="the serde avro")
    named: dict[str, Node] = {}
    try:
        for reference in references:
            fastavro.parse_schema(parse_json(reference), named)
        root = fastavro.parse_schema(parse_json(text), named)
    except Exception as error:
        # fastavro has a few types of its own, and lets KeyError and TypeError out for odd schemas
        raise ValueError(f"it is no Avro schema: {type(error).__name__}: {error}") from error
    return AvroSchema(root, named)


def unwrapped(node: Node) -> Node:
    """Without dicts around a type that say nothing: ``{"type": {"type": "array", …}}``."""
    while isinstance(node, dict) and isinstance(node["type"], dict | list):
        node = node["type"]
    if isinstance(node, dict) and (node["type"] in PRIMITIVES and "logicalType" not in node):
        return node["type"]
    return node


def branch_name(node: Node) -> str:
    """What Avro's JSON calls a branch of a union: a full name, or the name of a type without one."""
    node = unwrapped(node)
    if isinstance(node, list):
        return "union"
    if isinstance(node, str):
        return node
    return str(node["name"]) if "name" in node else str(node["type"])


def least_size(node: Node, named: dict[str, Node], inside: frozenset[str] = frozenset()) -> int:
    """The fewest bytes a value takes: what the length of an array is checked against."""
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
