# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""RemoveRaftVoter (API 81): a voter to leave the quorum of controllers (KIP-853)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT16, INT32, STRING, UUID, field


class RemoveRaftVoterResponse(Response):
    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")


class RemoveRaftVoterRequest(Request, key=81, versions=(0, 0), flexible=0, response=RemoveRaftVoterResponse):
    cluster_id: str | None = field(STRING, nullable="0+")
    voter_id: int = field(INT32)
    voter_directory_id: bytes = field(UUID)
