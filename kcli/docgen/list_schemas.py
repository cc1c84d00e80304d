"""The JSON Schemas of what is read: made from the columns of the rows, so that each key is written down once.

Also what the schemas of changes share with them: the property of a column, and the document around the items.
"""

import importlib
from collections.abc import Iterable, Sequence
from typing import Any

from kcli.docgen.common_keys import COMMON_KEYS
from kcli.docgen.lists import Listed
from kcli.output.tables import Column

Schema = dict[str, Any]

_TYPES: dict[str, Schema] = {
    "string": {"type": "string"},
    "boolean": {"type": "boolean"},
    "integer": {"type": "integer"},
    "count": {"type": "integer", "minimum": 0},
    "number": {"type": "number"},
    "amount": {"type": "number", "minimum": 0},
    "scalar": {"type": ["string", "number", "boolean"]},
    "time": {"type": "string", "format": "date-time"},
    "any": {"type": ["string", "number", "boolean", "array", "null"]},
    "json": {"type": ["string", "number", "boolean", "array", "object", "null"]},
    "object": {"type": "object"},
    "texts": {"type": "object", "additionalProperties": {"type": "string"}},
    "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
    "settings": {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
    "strings": {"type": "array", "items": {"type": "string"}},
    "integers": {"type": "array", "items": {"type": "integer"}},
    "spans": {
        "type": "array",
        "items": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "integer"}], "minItems": 2},
    },
    "pairs": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
    "objects": {"type": "array", "items": {"type": "object"}},
}
_BY_KIND = {
    "number": "count?",
    "id": "integer?",
    "epoch": "integer?",
    "size": "count?",
    "duration": "amount?",
    "time": "time?",
}
"""The values of columns that do not say theirs; those of the others are ``string?``."""
_NULLABLE = "?"
_OPEN = {"additionalProperties": True}
_COMMON = {column.key for column in COMMON_KEYS}
_BEGIN, _END = ("api", "cluster", "at"), ("warnings", "complete", "missing")


def list_schemas(made: Listed) -> dict[str, Schema]:
    """The schemas of a list and of its items, without those that are files."""
    head = columns_of(made.head)
    found = {
        one.kind: titled(
            one.kind,
            one.meaning,
            one.printed_by or made.printed_by,
            item(one.kind, columns_of(one.columns)),
        )
        for one in made.items
        if one.columns
    }
    if made.kind not in found:
        kinds = [{"$ref": f"{one.kind}.json"} for one in made.items]
        whole = document(made.kind, kinds[0] if len(kinds) == 1 else {"anyOf": kinds}, head)
        return found | {made.kind: titled(made.kind, made.meaning, made.printed_by, whole)}
    own = {"$ref": "#/$defs/item"}
    either: Schema = {
        "if": {"required": ["api"]},
        "then": document(made.kind, own, head),
        "else": own,
        "$defs": {"item": item(made.kind, columns_of(made.items[0].columns))},
    }
    return {made.kind: titled(made.kind, made.meaning, made.printed_by, either)}


def common_schema() -> Schema:
    """The definitions to which properties of the other schemas refer."""
    return {"$defs": {column.key: property_of(column) for column in COMMON_KEYS}}


def columns_of(names: str) -> list[Column]:
    """The columns of ``MODULE:NAME+NAME``; of those with the same key the first. Empty for an empty text."""
    module, _, tuples = names.partition(":")
    if not module:
        return []
    found = importlib.import_module(f"kcli.{module}")
    columns: dict[str, Column] = {}
    for name in tuples.split("+"):
        for column in getattr(found, name):
            columns.setdefault(column.key, column)
    return [*columns.values()]


def titled(kind: str, meaning: str, printed_by: str, schema: Schema) -> Schema:
    """The schema of a kind. ``printed_by``: commands, with commas between them."""
    return {"title": kind, "description": meaning, "x-printed-by": printed_by.split(", "), **schema}


def document(kind: str, items: Schema, head: Sequence[Column] = ()) -> Schema:
    """A document with these items. ``head`` has further keys."""
    first = _object([Column("kind", values=(kind,)), *map(Column, _BEGIN), *head])
    last = _object(map(Column, _END))
    properties = {**first["properties"], "items": {"type": "array", "items": items}, **last["properties"]}
    properties["kind"] = {"const": kind}
    return {**first, "required": [*first["required"], "items", *last["required"]], "properties": properties}


def item(kind: str, columns: Iterable[Column]) -> Schema:
    """An item with these keys, which may be a line of its own."""
    schema = _object(columns)
    of_kind = {"const": kind, "description": "In lines of ndjson; the items of a document have none."}
    return {**schema, "properties": {"kind": of_kind, **schema["properties"]}}


def property_of(column: Column) -> Schema:
    """What the column has in JSON."""
    if not column.meaning and column.key in _COMMON:
        return {"$ref": f"common.json#/$defs/{column.key}"}
    return {**_values(column), "description": column.meaning}


def _values(column: Column) -> Schema:
    if isinstance(column.values, tuple):
        return {"enum": [*column.values]} if len(column.values) > 1 else {"const": column.values[0]}
    values = column.values or _BY_KIND.get(column.kind, "string?")
    found = dict(_TYPES[values.removesuffix(_NULLABLE)])
    if column.inner and "items" in found:
        found["items"] = _object(column.inner)
    elif column.inner:
        found = _object(column.inner)
    if values.endswith(_NULLABLE):
        types = found["type"]
        found["type"] = [*(types if isinstance(types, list) else [types]), "null"]
    return found


def _object(columns: Iterable[Column]) -> Schema:
    columns = tuple(columns)
    return {
        "type": "object",
        "required": [column.key for column in columns if not column.sometimes],
        "properties": {column.key: property_of(column) for column in columns},
        **_OPEN,
    }
