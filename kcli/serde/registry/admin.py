"""The requests of ``kcli registry``: subjects and their versions, compatibility, configuration and mode.

Written for what Confluent's registry, Karapace, Redpanda and Apicurio's ccompat API have in common: versions are read one
by one, since lists of whole schemas are missing in some, and wrong in others. Nothing is cached.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

from kcli.core.classes import NamedTuple, dataclass
from kcli.core.errors import OutcomeUnknownError
from kcli.core.exit_codes import ExitCode
from kcli.core.net.http_address import HttpAddress
from kcli.serde.errors import RegistryAuthError, RegistryError, RegistryUnreachableError, SchemaNotFoundError
from kcli.serde.json_text import parse_json
from kcli.serde.registry.client import Schema, body_of, quoted, schema_of, unusable
from kcli.serde.registry.options import RegistryOptions
from kcli.serde.registry.transport import Transport

IMPORT = "IMPORT"
"""The mode in which schemas are registered with given ids and versions."""

NOT_SET = (40408, 40409)
"""The registry's codes where a subject has no compatibility or mode of its own."""

_ABSENT = (404, 405, 501)
_GONE = (40401, 40402, 40403, 40404, 40406)
"""Codes for what is deleted already, which a request that was repeated gets."""
_EXIT_CODES = {
    409: ExitCode.REFUSED,  # incompatible
    40405: ExitCode.REFUSED,  # not deleted softly
    40407: ExitCode.REFUSED,
    42201: ExitCode.USAGE,  # an invalid schema
    42202: ExitCode.USAGE,  # an invalid version
    42203: ExitCode.USAGE,  # an invalid level
    42204: ExitCode.USAGE,  # an invalid mode
    42205: ExitCode.REFUSED,  # not in this mode
    42206: ExitCode.REFUSED,  # other schemas refer to it
}
_NO_SUBJECT = "kcli-no-such-subject"
_REMEDIES = {
    409: "change the schema, or the compatibility of its subject",
    42201: "correct the schema, its type, or the schemas to which it refers",
    42205: "check the mode of the subject and of the registry",
    42206: "delete the schemas that refer to it first",
}


@dataclass(frozen=True, slots=True)
class Registered:
    """A version of a subject. ``deleted``: softly."""

    schema: Schema
    deleted: bool = False


class Compatibility(NamedTuple):
    """Whether a schema may be registered after those of a subject; ``messages`` are the reasons if not."""

    is_compatible: bool
    messages: tuple[str, ...] = ()


class Setting(NamedTuple):
    """A compatibility or a mode. ``own``: of the subject itself, else the one of all subjects."""

    value: str
    own: bool


class RegistryAdmin:
    """One registry, or several addresses of it. Not thread-safe."""

    def __init__(
        self,
        addresses: tuple[HttpAddress, ...],
        options: RegistryOptions,
        *,
        transport: Transport | None = None,
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """``waiting`` surrounds the first request."""
        self.address = str(addresses[0])
        """The first address: the name of this registry in plans, documents and journals."""
        self._transport = transport or Transport(addresses, options)
        self._waiting: Callable[[], AbstractContextManager[None]] = waiting

    def close(self) -> None:
        """Closes the connections."""
        self._transport.close()

    def __enter__(self) -> RegistryAdmin:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # reading

    def subjects(self, *, deleted: bool = False) -> list[str]:
        """The names of all subjects of all contexts; ``deleted``: those of which only deleted versions are left, too."""
        return _names(self._ask("GET", path := _with("/subjects", deleted=deleted)), path)

    def version_numbers(self, subject: str, *, deleted: bool = False) -> list[int]:
        """In their order; empty where the subject does not exist."""
        path = _with(f"/subjects/{quoted(subject)}/versions", deleted=deleted)
        try:
            found = self._ask("GET", path)
        except SchemaNotFoundError:
            return []
        return _numbers(found, path)

    def version(self, subject: str, version: int | str, *, deleted: bool = False) -> Schema:
        """A version, or the ``latest``; SchemaNotFoundError."""
        path = _with(f"/subjects/{quoted(subject)}/versions/{version}", deleted=deleted)
        found = _numbered(schema_of(self._ask("GET", path), path), path)
        if isinstance(version, int) and found.version != version:
            raise unusable(path, f"it is version {found.version}, not {version}")
        return found

    def versions(self, subject: str, *, deleted: bool = False) -> list[Registered]:
        """All versions with their schemas, in their order; empty where the subject does not exist."""
        live = self.version_numbers(subject)
        every = self.version_numbers(subject, deleted=True) if deleted else live
        found = []
        for number in every:
            gone = number not in live
            try:
                found.append(Registered(self.version(subject, number, deleted=gone), gone))
            except SchemaNotFoundError:
                if number in self.version_numbers(subject, deleted=gone):
                    raise  # it lists what it does not have
        return found

    def by_id(self, number: int, subject: str) -> Schema | None:
        """The schema of an id in the context of ``subject``; None without one."""
        path = f"/schemas/ids/{number}"
        try:
            return schema_of(self._ask("GET", f"{path}?subject={quoted(subject)}"), path)
        except SchemaNotFoundError:
            return None

    def look_up(self, subject: str, schema: Schema, *, deleted: bool = False) -> Schema | None:
        """The version of the subject that has this schema, as the registry compares them; None without one."""
        path = _with(f"/subjects/{quoted(subject)}", deleted=deleted)
        try:
            return _numbered(schema_of(self._ask("POST", path, body_of(schema)), path), path)
        except SchemaNotFoundError:
            return None

    def check(self, subject: str, schema: Schema) -> Compatibility:
        """Whether the registry accepts the schema after those of the subject; it is if the subject has none.

        Confluent's checks as many versions as the level asks for where none is named; others know only the latest, and
        check all of a transitive level with it.
        """
        start = f"/compatibility/subjects/{quoted(subject)}/versions"
        body = body_of(schema)
        try:
            answer = self._ask("POST", f"{start}?verbose=true", body)
        except SchemaNotFoundError:
            return Compatibility(True)
        except RegistryError as error:
            if error.status not in _ABSENT:
                raise
            try:
                answer = self._ask("POST", f"{start}/latest?verbose=true", body)
            except SchemaNotFoundError:
                return Compatibility(True)
        if not isinstance(answer, dict) or type(answer.get("is_compatible")) is not bool:
            raise unusable(start, "it does not say whether the schema is compatible")
        messages = answer.get("messages") or []
        return Compatibility(answer["is_compatible"], tuple(map(str, messages)))

    def referenced_by(self, subject: str, version: int) -> list[int]:
        """The ids of the schemas that refer to a version."""
        path = f"/subjects/{quoted(subject)}/versions/{version}/referencedby"
        try:
            return _numbers(self._ask("GET", path), path)
        except SchemaNotFoundError:  # softly deleted: registries refuse that of a schema that is referred to
            return []

    def versions_of(self, number: int, subject: str) -> list[tuple[str, int]]:
        """Subject and version of all that have this id, in the context of ``subject``: ids are those of a context."""
        context = (
            subject[: subject.index(":", 1) + 1] if subject.startswith(":.") and ":" in subject[1:] else ""
        )
        path = f"/schemas/ids/{number}/versions" + (f"?subject={quoted(context)}" if context else "")
        rows = self._ask("GET", path)
        try:
            return sorted((str(row["subject"]), int(row["version"])) for row in rows)
        except (TypeError, KeyError, ValueError):
            raise unusable(path, "it is no list of versions") from None

    def compatibility(self, subject: str) -> Setting:
        """The level of a subject; of all, if it has none, or where it is empty."""
        return self._setting("config", "compatibilityLevel", subject)

    def mode(self, subject: str) -> Setting:
        """Likewise the mode."""
        return self._setting("mode", "mode", subject)

    def _setting(self, what: str, key: str, subject: str) -> Setting:
        if subject:
            path = f"/{what}/{quoted(subject)}"
            try:
                return Setting(_text_of(self._ask("GET", path), key, path), own=True)
            except RegistryError as error:
                if error.code not in NOT_SET and not isinstance(error, SchemaNotFoundError):
                    raise
        path = f"/{what}"
        return Setting(_text_of(self._ask("GET", path), key, path), own=not subject)

    def has_modes(self) -> bool:
        """Whether modes can be set, such as IMPORT, by what only reads: such a registry says of a name that it has no
        mode of its own (Confluent's from 6.0 on, Redpanda), or at least which methods it accepts there.

        Where this client may not ask that, only the change itself can tell: they can be set, as far as is known.
        """
        path = f"/mode/{_NO_SUBJECT}"
        try:
            self._ask("GET", path)
        except RegistryAuthError:
            return True
        except RegistryError as error:
            return error.code in NOT_SET or (
                isinstance(error, SchemaNotFoundError) and self._accepts("PUT", path)
            )
        return False

    def _accepts(self, method: str, path: str) -> bool:
        try:
            answer = self._transport.answer("OPTIONS", path)
        except RegistryAuthError:
            return True
        except RegistryError:
            return False
        return method in answer.headers.get("allow", "").upper().replace(",", " ").split()

    # changing

    def register(self, subject: str, schema: Schema, *, keep: bool = False) -> int:
        """Registers a schema, and returns its id. ``keep``: with its own id and version, in the mode IMPORT."""
        path = f"/subjects/{quoted(subject)}/versions"
        own = {"id": schema.id, "version": schema.version} if keep else {}
        answer = self._change("POST", path, {**body_of(schema), **own})
        number = answer.get("id") if isinstance(answer, dict) else None
        if not isinstance(number, int):
            raise unusable(path, "there is no id in it")
        return number

    def delete_subject(self, subject: str, *, permanent: bool = False) -> None:
        """Deletes all versions of a subject; ``permanent``: those that are softly deleted already, for good."""
        self._delete(_with(f"/subjects/{quoted(subject)}", permanent=permanent))

    def delete_version(self, subject: str, version: int, *, permanent: bool = False) -> None:
        """Likewise one version."""
        path = f"/subjects/{quoted(subject)}/versions/{version}"
        self._delete(_with(path, permanent=permanent))

    def set_compatibility(self, subject: str, level: str | None) -> None:
        """Of a subject, or of all; None: it has none of its own any more."""
        self._set("config", subject, "compatibility", level)

    def set_mode(self, subject: str, mode: str | None, *, force: bool = False) -> None:
        """Likewise the mode. ``force``: IMPORT although there are schemas."""
        self._set("mode", subject, "mode", mode, force=force)

    def _set(self, what: str, subject: str, key: str, value: str | None, *, force: bool = False) -> None:
        path = f"/{what}/{quoted(subject)}" if subject else f"/{what}"
        if value is None:
            self._change("DELETE", path)
        else:
            self._change("PUT", _with(path, force=force), {key: value})

    def _delete(self, path: str) -> None:
        """What another request has deleted already is no error: it is read back."""
        try:
            self._change("DELETE", path)
        except RegistryError as error:
            if error.code not in _GONE:
                raise

    def _change(self, method: str, path: str, body: Any = None) -> Any:
        """OutcomeUnknownError where all tries failed: one of them may have done it."""
        try:
            return self._ask(method, path, body)
        except RegistryUnreachableError as error:
            raise OutcomeUnknownError(error.what, why=error.why, do=error.do) from None

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        waiting, self._waiting = self._waiting, nullcontext
        try:
            with waiting():
                return self._transport.ask(method, path, body)
        except RegistryError as error:
            error.exit_code = _EXIT_CODES.get(error.code, error.exit_code)
            error.do = error.do or _REMEDIES.get(error.code, "")
            raise


def same_schema(one: Schema, other: Schema) -> bool:
    """Whether both are the same, with the same references, metadata and rules: registries may write the text anew."""
    return (set(one.references), *_whole(one)) == (set(other.references), *_whole(other))


def alike(one: Schema, other: Schema) -> bool:
    """The same, whatever the versions to which they refer."""
    names = ({ref.name for ref in schema.references} for schema in (one, other))
    return (next(names), *_whole(one)) == (next(names), *_whole(other))


def _whole(schema: Schema) -> tuple[Any, ...]:
    return schema.kind, schema.contract, _content(schema)


def _content(schema: Schema) -> Any:
    if schema.kind != "PROTOBUF":
        with suppress(ValueError):
            return parse_json(schema.text)
    return "".join(schema.text.split())


def _with(path: str, **flags: bool) -> str:
    given = "&".join(f"{name}=true" for name, given in flags.items() if given)
    return f"{path}?{given}" if given else path


def _numbered(schema: Schema, path: str) -> Schema:
    """A version of a subject has a number and an id, by which it is deleted, exported and read back."""
    if schema.id < 0 or schema.version < 1:
        raise unusable(path, "there is no id in it" if schema.id < 0 else "there is no version in it")
    return schema


def _names(found: Any, path: str) -> list[str]:
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise unusable(path, "it is no list of names")
    return sorted(set(found))


def _numbers(found: Any, path: str) -> list[int]:
    if not isinstance(found, list) or not all(type(number) is int for number in found):
        raise unusable(path, "it is no list of numbers")
    return sorted(set(found))


def _text_of(found: Any, key: str, path: str) -> str:
    text = found.get(key) if isinstance(found, dict) else None
    if not isinstance(text, str):
        raise unusable(path, f"there is no {key} in it")
    return text
