"""The common part of avro, protobuf and jsonschema: finding the schema of a record, and errors where it does not match.

Reading: the schema that the record names, unless ``framing=none``. Writing: one schema per topic and part, looked up
once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from kcli.core.classes import dataclass
from kcli.core.errors import ConfigError, KcliError
from kcli.serde.errors import DecodeError, EncodeError, SchemaNotFoundError
from kcli.serde.framing import Framed, SchemaId, frame, schema_id_of, unframe
from kcli.serde.lru import Lru
from kcli.serde.names import SerdeSpec
from kcli.serde.registry.client import Registry, Schema, rules_of
from kcli.serde.serde import JsonValue, Serde, SerdeContext

_CODECS = 1_000
WOULD = "would"
"""For ``register`` instead of ``true``, in a dry run: nothing is registered, but a new schema is used all the same."""
_SERDE_OF = {"AVRO": "avro", "PROTOBUF": "protobuf", "JSON": "jsonschema"}


class Codec(Protocol):
    """A compiled schema. Both methods raise ValueError for data that does not match it."""

    name: str
    """The full name of the described type, for subjects."""
    path: tuple[int, ...] | None
    """The path of the message that ``encode`` writes; None for formats without one."""

    def decode(self, payload: bytes, path: tuple[int, ...]) -> JsonValue: ...

    def encode(self, value: JsonValue) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Target:
    """What is written for one topic and part; ``schema_id`` None: without framing. ``rules``: those that other producers
    apply to what they write.
    """

    codec: Codec
    schema_id: int | None
    name: str
    rules: tuple[str, ...] = ()


class SchemaSerde(Serde):
    """The base of the serdes whose bytes have a schema."""

    kind: str
    """The registry's schema type: AVRO, PROTOBUF, JSON."""
    serialized = False
    """Whether the compiled form is requested from the registry."""

    def __init__(self, spec: SerdeSpec, registry: Callable[[], Registry]) -> None:
        self.name = spec.name
        self._arguments: Mapping[str, str] = spec.arguments
        self._registry = registry
        file = self._arguments.get("file")
        register = self._arguments.get("register") == "true"
        self._framed = (
            self._arguments.get("framing", "confluent" if register or not file else "none") != "none"
        )
        self.names_schemas = self._framed
        self._file_codec = self.compile_file(Path(file)) if file else None
        self._codecs: Lru[SchemaId, Codec | str] = Lru(_CODECS)
        self._targets: dict[tuple[str, str], Target] = {}

    @abstractmethod
    def compile(self, schema: Schema, references: list[tuple[str, Schema]]) -> Codec:
        """The codec of a schema from the registry; ValueError when it cannot be used."""

    @abstractmethod
    def compile_file(self, path: Path) -> Codec:
        """The codec of a schema in a file; raises ConfigError."""

    @abstractmethod
    def schema_of_file(self, path: Path) -> Schema:
        """The same schema in the registry's form, for ``register`` and to look up its id."""

    def asks_registry(self, *, writing: bool) -> bool:  # noqa: ARG002 - one of the serdes reads without asking
        """Whether the registry is needed at all."""
        return self._framed or self._file_codec is None

    def decode(self, data: bytes, context: SerdeContext) -> JsonValue:
        framed, codec = self._opened(data, context)
        try:
            return codec.decode(framed.payload, framed.path)
        except ValueError as error:
            raise self._misfit(framed, context, error) from None

    def schema_id(self, data: bytes, context: SerdeContext) -> SchemaId | None:
        return schema_id_of(data, context.headers, context.part) if self._framed else None

    def encode(self, value: JsonValue, context: SerdeContext) -> bytes:
        target = self.prepare(context.topic, context.part)
        try:
            payload = target.codec.encode(value)
        except ValueError as error:
            raise EncodeError(f"the {context.part} does not fit {target.name}", why=str(error)) from None
        return payload if target.schema_id is None else frame(target.schema_id, payload, target.codec.path)

    def prepare(self, topic: str, part: str) -> Target:
        """Looks up the schema for writing ``part`` of ``topic``, once; errors of the registry are raised unchanged."""
        target = self._targets.get((topic, part))
        if target is None:
            target = self._targets[topic, part] = self._find_target(topic, part)
        return target

    def unapplied(self, topic: str, part: str) -> str:
        target = self.prepare(topic, part)
        if not target.rules:
            return ""
        return f"{target.name} has rules that kcli does not apply: {', '.join(target.rules)}"

    def versions(self, topic: str, part: str) -> list[Target]:
        """The schemas that records of ``part`` may have: all versions of the subject, the oldest first; one that is named
        by its version, its id or a file is the only one.
        """
        arguments = self._arguments
        named = self._file_codec is not None or "id" in arguments
        if named or arguments.get("version", "latest") != "latest":
            return [self.prepare(topic, part)]
        subject = self._subject(topic, part, arguments.get("record") or arguments.get("message") or "")
        self.prepare(topic, part)  # its error says what to do where there is no such subject
        return [
            self._target_of(self._of_subject(subject, str(number)), subject)
            for number in self._registry().versions(subject)
        ]

    def _opened(self, data: bytes, context: SerdeContext) -> tuple[Framed, Codec]:
        if not self._framed:
            return Framed(0, data), self.prepare(context.topic, context.part).codec
        framed = unframe(data, context, with_path=self.kind == "PROTOBUF")
        if self._file_codec is not None:
            return framed, self._file_codec
        return framed, self._codec_of(framed.schema_id, context)

    def _codec_of(self, schema_id: SchemaId, context: SerdeContext) -> Codec:
        codec = self._codecs.get(schema_id)
        if codec is None:
            codec = self._fetch(schema_id, context)
            self._codecs.put(schema_id, codec)
        if isinstance(codec, str):
            what = f"the {context.part} has schema {schema_id}, which cannot be used"
            raise DecodeError(what, why=codec, schema_id=schema_id)
        return codec

    def _fetch(self, schema_id: SchemaId, context: SerdeContext) -> Codec | str:
        """The codec, or why there is none."""
        try:
            schema = self._registry().by_id(schema_id, serialized=self.serialized)
        except SchemaNotFoundError as error:
            raise DecodeError(
                f"the {context.part} has schema {schema_id}, which the registry does not have",
                why=error.why,
                do="is it the registry of this cluster?",
                schema_id=schema_id,
            ) from None
        if schema.kind != self.kind:
            return self._wrong_kind(schema)
        try:
            return self.compile(schema, self._registry().references(schema, serialized=self.serialized))
        except (ValueError, SchemaNotFoundError) as error:
            return str(error)

    def _wrong_kind(self, schema: Schema) -> str:
        other = _SERDE_OF.get(schema.kind)
        hint = f": use -s {other}" if other else ""
        return f"it is of the kind {schema.kind}, not {self.kind}{hint}"

    def _misfit(self, framed: Framed, context: SerdeContext, error: ValueError) -> DecodeError:
        if self._file_codec is not None:
            return DecodeError(f"the {context.part} does not fit {self._arguments['file']}", why=str(error))
        schema_id = framed.schema_id
        subject = (
            self._registry().subject_of(schema_id) if self._framed else self._arguments.get("subject", "")
        )
        name = f"schema {schema_id}" if self._framed else "its schema"
        what = f"the {context.part} does not fit {name}" + (f" ({subject})" if subject else "")
        return DecodeError(what, why=str(error), schema_id=schema_id if self._framed else None)

    def _find_target(self, topic: str, part: str) -> Target:
        if self._file_codec is not None:
            return self._target_of_file(self._file_codec, topic, part)
        arguments = self._arguments
        if "id" in arguments:
            return self._target_of(
                self._registry().by_id(int(arguments["id"]), serialized=self.serialized), ""
            )
        subject = self._subject(topic, part, arguments.get("record") or arguments.get("message") or "")
        return self._target_of(self._of_subject(subject, arguments.get("version", "latest")), subject)

    def _target_of(self, schema: Schema, subject: str) -> Target:
        name = f"schema {schema.id}" + (f" ({subject} version {schema.version})" if subject else "")
        return Target(self._usable(schema), schema.id if self._framed else None, name, rules_of(schema))

    def _of_subject(self, subject: str, version: str) -> Schema:
        registry = self._registry()
        try:
            if version == "latest":
                return registry.latest(subject, serialized=self.serialized)
            return registry.by_version(subject, int(version), serialized=self.serialized)
        except SchemaNotFoundError as error:
            error.do = (
                f"name another one (-s {self.name}:subject=NAME), or register one: "
                f"-s {self.name}:file=FILE,register=true"
            )
            raise

    def _usable(self, schema: Schema) -> Codec:
        why = self._wrong_kind(schema) if schema.kind != self.kind else ""
        if not why:
            try:
                return self.compile(schema, self._registry().references(schema, serialized=self.serialized))
            except ValueError as error:
                why = str(error)
        raise ConfigError(f"schema {schema.id} of the registry cannot be used", why=why, do="")

    def _target_of_file(self, codec: Codec, topic: str, part: str) -> Target:
        file = self._arguments["file"]
        if not self._framed:
            return Target(codec, None, file)
        subject, schema = self._subject(topic, part, codec.name), self.schema_of_file(Path(file))
        if self._arguments.get("register") == "true":
            schema_id = self._registry().register(subject, schema)
        else:
            try:
                schema_id = self._registry().look_up(subject, schema)
            except SchemaNotFoundError as error:
                if self._arguments.get("register") == WOULD:
                    self._targets[topic, part] = Target(codec, 0, f"{file} ({subject})")
                error.do = f"register it with -s {self.name}:file={file},register=true, or use framing=none"
                raise
        return Target(codec, schema_id, f"{file} (schema {schema_id}, {subject})")

    def _subject(self, topic: str, part: str, record: str) -> str:
        """The subject's name by the chosen strategy; by default Java's TopicNameStrategy."""
        if "subject" in self._arguments:
            return self._arguments["subject"]
        strategy = self._arguments.get("strategy", "topic")
        if strategy == "topic":
            return f"{topic}-{part}"
        if not record:
            argument = "message" if self.kind == "PROTOBUF" else "record"
            raise ConfigError(
                f"-s {self.name}: strategy={strategy} needs the name of the record",
                why="the subject is called by it",
                do=f"add {argument}=NAME, or use subject=NAME",
            )
        return record if strategy == "record" else f"{topic}-{record}"


def read_schema_file(path: Path) -> str:
    """The text of a schema file; raises ConfigError."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise unusable_file(path, error.strerror or str(error)) from None
    except UnicodeDecodeError:
        raise unusable_file(path, "it is not UTF-8") from None


def unusable_file(path: Path, why: str) -> KcliError:
    """ConfigError for a schema file."""
    return ConfigError(f"cannot use the schema in {path}", why=why, do="file=FILE names a schema")
