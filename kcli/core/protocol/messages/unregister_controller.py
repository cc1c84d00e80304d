# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""UnregisterController (API 94): a controller that is gone for good, to be forgotten by the others (KIP-1312)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT16, INT32, STRING, field


class UnregisterControllerResponse(Response):
    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")


class UnregisterControllerRequest(
    Request, key=94, versions=(0, 0), flexible=0, response=UnregisterControllerResponse
):
    controller_id: int = field(INT32)
