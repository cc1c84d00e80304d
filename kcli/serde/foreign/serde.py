"""The serdes ``glue`` and ``apicurio``: the schema that a record names says whether it is Avro, Protobuf or JSON."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from kcli.serde.errors import DecodeError, EncodeError, SchemaNotFoundError
from kcli.serde.foreign.wire import Located
from kcli.serde.json_text import compact_json, dump_json, parse_json
from kcli.serde.lru import Lru
from kcli.serde.missing import MissingSchemas
from kcli.serde.names import SerdeSpec
from kcli.serde.registry.client import Schema
from kcli.serde.schema_serde import SchemaSerde
from kcli.serde.serde import JsonValue, Serde, SerdeContext

if TYPE_CHECKING:
    from kcli.serde.protobuf.descriptors import ProtoFile

T = TypeVar("T")
_CODECS = 1_000
_OF_KIND = {"AVRO": "avro", "PROTOBUF": "protobuf", "JSON": "jsonschema"}
_OF_INNER = {"avro": "json", "protobuf": "names"}
"""The argument of ``-s`` that says how values of a format are shown."""
Fetched = tuple[Schema, list[tuple[str, Schema]]]
"""A schema with all that it refers to."""


class SchemaSource(ABC):
    """A registry of another kind than Confluent's."""

    title: str

    @abstractmethod
    def split(self, data: bytes, context: SerdeContext) -> Located:
        """The parts of a record; DecodeError."""

    @abstractmethod
    def fetch(self, located: Located) -> Fetched:
        """The schema that a record names; SchemaNotFoundError, or another error of the registry."""

    @abstractmethod
    def message(self, located: Located, file: ProtoFile) -> tuple[bytes, tuple[int, ...]]:
        """The message's bytes, and its path in the schema; ValueError."""

    @abstractmethod
    def close(self) -> None:
        """Closes its client."""


class ForeignSerde(Serde):
    """Reads what the serializers of another registry wrote. ``opener`` makes the serde of a format."""

    can_encode = False
    names_schemas = True

    def __init__(
        self,
        spec: SerdeSpec,
        source: SchemaSource,
        opener: Callable[[SerdeSpec], SchemaSerde],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = spec.name
        self._arguments = spec.arguments
        self._source = source
        self._opener = opener
        self._inner: dict[str, SchemaSerde] = {}
        self._codecs: Lru[Hashable, tuple[str, Any] | str] = Lru(_CODECS)
        self._missing = MissingSchemas(_CODECS, now)

    def close(self) -> None:
        """Closes the client of the registry."""
        self._source.close()

    def schema_id(self, data: bytes, context: SerdeContext) -> int | UUID | None:
        try:
            return self._source.split(data, context).schema_id
        except DecodeError as error:
            return error.schema_id

    def decode(self, data: bytes, context: SerdeContext) -> JsonValue:
        return self._read(data, context, parse_json, lambda value: value)

    def decode_json(self, data: bytes, context: SerdeContext) -> str:
        return self._read(data, context, compact_json, dump_json)

    def encode(self, value: JsonValue, context: SerdeContext) -> bytes:  # noqa: ARG002 - it refuses all
        raise EncodeError(f"the {context.part} cannot be written", why=f"{self.name} is only read")

    def _read(
        self,
        data: bytes,
        context: SerdeContext,
        of_json: Callable[[bytes], T],
        of_value: Callable[[JsonValue], T],
    ) -> T:
        """The value, made of the text for a payload that is JSON, and else of the decoded value."""
        located = self._source.split(data, context)
        kind, codec = self._opened(located, context)
        try:
            if kind == "JSON" or located.is_json:
                return of_json(located.payload)
            path: tuple[int, ...] = ()
            payload = located.payload
            if kind == "PROTOBUF":
                payload, path = self._source.message(located, codec.schema)
            return of_value(codec.decode(payload, path))
        except ValueError as error:
            what = f"the {context.part} does not fit schema {located.schema_id} of {self._source.title}"
            raise DecodeError(what, why=str(error), schema_id=located.schema_id) from None

    def _opened(self, located: Located, context: SerdeContext) -> tuple[str, Any]:
        """The kind of the schema, and its codec."""
        key = located.space, located.schema_id
        found = self._codecs.get(key)
        if found is None:
            found = self._compiled(located, key, context)
            self._codecs.put(key, found)
        if isinstance(found, str):
            what = f"the {context.part} has schema {located.schema_id}, which cannot be used"
            raise DecodeError(what, why=found, schema_id=located.schema_id)
        return found

    def _compiled(self, located: Located, key: Hashable, context: SerdeContext) -> tuple[str, Any] | str:
        """The kind and the codec, or why there is none."""
        try:
            self._missing.refuse(key)
            schema, references = self._source.fetch(located)
        except SchemaNotFoundError as error:
            self._missing.note(key, error)
            raise DecodeError(
                f"the {context.part} has schema {located.schema_id}, which {self._source.title} does not have",
                why=error.why,
                do="is it the registry of this cluster?",
                schema_id=located.schema_id,
            ) from None
        name = _OF_KIND.get(schema.kind)
        if name is None:
            return f"it is of the kind {schema.kind}, which kcli does not decode"
        try:
            return schema.kind, self._serde(name).compile(schema, references)
        except ValueError as error:
            return str(error)

    def _serde(self, name: str) -> SchemaSerde:
        if name not in self._inner:
            shown = _OF_INNER.get(name, "")
            own = {shown: self._arguments[shown]} if shown in self._arguments else {}
            self._inner[name] = self._opener(SerdeSpec(name, {"framing": "none", **own}))
        return self._inner[name]
