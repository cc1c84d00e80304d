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
_UNDO: Schema = {
    "type": "string",
    "description": "Id that `kcli undo` takes; absent where nothing that was destroyed can be made again.",
}
_ARRAYS = {"integers": "integer", "strings": "string", "objects": "object"}


def change_schemas(change: type[Change[Any, Any]], common: Schema) -> dict[str, Schema]:
    """The four schemas by name. ``common``: the definitions of ``common.json``, which columns of the same name share."""
    made: dict[str, Schema] = {}
    printed_by = change.printed_by.split(", ")
    columns = {
        "Plan": (*change.columns, *change.plan_columns),
        "Report": (*change.columns, *change.report_columns),
    }
    further = {"Plan": change.plan_keys, "Report": change.report_keys}
    for ending, (description, outcomes, status) in _ENDINGS.items():
        document = change.kind + ending
        also = [change.also_planned_by] if ending == "Plan" and change.also_planned_by else []
        printers = [*printed_by, *also]
        made[document] = _document(document, description, printers)
        properties: Schema = {
            "kind": {
                "const": f"{document}Item",
                "description": "In lines of ndjson; the items of a document have none.",
            },
            **{column.key: _property(column, common) for column in columns[ending]},
            "status": {"enum": [str(outcome) for outcome in outcomes], "description": status},
            "note": {"$ref": "common.json#/$defs/note"},
        }
        made[f"{document}Item"] = {
            "title": f"{document}Item",
            "description": change.item_meaning,
            "x-printed-by": printers,
            "type": "object",
            "required": [key for key in properties if key != "kind"],
            "properties": {
                **properties,
                **{column.key: _property(column, common) for column in further[ending]},
            },
            "additionalProperties": True,
        }
    return made


def _document(kind: str, description: str, printed_by: list[str]) -> Schema:
    return {
        "title": kind,
        "description": description,
        "x-printed-by": printed_by,
        "type": "object",
        "required": ["kind", "api", "cluster", "at", "items", "warnings", "complete", "missing"],
        "properties": {
            "kind": {"const": kind},
            "api": {"$ref": "common.json#/$defs/api"},
            "cluster": {"$ref": "common.json#/$defs/cluster"},
            "at": {"$ref": "common.json#/$defs/at"},
            "items": {"type": "array", "items": {"$ref": f"{kind}Item.json"}},
            "warnings": {"$ref": "common.json#/$defs/warnings"},
            **({"undo": _UNDO} if kind.endswith("Report") else {}),
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
