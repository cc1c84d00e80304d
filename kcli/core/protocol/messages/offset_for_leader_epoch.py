# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""OffsetForLeaderEpoch (API 23): where a leader epoch ends in the log: how truncation is noticed (KIP-320)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT16, INT32, INT64, STRING, Array, Struct, field


class EpochEndOffset(Struct):
    error_code: int = field(INT16)
    partition: int = field(INT32)
    leader_epoch: int = field(INT32, "1+", default=-1)
    end_offset: int = field(INT64, default=-1)


class OffsetForLeaderTopicResult(Struct):
    topic: str = field(STRING)
    partitions: list[EpochEndOffset] = field(Array(EpochEndOffset))


class OffsetForLeaderEpochResponse(Response):
    throttle_time_ms: int = field(INT32, "2+", default=0)
    topics: list[OffsetForLeaderTopicResult] = field(Array(OffsetForLeaderTopicResult))


class OffsetForLeaderPartition(Struct):
    partition: int = field(INT32)
    current_leader_epoch: int = field(INT32, "2+", default=-1)
    leader_epoch: int = field(INT32)


class OffsetForLeaderTopic(Struct):
    topic: str = field(STRING)
    partitions: list[OffsetForLeaderPartition] = field(Array(OffsetForLeaderPartition))


class OffsetForLeaderEpochRequest(
    Request, key=23, versions=(2, 4), flexible=4, response=OffsetForLeaderEpochResponse
):
    replica_id: int = field(INT32, "3+", default=-2)
    topics: list[OffsetForLeaderTopic] = field(Array(OffsetForLeaderTopic))
