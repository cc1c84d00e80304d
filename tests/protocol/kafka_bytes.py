"""Values and bytes made from Kafka's own definitions alone, as a second opinion on the field tables. Not a test.

The bytes are those of Kafka's generated classes: compact types and tagged fields in flexible versions (KIP-482), a tagged
field only where it differs from its default, a struct that is null as -1 among plain fields and as 0 in a tagged one.
"""

import random
import struct
from typing import Any
from uuid import UUID

from tools.protocol.definitions import Definition, common_structs, within

_FORMATS = {
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
}
_WORDS = ("", "a", "orders", "ünïcödé", "€" * 43, "x" * 126, "x" * 127)
_COUNTS = (0, 1, 2, 127)


def made(definition: Definition, version: int, rng: random.Random) -> dict[str, Any]:
    """A value for each field that ``version`` has, by Kafka's name of the field."""
    return _struct(definition["fields"], definition, version, rng)


def encoded(definition: Definition, version: int, values: dict[str, Any]) -> bytes:
    """The bytes of ``values``, without the version in front."""
    flexible = within(version, definition.get("flexibleVersions", "none"))
    return _fields(definition["fields"], definition, version, values, flexible=flexible)


def _struct(fields: list[Definition], root: Definition, version: int, rng: random.Random) -> dict[str, Any]:
    present = [field for field in fields if within(version, field["versions"])]
    return {field["name"]: _made(field, root, version, rng) for field in present}


def _made(field: Definition, root: Definition, version: int, rng: random.Random) -> Any:
    if within(version, field.get("nullableVersions")) and rng.random() < 0.4:
        return None
    if within(version, field.get("taggedVersions")) and rng.random() < 0.3:
        return _default(field, root, version)
    if field["type"].startswith("[]"):
        element = {
            **field,
            "type": field["type"].removeprefix("[]"),
            "nullableVersions": None,
            "taggedVersions": None,
        }
        # Long arrays of numbers only: the others would be large.
        count = rng.choice(_COUNTS if element["type"] in _FORMATS else _COUNTS[:3])
        return [_made(element, root, version, rng) for _ in range(count)]
    match field["type"]:
        case "string":
            return rng.choice(_WORDS)
        case "bytes" | "records":
            return rng.randbytes(rng.choice((0, 1, 126, 127)))
        case "uuid":
            return UUID(bytes=rng.randbytes(16))
        case "bool":
            return rng.random() < 0.5
        case type_ if type_ in _FORMATS:
            size = struct.calcsize(_FORMATS[type_])
            extreme = rng.choice(
                (bytes(size), b"\xff" * size, b"\x7f" + b"\xff" * (size - 1), rng.randbytes(size))
            )
            return struct.unpack(">" + _FORMATS[type_], extreme)[0]
    return _struct(_parts(field, root), root, version, rng)


def _parts(field: Definition, root: Definition) -> list[Definition]:
    return field.get("fields") or common_structs(root)[field["type"].removeprefix("[]")]


def _default(field: Definition, root: Definition, version: int) -> Any:
    """A struct whose default is not ``"null"`` has that of its fields, even where it may be null."""
    said, type_ = field.get("default"), field["type"]
    if said == "null":
        return None
    if type_.startswith("[]"):
        return []
    if type_ == "float64":
        return float(said or 0)
    if type_ in _FORMATS:
        return int(str(said or 0), 0)
    if type_ in ("string", "bytes", "uuid", "bool"):
        return {"string": said or "", "bytes": b"", "uuid": UUID(int=0), "bool": said == "true"}[type_]
    parts = [part for part in _parts(field, root) if within(version, part["versions"])]
    return {part["name"]: _default(part, root, version) for part in parts}


def _fields(
    fields: list[Definition], root: Definition, version: int, values: dict[str, Any], *, flexible: bool
) -> bytes:
    present = [field for field in fields if within(version, field["versions"])]
    tagged = [field for field in present if flexible and within(version, field.get("taggedVersions"))]
    out = b"".join(
        _value(field, root, version, values[field["name"]], flexible=flexible)
        for field in present
        if field not in tagged
    )
    if not flexible:
        return out
    sections = [
        (field["tag"], _value(field, root, version, values[field["name"]], flexible=True, tagged=True))
        for field in sorted(tagged, key=lambda field: field["tag"])
        if values[field["name"]] != _default(field, root, version)
    ]
    return (
        out
        + _uvarint(len(sections))
        + b"".join(_uvarint(tag) + _uvarint(len(section)) + section for tag, section in sections)
    )


def _value(
    field: Definition, root: Definition, version: int, value: Any, *, flexible: bool, tagged: bool = False
) -> bytes:
    type_ = field["type"]
    if type_.startswith("[]"):
        head = _length(None if value is None else len(value), "i", flexible=flexible)
        element = {**field, "type": type_.removeprefix("[]"), "nullableVersions": None}
        return head + b"".join(
            _value(element, root, version, item, flexible=flexible) for item in value or ()
        )
    match type_:
        case "string":
            data = None if value is None else value.encode()
            return _length(None if data is None else len(data), "h", flexible=flexible) + (data or b"")
        case "bytes" | "records":
            return _length(None if value is None else len(value), "i", flexible=flexible) + (value or b"")
        case "uuid":
            return bytes(value.bytes)
        case "bool":
            return bytes([value])
        case _ if type_ in _FORMATS:
            return struct.pack(">" + _FORMATS[type_], value)
    if not within(version, field.get("nullableVersions")):
        return _fields(_parts(field, root), root, version, value, flexible=flexible)
    if value is None:
        return b"\0" if tagged else b"\xff"
    return b"\1" + _fields(_parts(field, root), root, version, value, flexible=flexible)


def _length(count: int | None, code: str, *, flexible: bool) -> bytes:
    if flexible:
        return _uvarint(0 if count is None else count + 1)
    return struct.pack(">" + code, -1 if count is None else count)


def _uvarint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
