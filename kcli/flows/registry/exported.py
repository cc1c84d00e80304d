"""What ``kcli registry export`` writes, and ``import`` reads: every schema after those to which it refers.

One object of the kind RegistrySchema a line (ndjson), or the document of ``-o json``. Keys: ``subject, version, id, type,
references, schema, metadata, rule_set, compatibility``, the last the level of the subject itself, null without one.
Others are ignored.
Lines that are not all that was asked for begin with a RegistryExportHead, which says what is missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kcli.account.survey import Missing, Survey
from kcli.core.classes import NamedTuple, replace
from kcli.core.errors import ConfigError, KcliError, NotFoundError
from kcli.flows.registry.errors import is_silent
from kcli.flows.registry.names import TYPES, VersionKey, moved, type_word
from kcli.flows.registry.version_rows import ID, SUBJECT, TYPE, VERSION
from kcli.output.envelope import API, compact, ending
from kcli.output.tables import Column
from kcli.serde.json_text import NotJsonError, parse_json
from kcli.serde.registry.admin import RegistryAdmin
from kcli.serde.registry.client import CONTRACT, Reference, Schema, contract_of

KIND, LIST, HEAD = "RegistrySchema", "RegistrySchemaList", "RegistryExportHead"
_CONTRACT = dict(zip(("metadata", "rule_set"), CONTRACT, strict=True))
COLUMNS = (
    SUBJECT,
    VERSION,
    ID,
    TYPE,
    Column(
        "references",
        values="objects",
        inner=(
            Column("name", values="string", meaning="Name by which the schema refers to it."),
            Column("subject", values="string", meaning="Its subject."),
            Column("version", values="count", meaning="Its version."),
        ),
        meaning="The schemas that it refers to, which come before it.",
    ),
    Column("schema", values="string", meaning="The text of the schema."),
    Column("metadata", values="object?", meaning="Its metadata as the registry has it; null without any."),
    Column("rule_set", values="object?", meaning="Its rules as the registry has them; null without any."),
    Column(
        "compatibility",
        values="string?",
        meaning="The level of the subject itself; null without one of its own.",
    ),
)


class Exported(NamedTuple):
    """``schemas`` in the order in which they can be registered; ``levels`` of subjects with one of their own."""

    schemas: Sequence[Schema]
    levels: Mapping[str, str]


def read_export(registry: RegistryAdmin, subjects: Sequence[str]) -> tuple[Survey[Exported], list[str]]:
    """The versions of these subjects, and those to which they refer, of other subjects, too: these are named besides."""
    found: dict[VersionKey, Schema] = {}
    levels: dict[str, str] = {}
    missing: list[Missing] = []
    silent: KcliError | None = None
    for subject in subjects:
        if silent is not None:
            missing.append(Missing.of(silent, f"subject {subject}"))
            continue
        try:
            versions = registry.versions(subject)
            level = registry.compatibility(subject)
        except KcliError as error:
            missing.append(Missing.of(error, f"subject {subject}"))
            silent = error if is_silent(error) else None
            continue
        if not versions:
            missing.append(Missing.of(_gone(subject), f"subject {subject}"))
        for one in versions:
            found[VersionKey(subject, one.schema.version)] = replace(one.schema, subject=subject)
        if level.own:
            levels[subject] = level.value
    added: dict[str, None] = {}
    waiting = [ref for schema in found.values() for ref in schema.references]
    while waiting:
        ref = waiting.pop()
        key = VersionKey(ref.subject, ref.version)
        if key in found:
            continue
        if silent is not None:
            missing.append(Missing.of(silent, str(key)))
            continue
        try:
            schema = replace(registry.version(ref.subject, ref.version), subject=ref.subject)
        except KcliError as error:
            missing.append(Missing.of(error, str(key)))
            silent = error if is_silent(error) else None
            continue
        found[key] = schema
        added[str(key)] = None
        waiting += schema.references
    return Survey(Exported(in_order(found.values()), levels), missing), list(added)


def in_order(schemas: Iterable[Schema]) -> list[Schema]:
    """Each after those to which it refers, and after the versions of its subject before it; else by subject."""
    given = {
        VersionKey(one.subject, one.version): one
        for one in sorted(schemas, key=lambda one: (one.subject, one.version))
    }
    before: dict[VersionKey, VersionKey] = {}
    last: dict[str, VersionKey] = {}
    for key in given:
        if key.subject in last:
            before[key] = last[key.subject]
        last[key.subject] = key
    done: dict[VersionKey, Schema] = {}
    for start in given:
        waiting, entered = [start], set[VersionKey]()
        while waiting:
            key = waiting[-1]
            needs = [VersionKey(ref.subject, ref.version) for ref in given[key].references]
            needs += [before[key]] if key in before else []
            left = [need for need in needs if need in given and need not in done and need not in entered]
            entered.add(key)
            if left:
                waiting += left
            else:
                waiting.pop()
                done.setdefault(key, given[key])
    return list(done.values())


def rows(exported: Exported) -> Iterable[dict[str, Any]]:
    """The values of the columns."""
    for schema in exported.schemas:
        contract = json.loads(schema.contract) if schema.contract else {}
        yield {
            "subject": schema.subject,
            "version": schema.version,
            "id": schema.id,
            "type": type_word(schema),
            "references": [
                {"name": ref.name, "subject": ref.subject, "version": ref.version}
                for ref in schema.references
            ],
            "schema": schema.text,
            **{key: contract.get(name) for key, name in _CONTRACT.items()},
            "compatibility": exported.levels.get(schema.subject),
        }


def parse_export(text: str, name: str, context: str | None) -> Exported:
    """The schemas of a file, in another ``context`` if one is given; ConfigError says what is wrong, and where."""
    schemas: dict[VersionKey, Schema] = {}
    levels: dict[str, str] = {}
    for place, item in _items(text, name):
        schema = _schema(place, item, context)
        key = VersionKey(schema.subject, schema.version)
        if key in schemas:
            raise _broken(place, f"{key} is there twice")
        schemas[key] = schema
        level = item.get("compatibility")
        if level is not None and not isinstance(level, str):
            raise _broken(place, "compatibility is no text")
        if level is not None:
            levels[schema.subject] = level
    if not schemas:
        raise ConfigError(
            f"there is no schema in {name}",
            why="nothing in it is of the kind RegistrySchema",
            do="give it what `kcli registry export` has written, whole",
        )
    return Exported(in_order(schemas.values()), levels)


def _items(text: str, name: str) -> Iterable[tuple[str, dict[str, Any]]]:
    try:
        whole = parse_json(text)
    except NotJsonError:
        whole = None
    if isinstance(whole, dict) and whole.get("kind") == LIST:
        listed = whole.get("items")
        if not isinstance(listed, list):
            raise _broken(name, "items is no list")
        _check_complete(name, whole)
        for number, item in enumerate(listed, 1):
            yield f"{name}, item {number}", _object(f"{name}, item {number}", item)
        return
    for number, line in enumerate(text.split("\n"), 1):
        place = f"{name}, line {number}"
        if line.strip():
            try:
                yield place, _object(place, parse_json(line))
            except NotJsonError as error:
                raise _broken(place, f"it is not JSON: {error}") from None


def head_line(missing: Sequence[Mapping[str, object]]) -> str:
    """The first of lines that are not all that was asked for."""
    return compact({"kind": HEAD, "api": API, **ending((), missing)}) + "\n"


def _check_complete(place: str, document: Mapping[str, Any]) -> None:
    if document.get("complete") is False:
        raise _broken(place, "it is not complete: what is missing is in its key missing")


def _object(place: str, item: Any) -> dict[str, Any]:
    if isinstance(item, dict) and item.get("kind") == HEAD:
        _check_complete(place, item)
    if not isinstance(item, dict) or item.get("kind", KIND) != KIND:
        raise _broken(place, f"it is no object of the kind {KIND}")
    return item


def _schema(place: str, item: Mapping[str, Any], context: str | None) -> Schema:
    def value(key: str, kind: type, of: Mapping[str, Any] = item) -> Any:
        found = of.get(key)
        if type(found) is not kind or not found:
            raise _broken(place, f"{key} is missing, or no {'number from 1 on' if kind is int else 'text'}")
        return found

    for key in _CONTRACT:
        if not isinstance(item.get(key) or {}, dict):
            raise _broken(place, f"{key} is no object")
    references = item.get("references") or []
    if not isinstance(references, list) or not all(isinstance(one, dict) for one in references):
        raise _broken(place, "references is no list of objects")
    word = value("type", str)
    return Schema(
        value("id", int),
        TYPES.get(word, word.upper()),
        value("schema", str),
        tuple(
            Reference(
                value("name", str, one),
                moved(value("subject", str, one), context),
                value("version", int, one),
            )
            for one in references
        ),
        moved(value("subject", str), context),
        value("version", int),
        contract=contract_of({name: item.get(key) for key, name in _CONTRACT.items()}),
    )


def _broken(place: str, why: str) -> ConfigError:
    return ConfigError(
        f"{place} cannot be used",
        why=why,
        do="give it what `kcli registry export` has written, whole",
    )


def _gone(subject: str) -> NotFoundError:
    return NotFoundError(
        f"there is no subject {subject}",
        why="it has no version that is not deleted",
        do="`kcli registry list` lists the subjects",
    )
