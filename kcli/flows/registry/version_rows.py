"""Columns of versions of subjects, and their values."""

from __future__ import annotations

from typing import Any

from kcli.flows.registry.names import reference_text, type_word
from kcli.output.tables import Column
from kcli.serde.registry.client import Schema

SUBJECT = Column("subject", values="string", meaning="Name of the subject, with its context if it has one.")
VERSION = Column("version", "id", values="count?", meaning="Number of the version; null where it has none.")
ID = Column("id", "id", values="count?", meaning="Id of the schema, as in records; null where it has none.")
TYPE = Column(
    "type",
    values="string?",
    meaning="avro, protobuf or json, or another type of the registry; null without a schema.",
)
REFERENCES = Column(
    "references",
    "prose",
    spare=1,
    values="strings",
    meaning="Schemas that it refers to, as NAME=SUBJECT:VERSION.",
)
SCHEMA = Column("schema", "prose", wide=True, values="string", meaning="The text of the schema.")


def version_row(schema: Schema) -> dict[str, Any]:
    """``subject, version, id, type, references``."""
    return {
        "subject": schema.subject,
        "version": schema.version or None,
        "id": schema.id if schema.id >= 0 else None,
        "type": type_word(schema),
        "references": [reference_text(one) for one in schema.references],
    }
