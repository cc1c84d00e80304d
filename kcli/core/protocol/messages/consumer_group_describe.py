# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""ConsumerGroupDescribe (API 69): groups of the new protocol with members and assignments (KIP-848)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BOOL, INT8, INT16, INT32, STRING, UUID, Array, Struct, field


class TopicPartitions(Struct):
    topic_id: bytes = field(UUID)
    topic_name: str = field(STRING)
    partitions: list[int] = field(Array(INT32))


class Assignment(Struct):
    topic_partitions: list[TopicPartitions] = field(Array(TopicPartitions))


class Member(Struct):
    member_id: str = field(STRING)
    instance_id: str | None = field(STRING, default=None, nullable="0+")
    rack_id: str | None = field(STRING, default=None, nullable="0+")
    member_epoch: int = field(INT32)
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    subscribed_topic_names: list[str] = field(Array(STRING))
    subscribed_topic_regex: str | None = field(STRING, default=None, nullable="0+")
    assignment: Assignment = field(Assignment)
    target_assignment: Assignment = field(Assignment)
    member_type: int = field(INT8, "1+", default=-1)


class DescribedGroup(Struct):
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, default=None, nullable="0+")
    group_id: str = field(STRING)
    group_state: str = field(STRING)
    group_epoch: int = field(INT32)
    assignment_epoch: int = field(INT32)
    assignor_name: str = field(STRING)
    members: list[Member] = field(Array(Member))
    authorized_operations: int = field(INT32, default=-2147483648)


class ConsumerGroupDescribeResponse(Response):
    throttle_time_ms: int = field(INT32)
    groups: list[DescribedGroup] = field(Array(DescribedGroup))


class ConsumerGroupDescribeRequest(
    Request, key=69, versions=(0, 1), flexible=0, response=ConsumerGroupDescribeResponse
):
    group_ids: list[str] = field(Array(STRING))
    include_authorized_operations: bool = field(BOOL)
