"""What a share fetch returned of a partition: the acquired records, as parts of batches. No I/O.

A response has whole batches, of which only the acquired ranges are this member's; records around them belong to others.
Each part is within one range, so that all its records have one delivery count. What has no record (markers of
transactions, what compaction removed) is acknowledged as a gap.
"""

from __future__ import annotations

from collections.abc import Iterator

from kcli.core.classes import dataclass, field
from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.errors import CorruptRecordsError
from kcli.core.options import ConsumerOptions
from kcli.core.records.batch import split_batches
from kcli.core.records.run import plain_run
from kcli.core.records.view import BatchView
from kcli.core.share.acquired import Acquired, Span
from kcli.core.types import TopicPartition


@dataclass(slots=True, eq=False, repr=False)
class Delivery:
    """The ranges of one partition, and their records as parts of batches. ``damage``: why there are no more of them;
    ``skipped``: batches that are rejected because they are damaged.
    """

    tp: TopicPartition
    acquired: list[Acquired]
    batches: list[FetchedBatch] = field(default_factory=list)
    damage: CorruptRecordsError | None = None
    skipped: list[tuple[BatchView, CorruptRecordsError]] = field(default_factory=list)


def cut_delivery(
    tp: TopicPartition, acquired: list[Acquired], records: object, options: ConsumerOptions, *, joins: int
) -> Delivery:
    """``acquired`` in the order of their offsets; ``joins``: adjacent plain batches of about this many bytes are one."""
    found = Delivery(tp, acquired)
    recorded: list[list[Span]] = [[] for _ in acquired]
    at = 0
    if isinstance(records, memoryview):
        for batch in _views(found, records, options, joins):
            while at < len(acquired) and acquired[at].last < batch.base_offset:
                at += 1
            if at == len(acquired):
                break
            if not batch.is_control:
                _cut_batch(found, batch, at, recorded)
    unread = None
    if found.damage is not None:
        unread = found.batches[-1].stop if found.batches else acquired[0].first
    for one, spans in zip(acquired, recorded, strict=True):
        damaged = [
            (max(one.first, batch.base_offset), min(one.last, batch.last_offset))
            for batch, _ in found.skipped
            if batch.base_offset <= one.last and batch.last_offset >= one.first
        ]
        one.settle(spans, damaged, None if unread is None else max(unread, one.first))
    return found


def _cut_batch(found: Delivery, batch: BatchView, at: int, recorded: list[list[Span]]) -> None:
    base, after = batch.base_offset, batch.next_offset
    dense = batch.count == batch.last_offset_delta + 1
    for index in range(at, len(found.acquired)):
        one = found.acquired[index]
        first, stop = max(base, one.first), min(after, one.last + 1)
        if one.first >= after:
            break
        if first >= stop:
            continue
        spans = [(first, stop - 1)] if dense else list(_recorded(batch, first, stop))
        if not spans:
            continue
        found.batches.append(FetchedBatch(found.tp, batch, first, stop, stop, None, one.deliveries))
        for span in spans:
            known = recorded[index]
            if known and known[-1][1] + 1 == span[0]:
                known[-1] = (known[-1][0], span[1])
            else:
                known.append(span)


def _recorded(batch: BatchView, first: int, stop: int) -> Iterator[Span]:
    """The offsets from ``first`` up to ``stop`` that have a record."""
    start = last = -1
    for delta in batch.columns().offset_deltas:
        offset = batch.base_offset + delta
        if offset < first:
            continue
        if offset >= stop:
            break
        if start >= 0 and offset != last + 1:
            yield start, last
            start = offset
        elif start < 0:
            start = offset
        last = offset
    if start >= 0:
        yield start, last


def _views(found: Delivery, records: memoryview, options: ConsumerOptions, joins: int) -> Iterator[BatchView]:
    check, split = options.check_crcs, split_batches(records)
    try:
        while split.position < records.nbytes:
            run = (
                plain_run(records, split.position, transactional=True, verify=check, enough=joins)
                if joins
                else None
            )
            if run is not None:
                split.position += run.size
                yield run
                continue
            batch = next(split, None)
            if batch is None:
                return
            batch.limit = options.max_decompressed_batch_bytes
            if check:
                try:
                    batch.verify_crc()
                except CorruptRecordsError as error:
                    if options.on_corrupt != "skip":
                        raise
                    batch.check()
                    found.skipped.append((batch, error))
                    continue
            yield batch
    except CorruptRecordsError as error:
        found.damage = error.in_partition(found.tp)
