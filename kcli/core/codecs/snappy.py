"""Snappy in the framing of Kafka's clients: the xerial stream header, then blocks prefixed with their length.

Raw snappy without framing is read as well, as in Java. Every declared length is checked before memory is allocated.
"""

from struct import Struct

from cramjam import snappy

from kcli.core.codecs.codec import CapExceededError
from kcli.core.errors import CorruptRecordsError
from kcli.core.kernels.varint import Buffer

_MAGIC = b"\x82SNAPPY\x00"
_HEADER = _MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"  # version 1, readable since version 1
_LENGTH = Struct(">i")
_BLOCK = 32 * 1024  # block size of Java's stream
_GROWTH = 1 << 20
_BEST_RATIO = 22  # an element of three bytes yields at most 64: a higher ratio is impossible


def compress_snappy(data: Buffer) -> bytes:
    """``data`` as a xerial stream."""
    view = memoryview(data)
    pieces: list[bytes] = [_HEADER]
    for at in range(0, len(view), _BLOCK):
        block = bytes(snappy.compress_raw(view[at : at + _BLOCK]))
        pieces += (_LENGTH.pack(len(block)), block)
    return b"".join(pieces)


def decompress_snappy(data: Buffer, limit: int) -> bytes | bytearray:
    """The content of one or several xerial streams or of one raw block; CapExceededError beyond ``limit``."""
    view = memoryview(data)
    if view[:8] != _MAGIC:
        out = bytearray()
        _append_block(out, view, limit)
        return out
    return _read_stream(view, limit)


def _read_stream(view: memoryview, limit: int) -> bytearray:
    out = bytearray()
    at = 0
    while at < len(view):
        if view[at : at + 8] == _MAGIC:
            at += len(_HEADER)
            if at > len(view):
                raise CorruptRecordsError("snappy data", why="the stream header is cut off")
            continue
        if len(view) - at < 4:
            raise CorruptRecordsError("snappy data", why=f"{len(view) - at} bytes are left over")
        size: int = _LENGTH.unpack_from(view, at)[0]
        at += 4
        if not 0 <= size <= len(view) - at:
            why = f"the block at byte {at} has {size} bytes, {len(view) - at} are left"
            raise CorruptRecordsError("snappy data", why=why)
        _append_block(out, view[at : at + size], limit)
        at += size
    return out


def _append_block(out: bytearray, block: memoryview, limit: int) -> None:
    if not block:
        raise CorruptRecordsError("snappy data", why="a block is empty")
    declared = snappy.decompress_raw_len(block)
    if declared > len(block) * _BEST_RATIO:
        why = f"a block of {len(block)} bytes declares {declared}"
        raise CorruptRecordsError("snappy data", why=why)
    start = len(out)
    if start + declared > limit:
        raise CapExceededError
    for left in range(declared, 0, -_GROWTH):
        out += bytes(min(left, _GROWTH))  # in steps, since bytes(declared) would double the memory
    with memoryview(out) as whole, whole[start:] as room:
        written = snappy.decompress_raw_into(block, room) if declared else 0
    if written != declared:
        raise CorruptRecordsError("snappy data", why=f"{written} bytes where {declared} are declared")
