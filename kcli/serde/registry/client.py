"""The requests of serdes to a schema registry, with a cache.

The schema of an id never changes, so it is cached (``schema.registry.cache.capacity``); a missing schema is cached for
half a minute: records that name an unknown id must not cost a request each.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote
from uuid import UUID

from kcli.core.classes import dataclass
from kcli.serde.errors import RegistryError, SchemaNotFoundError
from kcli.serde.framing import SchemaId
from kcli.serde.lru import Lru
from kcli.serde.missing import MissingSchemas
from kcli.serde.registry.addresses import addresses
from kcli.serde.registry.options import RegistryOptions
from kcli.serde.registry.transport import Transport

SUBJECT_FOR = 60.0
"""Seconds for which the subject of an id is cached, for messages only."""

CONTRACT = ("metadata", "ruleSet")
"""What Confluent's registry keeps beside the text of a schema, by its own names."""

_MAX_REFERENCES = 500


@dataclass(frozen=True, slots=True)
class Reference:
    """Another schema that a schema needs: under ``name``, in the registry as ``version`` of ``subject``."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema of the registry. ``kind`` is AVRO, PROTOBUF or JSON; ``id`` is −1 for a schema from a file; ``guid`` is
    empty where the registry has none. ``contract``: its metadata and rules, as ``contract_of`` writes them.
    """

    id: int
    kind: str
    text: str
    references: tuple[Reference, ...] = ()
    subject: str = ""
    version: int = 0
    guid: str = ""
    contract: str = ""


class Registry:
    """One registry, or several addresses of it. Not thread-safe."""

    def __init__(
        self,
        options: RegistryOptions,
        *,
        allow_plaintext_secrets: bool = False,
        transport: Transport | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._transport = transport or Transport(
            addresses(options, allow_plaintext_secrets=allow_plaintext_secrets), options
        )
        self._now = now
        capacity = options.schema_registry_cache_capacity
        self._schemas: Lru[str, Schema] = Lru(capacity)
        self._missing = MissingSchemas(capacity, now)
        self._names: Lru[SchemaId, tuple[float, str]] = Lru(capacity)

    def close(self) -> None:
        """Closes the connections."""
        self._transport.close()

    def by_id(self, schema_id: SchemaId, *, serialized: bool = False) -> Schema:
        """The schema of an id or GUID; SchemaNotFoundError. ``serialized``: Protobuf as a descriptor, in base64."""
        kind = "guids" if isinstance(schema_id, UUID) else "ids"
        return self._schema(f"/schemas/{kind}/{schema_id}", serialized)

    def by_version(self, subject: str, version: int, *, serialized: bool = False) -> Schema:
        """One version of a subject; SchemaNotFoundError."""
        return self._schema(f"/subjects/{quoted(subject)}/versions/{version}", serialized)

    def latest(self, subject: str, *, serialized: bool = False) -> Schema:
        """The newest version of a subject, requested each time; SchemaNotFoundError."""
        path = _with_format(f"/subjects/{quoted(subject)}/versions/latest", serialized)
        return schema_of(self._transport.ask("GET", path), path)

    def subjects(self) -> list[str]:
        """The names of all subjects, in their order, requested each time."""
        found = self._transport.ask("GET", "/subjects")
        if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
            raise unusable("/subjects", "it is no list of names")
        return sorted(found)

    def versions(self, subject: str) -> list[int]:
        """The numbers of all versions of a subject, in their order, requested each time; SchemaNotFoundError."""
        path = f"/subjects/{quoted(subject)}/versions"
        found = self._transport.ask("GET", path)
        if not isinstance(found, list) or not all(type(number) is int for number in found):
            raise unusable(path, "it is no list of numbers")
        return sorted(found)

    def look_up(self, subject: str, schema: Schema) -> int:
        """The id of a schema that is registered under ``subject``; SchemaNotFoundError."""
        path = f"/subjects/{quoted(subject)}"
        return _id_of(self._transport.ask("POST", path, body_of(schema)), path)

    def register(self, subject: str, schema: Schema) -> int:
        """Registers a schema, if it is not registered already, and returns its id."""
        path = f"/subjects/{quoted(subject)}/versions"
        return _id_of(self._transport.ask("POST", path, body_of(schema)), path)

    def references(self, schema: Schema, *, serialized: bool = False) -> list[tuple[str, Schema]]:
        """All direct and indirect references of a schema, each once, as (name, schema); dependencies come first."""
        return referenced(
            schema, lambda ref: self.by_version(ref.subject, ref.version, serialized=serialized)
        )

    def subject_of(self, schema_id: SchemaId) -> str:
        """``SUBJECT version N`` of an id, for messages; empty when it is not known."""
        known = self._names.get(schema_id)
        if known is None or known[0] <= self._now():
            known = (self._now() + SUBJECT_FOR, self._ask_subject(schema_id))
            self._names.put(schema_id, known)
        return known[1]

    def _ask_subject(self, schema_id: SchemaId) -> str:
        if isinstance(schema_id, UUID):
            return ""  # there is no such request
        try:
            rows = self._transport.ask("GET", f"/schemas/ids/{schema_id}/versions")
        except RegistryError:
            return ""
        rows = rows if isinstance(rows, list) else []
        names = [f"{r.get('subject')} version {r.get('version')}" for r in rows[:3] if isinstance(r, dict)]
        return ", ".join(names) + (", …" if len(rows) > 3 else "")

    def _schema(self, path: str, serialized: bool) -> Schema:
        path = _with_format(path, serialized)
        schema = self._schemas.get(path)
        if schema is None:
            self._missing.refuse(path)
            try:
                schema = schema_of(self._transport.ask("GET", path), path)
            except SchemaNotFoundError as error:
                self._missing.note(path, error)
                raise
            self._schemas.put(path, schema)
        return schema


def referenced(schema: Schema, load: Callable[[Reference], Schema]) -> list[tuple[str, Schema]]:
    """All direct and indirect references of a schema, each once, as (name, schema); dependencies come first."""
    found: dict[str, Schema] = {}
    waiting = [(ref, False) for ref in reversed(schema.references)]
    loaded: dict[str, Schema] = {}
    while waiting:
        ref, inner_done = waiting.pop()
        if ref.name in found:
            continue
        if inner_done:
            found[ref.name] = loaded[ref.name]
            continue
        if ref.name in loaded:  # a cycle: its compiler reports it
            continue
        if len(loaded) >= _MAX_REFERENCES:
            raise RegistryError(
                f"schema {schema.id} refers to more than {_MAX_REFERENCES} others", why="it is refused"
            )
        loaded[ref.name] = inner = load(ref)
        waiting.append((ref, True))
        waiting += [(deeper, False) for deeper in reversed(inner.references)]
    return list(found.items())


def quoted(subject: str) -> str:
    """A subject as a part of a path."""
    return quote(subject, safe="")


def _with_format(path: str, serialized: bool) -> str:
    return f"{path}?format=serialized" if serialized else path


def body_of(schema: Schema) -> dict[str, Any]:
    """What is posted of a schema."""
    body: dict[str, Any] = {"schema": schema.text}
    if schema.kind != "AVRO":
        body["schemaType"] = schema.kind
    if schema.references:
        body["references"] = [
            {"name": ref.name, "subject": ref.subject, "version": ref.version} for ref in schema.references
        ]
    return body | (json.loads(schema.contract) if schema.contract else {})


def contract_of(found: Mapping[str, Any]) -> str:
    """The metadata and the rules beside a schema, which are a part of it: as JSON with a fixed order; empty without any.
    With other ones the same text is another schema, with another id. What is null, false or empty is left out, as some
    versions of the registry do.
    """
    kept = _set({key: found.get(key) for key in CONTRACT})
    return json.dumps(kept, sort_keys=True, separators=(",", ":")) if kept else ""


def rules_of(schema: Schema) -> tuple[str, ...]:
    """The rules for what is written with a schema, as ``NAME (TYPE)``: those that encrypt fields, for example."""
    rules = (json.loads(schema.contract) if schema.contract else {}).get("ruleSet")
    found = (
        [] if not isinstance(rules, dict) else [rules.get(key) for key in ("domainRules", "encodingRules")]
    )
    return tuple(
        f"{rule.get('name')} ({rule.get('type')})"
        for group in found
        for rule in (group if isinstance(group, list) else ())
        if isinstance(rule, dict) and rule.get("mode") in ("WRITE", "WRITEREAD") and not rule.get("disabled")
    )


def _set(value: Any) -> Any:
    if isinstance(value, list):
        return [_set(one) for one in value]
    if not isinstance(value, dict):
        return value
    found = {key: _set(one) for key, one in value.items()}
    return {key: one for key, one in found.items() if not (one is None or one is False or one in ([], {}))}


def schema_of(answer: Any, path: str) -> Schema:
    """The schema in a response, which may be anything."""
    if not isinstance(answer, dict) or not isinstance(answer.get("schema"), str):
        raise unusable(path, "there is no schema in it")
    rows = answer.get("references") or []
    try:
        references = tuple(Reference(str(r["name"]), str(r["subject"]), int(r["version"])) for r in rows)
    except (TypeError, KeyError, ValueError, AttributeError):
        raise unusable(path, "its references cannot be read") from None
    number, version = answer.get("id"), answer.get("version")
    return Schema(
        id=number if isinstance(number, int) else _number_in(path),
        kind=str(answer.get("schemaType") or "AVRO").upper(),
        text=answer["schema"],
        references=references,
        subject=str(answer.get("subject") or ""),
        version=version if isinstance(version, int) else 0,
        guid=str(answer.get("guid") or ""),
        contract=contract_of(answer),
    )


def _number_in(path: str) -> int:
    """A response for an id does not repeat the id."""
    last = path.partition("?")[0].rpartition("/")[2]
    return int(last) if path.startswith("/schemas/ids/") and last.isdecimal() else -1


def _id_of(answer: Any, path: str) -> int:
    number = answer.get("id") if isinstance(answer, dict) else None
    if not isinstance(number, int) or not 0 <= number <= 0xFFFF_FFFF:
        raise unusable(path, "there is no id in it")
    return number


def unusable(path: str, why: str) -> RegistryError:
    """The error for a response that is not what the API says."""
    return RegistryError(
        f"the schema registry's answer about {path} cannot be used", why=why, do="check schema.registry.url"
    )
