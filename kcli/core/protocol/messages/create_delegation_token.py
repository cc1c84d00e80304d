# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""CreateDelegationToken (API 38): a new delegation token (KIP-48), from v3 for another owner (KIP-373)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BYTES, INT16, INT32, INT64, STRING, Array, Struct, field


class CreateDelegationTokenResponse(Response):
    error_code: int = field(INT16)
    principal_type: str = field(STRING)
    principal_name: str = field(STRING)
    token_requester_principal_type: str = field(STRING, "3+", default="")
    token_requester_principal_name: str = field(STRING, "3+", default="")
    issue_timestamp_ms: int = field(INT64)
    expiry_timestamp_ms: int = field(INT64)
    max_timestamp_ms: int = field(INT64)
    token_id: str = field(STRING)
    hmac: bytes = field(BYTES, secret=True)
    throttle_time_ms: int = field(INT32)


class CreatableRenewers(Struct):
    principal_type: str = field(STRING)
    principal_name: str = field(STRING)


class CreateDelegationTokenRequest(
    Request, key=38, versions=(1, 3), flexible=2, response=CreateDelegationTokenResponse
):
    owner_principal_type: str | None = field(STRING, "3+", default="", nullable="3+")
    owner_principal_name: str | None = field(STRING, "3+", default="", nullable="3+")
    renewers: list[CreatableRenewers] = field(Array(CreatableRenewers))
    max_lifetime_ms: int = field(INT64)
