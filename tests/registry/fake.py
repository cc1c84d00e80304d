"""What a schema registry contains and answers: Confluent's documented REST API, as far as clients use it. Not a test.

``like="karapace"`` answers as Karapace 6.2 does: ``test_karapace.py`` compares both, and says where Confluent's documents
differ. Compatibility is judged as far as tests need it: fields of records, properties of objects, types of fields.
"""

import base64
import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote
from uuid import UUID, uuid5

from google.protobuf import descriptor_pb2

from kcli.serde.protobuf.descriptors import from_registry

_NAMESPACE = UUID(int=7)
LEVELS = tuple(f"{way}{far}" for way in ("BACKWARD", "FORWARD", "FULL") for far in ("", "_TRANSITIVE"))
MODES = ("READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT")
_PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_PROMOTED = {"long": {"int"}, "float": {"int", "long"}, "double": {"int", "long", "float"}}


@dataclass
class Stored:
    """One schema; ``body`` is what was posted."""

    id: int
    body: dict[str, Any]

    @property
    def guid(self) -> str:
        return str(uuid5(_NAMESPACE, json.dumps(self.body, sort_keys=True)))


@dataclass
class Version:
    """A schema under a number of its subject. ``deleted``: softly."""

    number: int
    stored: Stored
    deleted: bool = False

    @property
    def body(self) -> dict[str, Any]:
        return self.stored.body


class RefusedError(Exception):
    """An answer with an error code of the registry's own. ``body`` replaces the usual one."""

    def __init__(self, status: int, code: int, message: str, body: Any = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.body = {"error_code": code, "message": message} if body is None else body


@dataclass
class FakeRegistry:
    """The registry's content, and what it was asked. An empty name is the one of the whole registry in ``levels`` and
    ``modes``. The ids of a context are its own, but not in Karapace, which knows no contexts.
    """

    credentials: tuple[str, str] | None = None
    tokens: set[str] | None = None
    like: str = "confluent"
    schemas: dict[tuple[str, int], Stored] = field(default_factory=dict)
    subjects: dict[str, list[Version]] = field(default_factory=dict)
    levels: dict[str, str] = field(default_factory=lambda: {"": "BACKWARD"})
    modes: dict[str, str] = field(default_factory=lambda: {"": "READWRITE"})
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    failures: list[tuple[int, int, str]] = field(default_factory=list)
    lies: list[bytes] = field(default_factory=list)

    def fail(self, status: int, code: int = 0, message: str = "out of order", times: int = 1) -> None:
        """The next answers are this error."""
        self.failures += [(status, code or status, message)] * times

    def lie(self, body: bytes) -> None:
        """The next answer is 200 with these bytes."""
        self.lies.append(body)

    def register(self, subject: str, body: dict[str, Any], number: int = 0, version: int = 0) -> int:
        """As POST /subjects/{subject}/versions, but whether the schema makes sense and is compatible is not asked.
        ``number`` and ``version``: its id and version, in the mode IMPORT.
        """
        self._check_references(body)
        context = self._context(subject)
        stored = next((s for (c, _), s in self.schemas.items() if c == context and _same(s.body, body)), None)
        if number and stored is None:
            taken = self.schemas.get((context, number))
            if taken is not None:
                raise RefusedError(422, 42205, f"Overwrite new schema with id {number} is not permitted.")
        if stored is None:
            last = max((n for c, n in self.schemas if c == context), default=0)
            stored = Stored(number or last + 1, body)
            self.schemas[context, stored.id] = stored
        versions = self.subjects.setdefault(subject, [])
        if not any(one.stored is stored and not one.deleted for one in versions):
            last = max((one.number for one in versions), default=0)
            versions[:] = [one for one in versions if one.number != version]
            versions.append(Version(version or last + 1, stored))
        return stored.id

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> Any:
        flags = {name for name, values in query.items() if values == ["true"]}
        if query.get("format") == ["serialized"]:
            flags.add("serialized")
        _, *parts = map(unquote, path.split("/"))
        match [method, *parts]:
            case ["GET", "schemas", "ids", number, *rest]:
                return self._of_id(number, rest, query, flags)
            case ["GET", "schemas", "guids", guid] if self._is_confluent:
                stored = next((s for s in self.schemas.values() if s.guid == guid), None)
                if stored is None:
                    raise RefusedError(404, 40403, f"Schema {guid} not found")
                return self._schema(stored, flags)
            case ["GET", "schemas", "types"]:
                return ["JSON", "AVRO", "PROTOBUF"]
            case ["GET", "contexts"] if self._is_confluent:
                return sorted(
                    {
                        f".{self._context(name)[2:-1]}" if self._context(name) else "."
                        for name in self.subjects
                    }
                )
            case ["GET", "subjects"]:
                return list(self._names(query, flags))
            case ["POST", "compatibility", "subjects", subject, "versions", *version]:
                return self._compatible(subject, version, _plain(body, self.like), flags)
            case [_, "config" | "mode" as what, *subject]:
                return self._setting(method, what, "".join(subject), body, flags)
            case [_, "subjects", subject]:
                return self._subject(method, subject, body, flags)
            case [_, "subjects", subject, "versions"] if method != "DELETE":
                return self._versions(method, subject, body, flags)
            case [_, "subjects", subject, "versions", version, *rest] if method in ("GET", "DELETE"):
                return self._version(method, subject, version, rest, flags)
        raise self._no_such_path()

    # requests

    def _of_id(self, text: str, rest: list[str], query: dict[str, list[str]], flags: set[str]) -> Any:
        if not text.isdecimal():
            raise RefusedError(404, 404, "HTTP 404 Not Found")
        context = self._context(query.get("subject", [""])[0])
        stored = self.schemas.get((context, int(text)))
        if rest == ["versions"]:
            rows = [
                {"subject": name, "version": one.number}
                for name, versions in self.subjects.items()
                for one in versions
                if one.stored is stored and (not one.deleted or "deleted" in flags)
            ]
            if stored is None and self._is_confluent:
                raise RefusedError(404, 40403, f"Schema {text} not found")
            return rows
        if rest:
            raise self._no_such_path()
        if stored is None:
            raise RefusedError(
                404, 40403, f"Schema {text} not found" if self._is_confluent else "Schema not found"
            )
        return self._schema(stored, flags)

    def _names(self, query: dict[str, list[str]], flags: set[str]) -> Iterator[str]:
        prefix = query.get("subjectPrefix", [""])[0] if self._is_confluent else ""
        for name, versions in self.subjects.items():
            live = any(not one.deleted for one in versions)
            if (live or (versions and "deleted" in flags)) and name.startswith(prefix):
                yield name

    def _subject(self, method: str, subject: str, body: Any, flags: set[str]) -> Any:
        if method == "DELETE":
            return self._delete_subject(subject, permanent="permanent" in flags)
        if method != "POST":
            raise self._no_such_path()
        versions = self._live(subject, deleted="deleted" in flags)
        wanted = _plain(body, self.like)
        try:
            _check(wanted, self.like)
        except RefusedError:
            raise RefusedError(422, 42201, f"Error while looking up schema under subject {subject}") from None
        same = [one for one in versions if _same(one.body, wanted)]
        if not same:
            raise RefusedError(404, 40403, "Schema not found")
        return self._whole(subject, same[-1], flags)

    def _versions(self, method: str, subject: str, body: Any, flags: set[str]) -> Any:
        if method == "GET":
            return [one.number for one in self._live(subject, deleted="deleted" in flags)]
        wanted = _plain(body, self.like)
        number, version = (body.get("id") or 0, body.get("version") or 0) if self._is_confluent else (0, 0)
        mode = self.modes.get(subject, self.modes[""])
        if mode.startswith("READONLY"):
            raise RefusedError(422, 42205, f"Subject {subject} is in read-only mode")
        if (number or version) and mode != "IMPORT":
            raise RefusedError(422, 42205, f"Subject {subject} is not in import mode")
        known = [one for one in self.subjects.get(subject, ()) if not one.deleted]
        if not any(_same(one.body, wanted) for one in known) and mode != "IMPORT":
            self._check_references(wanted)
            _check(wanted, self.like)
            level = self._level(subject)
            misfits = self._misfits(wanted, known if level.endswith("_TRANSITIVE") else known[-1:], level)
            if misfits and self._is_confluent:
                text = (
                    f'Schema being registered is incompatible with an earlier schema for subject "{subject}"'
                )
                raise RefusedError(409, 409, f"{text}, details: [{', '.join(misfits)}]")
            if misfits:
                text = f"Incompatible schema, compatibility_mode={level}. Incompatibilities: {', '.join(misfits)}"
                raise RefusedError(409, 409, text)
        made = self.register(subject, wanted, number, version)
        if not self._is_confluent:
            return {"id": made}
        return {"id": made, "guid": self.schemas[self._context(subject), made].guid, **body}

    def _version(self, method: str, subject: str, text: str, rest: list[str], flags: set[str]) -> Any:
        if method == "DELETE" and not rest:
            return self._delete_version(subject, text, permanent="permanent" in flags)
        one = self._numbered(subject, text, deleted="deleted" in flags)
        if rest == ["referencedby"]:
            return self._referring(subject, one.number)
        if rest == ["schema"]:
            return json.loads(one.body["schema"])
        if rest:
            raise self._no_such_path()
        return self._whole(subject, one, flags)

    def _delete_subject(self, subject: str, *, permanent: bool) -> list[int]:
        versions = self.subjects.get(subject) or []
        if not versions:
            raise _no_subject(subject)
        live = [one for one in versions if not one.deleted]
        if permanent and live:
            text = f"Subject '{subject}' was not deleted first before being permanently deleted"
            raise RefusedError(404, 40405, text)
        if not permanent and not live:
            text = f"Subject '{subject}' was soft deleted.Set permanent=true to delete permanently"
            raise RefusedError(404, 40404, text)
        for one in live:
            self._refuse_referenced(subject, one.number)
        if not permanent:
            for one in live:
                one.deleted = True
            self.levels.pop(subject, None)
            return [one.number for one in live]
        del self.subjects[subject]
        self._forget(versions)
        return [one.number for one in versions]

    def _delete_version(self, subject: str, text: str, *, permanent: bool) -> int:
        one = self._numbered(subject, text, deleted=True)
        where = f"Subject '{subject}' Version {one.number}"
        if permanent and not one.deleted:
            text = f"{where} was not deleted first before being permanently deleted"
            raise RefusedError(404, 40407, text)
        if not permanent and one.deleted:
            text = f"{where} was soft deleted. Set permanent=true to delete permanently"
            raise RefusedError(404, 40406, text)
        if not permanent:
            self._refuse_referenced(subject, one.number)
            one.deleted = True
            return one.number
        self.subjects[subject].remove(one)
        self._forget([one])
        return one.number

    def _compatible(self, subject: str, version: list[str], body: dict[str, Any], flags: set[str]) -> Any:
        if not version and not self._is_confluent:
            raise self._no_such_path()
        _check(body, self.like)
        known = [one for one in self.subjects.get(subject, ()) if not one.deleted]
        if not known and self._is_confluent and version in ([], ["latest"]):
            return {"is_compatible": True}
        if not known and not self._is_confluent:
            raise RefusedError(404, 40402, "Version -1 not found.")
        level = self._level(subject)
        if version and version != ["latest"]:
            known = [self._numbered(subject, version[0], deleted=False)]
        elif not level.endswith("_TRANSITIVE"):
            known = known[-1:]
        misfits = self._misfits(body, known, level)
        told = {"messages": misfits} if misfits and ("verbose" in flags or not self._is_confluent) else {}
        return {"is_compatible": not misfits, **told}

    def _setting(self, method: str, what: str, subject: str, body: Any, flags: set[str]) -> Any:
        found, read, written = self.levels, "compatibilityLevel", "compatibility"
        allowed: tuple[str, ...] = (*LEVELS, "NONE")
        if what == "mode":
            found, read, written, allowed = self.modes, "mode", "mode", MODES
        if method == "OPTIONS" and self._is_confluent:
            return {}
        if method == "GET":
            if subject and subject not in found and "defaultToGlobal" not in flags:
                if what == "mode" and not self._is_confluent:
                    self._live(subject, deleted=True)
                    return {read: found[""]}
                told = "compatibility" if what == "config" else "mode"
                text = f"Subject '{subject}' does not have subject-level {told} configured"
                raise RefusedError(404, 40408 if what == "config" else 40409, text)
            return {read: found.get(subject, found[""])}
        if not self._is_confluent and (what == "mode" or (method == "DELETE" and not subject)):
            raise RefusedError(405, 405, "Method Not Allowed", "Method Not Allowed")
        if method == "DELETE":
            if self._is_confluent and subject and subject not in found:
                raise _no_subject(subject)
            found.pop(subject, None)
            found.setdefault("", "BACKWARD" if what == "config" else "READWRITE")
            return {written: found[""]}
        value = str((body or {}).get(written)).upper()
        if value not in allowed:
            code = 42203 if what == "config" else 42204
            text = "Invalid compatibility level" if what == "config" else "Invalid mode"
            raise RefusedError(422, code, text)
        if value == "IMPORT" and "force" not in flags:
            there = [name for name in self._names({}, set()) if subject in ("", name)]
            if there:
                raise RefusedError(422, 42205, "Cannot import since found existing subjects")
        found[subject] = value
        return {written: value}

    # inside

    @property
    def _is_confluent(self) -> bool:
        return self.like == "confluent"

    def _no_such_path(self) -> RefusedError:
        text = "HTTP 404 Not Found"
        return RefusedError(404, 404, text, None if self._is_confluent else "Not Found")

    def _context(self, subject: str) -> str:
        found = re.match(r":\.[^:]*:", subject)
        return found[0] if found and self._is_confluent else ""

    def _level(self, subject: str) -> str:
        return self.levels.get(subject, self.levels[""])

    def _live(self, subject: str, *, deleted: bool) -> list[Version]:
        found = [one for one in self.subjects.get(subject, ()) if deleted or not one.deleted]
        if not found:
            raise _no_subject(subject)
        return found

    def _numbered(self, subject: str, text: str, *, deleted: bool) -> Version:
        found = self._live(subject, deleted=deleted)
        if text in ("latest", "-1"):
            return found[-1]
        if not text.isdecimal() or not int(text):
            allowed = 'Allowed values are between [1, 2^31-1] and the string "latest"'
            raise RefusedError(
                422, 42202, f"The specified version '{text}' is not a valid version id. {allowed}"
            )
        for one in found:
            if one.number == int(text):
                return one
        raise RefusedError(404, 40402, f"Version {text} not found.")

    def _whole(self, subject: str, one: Version, flags: set[str]) -> dict[str, Any]:
        return {
            "subject": subject,
            "version": one.number,
            "id": one.stored.id,
            **self._schema(one.stored, flags),
        }

    def _schema(self, stored: Stored, flags: set[str]) -> dict[str, Any]:
        if not self._is_confluent:
            return dict(stored.body)
        body = {**stored.body, "guid": stored.guid}
        if "serialized" in flags and body.get("schemaType") == "PROTOBUF":
            references = {ref["name"]: self._referred(ref)["schema"] for ref in self._all_references(body)}
            body["schema"] = _serialized(body["schema"], references)
        return body

    def _referred(self, ref: dict[str, Any]) -> dict[str, Any]:
        return next(one.body for one in self.subjects[ref["subject"]] if one.number == ref["version"])

    def _all_references(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        found = []
        for ref in body.get("references", ()):
            found += [*self._all_references(self._referred(ref)), ref]
        return found

    def _check_references(self, body: dict[str, Any]) -> None:
        for ref in body.get("references", ()):
            if not any(one.number == ref["version"] for one in self.subjects.get(ref["subject"], ())):
                text = f"Invalid schema: no version {ref['version']} of {ref['subject']}"
                raise RefusedError(422, 42201, text)

    def _referring(self, subject: str, version: int) -> list[int]:
        """Karapace also names schemas of which only deleted versions are left."""
        return [
            one.stored.id
            for versions in self.subjects.values()
            for one in versions
            if not (one.deleted and self._is_confluent)
            and any(
                (ref["subject"], ref["version"]) == (subject, version)
                for ref in one.body.get("references", ())
            )
        ]

    def _refuse_referenced(self, subject: str, version: int) -> None:
        if self._referring(subject, version):
            key = f"{{magic=1,keytype=SCHEMA,subject={subject},version={version}}}"
            raise RefusedError(422, 42206, f"One or more references exist to the schema {key}.")

    def _forget(self, versions: list[Version]) -> None:
        """Confluent's registry forgets the ids of which no version is left."""
        kept = {id(one.stored) for left in self.subjects.values() for one in left}
        for one in versions:
            if self._is_confluent and id(one.stored) not in kept:
                self.schemas = {key: s for key, s in self.schemas.items() if s is not one.stored}

    def _misfits(self, body: dict[str, Any], known: list[Version], level: str) -> list[str]:
        found = []
        for one in known:
            if level.startswith(("BACKWARD", "FULL")):
                found += _misfits(body, one.body, self.like)
            if level.startswith(("FORWARD", "FULL")):
                found += _misfits(one.body, body, self.like)
        return list(dict.fromkeys(found))


def _no_subject(subject: str) -> RefusedError:
    return RefusedError(404, 40401, f"Subject '{subject}' not found.")


def _plain(body: Any, like: str) -> dict[str, Any]:
    if not isinstance(body, dict) or "schema" not in body:
        raise RefusedError(422, 42201 if like == "confluent" else 422, "Invalid schema: Field required")
    contract = ("metadata", "ruleSet") if like == "confluent" else ()
    kept = {key: body[key] for key in ("schema", "schemaType", "references", *contract) if body.get(key)}
    kind = kept.get("schemaType", "AVRO")
    if kind not in ("AVRO", "JSON", "PROTOBUF"):
        raise RefusedError(422, 42201 if like == "confluent" else 422, f"Invalid schema type {kind}")
    if kind == "AVRO":
        kept.pop("schemaType", None)
    if kept.get("references"):
        kept["references"] = [
            {k: ref[k] for k in ("name", "subject", "version")} for ref in kept["references"]
        ]
    if like == "karapace" and kind != "PROTOBUF":
        with contextlib.suppress(ValueError):  # it is refused where it is checked
            kept["schema"] = json.dumps(json.loads(kept["schema"]), sort_keys=True, separators=(",", ":"))
    return kept


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return _canonical(one) == _canonical(other)


def _canonical(body: dict[str, Any]) -> Any:
    text: Any = body["schema"]
    try:
        text = json.loads(text)
    except ValueError:
        text = " ".join(text.split())
    return (
        text,
        *(body.get("schemaType", "AVRO"), body.get("references"), body.get("metadata"), body.get("ruleSet")),
    )


def _check(body: dict[str, Any], like: str) -> None:
    kind, text, why = body.get("schemaType", "AVRO"), body["schema"], ""
    if kind == "PROTOBUF":
        if text.count("{") != text.count("}"):
            why = "a brace is missing"
    else:
        try:
            schema = json.loads(text)
            if kind == "AVRO":
                _check_avro(schema, [ref["name"] for ref in body.get("references", ())])
        except ValueError as error:
            why = str(error)
    if why:
        told = f"Invalid schema: {why}" if like == "confluent" else f"Invalid {kind} schema. Error: {why}"
        raise RefusedError(422, 42201, told)


def _check_avro(schema: Any, names: list[str]) -> None:
    """ValueError for a type that is not defined. Whatever has a name defines it for what comes behind."""
    if isinstance(schema, list):
        for one in schema:
            _check_avro(one, names)
    elif isinstance(schema, dict):
        kind = schema.get("type")
        if kind in ("record", "error", "enum", "fixed"):
            space = f"{schema['namespace']}." if "namespace" in schema else ""
            names += [schema["name"], space + schema["name"]]
            for inner in schema.get("fields", ()):
                _check_avro(inner["type"], names)
        elif kind in ("array", "map"):
            _check_avro(schema["items" if kind == "array" else "values"], names)
        else:
            _check_avro(kind, names)
    elif schema not in _PRIMITIVES and str(schema).rpartition(".")[2] not in {
        n.rpartition(".")[2] for n in names
    }:
        raise ValueError(f"Undefined type: {schema}")


def _misfits(reader: dict[str, Any], writer: dict[str, Any], like: str) -> list[str]:
    """Why data of the schema ``writer`` cannot be read with the schema ``reader``."""
    kind, other = reader.get("schemaType", "AVRO"), writer.get("schemaType", "AVRO")
    if kind != other:
        return [f"Comparing different schema types: SchemaType.{other} with SchemaType.{kind}"]
    if kind == "PROTOBUF":
        fields = re.compile(r"(\w+)\s+\w+\s*=\s*(\d+)\s*;")
        before = {number: name for name, number in fields.findall(writer["schema"])}
        changed = [
            number for name, number in fields.findall(reader["schema"]) if before.get(number, name) != name
        ]
        return ["Incompatible modification Modification.FIELD_KIND_ALTER found"] if changed else []
    new, old = json.loads(reader["schema"]), json.loads(writer["schema"])
    if kind == "JSON":
        return [
            f"type Instance.{str(new['properties'][name].get('type')).upper()} is not compatible with type "
            f"Instance.{str(inner.get('type')).upper()}"
            for name, inner in old.get("properties", {}).items()
            if name in new.get("properties", {}) and new["properties"][name].get("type") != inner.get("type")
        ]
    return list(_avro_misfits(new, old, "", like))


def _avro_misfits(new: Any, old: Any, path: str, like: str) -> Iterator[str]:
    if isinstance(old, list):
        for one in old:
            yield from _avro_misfits(new, one, path, like)
        return
    if isinstance(new, list):
        if all(list(_avro_misfits(one, old, path, like)) for one in new):
            yield f"{path}: reader union lacking writer type"
        return
    new, old = ({"type": one} if isinstance(one, str) else one for one in (new, old))
    if new["type"] != old["type"] and old["type"] not in _PROMOTED.get(str(new["type"]), ()):
        yield f"{path}: reader type: {new['type']} not compatible with writer type: {old['type']}"
    elif new["type"] == "record":
        before = {inner["name"]: inner for inner in old["fields"]}
        for at, inner in enumerate(new["fields"]):
            name = inner["name"]
            if name in before:
                yield from _avro_misfits(inner["type"], before[name]["type"], f"{path}/{name}", like)
            elif "default" not in inner and like == "confluent":
                yield (
                    "{errorType:'READER_FIELD_MISSING_DEFAULT_VALUE', description:'The field "
                    f"'{name}' at path '/fields/{at}' in the new schema has no default value and is missing in the "
                    "old schema'}"
                )
            elif "default" not in inner:
                yield name


def _serialized(text: str, references: dict[str, str]) -> str:
    try:
        descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except ValueError:
        return base64.b64encode(from_registry(text, references).file.serialized_pb).decode()
    return text
