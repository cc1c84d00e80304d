# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""RenewDelegationToken (API 39): a later expiry of a delegation token, which its HMAC names (KIP-48)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BYTES, INT16, INT32, INT64, field


class RenewDelegationTokenResponse(Response):
    error_code: int = field(INT16)
    expiry_timestamp_ms: int = field(INT64)
    throttle_time_ms: int = field(INT32)


class RenewDelegationTokenRequest(
    Request, key=39, versions=(1, 2), flexible=2, response=RenewDelegationTokenResponse
):
    hmac: bytes = field(BYTES, secret=True)
    renew_period_ms: int = field(INT64)
