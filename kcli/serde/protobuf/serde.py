"""The serde ``protobuf``: values in Protobuf's own JSON mapping, so 64-bit integers are strings, bytes base64.

Fields without presence, where absent equals zero, are always shown: a 0 is a 0.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from kcli.core.extras import library
from kcli.serde.json_text import check_depth
from kcli.serde.protobuf.descriptors import ProtoFile, from_path, from_registry, path_of
from kcli.serde.registry.client import Schema
from kcli.serde.schema_serde import SchemaSerde, read_schema_file, unusable_file
from kcli.serde.serde import JsonValue


class ProtobufCodec:
    """The messages of one schema; ``message`` is the named message to write, by default the first."""

    def __init__(self, schema: ProtoFile, message: str, *, proto_names: bool, always: bool) -> None:
        self._json = library("google.protobuf.json_format", extra="protobuf", wanted_by="the serde protobuf")
        self._factory = library(
            "google.protobuf.message_factory", extra="protobuf", wanted_by="the serde protobuf"
        )
        self._schema = schema
        self._proto_names = proto_names
        self._always = bool(message) and always
        self._written = schema.message_called(message) if message else schema.message_at((0,))
        self._classes: dict[tuple[int, ...], Any] = {}
        self.name: str = self._written.full_name
        self.path: tuple[int, ...] | None = path_of(self._written)

    def decode(self, payload: bytes, path: tuple[int, ...]) -> JsonValue:
        """The value; raises ValueError."""
        kind = self._class_of(path)
        try:
            message = kind.FromString(payload)
            value = self._json.MessageToDict(
                message,
                preserving_proto_field_name=self._proto_names,
                always_print_fields_with_no_presence=True,
                descriptor_pool=self._schema.pool,
            )
        except Exception as error:
            # an Any of an unknown type, a Timestamp out of range, bytes that are not a message
            raise ValueError(f"{kind.DESCRIPTOR.full_name}: {error}") from error
        check_depth(value)
        return value

    def encode(self, value: JsonValue) -> bytes:
        """The message; ValueError says which field does not match."""
        message = self._class_of(())()
        if not isinstance(value, dict) and not self.name.startswith("google.protobuf."):
            raise ValueError(
                f"{self.name}: it is no object"
            )  # ParseDict takes an empty array for an empty message
        try:
            self._json.ParseDict(value, message, descriptor_pool=self._schema.pool)
            return bytes(message.SerializeToString())
        except Exception as error:
            raise ValueError(f"{self.name}: {error}") from error

    def _class_of(self, path: tuple[int, ...]) -> Any:
        wanted = () if self._always else path
        found = self._classes.get(wanted)
        if found is None:
            message = self._schema.message_at(wanted) if wanted else self._written
            found = self._classes[wanted] = self._factory.GetMessageClass(message)
        return found


class ProtobufSerde(SchemaSerde):
    """Protobuf in Confluent's framing, or bare with ``framing=none`` or ``file=``."""

    kind = "PROTOBUF"
    serialized = True

    def compile(self, schema: Schema, references: list[tuple[str, Schema]]) -> ProtobufCodec:
        linked = from_registry(schema.text, {name: inner.text for name, inner in references})
        return self._codec(linked, always=False)

    def compile_file(self, path: Path) -> ProtobufCodec:
        folders = [Path(folder) for folder in self._arguments.get("import", "").split(":") if folder]
        try:
            linked = from_path(path, folders)
            if not self._arguments.get("message"):
                _check_single(linked)
            return self._codec(linked, always=True)
        except OSError as error:
            raise unusable_file(path, error.strerror or str(error)) from None
        except ValueError as error:
            raise unusable_file(path, str(error)) from None

    def schema_of_file(self, path: Path) -> Schema:
        if path.suffix == ".proto":
            return Schema(-1, self.kind, read_schema_file(path))
        linked = from_path(path, [])
        return Schema(-1, self.kind, base64.b64encode(linked.file.serialized_pb).decode())

    def _codec(self, linked: ProtoFile, *, always: bool) -> ProtobufCodec:
        """``message=`` selects the message to write; when reading, the record selects it, unless the schema is from a
        file.
        """
        names = self._arguments.get("names") == "proto"
        return ProtobufCodec(linked, self._arguments.get("message", ""), proto_names=names, always=always)


def _check_single(linked: ProtoFile) -> None:
    names = [message.full_name for message in linked.file.message_types_by_name.values()]
    if len(names) > 1:
        raise ValueError(f"it has several messages; say which with message=NAME: {', '.join(names)}")
