# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""ExpireDelegationToken (API 40): another expiry of a delegation token, or its end at once (KIP-48)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BYTES, INT16, INT32, INT64, field


class ExpireDelegationTokenResponse(Response):
    error_code: int = field(INT16)
    expiry_timestamp_ms: int = field(INT64)
    throttle_time_ms: int = field(INT32)


class ExpireDelegationTokenRequest(
    Request, key=40, versions=(1, 2), flexible=2, response=ExpireDelegationTokenResponse
):
    hmac: bytes = field(BYTES, secret=True)
    expiry_time_period_ms: int = field(INT64)
