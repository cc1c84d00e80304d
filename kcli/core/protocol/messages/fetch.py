# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""Fetch (API 1): record batches from partitions; sessions since v7 (KIP-227), topic ids since v13."""

from collections.abc import Iterable

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.codec import Buffer
from kcli.core.protocol.schema import (
    INT8,
    INT16,
    INT32,
    INT64,
    NO_UUID,
    RECORDS,
    STRING,
    UUID,
    Array,
    Struct,
    field,
)


class EpochEndOffset(Struct):
    epoch: int = field(INT32, "12+", default=-1)
    end_offset: int = field(INT64, "12+", default=-1)


class LeaderIdAndEpoch(Struct):
    leader_id: int = field(INT32, "12+", default=-1)
    leader_epoch: int = field(INT32, "12+", default=-1)


class SnapshotId(Struct):
    end_offset: int = field(INT64, default=-1)
    epoch: int = field(INT32, default=-1)


class AbortedTransaction(Struct):
    producer_id: int = field(INT64, "4+", default=0)
    first_offset: int = field(INT64, "4+", default=0)


class PartitionData(Struct):
    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    high_watermark: int = field(INT64)
    last_stable_offset: int = field(INT64, "4+", default=-1)
    log_start_offset: int = field(INT64, "5+", default=-1)
    diverging_epoch: EpochEndOffset = field(EpochEndOffset, "12+", default_factory=EpochEndOffset, tag=0)
    current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch, "12+", default_factory=LeaderIdAndEpoch, tag=1)
    snapshot_id: SnapshotId = field(SnapshotId, "12+", default_factory=SnapshotId, tag=2)
    aborted_transactions: list[AbortedTransaction] | None = field(
        Array(AbortedTransaction), "4+", default_factory=list, nullable="4+"
    )
    preferred_read_replica: int = field(INT32, "11+", default=-1)
    records: Iterable[Buffer] | memoryview | None = field(RECORDS, nullable="0+")


class FetchableTopicResponse(Struct):
    topic: str = field(STRING, "0-12", default="")
    topic_id: bytes = field(UUID, "13+", default=NO_UUID)
    partitions: list[PartitionData] = field(Array(PartitionData))


class NodeEndpoint(Struct):
    node_id: int = field(INT32, "16+", default=0)
    host: str = field(STRING, "16+", default="")
    port: int = field(INT32, "16+", default=0)
    rack: str | None = field(STRING, "16+", default=None, nullable="16+")


class FetchResponse(Response):
    throttle_time_ms: int = field(INT32, "1+", default=0)
    error_code: int = field(INT16, "7+", default=0)
    session_id: int = field(INT32, "7+", default=0)
    responses: list[FetchableTopicResponse] = field(Array(FetchableTopicResponse))
    node_endpoints: list[NodeEndpoint] = field(Array(NodeEndpoint), "16+", default_factory=list, tag=0)


class ReplicaState(Struct):
    replica_id: int = field(INT32, "15+", default=-1)
    replica_epoch: int = field(INT64, "15+", default=-1)


class FetchPartition(Struct):
    partition: int = field(INT32)
    current_leader_epoch: int = field(INT32, "9+", default=-1)
    fetch_offset: int = field(INT64)
    last_fetched_epoch: int = field(INT32, "12+", default=-1)
    log_start_offset: int = field(INT64, "5+", default=-1)
    partition_max_bytes: int = field(INT32)
    replica_directory_id: bytes = field(UUID, "17+", default=NO_UUID, tag=0)
    high_watermark: int = field(INT64, "18+", default=9223372036854775807, tag=1)


class FetchTopic(Struct):
    topic: str = field(STRING, "0-12", default="")
    topic_id: bytes = field(UUID, "13+", default=NO_UUID)
    partitions: list[FetchPartition] = field(Array(FetchPartition))


class ForgottenTopic(Struct):
    topic: str = field(STRING, "7-12", default="")
    topic_id: bytes = field(UUID, "13+", default=NO_UUID)
    partitions: list[int] = field(Array(INT32), "7+", default_factory=list)


class FetchRequest(Request, key=1, versions=(4, 18), flexible=12, response=FetchResponse):
    cluster_id: str | None = field(STRING, "12+", default=None, nullable="12+", tag=0)
    replica_id: int = field(INT32, "0-14", default=-1)
    replica_state: ReplicaState = field(ReplicaState, "15+", default_factory=ReplicaState, tag=1)
    max_wait_ms: int = field(INT32)
    min_bytes: int = field(INT32)
    max_bytes: int = field(INT32, "3+", default=2147483647)
    isolation_level: int = field(INT8, "4+", default=0)
    session_id: int = field(INT32, "7+", default=0)
    session_epoch: int = field(INT32, "7+", default=-1)
    topics: list[FetchTopic] = field(Array(FetchTopic))
    forgotten_topics_data: list[ForgottenTopic] = field(Array(ForgottenTopic), "7+", default_factory=list)
    rack_id: str = field(STRING, "11+", default="")
