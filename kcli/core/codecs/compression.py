"""Compress and decompress the payload of a batch. Decompression is streamed, under a cap, and trusts no declared size.

Codec libraries are imported on first use. The choice among them, measured on 1 MB of JSON (MB/s in, CPU time):
gzip by isal level 1 514 (zlib 1: 135, 6: 40), read 1074 (zlib 436); lz4 by ``lz4`` 458 at 256 KiB blocks (cramjam
478, but with blocks that depend on one another, which Java refuses), read 3400 both; zstd by ``backports.zstd`` level
1 377, 3 264 (cramjam 267, 251), read 1150 both; snappy by cramjam, 582 and 1540. All of them release the GIL.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from kcli.core.codecs.codec import CapExceededError, Codec, check_level, codec_name
from kcli.core.codecs.decompress import (
    GZIP_WINDOW,
    Decoder,
    Inflater,
    decompress_stream,
    gzip_library,
    zstd_window,
)
from kcli.core.codecs.snappy import compress_snappy, decompress_snappy
from kcli.core.errors import ConfigError, CorruptRecordsError
from kcli.core.kernels.varint import Buffer

DEFAULT_LIMIT = 256 << 20
LIMIT_OPTION = "max.decompressed.batch.bytes"

_ISAL_LEVELS = 3
_ZSTD_LEVEL = 3  # Java's default


def compress(codec: int, data: Buffer, level: int | None = None) -> Buffer:
    """``data`` in the form that Java writes for ``codec``. Raises ConfigError for a level or codec there is not."""
    check_level(codec, level)
    if codec == Codec.NONE:
        return data
    if codec == Codec.GZIP:
        return _compress_gzip(data, level)
    if codec == Codec.SNAPPY:
        return compress_snappy(data)
    if codec == Codec.LZ4:
        return _compress_lz4(data, level)
    if codec == Codec.ZSTD:
        return _compress_zstd(data, level)
    raise ConfigError("compression", why=f"{codec_name(codec)}: Kafka knows 0 to {max(Codec)}")


def decompress(codec: int, data: Buffer, limit: int = DEFAULT_LIMIT) -> Buffer:
    """The content of ``data``, at most ``limit`` bytes.

    Raises CorruptRecordsError for whatever a codec finds wrong, and when there would be more: then the option
    that raises the limit is named, and no more than ``limit`` and some buffers was ever allocated.
    """
    if codec == Codec.NONE:
        return data
    name = codec_name(codec)
    try:
        if codec == Codec.SNAPPY:
            return decompress_snappy(data, limit)
        return decompress_stream(_decoder(codec), data, limit, _window(codec))
    except (CorruptRecordsError, MemoryError):
        raise
    except CapExceededError:
        raise CorruptRecordsError(
            f"{name} data of {len(data)} bytes",
            why=f"it decompresses to more than {limit} bytes",
            do=f"if it is legitimate, raise {LIMIT_OPTION}",
        ) from None
    except Exception as error:  # each library has errors of its own, and none has promised which
        raise CorruptRecordsError(f"{name} data of {len(data)} bytes", why=str(error)) from error


def _compress_gzip(data: Buffer, level: int | None) -> bytes:
    # ISA-L's levels stop at 3, and its level 1 is as small as zlib's 3: higher levels are zlib's.
    library = gzip_library()
    if level is None:
        level = 1 if library.__name__.endswith("isal_zlib") else -1
    elif level > _ISAL_LEVELS:
        library = import_module("zlib")
    packed: bytes = library.compress(data, level, GZIP_WINDOW)
    return packed


def _compress_lz4(data: Buffer, level: int | None) -> bytes:
    from lz4 import frame

    # Java reads independent blocks only.
    packed: bytes = frame.compress(
        data,
        compression_level=level or 0,
        block_size=frame.BLOCKSIZE_MAX256KB,
        block_linked=False,
        store_size=False,
    )
    return packed


def _compress_zstd(data: Buffer, level: int | None) -> bytes:
    zstd = _zstd()
    packed: bytes = zstd.compress(data, _ZSTD_LEVEL if level is None else level)
    return packed


def _decoder(codec: int) -> Callable[[], Decoder]:
    """The class that decompresses one frame of ``codec``."""
    if codec == Codec.GZIP:
        return Inflater
    if codec == Codec.LZ4:
        from lz4.frame import LZ4FrameDecompressor

        lz4: Callable[[], Decoder] = LZ4FrameDecompressor
        return lz4
    if codec == Codec.ZSTD:
        zstd: Callable[[], Decoder] = _zstd().ZstdDecompressor
        return zstd
    raise CorruptRecordsError("record batch", why=f"{codec_name(codec)}: Kafka knows 0 to {max(Codec)}")


def _window(codec: int) -> Callable[[memoryview], int] | None:
    return zstd_window if codec == Codec.ZSTD else None


def _zstd() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd
