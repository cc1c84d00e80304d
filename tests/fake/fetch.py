"""Fetch: long poll, limits, epochs, read_committed. What a session remembers is in ``fetch_sessions``."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from kcli.core.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from tests.fake.codes import Code, RefusedError
from tests.fake.leader_epochs import NO_EPOCH, UNDEFINED, check_epoch
from tests.fake.topics import Partition

if TYPE_CHECKING:
    from tests.fake.state import Context

_FIRST_FROM_FOLLOWER = 11
_FIRST_WITH_SESSIONS = 7
_MOVED = (Code.NOT_LEADER_OR_FOLLOWER, Code.FENCED_LEADER_EPOCH)
TopicKey = tuple[str, bytes]
"""Name and id of a topic as the request gave them: one of the two is empty."""


@dataclass(slots=True)
class Wanted:
    """One partition that a fetch asks for, from its request or remembered by its session."""

    topic: TopicKey
    partition: FetchPartition


async def fetch(ctx: "Context", request: FetchRequest) -> FetchResponse:
    """Answers when there is enough, when something is wrong, or when the time is up."""
    from tests.fake.fetch_sessions import NO_SESSION, open_session

    session = NO_SESSION
    if ctx.version >= _FIRST_WITH_SESSIONS:
        try:
            session = open_session(ctx, request)
        except RefusedError as refused:
            return FetchResponse(error_code=refused.code, responses=[])
    wanted = session.wanted(request)
    end = time.monotonic() + request.max_wait_ms / 1000
    while True:
        rows = [(w.topic, row) for w, row in zip(wanted, _read_all(ctx, request, wanted), strict=True)]
        left = end - time.monotonic()
        if left <= 0 or not wanted or _enough(request, [row for _, row in rows]):
            break
        await ctx.state.wait_changed(left)
    return _answer(ctx, session.number, session.filter(rows))


def _enough(request: FetchRequest, rows: list[PartitionData]) -> bool:
    """Errors and truncation are reported at once."""
    urgent = any(row.error_code != 0 or row.diverging_epoch.epoch != UNDEFINED for row in rows)
    return urgent or sum(map(_size, rows)) >= request.min_bytes


def _size(row: PartitionData) -> int:
    """Of the records, which handlers give as a list of buffers."""
    return sum(len(part) for part in cast(list[bytes], row.records))


def _read_all(ctx: "Context", request: FetchRequest, wanted: list[Wanted]) -> list[PartitionData]:
    room = request.max_bytes
    rows: list[PartitionData] = []
    first = True
    for want in wanted:
        row = _read(ctx, request, want, room, first=first)
        size = _size(row)
        room = max(0, room - size)
        first = first and not size
        rows.append(row)
    return rows


def _read(ctx: "Context", request: FetchRequest, want: Wanted, room: int, *, first: bool) -> PartitionData:
    asked = want.partition
    try:
        place = ctx.state.topics.partition(*want.topic, asked.partition)
    except RefusedError as refused:
        return _error(asked, refused.code)
    try:
        _check_place(ctx, place, asked)
        diverging = _diverging(place, asked)
        if diverging is not None:
            return _row(place, asked, b"", diverging=diverging)
        if not place.log.start_offset <= asked.fetch_offset <= place.log.end_offset:
            raise RefusedError(Code.OFFSET_OUT_OF_RANGE)
    except RefusedError as refused:
        row = _error(asked, refused.code)
        if refused.code in _MOVED:
            row.current_leader = LeaderIdAndEpoch(leader_id=place.leader, leader_epoch=place.leader_epoch)
        return row
    committed = bool(request.isolation_level)
    log = place.log
    upto = log.last_stable_offset if committed else log.high_watermark
    data = log.read(
        asked.fetch_offset,
        upto,
        min(room, asked.partition_max_bytes),
        whole_first=first,
        partial=ctx.state.settings.partial_batches,
    )
    return _row(place, asked, data, aborted=_aborted(place, asked.fetch_offset, upto) if committed else None)


def _check_place(ctx: "Context", place: Partition, asked: FetchPartition) -> None:
    """Followers answer readers too since v11 (KIP-392)."""
    follower = ctx.version >= _FIRST_FROM_FOLLOWER and ctx.node in place.replicas
    if place.leader != ctx.node and not follower:
        raise RefusedError(Code.NOT_LEADER_OR_FOLLOWER)
    check_epoch(place, asked.current_leader_epoch)


def _diverging(place: Partition, asked: FetchPartition) -> EpochEndOffset | None:
    """The log has gone another way since the reader's last batch (KIP-595): where its epoch ends now."""
    if asked.last_fetched_epoch == NO_EPOCH:
        return None
    epoch, end = place.log.epoch_end(asked.last_fetched_epoch)
    if UNDEFINED in (epoch, end):
        raise RefusedError(Code.OFFSET_OUT_OF_RANGE)
    if epoch < asked.last_fetched_epoch or end < asked.fetch_offset:
        return EpochEndOffset(epoch=epoch, end_offset=end)
    return None


def _aborted(place: Partition, offset: int, upto: int) -> list[AbortedTransaction]:
    return [
        AbortedTransaction(producer_id=a.producer_id, first_offset=a.first_offset)
        for a in place.log.aborted_between(offset, upto)
    ]


def _row(
    place: Partition,
    asked: FetchPartition,
    data: bytes,
    *,
    aborted: list[AbortedTransaction] | None = None,
    diverging: EpochEndOffset | None = None,
) -> PartitionData:
    log = place.log
    return PartitionData(
        partition_index=asked.partition,
        error_code=0,
        high_watermark=log.high_watermark,
        last_stable_offset=log.last_stable_offset,
        log_start_offset=log.start_offset,
        diverging_epoch=diverging or EpochEndOffset(),
        aborted_transactions=aborted,
        records=[data],
    )


def _error(asked: FetchPartition, code: int) -> PartitionData:
    """Bounds are not told with an error."""
    return PartitionData(
        partition_index=asked.partition,
        error_code=code,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        aborted_transactions=None,
        records=[b""],
    )


def _answer(ctx: "Context", session: int, rows: list[tuple[TopicKey, PartitionData]]) -> FetchResponse:
    topics: dict[TopicKey, FetchableTopicResponse] = {}
    for key, row in rows:
        name, topic_id = key
        entry = topics.setdefault(key, FetchableTopicResponse(topic=name, topic_id=topic_id, partitions=[]))
        entry.partitions.append(row)
    leaders = {row.current_leader.leader_id for _, row in rows} - {-1}
    nodes = [ctx.state.nodes[number] for number in sorted(leaders) if number in ctx.state.nodes]
    return FetchResponse(
        session_id=session,
        responses=list(topics.values()),
        node_endpoints=[NodeEndpoint(node_id=n.id, host=n.host, port=n.port) for n in nodes],
    )
