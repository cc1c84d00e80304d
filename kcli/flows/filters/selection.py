"""The filters of a run combined: a record must pass all of them. Counts the scanned records.

``--key`` is one of them. It reads only the partition to which producers write the key: by murmur2, the partitioner of
Java and most other clients, for the current number of partitions.
"""

from collections.abc import Sequence
from typing import Protocol

from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.kernels.active import murmur2
from kcli.flows.filters.batch_fields import BatchFields

Mask = bytearray
"""A byte per record: 1 while it is selected, else 0."""


class Filter(Protocol):
    """Selects records of a batch."""

    def keep(self, fields: BatchFields, mask: Mask) -> bool:
        """Sets records that it does not select to 0; returns False when none is left."""


class Selection:
    """``select`` for each batch; ``scanned`` counts the records that were checked, selected or not."""

    def __init__(self, filters: Sequence[Filter] = ()) -> None:
        self._filters = list(filters)
        self.scanned = 0

    def __bool__(self) -> bool:
        """Whether there are any filters."""
        return bool(self._filters)

    def select(self, fetched: FetchedBatch) -> bytes | bytearray | None:
        """The selection for ``render_records``: empty for all, None for no record. Transaction markers are always
        selected.
        """
        batch = fetched.batch
        self.scanned += min(batch.count, fetched.stop - fetched.first)
        if not self._filters or batch.is_control:
            return b""
        fields, mask = BatchFields(fetched), Mask(b"\1") * batch.count
        if fetched.first > batch.base_offset or fetched.stop <= batch.last_offset:
            both(mask, Mask(fetched.first <= fields.offset(n) < fetched.stop for n in range(batch.count)))
        if not all(one.keep(fields, mask) for one in self._filters):
            return None
        return mask if 0 in mask else b""


def both(mask: Mask, hits: Mask) -> bool:
    """Sets ``mask`` to the records that are in both; returns whether there are any."""
    size = len(mask)
    left = int.from_bytes(mask, "little") & int.from_bytes(hits, "little")
    mask[:] = left.to_bytes(size, "little")
    return bool(left)


PARTITIONER = "murmur2"


class KeyFilter:
    """Records with exactly this key; ``key`` None selects records without one."""

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
