"""Chooses the partition of a record. Pure: keys in, numbers out.

murmur2 is the Java client's partitioner, consistent (CRC-32) librdkafka's, hashcode that of the first Kafka (absolute
``String.hashCode`` modulo partitions). Records with null keys stay on one partition until a batch is full (KIP-480,
KIP-794), unless the partitioner decides otherwise.
"""

import itertools
import zlib
from collections.abc import Callable, Sequence

from kcli.core.errors import UnknownPartitionError
from kcli.core.kernels import active as kernels
from kcli.core.names import java_hash

ByKey = Callable[[Sequence[bytes | None], int], list[int]]
"""Partitions of keys; −1 for a key that may go anywhere."""

OwnPartitioner = Callable[[str, bytes | None, int], int]
"""An application's: given topic, key and number of partitions; −1 leaves the choice to the producer."""

Choose = Callable[[str, Sequence[bytes | None], int], list[int]]
"""Partitions of the keys of one topic."""

ANYWHERE = -1


def chooser(chosen: str | OwnPartitioner) -> Choose:
    """The built-in partitioner of this name, or the application's own."""
    if isinstance(chosen, str):
        by_key = partitioner(chosen)
        return lambda _topic, keys, partitions: by_key(keys, partitions)
    return lambda topic, keys, partitions: [chosen(topic, key, partitions) for key in keys]


def partitioner(name: str) -> ByKey:
    """The partitioner of this name; ``manual`` refuses every record that does not name its partition."""
    return _MAKERS[name]()


def _murmur2(keys: Sequence[bytes | None], partitions: int) -> list[int]:
    present = [key for key in keys if key is not None]
    if len(present) == len(keys):
        return kernels.partition_keys(present, partitions)
    murmur2 = kernels.murmur2
    return [ANYWHERE if key is None else (murmur2(key) & 0x7FFFFFFF) % partitions for key in keys]


def _consistent(keys: Sequence[bytes | None], partitions: int) -> list[int]:
    # librdkafka's consistent_random: empty and missing keys go to any partition
    crc32 = zlib.crc32
    return [crc32(key) % partitions if key else ANYWHERE for key in keys]


def _hashcode(keys: Sequence[bytes | None], partitions: int) -> list[int]:
    return [ANYWHERE if key is None else java_hash(key) % partitions for key in keys]


def _random(keys: Sequence[bytes | None], partitions: int) -> list[int]:
    from random import choices  # few partition at random

    return choices(range(partitions), k=len(keys))


class _RoundRobin:
    """All partitions in turn, regardless of the key."""

    def __init__(self) -> None:
        self._turn = itertools.count()

    def __call__(self, keys: Sequence[bytes | None], partitions: int) -> list[int]:
        return [next(self._turn) % partitions for _ in keys]


def _manual(_keys: Sequence[bytes | None], _partitions: int) -> list[int]:
    raise no_partition_named()


def no_partition_named() -> UnknownPartitionError:
    """The error for a record that has to name its partition and does not."""
    return UnknownPartitionError(
        "a record has no partition",
        why="partitioner=manual leaves the choice to the record",
        do="name a partition with -p, or choose another partitioner",
    )


_MAKERS: dict[str, Callable[[], ByKey]] = {
    "murmur2": lambda: _murmur2,
    "consistent": lambda: _consistent,
    "hashcode": lambda: _hashcode,
    "random": lambda: _random,
    "roundrobin": _RoundRobin,
    "manual": lambda: _manual,
}

SPREADS_NULLS = frozenset({"random", "roundrobin", "manual"})
"""Partitioners that place records without a key one by one instead of a batch at a time."""
