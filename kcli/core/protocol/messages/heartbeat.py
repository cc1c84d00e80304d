# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""Heartbeat (API 12): a member of a classic group is alive."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT16, INT32, STRING, field


class HeartbeatResponse(Response):
    throttle_time_ms: int = field(INT32, "1+", default=0)
    error_code: int = field(INT16)


class HeartbeatRequest(Request, key=12, versions=(0, 4), flexible=4, response=HeartbeatResponse):
    group_id: str = field(STRING)
    generation_id: int = field(INT32)
    member_id: str = field(STRING)
    group_instance_id: str | None = field(STRING, "3+", default=None, nullable="3+")
