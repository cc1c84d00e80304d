"""The column of an Avro schema. Pure.

Records are structs, enums and uuids are text, logical types are those of Arrow. A union of null and one other type is
that type; one of several types is a struct with a member for each, of which one is not null.
"""

from typing import Any

import pyarrow as pa

from kcli.pipeline.typed import shape
from kcli.pipeline.typed.shape import Shape
from kcli.serde.avro.logical import logical_of
from kcli.serde.avro.schema import AvroSchema, Node, branch_name, unwrapped

_PRIMITIVES = {
    "null": shape.NULL,
    "boolean": shape.BOOLEAN,
    "int": shape.INT32,
    "long": shape.INT64,
    "float": shape.FLOAT,
    "double": shape.DOUBLE,
    "bytes": shape.latin1(),
    "string": shape.STRING,
}
_TIMES: dict[str, tuple[Any, int]] = {
    "date": (pa.date32(), 32),
    "time-millis": (pa.time32("ms"), 32),
    "time-micros": (pa.time64("us"), 64),
    "timestamp-millis": (pa.timestamp("ms", "UTC"), 64),
    "timestamp-micros": (pa.timestamp("us", "UTC"), 64),
    "timestamp-nanos": (pa.timestamp("ns", "UTC"), 64),
    "local-timestamp-millis": (pa.timestamp("ms"), 64),
    "local-timestamp-micros": (pa.timestamp("us"), 64),
    "local-timestamp-nanos": (pa.timestamp("ns"), 64),
}


def avro_shape(schema: AvroSchema, dropped: set[str]) -> Shape:
    """The column of values as the serde decodes them (``json=plain``)."""
    return _Shapes(schema, dropped).of(schema.root, "", frozenset())


class _Shapes:
    """The shapes of the types of one schema. ``inside``: the records around a type."""

    def __init__(self, schema: AvroSchema, dropped: set[str]) -> None:
        self._named, self._dropped = schema.named, dropped

    def of(self, node: Node, path: str, inside: frozenset[str]) -> Shape:
        node = unwrapped(node)
        if isinstance(node, list):
            return self._union(node, path, inside)
        if isinstance(node, str):
            if node in _PRIMITIVES:
                return _PRIMITIVES[node]
            return shape.JSON if node in inside else self.of(self._named[node], path, inside)
        kind = node["type"]
        if kind in ("record", "error"):
            if node["name"] in inside:
                return shape.JSON
            within = inside | {node["name"]}
            fields = [
                (row["name"], self.of(row["type"], f"{path}.{row['name']}" if path else row["name"], within))
                for row in node["fields"]
            ]
            return shape.record(fields, path, self._dropped)
        if kind == "array":
            return shape.several(self.of(node["items"], f"{path}[]", inside))
        if kind == "map":
            return shape.mapping(shape.STRING, self.of(node["values"], f"{path}{{}}", inside))
        if kind == "enum":
            return shape.STRING
        if logical_of(node) is not None:
            return _logical(node)
        if kind == "fixed":
            return shape.latin1(int(node["size"]))
        return self.of(kind, path, inside)

    def _union(self, branches: list[Node], path: str, inside: frozenset[str]) -> Shape:
        others = [branch for branch in branches if branch_name(branch) != "null"]
        if not others:
            return shape.NULL
        if len(others) == 1:
            return self.of(others[0], path, inside)
        fields = [(branch_name(branch), self.of(branch, path, inside)) for branch in others]
        return shape.record(fields, path, self._dropped)


def _logical(node: dict[str, Any]) -> Shape:
    """That of a logical type that is valid."""
    found, name = logical_of(node), node["logicalType"]
    assert found is not None
    if name == "decimal":
        return shape.decimal(node["precision"], node.get("scale", 0))
    if name == "duration":
        return shape.record([(part, shape.UINT32) for part in ("months", "days", "millis")], "", set())
    if name in _TIMES:
        return shape.counted(*_TIMES[name], found.read)
    return shape.STRING
