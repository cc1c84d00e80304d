# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""DescribeTopicPartitions (API 75): partitions of topics in pages, with their eligible leader replicas (KIP-966)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BOOL, INT16, INT32, STRING, UUID, Array, Struct, field


class DescribeTopicPartitionsResponsePartition(Struct):
    error_code: int = field(INT16)
    partition_index: int = field(INT32)
    leader_id: int = field(INT32)
    leader_epoch: int = field(INT32, default=-1)
    replica_nodes: list[int] = field(Array(INT32))
    isr_nodes: list[int] = field(Array(INT32))
    eligible_leader_replicas: list[int] | None = field(Array(INT32), default=None, nullable="0+")
    last_known_elr: list[int] | None = field(Array(INT32), default=None, nullable="0+")
    offline_replicas: list[int] = field(Array(INT32))


class DescribeTopicPartitionsResponseTopic(Struct):
    error_code: int = field(INT16)
    name: str | None = field(STRING, nullable="0+")
    topic_id: bytes = field(UUID)
    is_internal: bool = field(BOOL, default=False)
    partitions: list[DescribeTopicPartitionsResponsePartition] = field(
        Array(DescribeTopicPartitionsResponsePartition)
    )
    topic_authorized_operations: int = field(INT32, default=-2147483648)


class Cursor(Struct):
    topic_name: str = field(STRING)
    partition_index: int = field(INT32)


class DescribeTopicPartitionsResponse(Response):
    throttle_time_ms: int = field(INT32)
    topics: list[DescribeTopicPartitionsResponseTopic] = field(Array(DescribeTopicPartitionsResponseTopic))
    next_cursor: Cursor | None = field(Cursor, default=None, nullable="0+")


class TopicRequest(Struct):
    name: str = field(STRING)


class DescribeTopicPartitionsRequest(
    Request, key=75, versions=(0, 0), flexible=0, response=DescribeTopicPartitionsResponse
):
    topics: list[TopicRequest] = field(Array(TopicRequest))
    response_partition_limit: int = field(INT32, default=2000)
    cursor: Cursor | None = field(Cursor, default=None, nullable="0+")
