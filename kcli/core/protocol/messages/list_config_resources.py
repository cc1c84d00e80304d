# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""ListConfigResources (API 74): what has a configuration of its own (KIP-1142); v0 lists client metrics (KIP-714)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT8, INT16, INT32, STRING, Array, Struct, field


class ConfigResource(Struct):
    resource_name: str = field(STRING)
    resource_type: int = field(INT8, "1+", default=16)


class ListConfigResourcesResponse(Response):
    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    config_resources: list[ConfigResource] = field(Array(ConfigResource))


class ListConfigResourcesRequest(
    Request, key=74, versions=(0, 1), flexible=0, response=ListConfigResourcesResponse
):
    resource_types: list[int] = field(Array(INT8), "1+", default_factory=list)
