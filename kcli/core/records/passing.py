"""Copies a batch to another partition: byte for byte where brokers accept that.

Otherwise re-encoded: batches with gaps between offsets (compacted topics), with timestamps set by the source broker
(consumers of the copy would see the producer's), and formats before magic 2. Observed on Kafka 4.3.1.
"""

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


def take_over(batch: BatchView) -> BatchBuilder:
    """A sealed batch with the records of ``batch``; keeps no view of its bytes.

    ConfigError for a batch without records of its own: transaction markers, or an empty batch.
    """
    if batch.is_control or not batch.count:
        kind = "a transaction marker" if batch.is_control else "an empty batch"
        raise ConfigError(f"the batch at offset {batch.base_offset} cannot be sent", why=f"it is {kind}")
    if passes(batch):
        return BatchBuilder.sealed(
            bytes(batch.raw[HEADER_SIZE:]),
            codec=batch.codec,
            count=batch.count,
            base_timestamp=batch.base_timestamp,
            max_timestamp=batch.max_timestamp,
            limit=batch.limit,
        )
    builder = BatchBuilder(room=_ENOUGH, codec=batch.codec)
    builder.append_rows(_rows(batch))
    builder.seal()
    return builder


def _rows(batch: BatchView) -> list[Row]:
    if batch.magic != MAGIC:
        return [(r.key, r.value, NO_HEADERS, r.timestamp) for r in batch.records()]
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
        for _, time, key, key_end, value, value_end, headers, end, _ in zip(*columns, strict=True)
    ]
