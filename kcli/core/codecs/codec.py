"""The names of codecs, and the levels that Kafka allows. A table; compresses nothing itself."""

from kcli.core.errors import ConfigError
from kcli.core.types import CODEC_NAMES, Codec


class CapExceededError(Exception):
    """Internal to this package: data decompresses to more than the limit. Callers see a CorruptRecordsError."""


CODECS = frozenset(map(int, Codec))

DEFAULT_LIMIT = 256 << 20
"""Bytes that a batch may decompress to."""

# KIP-390 and the ranges of Kafka's compression.<codec>.level. lz4: 1 and 2 are the fast compressor, 3 to 12
# high compression, higher levels work as 12. Java treats its default of 9 as fast; here an explicit 9 is 9.
LEVELS: dict[int, tuple[int, int]] = {
    Codec.GZIP: (1, 9),
    Codec.LZ4: (1, 17),
    Codec.ZSTD: (-131072, 22),
}


def codec_by_name(name: str) -> int:
    """The number of a codec; ``uncompressed`` is ``none``, as in topic configurations. Raises ConfigError."""
    lowered = name.lower()
    if lowered == "uncompressed":
        return Codec.NONE
    if lowered in CODEC_NAMES:
        return int(Codec[lowered.upper()])
    raise ConfigError(f"compression codec {name}", why=f"known are {', '.join(CODEC_NAMES)}")


def codec_name(codec: int) -> str:
    """The name of a codec; an undefined number is reported as such."""
    return Codec(codec).name.lower() if codec in CODECS else f"unknown codec {codec}"


def check_level(codec: int, level: int | None) -> None:
    """Raises ConfigError if ``codec`` has no such level. ``None`` is the default level."""
    if level is None:
        return
    name = codec_name(codec)
    if codec not in LEVELS:
        raise ConfigError(f"compression level {level}", why=f"{name} has no levels")
    low, high = LEVELS[codec]
    if not low <= level <= high:
        raise ConfigError(f"compression level {level}", why=f"{name} has levels {low} to {high}")
