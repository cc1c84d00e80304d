"""Copies a batch to another partition: byte for byte where brokers accept that.

Otherwise re-encoded: batches with gaps between offsets (compacted topics), with timestamps set by the source broker
(consumers of the copy would see the producer's), and formats before magic 2. Observed on Kafka 4.3.1.
"""

from collections.abc import Sequence

from kcli.core.errors import ConfigError
from kcli.core.kernels.shapes import NO_HEADERS, Row
from kcli.core.records.batch import HEADER_SIZE, MAGIC
from kcli.core.records.builder import BatchBuilder
from kcli.core.records.view import BatchView

_CREATE_TIME = 0
_ENOUGH = 1 << 31


def passes(batch: BatchView) -> bool:
    """Whether the records of ``batch`` can be sent without decoding them."""
    return (
        batch.magic == MAGIC
        and batch.count == batch.last_offset_delta + 1
        and batch.timestamp_type == _CREATE_TIME
    )


def offsets_taken(batch: BatchView, first: int, stop: int) -> Sequence[int]:
    """The offsets of the records of ``batch`` from ``first`` up to, not including, ``stop``, in order."""
    if passes(batch):
        return range(max(first, batch.base_offset), min(stop, batch.next_offset))
    base = batch.base_offset
    return [base + delta for delta in batch.columns().offset_deltas if first <= base + delta < stop]


def batch_of_rows(rows: Sequence[Row], codec: int) -> BatchBuilder:
    """A sealed batch of these rows, compressed with ``codec``."""
    builder = BatchBuilder(room=_ENOUGH, codec=codec)
    builder.append_rows(rows)
    builder.seal()
    return builder


def take_over(batch: BatchView, first: int | None = None, stop: int | None = None) -> BatchBuilder:
    """A sealed batch with the records of ``batch``; keeps no view of its bytes.

    With ``first`` and ``stop`` only those at the offsets from ``first`` up to, not including, ``stop``. ConfigError if
    there is none: for transaction markers, an empty batch, or no record in that range.
    """
    if batch.is_control or not batch.count:
        kind = "a transaction marker" if batch.is_control else "an empty batch"
        raise ConfigError(f"the batch at offset {batch.base_offset} cannot be sent", why=f"it is {kind}")
    low = batch.base_offset if first is None else first
    high = batch.next_offset if stop is None else stop
    if low <= batch.base_offset and high >= batch.next_offset and passes(batch):
        return BatchBuilder.sealed(
            bytes(batch.raw[HEADER_SIZE:]),
            codec=batch.codec,
            count=batch.count,
            base_timestamp=batch.base_timestamp,
            max_timestamp=batch.max_timestamp,
            limit=batch.limit,
        )
    rows = rows_taken(batch, low, high)
    if not rows:
        raise ConfigError(
            f"the batch at offset {batch.base_offset} has no record at offsets {low} to {high - 1}"
        )
    return batch_of_rows(rows, batch.codec)


def rows_taken(batch: BatchView, first: int, stop: int) -> list[Row]:
    """The records at offsets from ``first`` up to, not including, ``stop``, with the times that readers see."""
    if batch.magic != MAGIC:
        records = (record for record in batch.records() if first <= record.offset < stop)
        return [(r.key, r.value, NO_HEADERS, r.timestamp) for r in records]
    low, high = first - batch.base_offset, stop - batch.base_offset
    columns = batch.columns()
    data = bytes(batch.payload())
    appended = batch.timestamp_type != _CREATE_TIME
    return [
        (
            None if key < 0 else data[key:key_end],
            None if value < 0 else data[value:value_end],
            data[headers:end],
            batch.max_timestamp if appended else batch.base_timestamp + time,
        )
        for delta, time, key, key_end, value, value_end, headers, end, _ in zip(*columns, strict=True)
        if low <= delta < high
    ]
