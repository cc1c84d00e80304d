"""``kcli registry register``: registers a schema under a subject."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kcli.account.change import ChangeOf, Found, Item, Question
from kcli.account.outcomes import Outcome
from kcli.core.classes import replace
from kcli.core.errors import KcliError
from kcli.flows.journal import CreatedSchemaEntry, Draft
from kcli.flows.registry.errors import IncompatibleError, NotAppliedError, mode_refusal, wait_until_empty
from kcli.flows.registry.names import Named, reference_text, type_word
from kcli.flows.registry.schema_file import resolved
from kcli.flows.registry.version_rows import ID, REFERENCES, SUBJECT, TYPE, VERSION, version_row
from kcli.serde.registry.admin import RegistryAdmin
from kcli.serde.registry.client import Schema

SchemaItem = Item[str, Schema]


class SchemaRegistration(ChangeOf[RegistryAdmin, str, Schema]):
    """``schema``: as in the file; ``references``: as they were typed."""

    kind = "SchemaRegister"
    printed_by = "registry register"
    item_meaning = "A schema."
    columns = (SUBJECT, VERSION, ID, TYPE, REFERENCES)
    quiet_report = True
    nothing = ""

    def __init__(self, subject: str, schema: Schema, references: Sequence[tuple[str, Named]]) -> None:
        self._subject, self._wanted = subject, references
        self._schema = replace(schema, subject=subject)

    def decide(self, admin: RegistryAdmin) -> list[SchemaItem]:
        """Unchanged where the subject has the schema; the registry is asked whether it is compatible."""
        schema = replace(self._schema, references=resolved(admin, self._wanted))
        known = admin.look_up(self._subject, schema)
        if known is not None:
            schema = replace(schema, id=known.id, version=known.version)
            return [
                Item(self._subject, schema, Outcome.UNCHANGED, note=f"it is version {known.version} already")
            ]
        error: KcliError | None = mode_refusal(admin.mode(self._subject), self._subject)
        answer = admin.check(self._subject, schema)
        if error is None and not answer.is_compatible:
            level = admin.compatibility(self._subject).value
            error = IncompatibleError(self._subject, level, answer.messages)
        outcome = Outcome.PLANNED if error is None else Outcome.REFUSED
        return [Item(self._subject, schema, outcome, error)]

    def text(self, plan: Sequence[SchemaItem]) -> str:
        """One sentence, and a line for each reference."""
        schema = plan[0].facts
        kind = {"AVRO": "Avro", "PROTOBUF": "Protobuf", "JSON": "JSON"}.get(schema.kind, schema.kind)
        lines = [f"Register this {kind} schema under subject {self._subject}:"]
        lines += [f"  {line}" for line in schema.text.splitlines()]
        lines += [f"  refers to {reference_text(one)}" for one in schema.references]
        return "\n".join(lines)

    def questions(self, plan: Sequence[SchemaItem]) -> list[Question]:
        """Nothing has to be typed."""
        return [Question(self.text(plan), f"Register it under {self._subject}?", subject=self._subject)]

    def unchanged(self, plan: Sequence[SchemaItem]) -> Iterable[str]:
        """Which version it is."""
        if plan[0].outcome is Outcome.UNCHANGED:
            yield _shown(plan[0].facts, "has this schema already")

    def journal(self, admin: RegistryAdmin, todo: Sequence[SchemaItem]) -> Draft:  # noqa: ARG002
        """Undoing it deletes the version."""
        return Draft(self.printed_by, [CreatedSchemaEntry.of(item.facts) for item in todo])

    def apply(self, admin: RegistryAdmin, todo: Sequence[SchemaItem]) -> dict[str, KcliError | None]:
        """Registers it."""
        for item in todo:
            admin.register(item.key, item.facts)
        return dict.fromkeys(item.key for item in todo)

    def read_back(
        self, admin: RegistryAdmin, items: Sequence[SchemaItem]
    ) -> dict[str, Found[Schema] | KcliError]:
        """Its version and id."""
        (item,) = items
        found: list[Schema] = []

        def missing() -> bool:
            known = admin.look_up(item.key, item.facts)
            found[:] = [] if known is None else [known]
            return known is None

        if wait_until_empty(lambda: [None] * missing()):
            error = NotAppliedError(
                f"the schema was registered under {item.key}, and the subject does not have it",
                why="another client deleted it since, or this node of the registry has not read it yet",
                do=f"`kcli registry describe {item.key}` shows its versions",
            )
            return {item.key: Found(item.facts, error)}
        known = found[0]
        return {item.key: Found(replace(item.facts, id=known.id, version=known.version))}

    def row(self, item: SchemaItem) -> dict[str, Any]:
        """The values of the columns."""
        return version_row(item.facts)

    def summary(self, items: Sequence[SchemaItem]) -> Iterable[str]:
        """Its version and id."""
        return (_shown(item.facts, f"was registered as {type_word(item.facts)}, read back") for item in items)


def _shown(schema: Schema, what: str) -> str:
    return f"subject {schema.subject} {what}: version {schema.version}, id {schema.id}"
