"""The JSON Schemas of what changes print: made from their columns, so that they are written down once."""

from typing import Any

from kcli.account.change import Change
from kcli.account.outcomes import Outcome
from kcli.output.tables import Column

Schema = dict[str, Any]

_PLANNED = (Outcome.PLANNED, Outcome.UNCHANGED, Outcome.REFUSED)
_REPORTED = (Outcome.DONE, Outcome.UNCHANGED, Outcome.REFUSED, Outcome.FAILED, Outcome.UNKNOWN)
_ENDINGS = {
    "Plan": ("What would be changed.", _PLANNED, "What would become of it."),
    "Report": ("What was changed.", _REPORTED, "What became of it; unknown: the result could not be seen."),
}
_TYPES: dict[str, Schema] = {
    "number": {"type": ["integer", "null"]},
    "id": {"type": ["integer", "null"]},
    "size": {"type": ["integer", "null"]},
    "duration": {"type": ["number", "null"]},
    "time": {"type": ["string", "null"], "format": "date-time"},
}
_ARRAYS = {"integers": "integer", "strings": "string"}


def change_schemas(change: type[Change[Any, Any]], common: Schema) -> dict[str, Schema]:
    """The four schemas by name. ``common``: the definitions of ``common.json``, which columns of the same name share."""
    made: dict[str, Schema] = {}
    for ending, (description, outcomes, status) in _ENDINGS.items():
        document = change.kind + ending
        made[document] = _document(document, description, change.printed_by)
        properties: Schema = {
            "kind": {
                "const": f"{document}Item",
                "description": "In lines of ndjson; the items of a document have none.",
            },
            **{column.key: _property(column, common) for column in change.columns},
            "status": {"enum": [str(outcome) for outcome in outcomes], "description": status},
            "note": {"$ref": "common.json#/$defs/note"},
        }
        made[f"{document}Item"] = {
            "title": f"{document}Item",
            "description": change.item_meaning,
            "x-printed-by": [change.printed_by],
            "type": "object",
            "required": [key for key in properties if key != "kind"],
            "properties": properties,
            "additionalProperties": True,
        }
    return made


def _document(kind: str, description: str, printed_by: str) -> Schema:
    return {
        "title": kind,
        "description": description,
        "x-printed-by": [printed_by],
        "type": "object",
        "required": ["kind", "api", "cluster", "at", "items", "warnings", "complete", "missing"],
        "properties": {
            "kind": {"const": kind},
            "api": {"$ref": "common.json#/$defs/api"},
            "cluster": {"$ref": "common.json#/$defs/cluster"},
            "at": {"$ref": "common.json#/$defs/at"},
            "items": {"type": "array", "items": {"$ref": f"{kind}Item.json"}},
            "warnings": {"$ref": "common.json#/$defs/warnings"},
            "complete": {"$ref": "common.json#/$defs/complete"},
            "missing": {"$ref": "common.json#/$defs/missing"},
        },
        "additionalProperties": True,
    }


def _property(column: Column, common: Schema) -> Schema:
    if not column.meaning and column.key in common:
        return {"$ref": f"common.json#/$defs/{column.key}"}
    if column.values in _ARRAYS:
        return {
            "type": ["array", "null"],
            "items": {"type": _ARRAYS[column.values]},
            "description": column.meaning,
        }
    found = (
        {"type": [column.values, "null"]}
        if column.values
        else _TYPES.get(column.kind, {"type": ["string", "null"]})
    )
    return {**found, "description": column.meaning}
