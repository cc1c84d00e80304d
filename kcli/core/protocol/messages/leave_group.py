# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""LeaveGroup (API 13): members leave a classic group; several since v3 (KIP-345)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT16, INT32, STRING, Array, Struct, field


class MemberResponse(Struct):
    member_id: str = field(STRING, "3+", default="")
    group_instance_id: str | None = field(STRING, "3+", default="", nullable="3+")
    error_code: int = field(INT16, "3+", default=0)


class LeaveGroupResponse(Response):
    throttle_time_ms: int = field(INT32, "1+", default=0)
    error_code: int = field(INT16)
    members: list[MemberResponse] = field(Array(MemberResponse), "3+", default_factory=list)


class MemberIdentity(Struct):
    member_id: str = field(STRING, "3+", default="")
    group_instance_id: str | None = field(STRING, "3+", default=None, nullable="3+")
    reason: str | None = field(STRING, "5+", default=None, nullable="5+")


class LeaveGroupRequest(Request, key=13, versions=(0, 5), flexible=4, response=LeaveGroupResponse):
    group_id: str = field(STRING)
    member_id: str = field(STRING, "0-2", default="")
    members: list[MemberIdentity] = field(Array(MemberIdentity), "3+", default_factory=list)
