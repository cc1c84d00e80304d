"""Finds the first record at or after an offset, with its timestamp, for many offsets at once; or the timestamps of the
records that follow an offset, as far as one response reaches (``times_after``).

Fetches without a session, one batch at a time. A request can hold one offset per partition: further offsets take more
requests, pipelined. Markers, aborted records and compacted offsets are skipped.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TypeVar, cast

from kcli.core.classes import NamedTuple, dataclass
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.fanout import Items, Part, fan_out
from kcli.core.cluster.routes import Nodes, ToLeader
from kcli.core.connection.plan import Broker
from kcli.core.errors import CorruptRecordsError, KcliError, TimedOutError
from kcli.core.permissions import on_topic
from kcli.core.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kcli.core.records.batch import split_batches
from kcli.core.records.isolation import visible_batches
from kcli.core.records.view import BatchView
from kcli.core.types import TopicPartition

T = TypeVar("T")

_LAST_BY_NAME = 12
_RESPONSE = 16 << 20
"""Bytes of all responses of a broker in one round, without the batches that are larger than their share."""
_FIRST_TRY, _LATER = 16_384, 1 << 20
"""Bytes of a partition: most batches are smaller than the first, few are larger than the second."""
_MOST_BYTES = 64 << 20
"""Of all stretches together: they are looked at before something else begins."""
_MOST_TIMES = 10_000
"""Records of a stretch after which no further batch is decoded: one MiB may hold many, and compressed far more."""


@dataclass(frozen=True, slots=True)
class FirstRecord:
    """``timestamp`` is in ms since the epoch as readers see it, −1 if the format has none."""

    offset: int
    timestamp: int


class _Position(NamedTuple):
    """A partition and an offset in it; prints as ``orders-3@17``."""

    tp: TopicPartition
    offset: int

    def __str__(self) -> str:
        return f"{self.tp}@{self.offset}"


class Stretch(NamedTuple):
    """The records that follow an offset, in order: their offsets, and their timestamps in ms as readers see them (−1:
    none). ``next_offset``: what follows from there on was not looked at.
    """

    offsets: "array[int]"
    times: "array[int]"
    next_offset: int


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one response revealed: the record, or up to where there is none (``end``: nothing follows)."""

    record: FirstRecord | None
    position: int
    end: bool


def first_records(
    cluster: Cluster,
    positions: Iterable[tuple[TopicPartition, int]],
    deadline: float,
    *,
    committed_only: bool = True,
) -> dict[tuple[TopicPartition, int], FirstRecord | KcliError | None]:
    """None if nothing can be read from the offset on: up to the last stable offset with ``committed_only``.

    OFFSET_OUT_OF_RANGE for an offset below the log's start or past its end; TimedOutError for those not completed in
    time.
    """
    found: dict[tuple[TopicPartition, int], FirstRecord | KcliError | None] = {}
    left, most = {_Position(tp, at): at for tp, at in positions}, _FIRST_TRY
    while left:
        if cluster.loop.now() >= deadline:
            return found | {
                position: TimedOutError(
                    f"reading {position.tp} at {at} took too long",
                    why="no record was found in time: there may be many markers and aborted records",
                    do="wait longer with --timeout",
                )
                for position, at in left.items()
            }
        for position, seen in _read_round(
            cluster, left, deadline, most, _first, committed_only=committed_only
        ).items():
            if isinstance(seen, KcliError):
                found[position] = seen
            elif seen.record is not None or seen.end:
                found[position] = seen.record
            else:
                left[position] = seen.position
        # Put another one of those without data first: a broker returns an oversized batch only for the first
        # partition.
        left = dict(reversed([(position, at) for position, at in left.items() if position not in found]))
        most = _LATER
    return found


def times_after(
    cluster: Cluster,
    positions: Iterable[tuple[TopicPartition, int]],
    deadline: float,
    *,
    committed_only: bool = True,
) -> dict[tuple[TopicPartition, int], Stretch | KcliError]:
    """The records that follow each offset, as far as about one MiB, or 10,000 of them, reach, less for many partitions:
    each is asked once, and again only where a response had no room for it. Those without a response in time are omitted.
    """
    found: dict[tuple[TopicPartition, int], Stretch | KcliError] = {}
    left = {_Position(tp, at): at for tp, at in positions}
    most = max(_FIRST_TRY, min(_LATER, _MOST_BYTES // max(1, len(left))))
    while left and cluster.loop.now() < deadline:
        before = len(found)
        for position, seen in _read_round(
            cluster, left, deadline, most, _stretch, committed_only=committed_only
        ).items():
            if seen is not None:
                found[position] = seen
        if len(found) == before:
            break
        left = dict(reversed([(position, at) for position, at in left.items() if position not in found]))
    return found


class _ToLeader:
    """Routes each offset to the leader of its partition."""

    def __init__(self, cluster: Cluster) -> None:
        self._partitions = ToLeader(cluster)

    def find_nodes(self, keys: Collection[_Position], deadline: float) -> Nodes[_Position]:
        """The same as ``ToLeader``."""
        leaders = self._partitions.find_nodes({position.tp for position in keys}, deadline)
        return {position: leaders[position.tp] for position in keys}

    def renew(self, errors: Mapping[_Position, KcliError], deadline: float) -> None:
        """The same as ``ToLeader``."""
        self._partitions.renew({position.tp: error for position, error in errors.items()}, deadline)


def _read_round(
    cluster: Cluster,
    wanted: Mapping[_Position, int],
    deadline: float,
    most: int,
    examine: "Callable[..., T]",
    *,
    committed_only: bool,
) -> dict[_Position, T | KcliError]:
    """``examine``: what a response reveals, of the partition's data, the offset, and ``committed_only``."""

    def ask(_broker: Broker, items: Items[_Position, int]) -> list[Part[_Position]]:
        shares = _split_shares(items)
        response = _RESPONSE // len(shares)
        return [
            Part(
                _request(share, most, response, committed_only=committed_only),
                [position for position, _ in share],
            )
            for share in shares
        ]

    nothing = cast("T", None)  # beside an error it is not looked at

    def read(
        response: FetchResponse, part: Part[_Position]
    ) -> Iterator[tuple[_Position, int | KcliError, T]]:
        asked = {position.tp: position for position in part.keys}
        for topic in response.responses:
            for data in topic.partitions:
                position = asked.get(TopicPartition(topic.topic, data.partition_index))
                if position is None:
                    continue
                at = wanted[position]
                if data.error_code:
                    yield position, data.error_code, nothing
                    continue
                try:
                    yield position, 0, examine(data, at, committed_only=committed_only)
                except CorruptRecordsError as error:
                    yield position, error.in_partition(position.tp), nothing

    return fan_out(
        cluster,
        wanted,
        _ToLeader(cluster),
        ask,
        read,
        deadline,
        "reading the first record of",
        needs=lambda at: [on_topic("READ", at.tp.topic)],
    )


def _split_shares(items: Items[_Position, int]) -> list[Items[_Position, int]]:
    """Splits the offsets so that each partition is at most once in a share."""
    turns = Counter[TopicPartition]()
    shares: list[Items[_Position, int]] = []
    for position, at in items:
        turn = turns[position.tp]
        turns[position.tp] += 1
        if turn == len(shares):
            shares.append([])
        shares[turn].append((position, at))
    return shares


def _request(share: Items[_Position, int], most: int, response: int, *, committed_only: bool) -> FetchRequest:
    topics: dict[str, FetchTopic] = {}
    for (tp, _), at in share:
        topic = topics.setdefault(tp.topic, FetchTopic(topic=tp.topic, partitions=[]))
        topic.partitions.append(
            FetchPartition(partition=tp.partition, fetch_offset=at, partition_max_bytes=min(most, response))
        )
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=response,
        isolation_level=int(committed_only),
        topics=list(topics.values()),
    )
    request.cap_version(_LAST_BY_NAME)
    return request


def _first(data: PartitionData, offset: int, *, committed_only: bool) -> _Seen:
    """The first record that a reader starting at ``offset`` gets."""
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


def _stretch(data: PartitionData, offset: int, *, committed_only: bool) -> Stretch | None:
    """The records that the response has; None where it had no room for any, though there are some."""
    offsets, times = array("q"), array("q")
    position = offset
    if isinstance(data.records, memoryview) and len(data.records):
        aborted = [(one.producer_id, one.first_offset) for one in data.aborted_transactions or ()]
        batches = split_batches(data.records)
        for batch, visible in visible_batches(batches, aborted, committed_only=committed_only):
            if len(times) >= _MOST_TIMES:
                break
            if visible and batch.next_offset > offset:
                batch.verify_crc()
                columns = batch.columns()
                for delta, time in zip(columns.offset_deltas, columns.timestamp_deltas, strict=True):
                    if batch.base_offset + delta >= offset:
                        offsets.append(batch.base_offset + delta)
                        times.append(
                            batch.max_timestamp if batch.timestamp_type == 1 else batch.base_timestamp + time
                        )
            position = max(position, batch.next_offset)
    end = data.last_stable_offset if committed_only and data.last_stable_offset >= 0 else data.high_watermark
    return Stretch(offsets, times, position) if position > offset or position >= end else None


def _record(batch: BatchView, offset: int) -> FirstRecord | None:
    append = batch.timestamp_type == 1
    if batch.base_offset >= offset and batch.count == batch.last_offset_delta + 1 and batch.magic == 2:
        return FirstRecord(batch.base_offset, batch.max_timestamp if append else batch.base_timestamp)
    batch.verify_crc()
    columns = batch.columns()
    for delta, time in zip(columns.offset_deltas, columns.timestamp_deltas, strict=True):
        if batch.base_offset + delta >= offset:
            stamp = batch.max_timestamp if append else batch.base_timestamp + time
            return FirstRecord(batch.base_offset + delta, stamp)
    return None
