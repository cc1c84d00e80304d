# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""ConsumerGroupHeartbeat (API 68): joins, keeps and leaves a group of the new protocol (KIP-848)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT16, INT32, STRING, UUID, Array, Struct, field


class TopicPartitions(Struct):
    topic_id: bytes = field(UUID)
    partitions: list[int] = field(Array(INT32))


class Assignment(Struct):
    topic_partitions: list[TopicPartitions] = field(Array(TopicPartitions))


class ConsumerGroupHeartbeatResponse(Response):
    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, default=None, nullable="0+")
    member_id: str | None = field(STRING, default=None, nullable="0+")
    member_epoch: int = field(INT32)
    heartbeat_interval_ms: int = field(INT32)
    assignment: Assignment | None = field(Assignment, default=None, nullable="0+")


class ConsumerGroupHeartbeatRequest(
    Request, key=68, versions=(0, 1), flexible=0, response=ConsumerGroupHeartbeatResponse
):
    group_id: str = field(STRING)
    member_id: str = field(STRING)
    member_epoch: int = field(INT32)
    instance_id: str | None = field(STRING, default=None, nullable="0+")
    rack_id: str | None = field(STRING, default=None, nullable="0+")
    rebalance_timeout_ms: int = field(INT32, default=-1)
    subscribed_topic_names: list[str] | None = field(Array(STRING), default=None, nullable="0+")
    subscribed_topic_regex: str | None = field(STRING, "1+", default=None, nullable="1+")
    server_assignor: str | None = field(STRING, default=None, nullable="0+")
    topic_partitions: list[TopicPartitions] | None = field(
        Array(TopicPartitions), default=None, nullable="0+"
    )
