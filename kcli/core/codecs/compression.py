"""Compresses and decompresses batch payloads. Decompression is streamed under a limit and trusts no declared size.

Codec libraries are imported on first use. They were chosen by measurements on 1 MB of JSON (MB/s of input, CPU time):
gzip by isal level 1 514 (zlib 1: 135, 6: 40), read 1074 (zlib 436); lz4 by ``lz4`` 817, read 3981 (cramjam 780 and 3700;
of 16 KB 2538 and 1600 to 2250, as it has to be given memory); zstd by ``backports.zstd`` level 1 377, 3 264 (cramjam
267, 251), read 1150 both; snappy by cramjam, 582 and 1540. All of them release the GIL.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from kcli.core.codecs.codec import DEFAULT_LIMIT, CapExceededError, check_level, codec_name
from kcli.core.codecs.decompress import (
    GZIP_WINDOW,
    Decoder,
    Inflater,
    decompress_stream,
    gzip_library,
    lz4_library,
    zstd_sizes,
)
from kcli.core.errors import ConfigError, CorruptRecordsError, StoppedError
from kcli.core.kernels.varint import Buffer
from kcli.core.types import Codec

LIMIT_OPTION = "max.decompressed.batch.bytes"

_LIBRARIES: dict[int, str] = {
    Codec.SNAPPY: "kcli.core.codecs.snappy",
    Codec.ZSTD: "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd",
}
_LZ4_OF_CRAMJAM = "kcli.core.codecs.lz4_frame"
_ISAL_LEVELS = 3
_ZSTD_LEVEL = 3  # Java's default


def compress(codec: int, data: Buffer, level: int | None = None) -> Buffer:
    """``data`` compressed in the format Java writes for ``codec``. Raises ConfigError for an unknown level or codec."""
    check_level(codec, level)
    if codec == Codec.NONE:
        return data
    if codec == Codec.GZIP:
        return _compress_gzip(data, level)
    if codec == Codec.SNAPPY:
        snappy: Buffer = _library(codec).compress_snappy(data)
        return snappy
    if codec == Codec.LZ4:
        return _compress_lz4(data, level)
    if codec == Codec.ZSTD:
        return _compress_zstd(data, level)
    raise ConfigError("compression", why=f"{codec_name(codec)}: Kafka knows 0 to {max(Codec)}")


def decompress(codec: int, data: Buffer, limit: int = DEFAULT_LIMIT) -> Buffer:
    """The decompressed ``data``, at most ``limit`` bytes.

    Raises CorruptRecordsError for any error of a codec, and if there would be more than ``limit`` bytes: then it names
    the option that raises the limit, and no more than ``limit`` plus some buffers has been allocated. Raises StoppedError
    when this thread is to stop (``decompress.stop_requested``).
    """
    if codec == Codec.NONE:
        return data
    name = codec_name(codec)
    try:
        if codec == Codec.SNAPPY:
            snappy: Buffer = _library(codec).decompress_snappy(data, limit)
            return snappy
        if codec == Codec.LZ4 and not lz4_library():
            plain: Buffer = import_module(_LZ4_OF_CRAMJAM).decompress_lz4(data, limit)
            return plain
        return decompress_stream(_decoder(codec), data, limit, zstd_sizes if codec == Codec.ZSTD else None)
    except (ConfigError, CorruptRecordsError, StoppedError, MemoryError):
        raise
    except CapExceededError:
        raise CorruptRecordsError(
            f"{name} data of {len(data)} bytes",
            why=f"it decompresses to more than {limit} bytes",
            do=f"if it is legitimate, raise {LIMIT_OPTION}",
        ) from None
    except Exception as error:  # each library has its own undocumented exceptions
        raise CorruptRecordsError(f"{name} data of {len(data)} bytes", why=str(error)) from error


def _compress_gzip(data: Buffer, level: int | None) -> bytes:
    # ISA-L's levels stop at 3, and its level 1 compresses like zlib's 3: higher levels use zlib.
    library = gzip_library()
    if level is None:
        level = 1 if library.__name__.endswith("isal_zlib") else -1
    elif level > _ISAL_LEVELS:
        library = import_module("zlib")
    packed: bytes = library.compress(data, level, GZIP_WINDOW)
    return packed


def _compress_lz4(data: Buffer, level: int | None) -> bytes:
    frame = lz4_library()
    if not frame:
        by_cramjam: bytes = import_module(_LZ4_OF_CRAMJAM).compress_lz4(data, level)
        return by_cramjam
    # Java only reads independent blocks.
    packed: bytes = frame.compress(
        data,
        compression_level=level or 0,
        block_size=frame.BLOCKSIZE_MAX256KB,
        block_linked=False,
        store_size=False,
    )
    return packed


def _compress_zstd(data: Buffer, level: int | None) -> bytes:
    packed: bytes = _library(Codec.ZSTD).compress(data, _ZSTD_LEVEL if level is None else level)
    return packed


def _decoder(codec: int) -> Callable[[], Decoder]:
    """The class that decompresses one frame of ``codec``."""
    if codec == Codec.GZIP:
        return Inflater
    if codec == Codec.LZ4:
        lz4: Callable[[], Decoder] = lz4_library().LZ4FrameDecompressor
        return lz4
    if codec == Codec.ZSTD:
        zstd: Callable[[], Decoder] = _library(codec).ZstdDecompressor
        return zstd
    raise CorruptRecordsError("record batch", why=f"{codec_name(codec)}: Kafka knows 0 to {max(Codec)}")


def check_available(codec: int) -> None:
    """ConfigError for a codec whose library is not there."""
    if codec in _LIBRARIES:
        _library(codec)


def _library(codec: int) -> Any:
    try:
        return import_module(_LIBRARIES[codec])
    except ImportError as error:
        raise ConfigError(
            f"{codec_name(codec)} is not available here",
            why=str(error),
            do="install kcli with its dependencies; zstd is a part of Python from 3.14 on, if it was built with it",
        ) from error
