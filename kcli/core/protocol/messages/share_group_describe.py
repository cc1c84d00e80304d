# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""ShareGroupDescribe (API 77): share groups with members and assignments (KIP-932)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BOOL, INT16, INT32, STRING, UUID, Array, Struct, field


class TopicPartitions(Struct):
    topic_id: bytes = field(UUID)
    topic_name: str = field(STRING)
    partitions: list[int] = field(Array(INT32))


class Assignment(Struct):
    topic_partitions: list[TopicPartitions] = field(Array(TopicPartitions))


class Member(Struct):
    member_id: str = field(STRING)
    rack_id: str | None = field(STRING, default=None, nullable="0+")
    member_epoch: int = field(INT32)
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    subscribed_topic_names: list[str] = field(Array(STRING))
    assignment: Assignment = field(Assignment)


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


class ShareGroupDescribeResponse(Response):
    throttle_time_ms: int = field(INT32)
    groups: list[DescribedGroup] = field(Array(DescribedGroup))


class ShareGroupDescribeRequest(
    Request, key=77, versions=(1, 1), flexible=0, response=ShareGroupDescribeResponse
):
    group_ids: list[str] = field(Array(STRING))
    include_authorized_operations: bool = field(BOOL)
