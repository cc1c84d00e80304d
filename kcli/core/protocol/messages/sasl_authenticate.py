# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""SaslAuthenticate (API 36): one message of a SASL mechanism, and the response to it (KIP-152).

Version 1 returns for how long the session is valid (KIP-368), in milliseconds; 0 means without limit.
"""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BYTES, INT16, INT64, STRING, field


class SaslAuthenticateResponse(Response):
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    auth_bytes: bytes = field(BYTES, secret=True)
    session_lifetime_ms: int = field(INT64, "1+", default=0)


class SaslAuthenticateRequest(
    Request, key=36, versions=(0, 2), flexible=2, response=SaslAuthenticateResponse
):
    auth_bytes: bytes = field(BYTES, secret=True)
