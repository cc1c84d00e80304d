# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""DeleteShareGroupOffsets (API 92): topics that a share group without members forgets (KIP-932)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT16, INT32, STRING, UUID, Array, Struct, field


class DeleteShareGroupOffsetsResponseTopic(Struct):
    topic_name: str = field(STRING)
    topic_id: bytes = field(UUID)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, default=None, nullable="0+")


class DeleteShareGroupOffsetsResponse(Response):
    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, default=None, nullable="0+")
    responses: list[DeleteShareGroupOffsetsResponseTopic] = field(Array(DeleteShareGroupOffsetsResponseTopic))


class DeleteShareGroupOffsetsRequestTopic(Struct):
    topic_name: str = field(STRING)


class DeleteShareGroupOffsetsRequest(
    Request, key=92, versions=(0, 0), flexible=0, response=DeleteShareGroupOffsetsResponse
):
    group_id: str = field(STRING)
    topics: list[DeleteShareGroupOffsetsRequestTopic] = field(Array(DeleteShareGroupOffsetsRequestTopic))
