# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""DescribeQuorum (API 55): the controllers of a KRaft cluster (KIP-595, KIP-836, KIP-853)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT16, INT32, INT64, NO_UUID, STRING, UINT16, UUID, Array, Struct, field


class DescribeQuorumReplicaState(Struct):
    replica_id: int = field(INT32)
    replica_directory_id: bytes = field(UUID, "2+", default=NO_UUID)
    log_end_offset: int = field(INT64)
    last_fetch_timestamp: int = field(INT64, "1+", default=-1)
    last_caught_up_timestamp: int = field(INT64, "1+", default=-1)


class DescribeQuorumPartitionData(Struct):
    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, "2+", default="", nullable="2+")
    leader_id: int = field(INT32)
    leader_epoch: int = field(INT32)
    high_watermark: int = field(INT64)
    current_voters: list[DescribeQuorumReplicaState] = field(Array(DescribeQuorumReplicaState))
    observers: list[DescribeQuorumReplicaState] = field(Array(DescribeQuorumReplicaState))


class DescribeQuorumTopicData(Struct):
    topic_name: str = field(STRING)
    partitions: list[DescribeQuorumPartitionData] = field(Array(DescribeQuorumPartitionData))


class DescribeQuorumListener(Struct):
    name: str = field(STRING, "2+", default="")
    host: str = field(STRING, "2+", default="")
    port: int = field(UINT16, "2+", default=0)


class DescribeQuorumNode(Struct):
    node_id: int = field(INT32, "2+", default=0)
    listeners: list[DescribeQuorumListener] = field(Array(DescribeQuorumListener), "2+", default_factory=list)


class DescribeQuorumResponse(Response):
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, "2+", default="", nullable="2+")
    topics: list[DescribeQuorumTopicData] = field(Array(DescribeQuorumTopicData))
    nodes: list[DescribeQuorumNode] = field(Array(DescribeQuorumNode), "2+", default_factory=list)


class PartitionData(Struct):
    partition_index: int = field(INT32)


class TopicData(Struct):
    topic_name: str = field(STRING)
    partitions: list[PartitionData] = field(Array(PartitionData))


class DescribeQuorumRequest(Request, key=55, versions=(0, 2), flexible=0, response=DescribeQuorumResponse):
    topics: list[TopicData] = field(Array(TopicData))
