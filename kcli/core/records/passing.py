"""Copies a batch to another partition: byte for byte where brokers accept that.

Otherwise re-encoded: batches with gaps between offsets (compacted topics), with timestamps set by the source broker
(consumers of the copy would see the producer's), and formats before magic 2. Observed on Kafka 4.3.1.
"""

from collections.abc import Sequence
from struct import Struct

from kcli.core.codecs.compression import compress
from kcli.core.errors import ConfigError
from kcli.core.kernels.active import join_run
from kcli.core.kernels.shapes import NO_HEADERS, Row
from kcli.core.records.batch import CRC_START, HEADER_SIZE, LENGTH_END, MAGIC, RecordBatch
from kcli.core.records.builder import BatchBuilder
from kcli.core.records.run import BatchRun
from kcli.core.records.view import BatchView

_CREATE_TIME = 0
_LENGTH = Struct(">i")
_LENGTH_AT = 8
_ENOUGH = 1 << 31
_LENT = 1 << 18
"""A smaller batch is copied: it would keep a receive buffer of many MB from being used again."""


def passes(batch: BatchView) -> bool:
    """Whether the records of ``batch`` can be sent without decoding them."""
    return (
        batch.magic == MAGIC
        and type(batch) is not BatchRun
        and _is_dense(batch)
        and batch.timestamp_type == _CREATE_TIME
    )


def _is_dense(batch: BatchView) -> bool:
    """Whether every offset of the batch has a record."""
    return batch.count == batch.last_offset_delta + 1


def offsets_taken(batch: BatchView, first: int, stop: int) -> Sequence[int]:
    """The offsets of the records of ``batch`` from ``first`` up to, not including, ``stop``, in order."""
    if batch.magic == MAGIC and _is_dense(batch):
        return range(max(first, batch.base_offset), min(stop, batch.next_offset))
    base = batch.base_offset
    return [base + delta for delta in batch.columns().offset_deltas if first <= base + delta < stop]


def batch_of_rows(rows: Sequence[Row], codec: int) -> BatchBuilder:
    """A sealed batch of these rows, compressed with ``codec``."""
    builder = BatchBuilder(room=_ENOUGH, codec=codec)
    if builder.append_rows(rows) < len(rows):
        raise ConfigError(
            f"{len(rows)} records do not fit into one batch", why="their timestamps are too far apart"
        )
    builder.seal()
    return builder


def take_over(
    batch: BatchView, first: int | None = None, stop: int | None = None, *, lent: bool = False
) -> BatchBuilder:
    """A sealed batch with the records of ``batch``; keeps no view of its bytes, unless they are ``lent``.

    A run of batches becomes one batch. With ``first`` and ``stop`` only the records at offsets from ``first`` up to, not
    including, ``stop``. ConfigError if there is none: for transaction markers, an empty batch, or no record in the range.
    """
    if batch.is_control or not batch.count:
        kind = "a transaction marker" if batch.is_control else "an empty batch"
        raise ConfigError(f"the batch at offset {batch.base_offset} cannot be sent", why=f"it is {kind}")
    low = batch.base_offset if first is None else first
    high = batch.next_offset if stop is None else stop
    if low <= batch.base_offset and high >= batch.next_offset and batch.magic == MAGIC:
        return _passed(batch, lent=lent) if passes(batch) else _joined(batch)
    rows = rows_taken(batch, low, high)
    if not rows:
        raise ConfigError(
            f"the batch at offset {batch.base_offset} has no record at offsets {low} to {high - 1}"
        )
    return batch_of_rows(rows, batch.codec)


def _passed(batch: BatchView, *, lent: bool) -> BatchBuilder:
    payload = batch.raw[HEADER_SIZE:]
    return BatchBuilder.sealed(
        payload if lent and len(payload) >= _LENT else bytes(payload),
        codec=batch.codec,
        count=batch.count,
        base_timestamp=batch.base_timestamp,
        max_timestamp=batch.max_timestamp,
        limit=batch.limit,
        checked=(batch.crc, bytes(batch.raw[CRC_START:HEADER_SIZE]))
        if isinstance(batch, RecordBatch)
        else None,
    )


def _joined(batch: BatchView) -> BatchBuilder:
    """The records with consecutive offsets and the timestamps that readers see; compressed as they were."""
    raw = batch.raw
    if batch.codec:
        payload = batch.payload()
        header = bytearray(raw[:HEADER_SIZE])
        _LENGTH.pack_into(header, _LENGTH_AT, HEADER_SIZE - LENGTH_END + len(payload))
        raw = memoryview(b"".join((header, payload)))
    try:
        records, count, base, highest = join_run(raw)
    except ValueError as error:
        raise ConfigError(
            f"the batch at offset {batch.base_offset} cannot be copied", why=str(error)
        ) from None
    return BatchBuilder.sealed(
        records if not batch.codec else compress(batch.codec, records, None),
        codec=batch.codec,
        count=count,
        base_timestamp=base,
        max_timestamp=highest,
        limit=max(len(records), batch.limit),
    )


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
