"""Infers a JSON Schema from values: which types occur at each path, and which properties are always there."""

from decimal import Decimal
from typing import Any

import msgspec

from kcli.core.classes import dataclass, field
from kcli.serde.json_text import json_number, parse_json

_decode = msgspec.json.Decoder(float_hook=json_number).decode
DEEPEST = 32
MOST_PROPERTIES = 1_000
"""Of one object; one with more is a map whose keys are data."""

_NAMES = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    Decimal: "number",
    str: "string",
    dict: "object",
    list: "array",
}
_ORDER = ("object", "array", "string", "integer", "number", "boolean", "null")


@dataclass(slots=True, eq=False)
class Shape:
    """``types``: how often each JSON type occurs here. ``is_map``: there are too many properties to list."""

    types: dict[str, int] = field(default_factory=dict)
    properties: dict[str, "Shape"] = field(default_factory=dict)
    items: "Shape | None" = None
    is_map: bool = False

    def add(self, value: Any, depth: int = 0) -> None:
        """Adds a value as ``json`` decodes it."""
        name = _NAMES[type(value)]
        self.types[name] = self.types.get(name, 0) + 1
        if depth == DEEPEST:
            return
        if name == "object":
            for key, inner in value.items():
                found = self._property(key)
                if found is not None:
                    found.add(inner, depth + 1)
        elif name == "array":
            for inner in value:
                if self.items is None:
                    self.items = Shape()
                self.items.add(inner, depth + 1)

    def merge(self, other: "Shape") -> None:
        """Adds the values of other records."""
        for name, count in other.types.items():
            self.types[name] = self.types.get(name, 0) + count
        if other.is_map:
            self.is_map = True
            self.properties.clear()
        for key, inner in other.properties.items():
            found = self._property(key)
            if found is not None:
                found.merge(inner)
        if other.items is not None:
            if self.items is None:
                self.items = Shape()
            self.items.merge(other.items)

    def _property(self, key: str) -> "Shape | None":
        found = self.properties.get(key)
        if found is None and not self.is_map:
            if len(self.properties) == MOST_PROPERTIES:
                self.is_map = True
                self.properties.clear()
                return None
            found = self.properties[key] = Shape()
        return found

    @property
    def count(self) -> int:
        """How many values were added."""
        return sum(self.types.values())

    def schema(self) -> dict[str, Any]:
        """The shape as JSON Schema (draft 2020-12). ``required``: properties that every object has."""
        names = [name for name in _ORDER if name in self.types]
        if "integer" in names and "number" in names:
            names.remove("integer")
        found: dict[str, Any] = {"type": names[0] if len(names) == 1 else names}
        if self.is_map:
            found["additionalProperties"] = True
        elif self.properties:
            objects = self.types["object"]
            found["properties"] = {name: inner.schema() for name, inner in sorted(self.properties.items())}
            always = sorted(name for name, inner in self.properties.items() if inner.count == objects)
            if always:
                found["required"] = always
        if self.items is not None:
            found["items"] = self.items.schema()
        return found


@dataclass(slots=True, eq=False)
class Values:
    """What a sample of values is: JSON, other text, other bytes; those in the registry's framing by schema id.
    ``undecoded``: those that a serde could not decode.
    """

    sampled: int = 0
    json: int = 0
    text: int = 0
    binary: int = 0
    undecoded: int = 0
    schema_ids: dict[int, int] = field(default_factory=dict)
    shape: Shape = field(default_factory=Shape)

    def add(self, value: bytes) -> None:
        """Adds a value."""
        self.sampled += 1
        if len(value) > 5 and not value[0]:  # Confluent's wire format: 0, the schema's id, the payload
            self.binary += 1
            number = int.from_bytes(value[1:5])
            self.schema_ids[number] = self.schema_ids.get(number, 0) + 1
            return
        try:
            found = _decoded(value)
        except (ValueError, RecursionError):
            if _is_text(value):
                self.text += 1
            else:
                self.binary += 1
            return
        self.json += 1
        self.shape.add(found)

    def add_undecoded(self) -> None:
        """Adds a value that a serde could not decode."""
        self.sampled += 1
        self.undecoded += 1

    def merge(self, other: "Values") -> None:
        """Adds the sample of other records."""
        self.sampled += other.sampled
        self.undecoded += other.undecoded
        self.json += other.json
        self.text += other.text
        self.binary += other.binary
        for number, count in other.schema_ids.items():
            self.schema_ids[number] = self.schema_ids.get(number, 0) + count
        self.shape.merge(other.shape)


def _decoded(value: bytes) -> Any:
    try:
        return _decode(value)
    except msgspec.ValidationError:  # a number of more digits than msgspec reads
        return parse_json(value)


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
