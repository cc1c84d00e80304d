"""Batches of given records, as they come from a broker. Not a test."""

from collections.abc import Sequence

from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.kernels.active import crc32c
from kcli.core.records.batch import CRC_START, HEADER, LENGTH_END, RecordBatch
from kcli.core.records.run import plain_run
from kcli.core.records.view import BatchView
from kcli.core.types import Record, TopicPartition
from kcli.flows.filters.selection import Selection
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
    raw = bytearray(
        HEADER.pack(
            base, HEADER.size - LENGTH_END + len(body), records[0].leader_epoch, 2, 0, flags | (8 if append else 0), last,
            when, max(r.timestamp for r in records), producer, epoch, -1, len(records),
        )
        + body
    )  # fmt: skip
    raw[CRC_START - 4 : CRC_START] = crc32c(raw[CRC_START:]).to_bytes(4, "big")
    return RecordBatch(memoryview(bytes(raw)))


def run_of(records: Sequence[Record]) -> BatchView:
    """A batch for each record, joined as consumers that want them joined get them; two records at least."""
    raw = b"".join(bytes(batch_of([record]).raw) for record in records)
    run = plain_run(memoryview(raw), 0, transactional=False, verify=True)
    assert run is not None
    return run


def fetched_of(records: Sequence[Record], batch: BatchView | None = None, **how: int) -> FetchedBatch:
    """The same, all of it asked for; ``batch`` when they stand in another one."""
    batch = batch_of(records, **how) if batch is None else batch
    tp = TopicPartition(records[0].topic, records[0].partition)
    return FetchedBatch(tp, batch, batch.base_offset, batch.next_offset, batch.next_offset)


def wanted_by(selection: Selection, fetched: FetchedBatch) -> list[int]:
    """The indices of the records that all filters of the selection want."""
    mask = selection.select(fetched)
    if mask is None:
        return []
    return [index for index in range(fetched.batch.count) if not mask or mask[index]]
