# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""AlterConfigs (API 33): whole configurations replaced; for brokers without IncrementalAlterConfigs (KIP-133)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BOOL, INT8, INT16, INT32, STRING, Array, Struct, field


class AlterConfigsResourceResponse(Struct):
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)


class AlterConfigsResponse(Response):
    throttle_time_ms: int = field(INT32)
    responses: list[AlterConfigsResourceResponse] = field(Array(AlterConfigsResourceResponse))


class AlterableConfig(Struct):
    name: str = field(STRING)
    value: str | None = field(STRING, nullable="0+", secret=True)


class AlterConfigsResource(Struct):
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    configs: list[AlterableConfig] = field(Array(AlterableConfig))


class AlterConfigsRequest(Request, key=33, versions=(0, 2), flexible=2, response=AlterConfigsResponse):
    resources: list[AlterConfigsResource] = field(Array(AlterConfigsResource))
    validate_only: bool = field(BOOL)
