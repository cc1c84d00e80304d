# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""SyncGroup (API 14): the leader hands in the assignment of a classic group, every member gets its own."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BYTES, INT16, INT32, STRING, Array, Struct, field


class SyncGroupResponse(Response):
    throttle_time_ms: int = field(INT32, "1+", default=0)
    error_code: int = field(INT16)
    protocol_type: str | None = field(STRING, "5+", default=None, nullable="5+")
    protocol_name: str | None = field(STRING, "5+", default=None, nullable="5+")
    assignment: bytes | memoryview = field(BYTES)


class SyncGroupRequestAssignment(Struct):
    member_id: str = field(STRING)
    assignment: bytes | memoryview = field(BYTES)


class SyncGroupRequest(Request, key=14, versions=(0, 5), flexible=4, no_news=4, response=SyncGroupResponse):
    group_id: str = field(STRING)
    generation_id: int = field(INT32)
    member_id: str = field(STRING)
    group_instance_id: str | None = field(STRING, "3+", default=None, nullable="3+")
    protocol_type: str | None = field(STRING, "5+", default=None, nullable="5+")
    protocol_name: str | None = field(STRING, "5+", default=None, nullable="5+")
    assignments: list[SyncGroupRequestAssignment] = field(Array(SyncGroupRequestAssignment))
