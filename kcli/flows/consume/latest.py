"""``consume --latest-per-key``: of each key in each partition the last record of the range, as compaction would leave it.

The range is read twice: first only keys and offsets, then the records at the last offset of each key, which are printed
like any others, so that filters apply to what is latest. Records without a key are left out, and counted. Keys that
memory does not hold are kept on disk (``buckets``); what stays is two bytes a key.
"""

from array import array
from collections import OrderedDict, defaultdict
from collections.abc import Collection
from struct import Struct

from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.types import TopicPartition
from kcli.flows.consume.buckets import IN_MEMORY, MOST_BYTES, Buckets, keep_last
from kcli.flows.filters.selection import BatchFields, Mask, both, wanted_mask

_NUMBER = Struct("=I")
_BLOCK_BITS = 16
_IN_BLOCK = (1 << _BLOCK_BITS) - 1
_MASKS = 256  # blocks, which is 16 MB


class LatestOffsets:
    """A Sink of ``flows.consume.run`` for the first reading; ``without_key`` counts the records that have none."""

    def __init__(self) -> None:
        self.without_key = 0
        self._buckets = Buckets()
        self._last: dict[TopicPartition, dict[bytes | None, int]] = {}
        self._held = self._bytes = 0

    def batch(
        self, fetched: FetchedBatch, limit: int | None = None, selected: bytes | bytearray = b""
    ) -> tuple[int, int]:
        """See Sink."""
        if fetched.batch.is_control:
            return 0, -1
        mask, _ = wanted_mask(fetched, limit, selected)
        fields = BatchFields(fetched)
        keys = fields.parts(mask, None, in_key=True)
        last = self._last.setdefault(fetched.tp, {})
        before = len(last)
        last.update(zip(keys, fields.offsets(mask), strict=True))
        if None in last:
            self.without_key += keys.count(None)
            del last[None]
        self._held += len(last) - before
        self._bytes += (len(last) - before) * fields.average_size
        if self._held > IN_MEMORY or self._bytes > MOST_BYTES:
            self._spill()
        return len(keys), -1

    def flush(self) -> None:
        """See Sink."""

    def check(self) -> None:
        """See Sink."""

    def offsets(self) -> "Offsets":
        """The last offset of each key."""
        found = Offsets()
        if not self._buckets:
            for tp, last in self._last.items():
                found.add(tp, last.values())
            return found
        self._spill()
        partitions = list(self._last)
        for part in self._buckets.merged(keep_last):
            each: list[list[int]] = [[] for _ in partitions]
            for key, offset in part.items():
                each[_NUMBER.unpack_from(key)[0]].append(offset)
            for tp, offsets in zip(partitions, each, strict=True):
                found.add(tp, offsets)
        return found

    def close(self) -> None:
        """Removes what is on disk."""
        self._buckets.close()

    def _spill(self) -> None:
        for number, last in enumerate(self._last.values()):
            prefix = _NUMBER.pack(number)  # partitions share the buckets
            self._buckets.add({prefix + key: offset for key, offset in last.items() if key is not None})
            last.clear()
        self._held = self._bytes = 0


class Offsets:
    """A set of offsets of each partition, in no order: two bytes each, in blocks of 65,536 offsets."""

    def __init__(self) -> None:
        self.count = 0
        self._blocks: dict[tuple[TopicPartition, int], array[int]] = defaultdict(lambda: array("H"))
        self._masks = OrderedDict[tuple[TopicPartition, int], Mask]()

    def add(self, tp: TopicPartition, offsets: Collection[int]) -> None:
        """Adds offsets that are not there."""
        self.count += len(offsets)
        for offset in offsets:
            self._blocks[tp, offset >> _BLOCK_BITS].append(offset & _IN_BLOCK)

    def among(self, fields: BatchFields) -> Mask:
        """A 1 for each record of the batch whose offset is there."""
        batch = fields.batch
        first, end = batch.base_offset, batch.last_offset + 1
        if fields.is_dense:
            found = Mask()
            while first < end:
                until = min(end, (first | _IN_BLOCK) + 1)
                found += self._mask(fields.tp, first)[first & _IN_BLOCK : ((until - 1) & _IN_BLOCK) + 1]
                first = until
            return found
        every = fields.offsets(b"\1" * batch.count)
        return Mask(self._mask(fields.tp, offset)[offset & _IN_BLOCK] for offset in every)

    def _mask(self, tp: TopicPartition, offset: int) -> Mask:
        """The block of an offset with a byte for each; those that were used last are kept."""
        place = tp, offset >> _BLOCK_BITS
        mask = self._masks.pop(place, None)
        if mask is None:
            mask = Mask(_IN_BLOCK + 1)
            for index in self._blocks.get(place, ()):
                mask[index] = 1
            if len(self._masks) == _MASKS:
                self._masks.popitem(last=False)
        self._masks[place] = mask
        return mask


class LatestFilter:
    """Selects the records at ``offsets``, of which those without a value only with ``tombstones``. ``found`` counts what
    was there.
    """

    def __init__(self, offsets: Offsets, *, tombstones: bool) -> None:
        self.wanted = offsets.count
        self.found = self.tombstones = 0
        self._offsets, self._with_tombstones = offsets, tombstones

    def keep(self, fields: BatchFields, mask: Mask) -> bool:
        """See Filter."""
        hits = self._offsets.among(fields)
        self.found += hits.count(1)
        if not both(mask, hits):
            return False
        there = Mask(fields.batch.holding(b"", in_key=False)[0])
        left = mask.count(1)
        if self._with_tombstones or both(mask, there):
            self.tombstones += left - mask.count(1)
            return True
        self.tombstones += left
        return False
