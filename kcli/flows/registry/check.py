"""``kcli registry check``: what the registry says of a schema."""

from __future__ import annotations

from typing import Any

from kcli.flows.registry.names import type_word
from kcli.flows.registry.version_rows import SUBJECT
from kcli.output.tables import Column
from kcli.serde.registry.admin import RegistryAdmin
from kcli.serde.registry.client import Schema

COLUMNS = (
    SUBJECT,
    Column("type", values="string", meaning="Type of the schema: avro, protobuf or json."),
    Column("compatibility", values="string", meaning="The level that applies to the subject."),
    Column("compatible", values="boolean", meaning="Whether the registry would accept the schema."),
    Column("messages", "prose", values="strings", meaning="Why it would not, as the registry says it."),
)


def check_row(registry: RegistryAdmin, subject: str, schema: Schema) -> dict[str, Any]:
    """The values of the columns; RegistryError for an invalid schema."""
    answer = registry.check(subject, schema)
    return {
        "subject": subject,
        "type": type_word(schema),
        "compatibility": registry.compatibility(subject).value,
        "compatible": answer.is_compatible,
        "messages": list(answer.messages),
    }
