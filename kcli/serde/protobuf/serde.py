"""The serde ``protobuf``: values in Protobuf's own JSON mapping, so 64-bit integers are strings, bytes base64.

Fields without presence, where absent equals zero, are always shown: a 0 is a 0.
"""

from __future__ import annotations

import base64
import functools
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from kcli.core.extras import library
from kcli.serde.json_text import check_depth
from kcli.serde.numbers import NOT_FINITE, integer_of
from kcli.serde.protobuf.descriptors import ProtoFile, from_path, from_registry, path_of
from kcli.serde.registry.client import Schema
from kcli.serde.schema_serde import SchemaSerde, read_schema_file, unusable_file
from kcli.serde.serde import JsonValue

_LARGEST = 10**40
"""Beyond it numbers are left to floats: 1e999999999 would be an integer of as many digits."""


class ProtobufCodec:
    """The messages of one schema; ``message`` is the named message to write, by default the first."""

    def __init__(self, schema: ProtoFile, message: str, *, proto_names: bool, always: bool) -> None:
        self._json = library("google.protobuf.json_format", extra="protobuf", wanted_by="the serde protobuf")
        self._factory = library(
            "google.protobuf.message_factory", extra="protobuf", wanted_by="the serde protobuf"
        )
        self.schema = schema
        self.proto_names = proto_names
        self._always = bool(message) and always
        self.written = schema.message_called(message) if message else schema.message_at((0,))
        self._classes: dict[tuple[int, ...], Any] = {}
        self.name: str = self.written.full_name
        self.path: tuple[int, ...] | None = path_of(self.written)

    def decode(self, payload: bytes, path: tuple[int, ...]) -> JsonValue:
        """The value; raises ValueError."""
        kind = self._class_of(path)
        try:
            message = kind.FromString(payload)
            value = self._shown(message, proto_names=self.proto_names)
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
            self._json.ParseDict(_convertible(value), message, descriptor_pool=self.schema.pool)
            written = self._shown(message, proto_names=False)
            data = bytes(message.SerializeToString())
        except Exception as error:
            raise ValueError(f"{self.name}: {error}") from error
        if wrong := _not_base64(value, self.written, self.schema.pool):
            raise ValueError(self.name + wrong)
        if changed := _changed(value, written, self._json_names):
            raise ValueError(self.name + changed)
        return data

    @functools.cached_property
    def _json_names(self) -> Mapping[str, str]:
        """The JSON names of fields by their other names, which JSON may use as well."""
        found: dict[str, str] = {}
        seen, waiting = set(), [self.written]
        while waiting:
            message = waiting.pop()
            if message is not None and message.full_name not in seen:
                seen.add(message.full_name)
                found |= {field.name: field.json_name for field in message.fields}
                waiting += [field.message_type for field in message.fields]
        return found

    def _shown(self, message: Any, *, proto_names: bool) -> JsonValue:
        return self._json.MessageToDict(
            message,
            preserving_proto_field_name=proto_names,
            always_print_fields_with_no_presence=True,
            descriptor_pool=self.schema.pool,
        )

    def _class_of(self, path: tuple[int, ...]) -> Any:
        wanted = () if self._always else path
        found = self._classes.get(wanted)
        if found is None:
            message = self.schema.message_at(wanted) if wanted else self.written
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


def _convertible(value: JsonValue) -> JsonValue:
    """The same value with the numbers that ParseDict knows; what that changes is found by ``_changed``."""
    if isinstance(value, float | Decimal):
        number = integer_of(value) if -_LARGEST < value < _LARGEST else None
        return number or float(value)  # -0.0 is a double too
    if isinstance(value, dict):
        return {name: _convertible(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_convertible(inner) for inner in value]
    return value


def _changed(given: JsonValue, written: JsonValue, names: Mapping[str, str]) -> str:
    """The first number that would be read as another one, with its path; empty if none would.

    Doubles and floats, also those inside of a Struct, keep fewer digits than JSON, and ParseDict rounds without a word.
    """
    if isinstance(given, dict) and isinstance(written, dict):
        steps = [
            (f".{name}", inner, written.get(name if name in written else names.get(name)))
            for name, inner in given.items()
        ]
    elif isinstance(given, list) and isinstance(written, list):
        steps = [(f"[{at}]", *pair) for at, pair in enumerate(zip(given, written, strict=False))]
    else:
        before, after = _number(given), _number(written)
        if before is None or before == after or (before == before.to_integral_value() and _is_name(written)):
            return ""
        return f": {given} would be read as {written}"
    for step, one, other in steps:
        if found := _changed(one, other, names):
            return step + found
    return ""


def _not_base64(given: JsonValue, message: Any, pool: Any) -> str:
    """The first value of a field of bytes that is not base64, with its path; empty if there is none.

    ParseDict leaves out what it does not know, and stores the rest. It takes both alphabets, with or without padding.
    """
    if message.full_name == "google.protobuf.BytesValue":
        return "" if _is_base64(given) else f": {given!r} is not base64"
    if not isinstance(given, dict):
        return ""
    if message.full_name == "google.protobuf.Any":
        message = pool.FindMessageTypeByName(str(given.get("@type", "")).rpartition("/")[2])
        if message.full_name.startswith("google.protobuf."):
            return _not_base64(given.get("value"), message, pool)
    fields = {name: field for field in message.fields for name in (field.name, field.json_name)}
    for name, inner in given.items():
        field, values = fields.get(name), [(f".{name}", inner)]
        if field is None:
            continue
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            field = field.message_type.fields_by_name["value"]
            values = [(f".{name}.{key}", one) for key, one in inner.items()] if inner else []
        elif isinstance(inner, list):
            values = [(f".{name}[{at}]", one) for at, one in enumerate(inner)]
        for step, one in values:
            if field.type == field.TYPE_BYTES and not _is_base64(one):
                return f"{step}: {one!r} is not base64"
            if field.message_type is not None and (found := _not_base64(one, field.message_type, pool)):
                return step + found
    return ""


def _is_base64(given: JsonValue) -> bool:
    """Whether a text is read whole: of ``QR==`` the last bits would be left out. What is no text is refused elsewhere."""
    if not isinstance(given, str):
        return True
    text = given.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        return False
    return base64.b64encode(data).decode().rstrip("=") == text


def _is_name(written: JsonValue) -> bool:
    """Whether it may be that of a value of an enum, which was given as its number."""
    return isinstance(written, str) and written not in NOT_FINITE and _number(written) is None


def _number(value: JsonValue) -> Decimal | None:
    """The finite number that a value is, or that a string contains: those of 64 bits are strings."""
    if value is None or isinstance(value, bool | dict | list):
        return None
    try:
        number = Decimal(value if isinstance(value, int | Decimal) else str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _check_single(linked: ProtoFile) -> None:
    names = [message.full_name for message in linked.file.message_types_by_name.values()]
    if len(names) > 1:
        raise ValueError(f"it has several messages; say which with message=NAME: {', '.join(names)}")
