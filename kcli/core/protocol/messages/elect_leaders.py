# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""ElectLeaders (API 43): a leader among the replicas of partitions, the preferred or any (KIP-183, KIP-460)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT8, INT16, INT32, STRING, Array, Struct, field


class PartitionResult(Struct):
    partition_id: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")


class ReplicaElectionResult(Struct):
    topic: str = field(STRING)
    partition_result: list[PartitionResult] = field(Array(PartitionResult))


class ElectLeadersResponse(Response):
    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16, "1+", default=0)
    replica_election_results: list[ReplicaElectionResult] = field(Array(ReplicaElectionResult))


class TopicPartitions(Struct):
    topic: str = field(STRING)
    partitions: list[int] = field(Array(INT32))


class ElectLeadersRequest(Request, key=43, versions=(0, 2), flexible=2, response=ElectLeadersResponse):
    election_type: int = field(INT8, "1+", default=0)
    topic_partitions: list[TopicPartitions] | None = field(Array(TopicPartitions), nullable="0+")
    timeout_ms: int = field(INT32, default=60000)
