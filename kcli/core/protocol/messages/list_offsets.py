# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""ListOffsets (API 2): offsets by timestamp or by place (−1 end, −2 start, −3 newest timestamp, …)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT8, INT16, INT32, INT64, STRING, Array, Struct, field


class ListOffsetsPartitionResponse(Struct):
    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    timestamp: int = field(INT64, "1+", default=-1)
    offset: int = field(INT64, "1+", default=-1)
    leader_epoch: int = field(INT32, "4+", default=-1)


class ListOffsetsTopicResponse(Struct):
    name: str = field(STRING)
    partitions: list[ListOffsetsPartitionResponse] = field(Array(ListOffsetsPartitionResponse))


class ListOffsetsResponse(Response):
    throttle_time_ms: int = field(INT32, "2+", default=0)
    topics: list[ListOffsetsTopicResponse] = field(Array(ListOffsetsTopicResponse))


class ListOffsetsPartition(Struct):
    partition_index: int = field(INT32)
    current_leader_epoch: int = field(INT32, "4+", default=-1)
    timestamp: int = field(INT64)


class ListOffsetsTopic(Struct):
    name: str = field(STRING)
    partitions: list[ListOffsetsPartition] = field(Array(ListOffsetsPartition))


class ListOffsetsRequest(Request, key=2, versions=(1, 11), flexible=6, response=ListOffsetsResponse):
    replica_id: int = field(INT32)
    isolation_level: int = field(INT8, "2+", default=0)
    topics: list[ListOffsetsTopic] = field(Array(ListOffsetsTopic))
    timeout_ms: int = field(INT32, "10+", default=0)
