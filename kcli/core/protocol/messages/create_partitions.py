# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""CreatePartitions (API 37): more partitions for topics that exist (KIP-195)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BOOL, INT16, INT32, STRING, Array, Struct, field


class CreatePartitionsTopicResult(Struct):
    name: str = field(STRING)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, default=None, nullable="0+")


class CreatePartitionsResponse(Response):
    throttle_time_ms: int = field(INT32)
    results: list[CreatePartitionsTopicResult] = field(Array(CreatePartitionsTopicResult))


class CreatePartitionsAssignment(Struct):
    broker_ids: list[int] = field(Array(INT32))


class CreatePartitionsTopic(Struct):
    name: str = field(STRING)
    count: int = field(INT32)
    assignments: list[CreatePartitionsAssignment] | None = field(
        Array(CreatePartitionsAssignment), nullable="0+"
    )


class CreatePartitionsRequest(
    Request, key=37, versions=(0, 3), flexible=2, response=CreatePartitionsResponse
):
    topics: list[CreatePartitionsTopic] = field(Array(CreatePartitionsTopic))
    timeout_ms: int = field(INT32)
    validate_only: bool = field(BOOL)
