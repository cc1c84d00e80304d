"""How records of AWS Glue's and Apicurio's serializers name their schema. Pure.

Glue: 0x03, a byte for the compression (0 none, 5 zlib) and the UUID of the version of a schema. Apicurio: 0x00 and an id
of 4 or 8 bytes, or the id in a header and nothing in front. Its Protobuf may have the name of the message in front.
"""

import struct
import zlib
from collections.abc import Iterable
from uuid import UUID

from kcli.core.classes import dataclass, replace
from kcli.core.types import Header
from kcli.serde.errors import DecodeError
from kcli.serde.serde import SerdeContext

_ZLIB = 5
_LONG = struct.Struct(">q")
_MOST = 256 << 20
"""Bytes of a decompressed record: more than any broker accepts."""
GLOBAL, CONTENT = "globalIds", "contentIds"
"""The kinds of Apicurio's ids, as its API calls them."""


@dataclass(frozen=True, slots=True)
class Located:
    """A record split into its parts. ``space``: which ids of Apicurio. ``message``: the Protobuf message, where a header
    names it. ``is_json``: whether the payload is JSON whatever the schema.
    """

    schema_id: int | UUID
    payload: bytes
    space: str = ""
    message: str = ""
    is_json: bool = False


def glue_version(data: bytes) -> UUID | None:
    """The version of a schema of Glue that a record names; None if it is not Glue's."""
    if len(data) >= 18 and data[0] == 3 and data[1] in (0, _ZLIB):
        return UUID(bytes=bytes(data[2:18]))
    return None


def split_glue(data: bytes, context: SerdeContext) -> Located:
    """A record of Glue's serializers; DecodeError."""
    version = glue_version(data)
    if version is None:
        begins = f"it begins with {bytes(data[:2]).hex()}" if data else "it is empty"
        raise DecodeError(
            f"the {context.part} does not name a schema of AWS Glue",
            why=f"{begins}; Glue's begin with 0300 or 0305, and have 18 bytes before the data",
            do="name the serde of its writer with -s",
        )
    payload = bytes(data[18:])
    if data[1] != _ZLIB:
        return Located(version, payload)
    try:
        stream = zlib.decompressobj()
        payload = stream.decompress(payload, _MOST)
        if not stream.eof:
            raise zlib.error("it is cut off, or too large")
    except zlib.error as error:
        what = f"the {context.part} cannot be decompressed"
        raise DecodeError(what, why=f"zlib: {error}", schema_id=version) from None
    return Located(version, payload)


def apicurio_long_id(data: bytes) -> int | None:
    """The 8-byte id that a record names; None for another framing. Confluent's ids begin at 1, and the upper half of
    these is 0 in practice.
    """
    if len(data) >= 9 and data[:5] == bytes(5):
        return int(_LONG.unpack_from(data, 1)[0])
    return None


def split_apicurio(data: bytes, context: SerdeContext, ids: str = "") -> Located:
    """A record of Apicurio's serializers; DecodeError. ``ids`` replaces what its versions write by default: 2 global ids
    of 8 bytes, 3 ids of the content in 4 bytes.
    """
    headers = context.headers
    message = _text(headers, "apicurio.protobuf.type" + (".key" if context.part == "key" else ""))
    is_json = _text(headers, f"apicurio.{context.part}.encoding") == "JSON"
    for space, name in ((GLOBAL, "globalId"), (CONTENT, "contentId")):
        number = _last(headers, f"apicurio.{context.part}.{name}")
        if number is not None and len(number) == 8:
            return Located(_LONG.unpack(number)[0], data, space, message, is_json)
    long_id = apicurio_long_id(data)
    if long_id is not None:
        return Located(long_id, data[9:], ids or GLOBAL, message, is_json)
    if len(data) >= 5 and data[0] == 0:
        return Located(int.from_bytes(data[1:5], "big"), data[5:], ids or CONTENT, message, is_json)
    raise DecodeError(
        f"the {context.part} does not name a schema of Apicurio Registry",
        why=_unnamed(data, context),
        do="name the serde of its writer with -s",
    )


def named_message(located: Located, names: Iterable[str]) -> Located:
    """The record without the reference to its type in front, and with the name of its type; ``names`` are those of the
    schema. A reference is a message by itself: its length, a tag (0x0a), and the name with its length.
    """
    data = located.payload
    if len(data) > 2 and data[1] == 0x0A and data[2] == data[0] - 2 and len(data) > data[0]:
        name = data[3 : data[0] + 1]
        if name in {text.encode() for text in names}:
            return replace(located, payload=data[data[0] + 1 :], message=name.decode())
    return located


def _unnamed(data: bytes, context: SerdeContext) -> str:
    artifact = _text(context.headers, f"apicurio.{context.part}.artifactId")
    if artifact:
        return f"its headers name the artifact {artifact!r} instead of an id"
    begins = f"it begins with byte 0x{data[0]:02x}" if data else "it is empty"
    return f"{begins}, and has no header apicurio.{context.part}.globalId or contentId; an id follows 0x00"


def _text(headers: Iterable[Header], name: str) -> str:
    return (_last(headers, name) or b"").decode("utf-8", "replace")


def _last(headers: Iterable[Header], name: str) -> bytes | None:
    found = None
    for key, value in headers:
        if key == name and value is not None:
            found = bytes(value)
    return found
