# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""AlterShareGroupOffsets (API 91): where a share group without members starts from next (KIP-932)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT16, INT32, INT64, STRING, UUID, Array, Struct, field


class AlterShareGroupOffsetsResponsePartition(Struct):
    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, default=None, nullable="0+")


class AlterShareGroupOffsetsResponseTopic(Struct):
    topic_name: str = field(STRING)
    topic_id: bytes = field(UUID)
    partitions: list[AlterShareGroupOffsetsResponsePartition] = field(
        Array(AlterShareGroupOffsetsResponsePartition)
    )


class AlterShareGroupOffsetsResponse(Response):
    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, default=None, nullable="0+")
    responses: list[AlterShareGroupOffsetsResponseTopic] = field(Array(AlterShareGroupOffsetsResponseTopic))


class AlterShareGroupOffsetsRequestPartition(Struct):
    partition_index: int = field(INT32)
    start_offset: int = field(INT64)


class AlterShareGroupOffsetsRequestTopic(Struct):
    topic_name: str = field(STRING)
    partitions: list[AlterShareGroupOffsetsRequestPartition] = field(
        Array(AlterShareGroupOffsetsRequestPartition)
    )


class AlterShareGroupOffsetsRequest(
    Request, key=91, versions=(0, 0), flexible=0, response=AlterShareGroupOffsetsResponse
):
    group_id: str = field(STRING)
    topics: list[AlterShareGroupOffsetsRequestTopic] = field(Array(AlterShareGroupOffsetsRequestTopic))
