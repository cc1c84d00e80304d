# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""OffsetFetch (API 9): committed positions; several groups since v8 (KIP-709), topic ids since v10."""

from collections.abc import Sequence

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.row_shapes import LongArray
from kcli.core.protocol.schema import BOOL, INT16, INT32, INT64, NO_UUID, STRING, UUID, Array, Struct, field


class OffsetFetchResponsePartition(Struct):
    partition_index: int = field(INT32, "0-7", default=0)
    committed_offset: int = field(INT64, "0-7", default=0)
    committed_leader_epoch: int = field(INT32, "5-7", default=-1)
    metadata: str | None = field(STRING, "0-7", default="", nullable="0-7")
    error_code: int = field(INT16, "0-7", default=0)


class OffsetFetchResponseTopic(Struct):
    name: str = field(STRING, "0-7", default="")
    partitions: Sequence[OffsetFetchResponsePartition] = field(
        LongArray(OffsetFetchResponsePartition), "0-7", default_factory=list
    )


class OffsetFetchResponsePartitions(Struct):
    partition_index: int = field(INT32, "8+", default=0)
    committed_offset: int = field(INT64, "8+", default=0)
    committed_leader_epoch: int = field(INT32, "8+", default=-1)
    metadata: str | None = field(STRING, "8+", default="", nullable="8+")
    error_code: int = field(INT16, "8+", default=0)


class OffsetFetchResponseTopics(Struct):
    name: str = field(STRING, "8-9", default="")
    topic_id: bytes = field(UUID, "10+", default=NO_UUID)
    partitions: Sequence[OffsetFetchResponsePartitions] = field(
        LongArray(OffsetFetchResponsePartitions), "8+", default_factory=list
    )


class OffsetFetchResponseGroup(Struct):
    group_id: str = field(STRING, "8+", default="")
    topics: Sequence[OffsetFetchResponseTopics] = field(
        Array(OffsetFetchResponseTopics), "8+", default_factory=list
    )
    error_code: int = field(INT16, "8+", default=0)


class OffsetFetchResponse(Response):
    throttle_time_ms: int = field(INT32, "3+", default=0)
    topics: list[OffsetFetchResponseTopic] = field(
        Array(OffsetFetchResponseTopic), "0-7", default_factory=list
    )
    error_code: int = field(INT16, "2-7", default=0)
    groups: Sequence[OffsetFetchResponseGroup] = field(
        LongArray(OffsetFetchResponseGroup), "8+", default_factory=list
    )


class OffsetFetchRequestTopic(Struct):
    name: str = field(STRING, "0-7", default="")
    partition_indexes: list[int] = field(Array(INT32), "0-7", default_factory=list)


class OffsetFetchRequestTopics(Struct):
    name: str = field(STRING, "8-9", default="")
    topic_id: bytes = field(UUID, "10+", default=NO_UUID)
    partition_indexes: list[int] = field(Array(INT32), "8+", default_factory=list)


class OffsetFetchRequestGroup(Struct):
    group_id: str = field(STRING, "8+", default="")
    member_id: str | None = field(STRING, "9+", default=None, nullable="9+")
    member_epoch: int = field(INT32, "9+", default=-1)
    topics: list[OffsetFetchRequestTopics] | None = field(
        Array(OffsetFetchRequestTopics), "8+", default_factory=list, nullable="8+"
    )


class OffsetFetchRequest(Request, key=9, versions=(1, 10), flexible=6, response=OffsetFetchResponse):
    group_id: str = field(STRING, "0-7", default="")
    topics: list[OffsetFetchRequestTopic] | None = field(
        Array(OffsetFetchRequestTopic), "0-7", default_factory=list, nullable="2-7"
    )
    groups: list[OffsetFetchRequestGroup] = field(Array(OffsetFetchRequestGroup), "8+", default_factory=list)
    require_stable: bool = field(BOOL, "7+", default=False)
