"""The kinds that have a schema, and the schema of a kind as one document that refers to no other.

The schemas of lists, plans and reports are made from columns; those of what has none are files of ``kcli/schemas``.
"""

import functools
import json
from importlib import resources
from typing import Any

from kcli import schemas
from kcli.core.classes import NamedTuple
from kcli.docgen.change_schemas import change_schemas
from kcli.docgen.list_schemas import common_schema, list_schemas
from kcli.docgen.lists import LISTS
from kcli.flows.changes import CHANGES, change_class

DRAFT = "https://json-schema.org/draft/2020-12/schema"
COMMENT = "Within kcli/v1 properties are only added: ignore those that you do not know."
COMMON = "common"
_ENDING = ".json"

Schema = dict[str, Any]


class Kind(NamedTuple):
    """``printed_by``: commands without ``kcli``, or options that make any command print it."""

    name: str
    printed_by: tuple[str, ...]
    description: str


def names() -> list[str]:
    """The names of all kinds, in the order of the alphabet."""
    files = (file.name for file in resources.files(schemas).iterdir())
    stems = {name.removesuffix(_ENDING) for name in files if name.endswith(_ENDING)}
    return sorted(stems | _made_kinds().keys())


def kinds() -> list[Kind]:
    """All kinds; of lists without their columns, which may need many modules."""
    listed = {}
    for made in LISTS.values():
        listed[made.kind] = Kind(made.kind, tuple(made.printed_by.split(", ")), made.meaning)
        for one in made.items:
            if one.columns and one.kind not in listed:
                printed_by = one.printed_by or made.printed_by
                listed[one.kind] = Kind(one.kind, tuple(printed_by.split(", ")), one.meaning)
    return [listed.get(name) or _described(name) for name in names()]


def _described(name: str) -> Kind:
    found = raw_schema(name)
    return Kind(name, tuple(found["x-printed-by"]), found["description"])


def schema_of(name: str) -> Schema:
    """The schema of a kind, with what it refers to in its ``$defs``."""
    within: Schema = {}
    schema = _joined(raw_schema(name), within)
    inner = {**schema.pop("$defs", {}), **within}
    return {"$schema": DRAFT, "$comment": COMMENT, **schema, **({"$defs": inner} if inner else {})}


def _joined(node: Any, within: Schema) -> Any:
    """A copy in which references to files are references to ``within``, which gets what they refer to."""
    if isinstance(node, list):
        return [_joined(one, within) for one in node]
    if not isinstance(node, dict):
        return node
    target = node.get("$ref", "#")
    if target.startswith("#"):
        return {key: _joined(value, within) for key, value in node.items()}
    file, _, pointer = target.partition("#")
    kind = file.removesuffix(_ENDING)
    key = pointer.rpartition("/")[2] or kind
    if key not in within:
        within[key] = None  # it may refer to itself
        found = raw_schema(kind)
        within[key] = _joined(found["$defs"][key] if pointer else found, within)
    return {**node, "$ref": f"#/$defs/{key}"}


def raw_schema(name: str) -> Schema:
    """The schema as it is written or made, with references to others."""
    if name == COMMON:
        return common_schema()
    of = _made_kinds().get(name)
    return _file(name) if of is None else _made(of)[name]


@functools.cache
def _made_kinds() -> dict[str, str]:
    """The kinds whose schemas are made, each with that of its change or of its list."""
    changes = {
        kind + ending: kind for kind in CHANGES for ending in ("Plan", "PlanItem", "Report", "ReportItem")
    }
    items = {one.kind: kind for kind, made in LISTS.items() for one in made.items if one.columns}
    return changes | items | {kind: kind for kind in LISTS}


@functools.cache
def _made(kind: str) -> dict[str, Schema]:
    return change_schemas(change_class(kind)) if kind in CHANGES else list_schemas(LISTS[kind])


def _file(name: str) -> Schema:
    text = resources.files(schemas).joinpath(name + _ENDING).read_text(encoding="utf-8")
    found: Schema = json.loads(text)
    return found
