# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""DeleteTopics (API 20): topics to be deleted, by name or, since v6, by id."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT16, INT32, NO_UUID, STRING, UUID, Array, Struct, field


class DeletableTopicResult(Struct):
    name: str | None = field(STRING, nullable="6+")
    topic_id: bytes = field(UUID, "6+", default=NO_UUID)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, "5+", default=None, nullable="5+")


class DeleteTopicsResponse(Response):
    throttle_time_ms: int = field(INT32, "1+", default=0)
    responses: list[DeletableTopicResult] = field(Array(DeletableTopicResult))


class DeleteTopicState(Struct):
    name: str | None = field(STRING, "6+", default=None, nullable="6+")
    topic_id: bytes = field(UUID, "6+", default=NO_UUID)


class DeleteTopicsRequest(Request, key=20, versions=(1, 6), flexible=4, response=DeleteTopicsResponse):
    topics: list[DeleteTopicState] = field(Array(DeleteTopicState), "6+", default_factory=list)
    topic_names: list[str] = field(Array(STRING), "0-5", default_factory=list)
    timeout_ms: int = field(INT32)
