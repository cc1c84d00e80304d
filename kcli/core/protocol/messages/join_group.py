# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""JoinGroup (API 11): a member joins a classic group; the answer waits for the other members."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BOOL, BYTES, INT16, INT32, STRING, Array, Struct, field


class JoinGroupResponseMember(Struct):
    member_id: str = field(STRING)
    group_instance_id: str | None = field(STRING, "5+", default=None, nullable="5+")
    metadata: bytes | memoryview = field(BYTES)


class JoinGroupResponse(Response):
    throttle_time_ms: int = field(INT32, "2+", default=0)
    error_code: int = field(INT16)
    generation_id: int = field(INT32, default=-1)
    protocol_type: str | None = field(STRING, "7+", default=None, nullable="7+")
    protocol_name: str | None = field(STRING, nullable="7+")
    leader: str = field(STRING)
    skip_assignment: bool = field(BOOL, "9+", default=False)
    member_id: str = field(STRING)
    members: list[JoinGroupResponseMember] = field(Array(JoinGroupResponseMember))


class JoinGroupRequestProtocol(Struct):
    name: str = field(STRING)
    metadata: bytes | memoryview = field(BYTES)


class JoinGroupRequest(Request, key=11, versions=(0, 9), flexible=6, no_news=6, response=JoinGroupResponse):
    group_id: str = field(STRING)
    session_timeout_ms: int = field(INT32)
    rebalance_timeout_ms: int = field(INT32, "1+", default=-1)
    member_id: str = field(STRING)
    group_instance_id: str | None = field(STRING, "5+", default=None, nullable="5+")
    protocol_type: str = field(STRING)
    protocols: list[JoinGroupRequestProtocol] = field(Array(JoinGroupRequestProtocol))
    reason: str | None = field(STRING, "8+", default=None, nullable="8+")
