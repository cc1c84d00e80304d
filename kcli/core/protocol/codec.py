"""Primitive types of the Kafka protocol: read from a memoryview at a position, written to a bytearray.

Readers return ``(value, new position)`` and check every length against the available bytes before they allocate or
loop. They raise ProtocolError, struct.error or IndexError; ``schema.decode`` converts all of them to ProtocolError.
Source: the protocol guide; compact types and tagged fields are KIP-482.
"""

import struct
from collections.abc import Iterable

from kcli.core.errors import ProtocolError

Buffer = bytes | bytearray | memoryview

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")

MAX_UVARINT_BYTES = 5

ONE_BYTE = tuple(bytes((number,)) for number in range(256))
"""Each byte by itself: added to a message without a call."""


def short_of(what: str, size: int, buf: memoryview, pos: int) -> ProtocolError:
    """The error for a length that exceeds the message."""
    return ProtocolError(
        f"malformed response: {what} of {size} at byte {pos}", why=f"only {len(buf) - pos} bytes are left"
    )


def read_uvarint(buf: memoryview, pos: int) -> tuple[int, int]:
    """An unsigned varint of at most 32 bits."""
    byte = buf[pos]
    if byte < 0x80:
        return byte, pos + 1
    value, shift = byte & 0x7F, 7
    for end in range(pos + 1, pos + MAX_UVARINT_BYTES):
        byte = buf[end]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, end + 1
        shift += 7
    raise ProtocolError(f"malformed response: a varint of more than 5 bytes at byte {pos}")


def _read_slice(buf: memoryview, pos: int, size: int, what: str) -> tuple[memoryview, int]:
    end = pos + size
    if size < 0 or end > len(buf):
        raise short_of(what, size, buf, pos)
    return buf[pos:end], end


def _null(what: str, pos: int) -> ProtocolError:
    return ProtocolError(f"malformed response: null for {what} at byte {pos}", why="it must not be null here")


def read_nullable_string(buf: memoryview, pos: int) -> tuple[str | None, int]:
    (size,) = _INT16.unpack_from(buf, pos)
    if size == -1:
        return None, pos + 2
    data, end = _read_slice(buf, pos + 2, size, "a string")
    return str(data, "utf-8"), end


def read_string(buf: memoryview, pos: int) -> tuple[str, int]:
    value, end = read_nullable_string(buf, pos)
    if value is None:
        raise _null("a string", pos)
    return value, end


def read_compact_nullable_string(buf: memoryview, pos: int) -> tuple[str | None, int]:
    size, pos = read_uvarint(buf, pos)
    if size == 0:
        return None, pos
    data, end = _read_slice(buf, pos, size - 1, "a string")
    return str(data, "utf-8"), end


def read_compact_string(buf: memoryview, pos: int) -> tuple[str, int]:
    size = buf[pos]
    if 0 < size < 0x80 and pos + size <= len(buf):  # a short one, the usual case
        return str(buf[pos + 1 : pos + size], "utf-8"), pos + size
    value, end = read_compact_nullable_string(buf, pos)
    if value is None:
        raise _null("a string", pos)
    return value, end


def read_nullable_bytes(buf: memoryview, pos: int) -> tuple[memoryview | None, int]:
    (size,) = _INT32.unpack_from(buf, pos)
    if size == -1:
        return None, pos + 4
    return _read_slice(buf, pos + 4, size, "bytes")


def read_bytes(buf: memoryview, pos: int) -> tuple[memoryview, int]:
    value, end = read_nullable_bytes(buf, pos)
    if value is None:
        raise _null("bytes", pos)
    return value, end


def read_compact_nullable_bytes(buf: memoryview, pos: int) -> tuple[memoryview | None, int]:
    size, pos = read_uvarint(buf, pos)
    if size == 0:
        return None, pos
    return _read_slice(buf, pos, size - 1, "bytes")


def read_compact_bytes(buf: memoryview, pos: int) -> tuple[memoryview, int]:
    value, end = read_compact_nullable_bytes(buf, pos)
    if value is None:
        raise _null("bytes", pos)
    return value, end


def read_uuid(buf: memoryview, pos: int) -> tuple[bytes, int]:
    data, end = _read_slice(buf, pos, 16, "a uuid")
    return bytes(data), end


def read_count(buf: memoryview, pos: int, minimum: int) -> tuple[int, int]:
    """The length of an array whose elements take at least ``minimum`` bytes each; −1 is null."""
    (count,) = _INT32.unpack_from(buf, pos)
    return _checked_count(buf, pos + 4, count, minimum)


def read_compact_count(buf: memoryview, pos: int, minimum: int) -> tuple[int, int]:
    count = buf[pos]
    if 0 < count < 0x80 and (count - 1) * minimum < len(buf) - pos:  # a few elements, the usual case
        return count - 1, pos + 1
    count, pos = read_uvarint(buf, pos)
    return _checked_count(buf, pos, count - 1, minimum)


def _checked_count(buf: memoryview, pos: int, count: int, minimum: int) -> tuple[int, int]:
    if count < -1 or count * minimum > len(buf) - pos:
        raise short_of("an array", count, buf, pos)
    return count, pos


def skip_tagged(buf: memoryview, pos: int) -> int:
    """Skips a tagged field section without known fields."""
    count, pos = read_uvarint(buf, pos)
    for _ in range(count):
        _, pos = read_uvarint(buf, pos)
        size, pos = read_uvarint(buf, pos)
        _, pos = _read_slice(buf, pos, size, "a tagged field")
    return pos


def write_uvarint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out += ONE_BYTE[value & 0x7F | 0x80]
        value >>= 7
    out += ONE_BYTE[value]


def write_string(out: bytearray, value: str | None) -> None:
    if value is None:
        out += b"\xff\xff"
        return
    data = value.encode()
    if len(data) > 0x7FFF:
        raise ValueError(f"a string of {len(data)} bytes does not fit Kafka's limit of 32767")
    out += _INT16.pack(len(data))
    out += data


def write_compact_string(out: bytearray, value: str | None) -> None:
    if value is None:
        out.append(0)
        return
    data = value.encode()
    write_compact_count(out, len(data))
    out += data


def write_bytes(out: bytearray, value: Buffer | None) -> None:
    if value is None:
        out += b"\xff\xff\xff\xff"
        return
    out += _INT32.pack(len(value))
    out += value


def write_compact_bytes(out: bytearray, value: Buffer | None) -> None:
    if value is None:
        out.append(0)
        return
    write_compact_count(out, len(value))
    out += value


def write_count(out: bytearray, count: int) -> None:
    out += _INT32.pack(count)


def write_compact_count(out: bytearray, count: int) -> None:
    if count < 0x7F:  # of one byte, the usual case
        out += ONE_BYTE[count + 1]
    else:
        write_uvarint(out, count + 1)


Splice = tuple[int, list[Buffer]]
"""Buffers that belong at a position of the encoded message, kept apart so that they are not copied."""


def write_records(out: bytearray, splices: list[Splice], value: Iterable[Buffer] | None) -> None:
    """Records the position of the record buffers in the message; writes only their length."""
    if value is None:
        out += b"\xff\xff\xff\xff"
        return
    buffers = list(value)
    out += _INT32.pack(sum(map(len, buffers)))
    splices.append((len(out), buffers))


def write_compact_records(out: bytearray, splices: list[Splice], value: Iterable[Buffer] | None) -> None:
    if value is None:
        out.append(0)
        return
    buffers = list(value)
    write_compact_count(out, sum(map(len, buffers)))
    splices.append((len(out), buffers))


def join_splices(out: bytearray, splices: list[Splice]) -> list[Buffer]:
    """The message as a list of buffers in order, with the record buffers inserted."""
    if not splices:
        return [out]
    view, parts, start = memoryview(out), list[Buffer](), 0
    for place, buffers in splices:
        parts += (view[start:place], *buffers)
        start = place
    return [*parts, view[start:]]
