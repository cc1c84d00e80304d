"""Header blocks of records in Python: a count, then a name and a value for each, with varint lengths.

A block is encoded once and appended to many records; it is decoded only on demand.
"""

from collections.abc import Sequence

from kcli.core.errors import CorruptRecordsError
from kcli.core.kernels.shapes import NO_HEADERS
from kcli.core.kernels.varint import Buffer, corrupt, encode_varint, read_varint
from kcli.core.types import Header

_SMALLEST_HEADER = 2  # two lengths


def encode_headers(headers: Sequence[Header]) -> bytes:
    """A header block; ``NO_HEADERS`` for an empty sequence."""
    pieces = [encode_varint(len(headers))]
    for name, value in headers:
        raw = name.encode() if isinstance(name, str) else name
        pieces += (encode_varint(len(raw)), raw)
        pieces += (b"\x01",) if value is None else (encode_varint(len(value)), value)
    return b"".join(pieces)


def decode_headers(payload: Buffer, start: int, end: int) -> tuple[Header, ...]:
    """The headers of the block in ``payload[start:end]``. A name that is not UTF-8 stays bytes."""
    if start == end:
        return ()  # formats before magic 2 have no header block
    data = bytes(payload[start:end])
    if data == NO_HEADERS:
        return ()
    bounds: list[tuple[int, int, int, int]] = []
    try:
        position = walk_headers(data, 0, len(data), bounds)
    except CorruptRecordsError:
        data = bytes(payload[:end])
        walk_headers(data, start, len(data), [])  # repeated for the error's position in the payload
        raise
    if position != len(data):
        corrupt(start + position, "bytes are left behind the last header")
    return tuple(
        (_text(data[name:name_end]), data[value:value_end] if value >= 0 else None)
        for name, name_end, value, value_end in bounds
    )


def skip_headers(data: bytes, position: int, end: int) -> tuple[int, int]:
    """The number of headers in the block at ``position`` and the position after it."""
    bounds: list[tuple[int, int, int, int]] = []
    position = walk_headers(data, position, end, bounds)
    return len(bounds), position


def walk_headers(data: bytes, position: int, end: int, bounds: list[tuple[int, int, int, int]]) -> int:
    """Appends start and end of each name and value of a block (−1 for the start of a null); returns where it ends."""
    at = position
    try:
        count, position = read_varint(data, position)
        if count < 0 or count > max(0, end - position) // _SMALLEST_HEADER:
            corrupt(at, f"{count} headers do not fit into {end - position} bytes")
        for _ in range(count):
            at = position
            size, name = read_varint(data, position)
            if size < 0:
                corrupt(at, f"the length of a header name is {size}")
            name_end = name + size
            size, value = read_varint(data, name_end)
            if size < -1:
                corrupt(at, f"the length of a header value is {size}")
            position = value + max(size, 0)
            if position > end:
                corrupt(at, f"the header ends at byte {position}, its record at {end}")
            bounds.append((name, name_end, value if size >= 0 else -1, position))
    except IndexError:
        corrupt(at, "the payload ends inside a header")
    return position


def _text(name: bytes) -> str | bytes:
    try:
        return name.decode()
    except UnicodeDecodeError:
        return name
