# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""UnregisterBroker (API 64): a broker that is gone for good, to be forgotten by the controllers (KIP-631)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT16, INT32, STRING, field


class UnregisterBrokerResponse(Response):
    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")


class UnregisterBrokerRequest(
    Request, key=64, versions=(0, 0), flexible=0, response=UnregisterBrokerResponse
):
    broker_id: int = field(INT32)
