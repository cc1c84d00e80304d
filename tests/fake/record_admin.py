"""DeleteRecords, as leaders answer it."""

from typing import TYPE_CHECKING

from kcli.core.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from tests.fake.codes import Code, RefusedError

if TYPE_CHECKING:
    from tests.fake.state import Context

_ALL = -1


async def delete_records(ctx: "Context", request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    """Each partition on its own."""
    answer = DeleteRecordsResponse(
        throttle_time_ms=0,
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name, partitions=[_delete(ctx, topic.name, row) for row in topic.partitions]
            )
            for topic in request.topics
        ],
    )
    ctx.state.changed()
    return answer


def _delete(ctx: "Context", topic: str, asked: DeleteRecordsPartition) -> DeleteRecordsPartitionResult:
    code, low = 0, -1
    try:
        found = ctx.state.topics.find(topic)
        place = ctx.state.topics.partition(topic, b"", asked.partition_index)
        if place.leader != ctx.node:
            raise RefusedError(Code.NOT_LEADER_OR_FOLLOWER)
        if "delete" not in found.config("cleanup.policy", "delete"):
            raise RefusedError(Code.POLICY_VIOLATION)
        before = place.log.high_watermark if asked.offset == _ALL else asked.offset
        if not 0 <= before <= place.log.high_watermark:
            raise RefusedError(Code.OFFSET_OUT_OF_RANGE)
        place.log.delete_before(before)
        low = place.log.start_offset
    except RefusedError as refused:
        code = refused.code
    return DeleteRecordsPartitionResult(
        partition_index=asked.partition_index, low_watermark=low, error_code=code
    )
