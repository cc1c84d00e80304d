"""``--key K``: records with exactly this key, read from the partition to which producers write it.

The partition depends on the producer: this assumes murmur2, the partitioner of Java and most other clients, and the
current number of partitions.
"""

from kcli.core.kernels.active import murmur2
from kcli.flows.filters.batch_fields import BatchFields
from kcli.flows.filters.selection import Mask, both

PARTITIONER = "murmur2"


class KeyFilter:
    """``key`` None selects records without a key."""

    def __init__(self, key: bytes | None) -> None:
        self.key = key

    def keep(self, fields: BatchFields, mask: Mask) -> bool:
        """See Filter."""
        key = self.key
        if key is None:
            return both(mask, Mask(start < 0 for start in fields.keys[0]))
        hits, size = Mask(len(mask)), len(key)
        if key in fields.data:
            for index, start, end in fields.holding(key, in_key=True):
                hits[index] = end - start == size
        return both(mask, hits)


def owner(key: bytes, partitions: int) -> int:
    """The partition of ``key`` by Java's rule, which ignores the sign of the hash."""
    return (murmur2(key) & 0x7FFF_FFFF) % partitions
