# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""PushTelemetry (API 72): metrics of a client for the plugins of the broker (KIP-714)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BOOL, BYTES, INT8, INT16, INT32, UUID, field


class PushTelemetryResponse(Response):
    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)


class PushTelemetryRequest(Request, key=72, versions=(0, 0), flexible=0, response=PushTelemetryResponse):
    client_instance_id: bytes = field(UUID)
    subscription_id: int = field(INT32)
    terminating: bool = field(BOOL)
    compression_type: int = field(INT8)
    metrics: bytes | memoryview = field(BYTES)
