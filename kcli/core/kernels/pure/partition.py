"""The partition of a key as in Java's default partitioner: murmur2 of the key, made positive, modulo the partitions."""

from collections.abc import Iterable, Sequence
from struct import unpack_from

_MIX = 0x5BD1E995
_SEED = 0x9747B28C
_MASK = 0xFFFFFFFF


def murmur2(key: bytes) -> int:
    """Java's ``Utils.murmur2`` as an unsigned 32-bit number."""
    size = len(key)
    words = size >> 2
    digest = _SEED ^ size
    for word in unpack_from(f"<{words}I", key):
        mixed = word * _MIX & _MASK
        mixed = (mixed ^ mixed >> 24) * _MIX & _MASK
        digest = digest * _MIX & _MASK ^ mixed
    rest = key[words << 2 :]
    if rest:
        digest = (digest ^ int.from_bytes(rest, "little")) * _MIX & _MASK
    digest = (digest ^ digest >> 13) * _MIX & _MASK
    return digest ^ digest >> 15


def partition_keys(keys: Sequence[bytes] | Iterable[bytes], partitions: int) -> list[int]:
    """The partition of each key, of ``partitions``. The caller must leave out null keys."""
    if partitions < 1:
        raise ValueError(f"the number of partitions must be positive, got {partitions}")
    return [(murmur2(key) & 0x7FFFFFFF) % partitions for key in keys]
