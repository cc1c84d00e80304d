# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""DescribeGroups (API 15): classic groups with members and assignments."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BOOL, BYTES, INT16, INT32, STRING, Array, Struct, field


class DescribedGroupMember(Struct):
    member_id: str = field(STRING)
    group_instance_id: str | None = field(STRING, "4+", default=None, nullable="4+")
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    member_metadata: bytes | memoryview = field(BYTES)
    member_assignment: bytes | memoryview = field(BYTES)


class DescribedGroup(Struct):
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, "6+", default=None, nullable="6+")
    group_id: str = field(STRING)
    group_state: str = field(STRING)
    protocol_type: str = field(STRING)
    protocol_data: str = field(STRING)
    members: list[DescribedGroupMember] = field(Array(DescribedGroupMember))
    authorized_operations: int = field(INT32, "3+", default=-2147483648)


class DescribeGroupsResponse(Response):
    throttle_time_ms: int = field(INT32, "1+", default=0)
    groups: list[DescribedGroup] = field(Array(DescribedGroup))


class DescribeGroupsRequest(Request, key=15, versions=(0, 6), flexible=5, response=DescribeGroupsResponse):
    groups: list[str] = field(Array(STRING))
    include_authorized_operations: bool = field(BOOL, "3+", default=False)
