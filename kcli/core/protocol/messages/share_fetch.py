# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""ShareFetch (API 78): record batches for a member of a share group, and its acknowledgements (KIP-932)."""

from collections.abc import Iterable

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.codec import Buffer
from kcli.core.protocol.schema import (
    BOOL,
    INT8,
    INT16,
    INT32,
    INT64,
    RECORDS,
    STRING,
    UUID,
    Array,
    Struct,
    field,
)


class LeaderIdAndEpoch(Struct):
    leader_id: int = field(INT32)
    leader_epoch: int = field(INT32)


class AcquiredRecords(Struct):
    first_offset: int = field(INT64)
    last_offset: int = field(INT64)
    delivery_count: int = field(INT16)


class PartitionData(Struct):
    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, default=None, nullable="0+")
    acknowledge_error_code: int = field(INT16)
    acknowledge_error_message: str | None = field(STRING, default=None, nullable="0+")
    current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch)
    records: Iterable[Buffer] | memoryview | None = field(RECORDS, nullable="0")
    acquired_records: list[AcquiredRecords] = field(Array(AcquiredRecords))


class ShareFetchableTopicResponse(Struct):
    topic_id: bytes = field(UUID)
    partitions: list[PartitionData] = field(Array(PartitionData))


class NodeEndpoint(Struct):
    node_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)
    rack: str | None = field(STRING, default=None, nullable="0+")


class ShareFetchResponse(Response):
    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, default=None, nullable="0+")
    acquisition_lock_timeout_ms: int = field(INT32, "1+", default=0)
    responses: list[ShareFetchableTopicResponse] = field(Array(ShareFetchableTopicResponse))
    node_endpoints: list[NodeEndpoint] = field(Array(NodeEndpoint))


class AcknowledgementBatch(Struct):
    first_offset: int = field(INT64)
    last_offset: int = field(INT64)
    acknowledge_types: list[int] = field(Array(INT8))


class FetchPartition(Struct):
    partition_index: int = field(INT32)
    acknowledgement_batches: list[AcknowledgementBatch] = field(Array(AcknowledgementBatch))


class FetchTopic(Struct):
    topic_id: bytes = field(UUID)
    partitions: list[FetchPartition] = field(Array(FetchPartition))


class ForgottenTopic(Struct):
    topic_id: bytes = field(UUID)
    partitions: list[int] = field(Array(INT32))


class ShareFetchRequest(Request, key=78, versions=(1, 2), flexible=0, response=ShareFetchResponse):
    group_id: str | None = field(STRING, default=None, nullable="0+")
    member_id: str | None = field(STRING, nullable="0+")
    share_session_epoch: int = field(INT32)
    max_wait_ms: int = field(INT32)
    min_bytes: int = field(INT32)
    max_bytes: int = field(INT32, default=2147483647)
    max_records: int = field(INT32, "1+", default=0)
    batch_size: int = field(INT32, "1+", default=0)
    share_acquire_mode: int = field(INT8, "2+", default=0)
    is_renew_ack: bool = field(BOOL, "2+", default=False)
    topics: list[FetchTopic] = field(Array(FetchTopic))
    forgotten_topics_data: list[ForgottenTopic] = field(Array(ForgottenTopic))
