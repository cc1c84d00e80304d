# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""UpdateFeatures (API 57): levels of the cluster's features, the metadata version among them (KIP-584, KIP-778)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BOOL, INT8, INT16, INT32, STRING, Array, Struct, field


class UpdatableFeatureResult(Struct):
    feature: str = field(STRING)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")


class UpdateFeaturesResponse(Response):
    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    results: list[UpdatableFeatureResult] = field(Array(UpdatableFeatureResult), "0-1", default_factory=list)


class FeatureUpdateKey(Struct):
    feature: str = field(STRING)
    max_version_level: int = field(INT16)
    allow_downgrade: bool = field(BOOL, "0", default=False)
    upgrade_type: int = field(INT8, "1+", default=1)


class UpdateFeaturesRequest(Request, key=57, versions=(0, 2), flexible=0, response=UpdateFeaturesResponse):
    timeout_ms: int = field(INT32, default=60000)
    feature_updates: list[FeatureUpdateKey] = field(Array(FeatureUpdateKey))
    validate_only: bool = field(BOOL, "1+", default=False)
