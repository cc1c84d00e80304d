# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""SaslHandshake (API 17): which SASL mechanism follows; the response lists those that the broker offers.

Version 1 means that the tokens travel in SaslAuthenticate (KIP-152), version 0 that they follow without a header.
"""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT16, STRING, Array, field


class SaslHandshakeResponse(Response):
    error_code: int = field(INT16)
    mechanisms: list[str] = field(Array(STRING))


class SaslHandshakeRequest(Request, key=17, versions=(0, 1), response=SaslHandshakeResponse):
    mechanism: str = field(STRING)
