# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""DescribeConfigs (API 32): configurations of topics and brokers with their sources."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BOOL, INT8, INT16, INT32, STRING, Array, Struct, field


class DescribeConfigsSynonym(Struct):
    name: str = field(STRING, "1+", default="")
    value: str | None = field(STRING, "1+", default="", nullable="0+")
    source: int = field(INT8, "1+", default=0)


class DescribeConfigsResourceResult(Struct):
    name: str = field(STRING)
    value: str | None = field(STRING, nullable="0+")
    read_only: bool = field(BOOL)
    config_source: int = field(INT8, "1+", default=-1)
    is_sensitive: bool = field(BOOL)
    synonyms: list[DescribeConfigsSynonym] = field(Array(DescribeConfigsSynonym), "1+", default_factory=list)
    config_type: int = field(INT8, "3+", default=0)
    documentation: str | None = field(STRING, "3+", default="", nullable="0+")


class DescribeConfigsResult(Struct):
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    configs: list[DescribeConfigsResourceResult] = field(Array(DescribeConfigsResourceResult))


class DescribeConfigsResponse(Response):
    throttle_time_ms: int = field(INT32)
    results: list[DescribeConfigsResult] = field(Array(DescribeConfigsResult))


class DescribeConfigsResource(Struct):
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    configuration_keys: list[str] | None = field(Array(STRING), nullable="0+")


class DescribeConfigsRequest(Request, key=32, versions=(1, 4), flexible=4, response=DescribeConfigsResponse):
    resources: list[DescribeConfigsResource] = field(Array(DescribeConfigsResource))
    include_synonyms: bool = field(BOOL, "1+", default=False)
    include_documentation: bool = field(BOOL, "3+", default=False)
