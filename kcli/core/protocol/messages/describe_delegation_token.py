# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""DescribeDelegationToken (API 41): the delegation tokens that a client may see, with their HMACs (KIP-48, KIP-373)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BYTES, INT16, INT32, INT64, STRING, Array, Struct, field


class DescribedDelegationTokenRenewer(Struct):
    principal_type: str = field(STRING)
    principal_name: str = field(STRING)


class DescribedDelegationToken(Struct):
    principal_type: str = field(STRING)
    principal_name: str = field(STRING)
    token_requester_principal_type: str = field(STRING, "3+", default="")
    token_requester_principal_name: str = field(STRING, "3+", default="")
    issue_timestamp: int = field(INT64)
    expiry_timestamp: int = field(INT64)
    max_timestamp: int = field(INT64)
    token_id: str = field(STRING)
    hmac: bytes = field(BYTES, secret=True)
    renewers: list[DescribedDelegationTokenRenewer] = field(Array(DescribedDelegationTokenRenewer))


class DescribeDelegationTokenResponse(Response):
    error_code: int = field(INT16)
    tokens: list[DescribedDelegationToken] = field(Array(DescribedDelegationToken))
    throttle_time_ms: int = field(INT32)


class DescribeDelegationTokenOwner(Struct):
    principal_type: str = field(STRING)
    principal_name: str = field(STRING)


class DescribeDelegationTokenRequest(
    Request, key=41, versions=(1, 3), flexible=2, response=DescribeDelegationTokenResponse
):
    owners: list[DescribeDelegationTokenOwner] | None = field(
        Array(DescribeDelegationTokenOwner), nullable="0+"
    )
