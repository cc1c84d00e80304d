# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""ApiVersions (API 18): what a broker offers, asked first on every connection (KIP-35, 511, 584)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BOOL, INT16, INT32, INT64, STRING, Array, Struct, field


class ApiVersion(Struct):
    api_key: int = field(INT16)
    min_version: int = field(INT16)
    max_version: int = field(INT16)


class SupportedFeatureKey(Struct):
    name: str = field(STRING, "3+", default="")
    min_version: int = field(INT16, "3+", default=0)
    max_version: int = field(INT16, "3+", default=0)


class FinalizedFeatureKey(Struct):
    name: str = field(STRING, "3+", default="")
    max_version_level: int = field(INT16, "3+", default=0)
    min_version_level: int = field(INT16, "3+", default=0)


class ApiVersionsResponse(Response):
    error_code: int = field(INT16)
    api_keys: list[ApiVersion] = field(Array(ApiVersion))
    throttle_time_ms: int = field(INT32, "1+", default=0)
    supported_features: list[SupportedFeatureKey] = field(
        Array(SupportedFeatureKey), "3+", default_factory=list, tag=0
    )
    finalized_features_epoch: int = field(INT64, "3+", default=-1, tag=1)
    finalized_features: list[FinalizedFeatureKey] = field(
        Array(FinalizedFeatureKey), "3+", default_factory=list, tag=2
    )
    zk_migration_ready: bool = field(BOOL, "3+", default=False, tag=3)


class ApiVersionsRequest(Request, key=18, versions=(0, 5), flexible=3, response=ApiVersionsResponse):
    client_software_name: str = field(STRING, "3+", default="")
    client_software_version: str = field(STRING, "3+", default="")
    cluster_id: str | None = field(STRING, "5+", default=None, nullable="5+")
    node_id: int = field(INT32, "5+", default=-1)
