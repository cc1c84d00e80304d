# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""ListGroups (API 16): the groups that a broker coordinates."""

from collections.abc import Sequence

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.row_shapes import LongArray
from kcli.core.protocol.schema import INT16, INT32, STRING, Array, Struct, field


class ListedGroup(Struct):
    group_id: str = field(STRING)
    protocol_type: str = field(STRING)
    group_state: str = field(STRING, "4+", default="")
    group_type: str = field(STRING, "5+", default="")


class ListGroupsResponse(Response):
    throttle_time_ms: int = field(INT32, "1+", default=0)
    error_code: int = field(INT16)
    groups: Sequence[ListedGroup] = field(LongArray(ListedGroup))


class ListGroupsRequest(Request, key=16, versions=(0, 5), flexible=3, response=ListGroupsResponse):
    states_filter: list[str] = field(Array(STRING), "4+", default_factory=list)
    types_filter: list[str] = field(Array(STRING), "5+", default_factory=list)
