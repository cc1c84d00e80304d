# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""OffsetCommit (API 8): positions of a group, kept by its coordinator. By topic id since v10."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT16, INT32, INT64, NO_UUID, STRING, UUID, Array, Struct, field


class OffsetCommitResponsePartition(Struct):
    partition_index: int = field(INT32)
    error_code: int = field(INT16)


class OffsetCommitResponseTopic(Struct):
    name: str = field(STRING, "0-9", default="")
    topic_id: bytes = field(UUID, "10+", default=NO_UUID)
    partitions: list[OffsetCommitResponsePartition] = field(Array(OffsetCommitResponsePartition))


class OffsetCommitResponse(Response):
    throttle_time_ms: int = field(INT32, "3+", default=0)
    topics: list[OffsetCommitResponseTopic] = field(Array(OffsetCommitResponseTopic))


class OffsetCommitRequestPartition(Struct):
    partition_index: int = field(INT32)
    committed_offset: int = field(INT64)
    committed_leader_epoch: int = field(INT32, "6+", default=-1)
    committed_metadata: str | None = field(STRING, nullable="0+")


class OffsetCommitRequestTopic(Struct):
    name: str = field(STRING, "0-9", default="")
    topic_id: bytes = field(UUID, "10+", default=NO_UUID)
    partitions: list[OffsetCommitRequestPartition] = field(Array(OffsetCommitRequestPartition))


class OffsetCommitRequest(Request, key=8, versions=(2, 10), flexible=8, response=OffsetCommitResponse):
    group_id: str = field(STRING)
    generation_id_or_member_epoch: int = field(INT32, "1+", default=-1)
    member_id: str = field(STRING, "1+", default="")
    group_instance_id: str | None = field(STRING, "7+", default=None, nullable="7+")
    retention_time_ms: int = field(INT64, "2-4", default=-1)
    topics: list[OffsetCommitRequestTopic] = field(Array(OffsetCommitRequestTopic))
