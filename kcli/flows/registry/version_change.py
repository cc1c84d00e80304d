"""What changes of versions of subjects share: items that are versions, a plan that is a table, and reading back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kcli.account.change import ChangeOf, Found, Item
from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.flows.registry.errors import is_silent, not_sent, wait_until_empty
from kcli.flows.registry.names import VersionKey
from kcli.flows.registry.version_rows import ID, REFERENCES, SUBJECT, TYPE, VERSION, version_row
from kcli.output.tables import Column, indented_table
from kcli.serde.registry.admin import RegistryAdmin
from kcli.serde.registry.client import Schema

LIVE, DELETED, NONE = "live", "deleted", "none"


class VersionFacts(NamedTuple):
    """``state``: what the version is in the registry. Its schema is registered as ``new_version`` with ``new_id``."""

    schema: Schema
    state: str
    new_version: int | None = None
    new_id: int | None = None


VersionItem = Item[VersionKey, VersionFacts]
ReadBack = dict[VersionKey, Found[VersionFacts] | KcliError]
STATE = Column(
    "state",
    spare=1,
    values=(LIVE, DELETED, NONE),
    meaning="What the version was in the registry before: live, deleted softly, or none.",
)
NEW_VERSION = Column(
    "new_version",
    "id",
    values="count?",
    meaning="The version that its schema becomes, or has become; null where that is not known.",
)
NEW_ID = Column(
    "new_id", "id", values="count?", meaning="The id that its schema has then; null where that is not known."
)


class VersionChange(ChangeOf[RegistryAdmin, VersionKey, VersionFacts]):
    """A change of versions."""

    item_meaning = "A version of a subject."
    columns: Sequence[Column] = (SUBJECT, VERSION, ID, TYPE, STATE, REFERENCES)
    quiet_report = True

    def table(self, plan: Sequence[VersionItem]) -> list[str]:
        """The plan as an indented table."""
        columns = [column for column in (*self.columns, Column("note", "prose")) if column is not STATE]
        rows = []
        for item in plan:
            note = item.note or (self.reason(item.error) if item.error is not None else None)
            row = {**self.row(item), "note": note or None}
            rows.append({**row, "references": row["references"] or None})
        return indented_table(columns, rows)

    def row(self, item: VersionItem) -> dict[str, Any]:
        """The values of the columns."""
        row = {
            **version_row(item.facts.schema),
            "state": item.facts.state,
            "new_version": item.facts.new_version,
            "new_id": item.facts.new_id,
        }
        if item.key.version <= 0:
            row["type"] = None  # a setting, which has no schema
        return {column.key: row[column.key] for column in self.columns}


def read_until(
    items: Sequence[VersionItem],
    wrong: Callable[[], Mapping[VersionKey, KcliError]],
    facts: Callable[[VersionItem], VersionFacts] = lambda item: item.facts,
) -> ReadBack:
    """``wrong`` reads which items are not as they should be, and why, until none is, or the time is over."""
    bad = wait_until_empty(wrong)
    return {item.key: Found(facts(item), bad.get(item.key)) for item in items}


def each(
    items: Iterable[VersionItem], act: Callable[[VersionItem], object]
) -> dict[VersionKey, KcliError | None]:
    """Calls ``act`` for each item; an error is that of its item only, unless the registry does not answer."""
    answers: dict[VersionKey, KcliError | None] = {}
    silent: KcliError | None = None
    for item in items:
        if silent is not None:
            answers[item.key] = not_sent(str(item.key), silent)
            continue
        try:
            act(item)
        except KcliError as error:
            answers[item.key] = error
            silent = error if is_silent(error) else None
        else:
            answers[item.key] = None
    return answers
