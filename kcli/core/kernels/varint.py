"""Zigzag varints of record batches, read and written with their limits: 5 bytes for an int32, 10 for an int64.

Plain functions for the paths that are not hot; the kernels inline the one- and two-byte cases and call these
otherwise.
"""

from functools import lru_cache
from typing import NoReturn

from kcli.core.errors import CorruptRecordsError

INT64_MAX = (1 << 63) - 1
INT64_MIN = -INT64_MAX - 1

Buffer = bytes | bytearray | memoryview

_CACHED = 1 << 16  # a table of offset deltas takes about 45 bytes each; longer batches compute theirs
_table: list[bytes] = []


def encode_varint(value: int) -> bytes:
    """``value`` (an int64) in zigzag form, 1 to 10 bytes."""
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


@lru_cache(maxsize=4096)
def cached_varint(value: int) -> bytes:
    """:func:`encode_varint` with a cache, for recurring values such as lengths and timestamp deltas."""
    return encode_varint(value)


def varint_size(value: int) -> int:
    """The size of ``encode_varint(value)`` in bytes."""
    rest = (value << 1) ^ (value >> 63)
    return max(1, (rest.bit_length() + 6) // 7)


def varint_range(first: int, count: int) -> list[bytes]:
    """The varints of ``first``, ``first + 1``, ... as a list of ``count``; ``first`` is not negative."""
    end = first + count
    if end > _CACHED:
        return [encode_varint(value) for value in range(first, end)]
    if end > len(_table):
        # Built separately and assigned in one step: a concurrent thread only repeats the work.
        grown = [encode_varint(value) for value in range(min(_CACHED, max(1024, end * 2)))]
        _table[:] = grown
    return _table[first:end]


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """An int32 at ``position`` and the position after it.

    Raises CorruptRecordsError if it is longer than 5 bytes or out of range, IndexError past the end.
    """
    return _read(data, position, 5, 32)


def read_varlong(data: bytes, position: int) -> tuple[int, int]:
    """An int64 at ``position`` and the position after it; like :func:`read_varint`, with 10 bytes."""
    return _read(data, position, 10, 64)


def _read(data: bytes, position: int, limit: int, bits: int) -> tuple[int, int]:
    result = shift = 0
    for at in range(position, position + limit):
        byte = data[at]
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            if result >> bits:
                break
            return (result >> 1) ^ -(result & 1), at + 1
        shift += 7
    return corrupt(position, f"the varint does not fit {bits} bits")


def corrupt(position: int, why: str) -> NoReturn:
    """Raises the CorruptRecordsError for inconsistent record bytes; ``position`` is in the decompressed payload."""
    raise CorruptRecordsError(f"record data at byte {position}", why=why)
