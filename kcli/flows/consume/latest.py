"""``consume --latest-per-key``: of each key in each partition the last record of the range, as compaction would leave it.

The range is read twice: first only keys and offsets, then the records at the last offset of each key, which are printed
like any others, so that filters apply to what is latest. Records without a key are left out, and counted. Keys that
memory does not hold are kept on disk (``buckets``); what stays is eight bytes a key.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator

from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.types import TopicPartition
from kcli.flows.consume.buckets import IN_MEMORY, Buckets, keep_last
from kcli.flows.filters.selection import BatchFields, Mask, both, wanted_mask


class LatestOffsets:
    """A Sink of ``flows.consume.run`` for the first reading; ``without_key`` counts the records that have none."""

    def __init__(self) -> None:
        self.without_key = 0
        self._buckets = Buckets()
        self._last: dict[TopicPartition, dict[bytes | None, int]] = {}
        self._held = 0

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
        if self._held > IN_MEMORY:
            self._spill()
        return len(keys), -1

    def flush(self) -> None:
        """See Sink."""

    def check(self) -> None:
        """See Sink."""

    def offsets(self) -> "dict[TopicPartition, array[int]]":
        """The last offset of each key, in order."""
        if not self._buckets:
            return {tp: array("q", sorted(last.values())) for tp, last in self._last.items()}
        self._spill()
        found: dict[TopicPartition, array[int]] = {tp: array("q") for tp in self._last}
        for part in self._buckets.merged(keep_last):
            for (topic, partition, _key), offset in part.items():
                found[TopicPartition(topic, partition)].append(offset)
        return {tp: array("q", sorted(offsets)) for tp, offsets in found.items()}

    def close(self) -> None:
        """Removes what is on disk."""
        self._buckets.close()

    def _spill(self) -> None:
        for tp, last in self._last.items():
            self._buckets.add({(*tp, key): offset for key, offset in last.items()})
            last.clear()
        self._held = 0


class LatestFilter:
    """Selects the records at ``offsets``, of which those without a value only with ``tombstones``. ``found`` counts what
    was there.
    """

    def __init__(self, offsets: "dict[TopicPartition, array[int]]", *, tombstones: bool) -> None:
        self.wanted = sum(map(len, offsets.values()))
        self.found = self.tombstones = 0
        self._offsets, self._with_tombstones = offsets, tombstones

    def keep(self, fields: BatchFields, mask: Mask) -> bool:
        """See Filter."""
        hits = Mask(len(mask))
        for index in self._indexes(fields):
            hits[index] = 1
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

    def _indexes(self, fields: BatchFields) -> Iterator[int]:
        """The indexes of the records of the batch that are among the offsets."""
        batch = fields.batch
        wanted = self._offsets.get(fields.tp)
        if not wanted:
            return
        at, end = bisect_left(wanted, batch.base_offset), bisect_left(wanted, batch.last_offset + 1)
        if at == end:
            return
        if batch.last_offset - batch.base_offset + 1 == batch.count:  # no offset is missing
            yield from (offset - batch.base_offset for offset in wanted[at:end])
            return
        index_of = {delta: index for index, delta in enumerate(fields.columns.offset_deltas)}
        for offset in wanted[at:end]:
            index = index_of.get(offset - batch.base_offset)
            if index is not None:
                yield index
