"""The first record at or behind an offset, for many partitions at once: when was it written?

Fetches without a session, a batch at a time. Markers, aborted records and what compaction took away are passed over.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.fanout import Items, by_leader
from kcli.core.errors import CorruptRecordsError, KcliError, TimedOutError
from kcli.core.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kcli.core.records.batch import split_batches
from kcli.core.records.view import BatchView
from kcli.core.records.visible import visible_batches
from kcli.core.types import TopicPartition

_LAST_BY_NAME = 12
_ANSWER = 16 << 20
_FIRST_TRY, _LATER = 16_384, 1 << 20
"""Bytes of a partition: most batches are smaller than the first, few are larger than the second."""


@dataclass(frozen=True, slots=True)
class FirstRecord:
    """``timestamp`` is in ms since the epoch as readers see it, −1 where the format has none."""

    offset: int
    timestamp: int


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one answer showed of a partition: the record, or how far there is none (``end``: no more to come)."""

    record: FirstRecord | None
    position: int
    end: bool


def first_records(
    cluster: Cluster, wanted: Mapping[TopicPartition, int], deadline: float, *, committed_only: bool = True
) -> dict[TopicPartition, FirstRecord | KcliError | None]:
    """None where nothing can be read from the offset on: up to the last stable offset with ``committed_only``.

    OFFSET_OUT_OF_RANGE for an offset below the log's start or past its end; TimedOutError for what was not reached.
    """
    found: dict[TopicPartition, FirstRecord | KcliError | None] = {}
    left, most = dict(wanted), _FIRST_TRY
    while left:
        if cluster.loop.now() >= deadline:
            return found | {
                where: TimedOutError(
                    f"reading {where} at {at} took too long",
                    why="no record was found there in time, behind markers and aborted records perhaps",
                    do="wait longer with --timeout",
                )
                for where, at in left.items()
            }
        for where, seen in _look(cluster, left, deadline, most, committed_only=committed_only).items():
            if isinstance(seen, KcliError):
                found[where] = seen
            elif seen.record is not None or seen.end:
                found[where] = seen.record
            else:
                left[where] = seen.position
        # Of those that got nothing another one is first now: a broker gives a batch that is too large only as the first.
        left = dict(reversed([(where, at) for where, at in left.items() if where not in found]))
        most = _LATER
    return found


def _look(
    cluster: Cluster,
    wanted: Mapping[TopicPartition, int],
    deadline: float,
    most: int,
    *,
    committed_only: bool,
) -> dict[TopicPartition, _Seen | KcliError]:
    def ask(items: Items[TopicPartition, int]) -> FetchRequest:
        topics: dict[str, FetchTopic] = {}
        for where, offset in items:
            topic = topics.setdefault(where.topic, FetchTopic(topic=where.topic, partitions=[]))
            topic.partitions.append(
                FetchPartition(partition=where.partition, fetch_offset=offset, partition_max_bytes=most)
            )
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=_ANSWER,
            isolation_level=int(committed_only),
            topics=list(topics.values()),
        )
        request.cap_version(_LAST_BY_NAME)
        return request

    def read(answer: FetchResponse) -> Iterator[tuple[TopicPartition, int | KcliError, _Seen]]:
        for topic in answer.responses:
            for data in topic.partitions:
                where = TopicPartition(topic.topic, data.partition_index)
                nothing = _Seen(None, wanted.get(where, 0), end=False)
                if data.error_code or where not in wanted:
                    yield where, data.error_code, nothing
                    continue
                try:
                    yield where, 0, _first(data, wanted[where], committed_only=committed_only)
                except CorruptRecordsError as error:
                    yield where, error, nothing

    return by_leader(cluster, wanted, ask, read, deadline, "reading the first record of")


def _first(data: PartitionData, offset: int, *, committed_only: bool) -> _Seen:
    """The first record that a reader gets who begins at ``offset``."""
    position = offset
    if isinstance(data.records, memoryview) and len(data.records):
        aborted = [(one.producer_id, one.first_offset) for one in data.aborted_transactions or ()]
        batches = split_batches(data.records)
        for batch, visible in visible_batches(batches, aborted, committed_only=committed_only):
            record = _record(batch, offset) if visible and batch.next_offset > offset else None
            if record is not None:
                return _Seen(record, record.offset, end=False)
            position = max(position, batch.next_offset)
    end = data.last_stable_offset if committed_only and data.last_stable_offset >= 0 else data.high_watermark
    return _Seen(None, position, end=position >= end)


def _record(batch: BatchView, offset: int) -> FirstRecord | None:
    append = batch.timestamp_type == 1
    if batch.base_offset >= offset and batch.count == batch.last_offset_delta + 1 and batch.magic == 2:
        return FirstRecord(batch.base_offset, batch.max_timestamp if append else batch.base_timestamp)
    batch.verify()
    columns = batch.columns()
    for delta, time in zip(columns.offset_deltas, columns.timestamp_deltas, strict=True):
        if batch.base_offset + delta >= offset:
            stamp = batch.max_timestamp if append else batch.base_timestamp + time
            return FirstRecord(batch.base_offset + delta, stamp)
    return None
