"""How records name their schema: Confluent's five-byte prefix or a header, and the formats of other registries. Pure.

Confluent (documented as the wire format): magic 0 and a 4-byte id; for Protobuf followed by the path of the message.
Since 2025 a header may have magic 1 and a GUID instead (``__value_schema_id``, ``__key_schema_id``), or the record
magic 1.
"""

import struct
from collections.abc import Iterable
from uuid import UUID

from kcli.core.classes import dataclass
from kcli.core.types import Header
from kcli.serde.errors import DecodeError
from kcli.serde.foreign.wire import apicurio_long_id, glue_version
from kcli.serde.serde import SerdeContext

SchemaId = int | UUID

KEY_HEADER = "__key_schema_id"
VALUE_HEADER = "__value_schema_id"
_ID = struct.Struct(">I")
_MAX_PATH = 64  # of nested Protobuf messages: no compiler accepts that many


@dataclass(frozen=True, slots=True)
class Framed:
    """A record split into its parts. ``path`` leads to a Protobuf message: its index in the file, then in its parent."""

    schema_id: SchemaId
    payload: bytes
    path: tuple[int, ...] = ()


def schema_id_of(data: bytes | None, headers: Iterable[Header] = (), part: str = "value") -> SchemaId | None:
    """The id or GUID of the schema that a record names; None if it is not framed."""
    guid = _header_guid(headers, part)
    if guid is not None:
        return UUID(bytes=guid[1:17])
    if data is None or len(data) < 5 or _foreign(data):
        return None
    if data[0] == 0:
        return int(_ID.unpack_from(data, 1)[0])
    return UUID(bytes=data[1:17]) if data[0] == 1 and len(data) >= 17 else None


def unframe(data: bytes, context: SerdeContext, *, with_path: bool = False) -> Framed:
    """The schema id and the payload; DecodeError names the registry of a known foreign framing."""
    guid = _header_guid(context.headers, context.part)
    if guid is not None:
        path = _read_path(guid, 17, context)[0] if with_path else ()
        return Framed(UUID(bytes=guid[1:17]), data, path)
    foreign = _foreign(data)
    if foreign is not None:
        why, serde = foreign
        do = f"-s {context.part}={serde} decodes it"
        raise DecodeError(f"the {context.part} is framed for another registry", why=why, do=do)
    schema_id = schema_id_of(data)
    if schema_id is None:
        raise _unframed(data, context)
    start = 5 if isinstance(schema_id, int) else 17
    path, start = _read_path(data, start, context, schema_id) if with_path else ((), start)
    return Framed(schema_id, data[start:], path)


def frame(schema_id: int, payload: bytes, path: tuple[int, ...] | None = None) -> bytes:
    """Confluent's frame; ``path`` for Protobuf only."""
    head = b"\0" + _ID.pack(schema_id)
    return head + payload if path is None else head + _path_bytes(path) + payload


def _unframed(data: bytes, context: SerdeContext) -> DecodeError:
    if not data:
        why = "it is empty"
    elif data[0] in (0, 1):
        why = f"it has {len(data)} bytes: too few for the id of a schema"
    else:
        why = f"it begins with byte 0x{data[0]:02x}; a schema's id follows 0x00"
    do = "was it written without a registry? then name a schema: avro:file=FILE, protobuf:file=FILE, or use json or str"
    return DecodeError(f"the {context.part} does not name a schema", why=why, do=do)


def _foreign(data: bytes) -> tuple[str, str] | None:
    """The registry of the framing, if it is certainly not Confluent's, and the serde that reads it."""
    version = glue_version(data)
    if version is not None:
        packed = "compressed, " if data[1] else ""
        return f"AWS Glue Schema Registry ({packed}schema version {version})", "glue"
    number = apicurio_long_id(data)
    if number is not None:
        return f"Apicurio Registry with 8-byte ids (global id {number})", "apicurio"
    return None


def _header_guid(headers: Iterable[Header], part: str) -> bytes | None:
    """The last header of the part that has a GUID."""
    if not headers:
        return None
    wanted = KEY_HEADER if part == "key" else VALUE_HEADER
    found = None
    for name, value in headers:
        if name == wanted and value is not None and len(value) >= 17 and value[0] == 1:
            found = bytes(value)
    return found


def _read_path(
    data: bytes, pos: int, context: SerdeContext, schema_id: SchemaId | None = None
) -> tuple[tuple[int, ...], int]:
    """The path of the message and where it ends. A count of 0 is short for the path 0: the first message."""
    try:
        count, pos = _zigzag(data, pos)
        if count == 0:
            return (0,), pos
        if not 0 < count <= _MAX_PATH:
            raise ValueError
        path = []
        for _ in range(count):
            index, pos = _zigzag(data, pos)
            if index < 0:
                raise ValueError
            path.append(index)
    except (IndexError, ValueError):
        raise DecodeError(
            f"the {context.part} does not say which Protobuf message it is",
            why="the list of indexes behind the schema's id is malformed",
            schema_id=schema_id,
        ) from None
    return tuple(path), pos


def _zigzag(data: bytes, pos: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 35:
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), pos
        shift += 7
    raise ValueError


def _path_bytes(path: tuple[int, ...]) -> bytes:
    if path == (0,):
        return b"\0"
    out = bytearray()
    for number in (len(path), *path):
        value = number << 1
        while value > 0x7F:
            out.append(value & 0x7F | 0x80)
            value >>= 7
        out.append(value)
    return bytes(out)
