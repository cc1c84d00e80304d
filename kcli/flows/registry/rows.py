"""Lists of subjects and their versions, read from a registry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any

from kcli.account.survey import Missing, Survey
from kcli.core.errors import KcliError
from kcli.flows.registry.errors import is_silent, no_subject, no_version
from kcli.flows.registry.names import Named, is_of, reference_text, type_word
from kcli.flows.registry.version_rows import ID, REFERENCES, SCHEMA, SUBJECT, TYPE, VERSION, version_row
from kcli.output.tables import Column
from kcli.serde.registry.admin import Registered, RegistryAdmin
from kcli.serde.registry.client import Schema

_DELETED = "Whether it is deleted softly"
SUBJECTS = (
    SUBJECT,
    Column("versions", "number", values="count", meaning="How many versions it has that are not deleted."),
    Column("version", "id", values="count", meaning="Number of the latest version."),
    Column("id", "id", values="count", meaning="Id of its schema."),
    Column(
        "type", values="string", meaning="Its type: avro, protobuf or json, or another one of the registry."
    ),
    Column(
        "deleted", values="boolean", sometimes=True, meaning=f"{_DELETED}: no version is left that is not."
    ),
)
DESCRIBED = (
    SUBJECT,
    VERSION,
    ID,
    TYPE,
    Column("deleted", values="boolean", meaning=f"{_DELETED}."),
    Column("compatibility", spare=2, values="string", meaning="The level that applies to the subject."),
    Column("mode", spare=3, values="string", meaning="The mode that applies to the subject."),
    REFERENCES,
    Column(
        "guid", wide=True, values="string?", meaning="GUID of the schema; null where the registry has none."
    ),
    SCHEMA,
    Column(
        "referenced_by",
        values="strings",
        wide=True,
        sometimes=True,
        meaning="With --references: versions that refer to it, as SUBJECT:VERSION.",
    ),
    Column(
        "all_references",
        values="strings",
        wide=True,
        sometimes=True,
        meaning="With --references: all to which it refers, also indirectly, as NAME=SUBJECT:VERSION.",
    ),
)


def chosen_subjects(
    registry: RegistryAdmin, match: str | None, context: str | None, *, deleted: bool = False
) -> list[str]:
    """The names that match, of the context."""
    names = (name for name in registry.subjects(deleted=deleted) if is_of(name, context))
    return [name for name in names if match is None or fnmatchcase(name, match)]


def read_subjects(
    registry: RegistryAdmin, names: Iterable[str], kind: str | None, *, deleted: bool
) -> Survey[list[dict[str, Any]]]:
    """A row for each subject of the ``kind``; with ``deleted`` those of which only deleted versions are left, too."""
    rows: list[dict[str, Any]] = []
    missing: list[Missing] = []
    silent: KcliError | None = None
    for name in names:
        if silent is not None:
            missing.append(Missing.of(silent, f"subject {name}"))
            continue
        try:
            live = registry.version_numbers(name)
            numbers = live or (registry.version_numbers(name, deleted=True) if deleted else [])
            if not numbers:
                continue  # it was deleted meanwhile
            latest = registry.version(name, numbers[-1], deleted=not live)
        except KcliError as error:
            missing.append(Missing.of(error, f"subject {name}"))
            silent = error if is_silent(error) else None
            continue
        if kind is not None and latest.kind != kind:
            continue
        row = {
            "subject": name,
            "versions": len(live),
            "version": numbers[-1],
            "id": latest.id,
            "type": type_word(latest),
        }
        rows.append(row | ({"deleted": not live} if deleted else {}))
    return Survey(rows, missing)


def described(registry: RegistryAdmin, named: Named, *, deleted: bool) -> list[Registered]:
    """The version that is named, or all; NotFoundError."""
    every = registry.versions(named.subject, deleted=True)
    if not every:
        raise no_subject(registry, named.subject)
    live = [one for one in every if not one.deleted]
    if named.version is None:
        return every if deleted or not live else live
    if named.version < 0:
        if not live:
            raise no_version(named, [])
        return live[-1:]
    found = [one for one in every if one.schema.version == named.version]
    if not found:
        raise no_version(named, [one.schema.version for one in every])
    return found


def described_rows(
    registry: RegistryAdmin, subject: str, versions: Sequence[Registered], *, references: bool
) -> list[dict[str, Any]]:
    """The rows of versions of one subject."""
    level, mode = registry.compatibility(subject), registry.mode(subject)
    rows = []
    for one in versions:
        schema = one.schema
        row = {
            **version_row(schema),
            "subject": subject,
            "deleted": one.deleted,
            "compatibility": level.value,
            "mode": mode.value,
            "guid": schema.guid or None,
            "schema": schema.text,
        }
        if references:
            row["referenced_by"] = _referring(registry, schema)
            row["all_references"] = [*_all_references(registry, schema)]
        rows.append(row)
    return rows


def _referring(registry: RegistryAdmin, schema: Schema) -> list[str]:
    found = []
    for number in registry.referenced_by(schema.subject, schema.version):
        found += [f"{subject}:{version}" for subject, version in registry.versions_of(number, schema.subject)]
    return found


def _all_references(registry: RegistryAdmin, schema: Schema) -> list[str]:
    found: dict[str, None] = {}
    waiting = list(schema.references)
    while waiting:
        ref = waiting.pop(0)
        if reference_text(ref) not in found:
            found[reference_text(ref)] = None
            waiting += registry.version(ref.subject, ref.version, deleted=True).references
    return list(found)
