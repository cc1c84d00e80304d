"""Batches of given records, as they come from a broker. Not a test."""

from collections.abc import Sequence

from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.records.batch import HEADER, RecordBatch
from kcli.core.types import Record, TopicPartition
from tests.parity.plain import header_block, record


def batch_of(
    records: Sequence[Record], *, producer: int = -1, epoch: int = -1, flags: int = 0
) -> RecordBatch:
    """A batch with these offsets, times and epochs; the append time is the first record's."""
    base, when = records[0].offset, records[0].timestamp
    append = records[0].timestamp_type == 1
    body = b"".join(
        record(r.key, r.value, header_block(r.headers), r.offset - base, 0 if append else r.timestamp - when)
        for r in records
    )
    last = records[-1].offset - base
    header = HEADER.pack(
        base, 49 + len(body), records[0].leader_epoch, 2, 0, flags | (8 if append else 0), last,
        when, max(r.timestamp for r in records), producer, epoch, -1, len(records),
    )  # fmt: skip
    return RecordBatch(memoryview(header + body))


def fetched_of(records: Sequence[Record], **how: int) -> FetchedBatch:
    """The same, all of it asked for."""
    batch = batch_of(records, **how)
    where = TopicPartition(records[0].topic, records[0].partition)
    return FetchedBatch(where, batch, batch.base_offset, batch.next_offset, batch.next_offset)
