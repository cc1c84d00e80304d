# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""ShareAcknowledge (API 79): acknowledgements of acquired records without a fetch (KIP-932)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BOOL, INT8, INT16, INT32, INT64, STRING, UUID, Array, Struct, field


class LeaderIdAndEpoch(Struct):
    leader_id: int = field(INT32)
    leader_epoch: int = field(INT32)


class PartitionData(Struct):
    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, default=None, nullable="0+")
    current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch)


class ShareAcknowledgeTopicResponse(Struct):
    topic_id: bytes = field(UUID)
    partitions: list[PartitionData] = field(Array(PartitionData))


class NodeEndpoint(Struct):
    node_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)
    rack: str | None = field(STRING, default=None, nullable="0+")


class ShareAcknowledgeResponse(Response):
    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, default=None, nullable="0+")
    acquisition_lock_timeout_ms: int = field(INT32, "2+", default=0)
    responses: list[ShareAcknowledgeTopicResponse] = field(Array(ShareAcknowledgeTopicResponse))
    node_endpoints: list[NodeEndpoint] = field(Array(NodeEndpoint))


class AcknowledgementBatch(Struct):
    first_offset: int = field(INT64)
    last_offset: int = field(INT64)
    acknowledge_types: list[int] = field(Array(INT8))


class AcknowledgePartition(Struct):
    partition_index: int = field(INT32)
    acknowledgement_batches: list[AcknowledgementBatch] = field(Array(AcknowledgementBatch))


class AcknowledgeTopic(Struct):
    topic_id: bytes = field(UUID)
    partitions: list[AcknowledgePartition] = field(Array(AcknowledgePartition))


class ShareAcknowledgeRequest(
    Request, key=79, versions=(1, 2), flexible=0, response=ShareAcknowledgeResponse
):
    group_id: str | None = field(STRING, default=None, nullable="0+")
    member_id: str | None = field(STRING, nullable="0+")
    share_session_epoch: int = field(INT32)
    is_renew_ack: bool = field(BOOL, "2+", default=False)
    topics: list[AcknowledgeTopic] = field(Array(AcknowledgeTopic))
