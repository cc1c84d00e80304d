"""A batch as the filters see it: bytes and columns, each computed when first needed."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import compress
from struct import Struct
from typing import TypeVar

from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.kernels.active import decode_headers
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
        base = self.batch.base_offset
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
