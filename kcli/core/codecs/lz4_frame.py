"""lz4 by cramjam, for installations that leave the library ``lz4`` out: it has no wheels for musl and for Python 3.14t.

It frames blocks that do not depend on each other, as Java reads no others: cramjam makes such frames with its high
compression only, in blocks of 64 KiB; blocks of the fast compressor are framed here, with the bytes that ``lz4`` writes.
"""

from cramjam import DecompressionError, lz4

from kcli.core.codecs.codec import CapExceededError
from kcli.core.codecs.decompress import check_stop
from kcli.core.kernels.varint import Buffer

_HEADERS = {  # magic, version 1 with independent blocks, the size of blocks, and the checksum of these two
    1 << 16: bytes.fromhex("04224d18604082"),
    1 << 18: bytes.fromhex("04224d186050fb"),
}
_END = bytes(4)
_STORED = 1 << 31
_HIGH = 3  # the first level of high compression
_USUAL_RATIO = 6
_BEST_RATIO = 255
_LEAST_ROOM = 1 << 16


def compress_lz4(data: Buffer, level: int | None) -> bytes:
    """``data`` as one frame."""
    view = memoryview(data)
    if level is not None and level >= _HIGH:
        high = lz4.Compressor(level=level, content_checksum=False, block_linked=False)
        high.compress(bytes(view))
        return bytes(high.finish())
    size = next(size for size in _HEADERS if len(view) <= size or size == max(_HEADERS))
    pieces: list[bytes | memoryview] = [_HEADERS[size]]
    for at in range(0, len(view), size):
        block = view[at : at + size]
        packed = bytes(lz4.compress_block(block, store_size=False))
        if len(packed) < len(block):
            pieces.extend((len(packed).to_bytes(4, "little"), packed))
        else:
            pieces.extend(((len(block) | _STORED).to_bytes(4, "little"), block))
    pieces.append(_END)
    return b"".join(pieces)


def decompress_lz4(data: Buffer, limit: int) -> bytearray:
    """The content of one or several frames; CapExceededError beyond ``limit`` bytes.

    cramjam decompresses into memory that is there. What the data declare is not trusted: there is room for a usual ratio,
    and more of it as long as the content does not fit.
    """
    view = memoryview(data)
    most = min(limit + 1, _LEAST_ROOM + _BEST_RATIO * len(view))
    room = min(most, max(_LEAST_ROOM, _USUAL_RATIO * len(view)))
    while True:
        check_stop()
        out = bytearray(room)
        try:
            size: int = lz4.decompress_into(view, out)
        except DecompressionError as error:
            if room == most:
                if room > limit and "whole buffer" in str(error):
                    raise CapExceededError from None
                raise
            room = min(most, room * 4)
            continue
        if size > limit:
            raise CapExceededError
        del out[size:]
        return out
