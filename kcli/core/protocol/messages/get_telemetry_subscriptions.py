# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""GetTelemetrySubscriptions (API 71): which of its metrics a client is asked for, and how often (KIP-714)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BOOL, INT8, INT16, INT32, STRING, UUID, Array, field


class GetTelemetrySubscriptionsResponse(Response):
    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    client_instance_id: bytes = field(UUID)
    subscription_id: int = field(INT32)
    accepted_compression_types: list[int] = field(Array(INT8))
    push_interval_ms: int = field(INT32)
    telemetry_max_bytes: int = field(INT32)
    delta_temporality: bool = field(BOOL)
    requested_metrics: list[str] = field(Array(STRING))


class GetTelemetrySubscriptionsRequest(
    Request, key=71, versions=(0, 0), flexible=0, response=GetTelemetrySubscriptionsResponse
):
    client_instance_id: bytes = field(UUID)
