"""The filters of a run combined: a record must pass all of them. Counts the scanned records. ``BatchFields`` is a batch
as filters see it: bytes and columns, each computed when first needed.

``--key`` is one of them. It reads only the partition to which producers write the key: by murmur2, the partitioner of
Java and most other clients, for the current number of partitions.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import compress
from struct import Struct
from typing import Protocol, TypeVar

from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.kernels.active import decode_headers, murmur2
from kcli.core.kernels.shapes import Columns
from kcli.core.types import Header, TopicPartition

Ranges = tuple[list[int], list[int]]
"""The start and end of each record's bytes; −1 for null."""

T = TypeVar("T")
_RANGE = Struct("=qq")


class BatchFields:
    """``data`` are the records' bytes; positions in ``columns`` are relative to its beginning."""

    def __init__(self, fetched: FetchedBatch) -> None:
        self.tp: TopicPartition = fetched.tp
        self.batch = fetched.batch

    @cached_property
    def data(self) -> bytes:
        """The decompressed records."""
        return bytes(self.batch.payload())

    @cached_property
    def columns(self) -> Columns:
        """All fields of all records."""
        return self.batch.columns()

    @property
    def count(self) -> int:
        """The number of records, selected or not."""
        return self.batch.count

    @property
    def is_dense(self) -> bool:
        """Whether each offset of the batch has a record: compaction leaves gaps. The records need not be read for it."""
        return self.batch.count == self.batch.last_offset_delta + 1

    @property
    def average_size(self) -> int:
        """The bytes of a record, decompressed."""
        return len(self.data) // (self.batch.count or 1)

    def holding(self, needle: bytes, *, in_key: bool) -> Iterator[tuple[int, int, int]]:
        """The records with ``needle`` in their key or value: index, and start and end of that key or value in
        ``data``.
        """
        found, ranges = self.batch.holding(needle, in_key=in_key)
        index = -1
        for start, end in _RANGE.iter_unpack(ranges):
            index = found.index(1, index + 1)
            yield index, start, end

    def parts(self, mask: Sequence[int], null: T, *, in_key: bool) -> list[bytes | T]:
        """The keys or the values of the records that have a 1 in ``mask``, in order; ``null`` for null."""
        found, ranges = self.batch.holding(b"", in_key=in_key)
        data, pairs = self.data, _RANGE.iter_unpack(ranges)
        if 0 not in found:
            return [data[start:end] for start, end in (compress(pairs, mask) if 0 in mask else pairs)]
        each = [next(pairs) if there else None for there in found]
        return [null if pair is None else data[pair[0] : pair[1]] for pair in compress(each, mask)]

    @property
    def keys(self) -> Ranges:
        """The positions of the keys."""
        return self.columns.key_starts, self.columns.key_ends

    @property
    def values(self) -> Ranges:
        """The positions of the values."""
        return self.columns.value_starts, self.columns.value_ends

    def key(self, index: int) -> bytes | None:
        """The key of one record."""
        return self._cut(self.keys, index)

    def value(self, index: int) -> bytes | None:
        """The value of one record."""
        return self._cut(self.values, index)

    def headers(self, index: int) -> tuple[Header, ...]:
        """The headers of one record."""
        columns = self.columns
        if not columns.header_counts[index]:
            return ()
        return decode_headers(self.data, columns.header_starts[index], columns.header_ends[index])

    def offset(self, index: int) -> int:
        """The offset of one record."""
        return self.batch.base_offset + self.columns.offset_deltas[index]

    def timestamp(self, index: int) -> int:
        """The timestamp of one record, in ms."""
        batch = self.batch
        if batch.timestamp_type == 1:
            return batch.max_timestamp
        return batch.base_timestamp + self.columns.timestamp_deltas[index]

    def offsets(self, mask: Sequence[int]) -> list[int]:
        """The offsets of the records that have a 1 in ``mask``."""
        batch = self.batch
        base = batch.base_offset
        if self.is_dense:
            return list(compress(range(base, base + batch.count), mask))
        return [base + delta for delta in compress(self.columns.offset_deltas, mask)]

    def timestamps(self, mask: Sequence[int]) -> list[int]:
        """The timestamps of the records that have a 1 in ``mask``."""
        batch = self.batch
        if batch.timestamp_type == 1:
            return [batch.max_timestamp] * sum(mask)
        base = batch.base_timestamp
        return [base + delta for delta in compress(self.columns.timestamp_deltas, mask)]

    def _cut(self, ranges: Ranges, index: int) -> bytes | None:
        start = ranges[0][index]
        return self.data[start : ranges[1][index]] if start >= 0 else None


Mask = bytearray
"""A byte per record: 1 while it is selected, else 0."""


class Filter(Protocol):
    """Selects records of a batch."""

    def keep(self, fields: BatchFields, mask: Mask) -> bool:
        """Sets records that it does not select to 0; returns False when none is left."""


class Observer(Protocol):
    """Looks at all batches, for as long as it is true."""

    def look(self, fields: BatchFields) -> None:
        """Looks at the records of a batch, selected or not."""


class Selection:
    """``select`` for each batch; ``scanned`` counts the records that were checked, selected or not. ``observer`` is given
    each batch before the filters.
    """

    def __init__(self, filters: Sequence[Filter] = (), observer: Observer | None = None) -> None:
        self._filters = list(filters)
        self._observer = observer
        self.scanned = 0

    def __bool__(self) -> bool:
        """Whether there are any filters."""
        return bool(self._filters)

    def begin_with(self, first: Filter) -> None:
        """Adds a filter in front of the others."""
        self._filters.insert(0, first)

    def without_observer(self) -> "Selection":
        """The same filters."""
        return Selection(self._filters)

    def pass_over(self, fetched: FetchedBatch) -> None:
        """Counts and observes a batch that another process has selected from."""
        batch = fetched.batch
        if batch.is_control:
            return
        self.scanned += min(batch.count, fetched.stop - fetched.first)
        if self._observer:
            self._observer.look(BatchFields(fetched))

    def select(self, fetched: FetchedBatch) -> bytes | bytearray | None:
        """The selection for ``render_records``: empty for all, None for no record. Transaction markers are always
        selected.
        """
        batch = fetched.batch
        if batch.is_control:
            return b""
        self.scanned += min(batch.count, fetched.stop - fetched.first)
        if not (self._filters or self._observer):
            return b""
        fields = BatchFields(fetched)
        if self._observer:
            self._observer.look(fields)
        if not self._filters:
            return b""
        mask = _wanted(fields, fetched)
        if not all(one.keep(fields, mask) for one in self._filters):
            return None
        return mask if 0 in mask else b""


def wanted_mask(fetched: FetchedBatch, limit: int | None, selected: bytes | bytearray) -> tuple[Mask, int]:
    """The records of a batch that are used, at most ``limit`` of the selected ones, and the offset of the last one; −1:
    the limit has left none out.
    """
    fields, batch = BatchFields(fetched), fetched.batch
    mask = Mask(selected) if selected else _wanted(fields, fetched)
    if limit is None or mask.count(1) <= limit:
        return mask, -1
    last = -1
    for _ in range(limit):
        last = mask.index(1, last + 1)
    mask[last + 1 :] = bytes(batch.count - last - 1)
    return mask, fields.offset(last) if limit else -1


def _wanted(fields: BatchFields, fetched: FetchedBatch) -> Mask:
    """The records of the requested part of a batch."""
    batch = fetched.batch
    if fetched.first <= batch.base_offset and fetched.stop > batch.last_offset:
        return Mask(b"\1") * batch.count
    return Mask(fetched.first <= offset < fetched.stop for offset in fields.offsets(b"\1" * batch.count))


def both(mask: Mask, hits: Mask) -> bool:
    """Sets ``mask`` to the records that are in both; returns whether there are any."""
    size = len(mask)
    left = int.from_bytes(mask, "little") & int.from_bytes(hits, "little")
    mask[:] = left.to_bytes(size, "little")
    return bool(left)


class TimeFilter:
    """Records with times from ``since`` up to, not including, ``until`` (ms since the epoch; None: no limit); a record
    without a time has none of them.
    """

    def __init__(self, since: int | None, until: int | None) -> None:
        self._low = 0 if since is None else max(0, since)
        self._high = 1 << 63 if until is None else until

    def keep(self, fields: BatchFields, mask: Mask) -> bool:
        """See Filter."""
        low, high = self._low, self._high
        times = fields.timestamps(b"\1" * len(mask))
        return both(mask, Mask(low <= time < high for time in times))


class SampleFilter:
    """One of ``every`` records, by their offsets: the same records each time."""

    def __init__(self, every: int) -> None:
        self._every = every

    def keep(self, fields: BatchFields, mask: Mask) -> bool:
        """See Filter."""
        every = self._every
        return both(mask, Mask(offset % every == 0 for offset in fields.offsets(b"\1" * len(mask))))


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
