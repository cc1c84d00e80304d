# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""AddRaftVoter (API 80): one more voter of the quorum of controllers (KIP-853)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BOOL, INT16, INT32, STRING, UINT16, UUID, Array, Struct, field


class AddRaftVoterResponse(Response):
    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")


class Listener(Struct):
    name: str = field(STRING)
    host: str = field(STRING)
    port: int = field(UINT16)


class AddRaftVoterRequest(Request, key=80, versions=(0, 1), flexible=0, response=AddRaftVoterResponse):
    cluster_id: str | None = field(STRING, nullable="0+")
    timeout_ms: int = field(INT32)
    voter_id: int = field(INT32)
    voter_directory_id: bytes = field(UUID)
    listeners: list[Listener] = field(Array(Listener))
    ack_when_committed: bool = field(BOOL, "1+", default=True)
