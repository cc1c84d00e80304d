"""ListOffsets: ends, starts, timestamps. Versions decide which special timestamps are known."""

from typing import TYPE_CHECKING

from kcli.core.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tests.fake.codes import Code, RefusedError
from tests.fake.leader_epochs import check_epoch
from tests.fake.topics import Partition

if TYPE_CHECKING:
    from tests.fake.state import Context

END, START, NEWEST, LOCAL_START, TIERED_END, PENDING_UPLOAD = -1, -2, -3, -4, -5, -6
_SINCE = {END: 0, START: 0, NEWEST: 7, LOCAL_START: 8, TIERED_END: 9, PENDING_UPLOAD: 11}

Found = tuple[int, int, int]
"""Timestamp, offset, leader epoch."""
_NOTHING: Found = (-1, -1, -1)


async def list_offsets(ctx: "Context", request: ListOffsetsRequest) -> ListOffsetsResponse:
    """Only the leader answers. A partition that is named twice is refused."""
    names = [(t.name, p.partition_index) for t in request.topics for p in t.partitions]
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    _row(ctx, request, topic.name, p, twice=names.count((topic.name, p.partition_index)) > 1)
                    for p in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _row(
    ctx: "Context", request: ListOffsetsRequest, name: str, asked: ListOffsetsPartition, *, twice: bool
) -> ListOffsetsPartitionResponse:
    try:
        if twice:
            raise RefusedError(Code.INVALID_REQUEST)
        place = ctx.state.topics.partition(name, b"", asked.partition_index)
        if place.leader != ctx.node:
            raise RefusedError(Code.NOT_LEADER_OR_FOLLOWER)
        check_epoch(place, asked.current_leader_epoch)
        timestamp, offset, epoch = _find(
            place, asked.timestamp, ctx.version, committed=bool(request.isolation_level)
        )
    except RefusedError as refused:
        return ListOffsetsPartitionResponse(partition_index=asked.partition_index, error_code=refused.code)
    return ListOffsetsPartitionResponse(
        partition_index=asked.partition_index,
        error_code=0,
        timestamp=timestamp,
        offset=offset,
        leader_epoch=epoch,
    )


def _find(place: Partition, timestamp: int, version: int, *, committed: bool) -> Found:
    log = place.log
    end = log.last_stable_offset if committed else log.high_watermark
    if timestamp < 0:
        since = _SINCE.get(timestamp)
        if since is None or version < since:
            raise RefusedError(Code.UNSUPPORTED_VERSION)
    if timestamp == END:
        return -1, end, place.leader_epoch
    if timestamp in (START, LOCAL_START):
        local = log.local_start if timestamp == LOCAL_START else 0
        start = max(log.start_offset, local)
        return -1, start, log.epoch_at(start)
    if timestamp in (TIERED_END, PENDING_UPLOAD):
        if log.tiered_end < 0:
            return _NOTHING
        found_at = log.tiered_end + (timestamp == PENDING_UPLOAD)
        return -1, found_at, log.epoch_at(found_at)
    found = log.newest_timestamp() if timestamp == NEWEST else log.find_timestamp(timestamp)
    if found is None or found[0] >= end:
        return _NOTHING
    offset, time, epoch = found
    return time, offset, epoch
