"""The JSON Schema of the documents of kcli, for editors: made of the shapes by which files are checked. Pure."""

from __future__ import annotations

from typing import Any

from kcli.flows.resources.forms import FORMS, RECORDS

_DRAFT = "http://json-schema.org/draft-07/schema#"


def documents_schema() -> dict[str, Any]:
    """One schema for each kind, of which a document has exactly one. Editors know draft 7 best."""
    return {
        "$schema": _DRAFT,
        "title": "kcli documents",
        "description": "A document of a file that describes a cluster.",
        "type": "object",
        "required": ["apiVersion", "kind"],
        "properties": {"kind": {"enum": [str(kind) for kind in FORMS]}},
        "oneOf": [{"title": str(kind), **RECORDS[kind].schema()} for kind in FORMS],
    }
