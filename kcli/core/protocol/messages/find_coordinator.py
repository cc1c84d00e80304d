# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""FindCoordinator (API 10): who coordinates groups and transactions; many keys in one request since v4 (KIP-699)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT8, INT16, INT32, STRING, Array, Struct, field


class Coordinator(Struct):
    key: str = field(STRING, "4+", default="")
    node_id: int = field(INT32, "4+", default=0)
    host: str = field(STRING, "4+", default="")
    port: int = field(INT32, "4+", default=0)
    error_code: int = field(INT16, "4+", default=0)
    error_message: str | None = field(STRING, "4+", default="", nullable="4+")


class FindCoordinatorResponse(Response):
    throttle_time_ms: int = field(INT32, "1+", default=0)
    error_code: int = field(INT16, "0-3", default=0)
    error_message: str | None = field(STRING, "1-3", default="", nullable="1-3")
    node_id: int = field(INT32, "0-3", default=0)
    host: str = field(STRING, "0-3", default="")
    port: int = field(INT32, "0-3", default=0)
    coordinators: list[Coordinator] = field(Array(Coordinator), "4+", default_factory=list)


class FindCoordinatorRequest(Request, key=10, versions=(0, 6), flexible=3, response=FindCoordinatorResponse):
    key: str = field(STRING, "0-3", default="")
    key_type: int = field(INT8, "1+", default=0)
    coordinator_keys: list[str] = field(Array(STRING), "4+", default_factory=list)
