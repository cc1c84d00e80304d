"""The column of a JSON Schema, as far as it says a type: anything else is JSON text. Pure.

Validation is not what this is for: values were validated when they were written, if they were.
"""

from typing import Any

from kcli.pipeline.typed import shape
from kcli.pipeline.typed.shape import Shape

_SCALARS = {
    "string": shape.STRING,
    "integer": shape.INT64,
    "number": shape.DOUBLE,
    "boolean": shape.BOOLEAN,
    "null": shape.NULL,
}


def json_schema_shape(schema: Any, dropped: set[str]) -> Shape:
    """The column; references are followed inside of the schema itself."""
    return _shape(schema, schema, "", (), dropped)


def _shape(root: Any, node: Any, path: str, followed: tuple[str, ...], dropped: set[str]) -> Shape:
    if not isinstance(node, dict):
        return shape.JSON
    reference = node.get("$ref")
    if isinstance(reference, str):
        if reference in followed or not reference.startswith("#"):
            return shape.JSON
        return _shape(root, _target(root, reference), path, (*followed, reference), dropped)
    for word in ("anyOf", "oneOf"):
        if word in node:
            some = node[word]
            others = [each for each in some if each != {"type": "null"}] if isinstance(some, list) else []
            alone = len(others) == 1 and "properties" not in node
            return _shape(root, others[0], path, followed, dropped) if alone else shape.JSON
    kind = _kind(node)
    if kind == "object":
        return _object(root, node, path, followed, dropped)
    if kind == "array":
        items = node.get("items")
        if not isinstance(items, dict):
            return shape.JSON
        return shape.several(_shape(root, items, f"{path}[]", followed, dropped))
    return _SCALARS.get(kind, shape.JSON)


def _kind(node: dict[str, Any]) -> str:
    """The one type that values have, if they are not null; empty if there are several, or none is said."""
    said = node.get("type", "object" if "properties" in node else "")
    kinds = [each for each in said if each != "null"] if isinstance(said, list) else [said]
    return str(kinds[0]) if len(kinds) == 1 and "allOf" not in node else ""


def _object(
    root: Any, node: dict[str, Any], path: str, followed: tuple[str, ...], dropped: set[str]
) -> Shape:
    properties = node.get("properties")
    if isinstance(properties, dict) and properties:
        fields = [
            (name, _shape(root, inner, f"{path}.{name}" if path else name, followed, dropped))
            for name, inner in properties.items()
        ]
        return shape.record(fields, path, dropped)
    more = node.get("additionalProperties")
    if isinstance(more, dict) and more:
        return shape.mapping(shape.STRING, _shape(root, more, f"{path}{{}}", followed, dropped))
    return shape.JSON


def _target(root: Any, reference: str) -> Any:
    found = root
    for step in reference.lstrip("#").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if isinstance(found, dict) else None
    return found
