"""Leader epochs: is the client's the partition's, and where did one end (KIP-101, KIP-320). And OffsetForLeaderEpoch."""

from typing import TYPE_CHECKING

from kcli.core.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from tests.fake.codes import Code, RefusedError
from tests.fake.topics import Partition

if TYPE_CHECKING:
    from tests.fake.state import Context

NO_EPOCH = UNDEFINED = -1


def check_epoch(place: Partition, asked: int) -> None:
    """RefusedError when the client knows an older or a newer epoch than the broker."""
    if asked == NO_EPOCH:
        return
    if asked < place.leader_epoch:
        raise RefusedError(Code.FENCED_LEADER_EPOCH)
    if asked > place.leader_epoch:
        raise RefusedError(Code.UNKNOWN_LEADER_EPOCH)


async def offset_for_leader_epoch(
    ctx: "Context", request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    """Where an epoch ends; (−1, −1) for one that never was, without an error."""
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic, partitions=[_row(ctx, topic.topic, p) for p in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _row(ctx: "Context", name: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
    try:
        place = ctx.state.topics.partition(name, b"", asked.partition)
        if place.leader != ctx.node:
            raise RefusedError(Code.NOT_LEADER_OR_FOLLOWER)
        check_epoch(place, asked.current_leader_epoch)
    except RefusedError as refused:
        return EpochEndOffset(error_code=refused.code, partition=asked.partition)
    epoch, end = place.log.epoch_end(asked.leader_epoch)
    return EpochEndOffset(error_code=0, partition=asked.partition, leader_epoch=epoch, end_offset=end)
