# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""DeleteGroups (API 42): groups to be deleted, with their offsets."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT16, INT32, STRING, Array, Struct, field


class DeletableGroupResult(Struct):
    group_id: str = field(STRING)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, "3+", default=None, nullable="3+")


class DeleteGroupsResponse(Response):
    throttle_time_ms: int = field(INT32)
    results: list[DeletableGroupResult] = field(Array(DeletableGroupResult))


class DeleteGroupsRequest(Request, key=42, versions=(0, 3), flexible=2, response=DeleteGroupsResponse):
    groups_names: list[str] = field(Array(STRING))
