# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""Produce (API 0): record batches to partition leaders. v13 names topics by id (KIP-516).

Kafka 4.3.1 advertises v0 to v2 but closes the connection on them; this table begins at v3.
"""

from collections.abc import Iterable

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.codec import Buffer
from kcli.core.protocol.schema import (
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


class BatchIndexAndErrorMessage(Struct):
    batch_index: int = field(INT32, "8+", default=0)
    batch_index_error_message: str | None = field(STRING, "8+", default=None, nullable="8+")


class LeaderIdAndEpoch(Struct):
    leader_id: int = field(INT32, "10+", default=-1)
    leader_epoch: int = field(INT32, "10+", default=-1)


class PartitionProduceResponse(Struct):
    index: int = field(INT32)
    error_code: int = field(INT16)
    base_offset: int = field(INT64)
    log_append_time_ms: int = field(INT64, "2+", default=-1)
    log_start_offset: int = field(INT64, "5+", default=-1)
    record_errors: list[BatchIndexAndErrorMessage] = field(
        Array(BatchIndexAndErrorMessage), "8+", default_factory=list
    )
    error_message: str | None = field(STRING, "8+", default=None, nullable="8+")
    current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch, "10+", default_factory=LeaderIdAndEpoch, tag=0)


class TopicProduceResponse(Struct):
    name: str = field(STRING, "0-12", default="")
    topic_id: bytes = field(UUID, "13+", default=NO_UUID)
    partition_responses: list[PartitionProduceResponse] = field(Array(PartitionProduceResponse))


class NodeEndpoint(Struct):
    node_id: int = field(INT32, "10+", default=0)
    host: str = field(STRING, "10+", default="")
    port: int = field(INT32, "10+", default=0)
    rack: str | None = field(STRING, "10+", default=None, nullable="10+")


class ProduceResponse(Response):
    responses: list[TopicProduceResponse] = field(Array(TopicProduceResponse))
    throttle_time_ms: int = field(INT32, "1+", default=0)
    node_endpoints: list[NodeEndpoint] = field(Array(NodeEndpoint), "10+", default_factory=list, tag=0)


class PartitionProduceData(Struct):
    index: int = field(INT32)
    records: Iterable[Buffer] | memoryview | None = field(RECORDS, nullable="0+")


class TopicProduceData(Struct):
    name: str = field(STRING, "0-12", default="")
    topic_id: bytes = field(UUID, "13+", default=NO_UUID)
    partition_data: list[PartitionProduceData] = field(Array(PartitionProduceData))


class ProduceRequest(Request, key=0, versions=(3, 13), flexible=9, response=ProduceResponse):
    transactional_id: str | None = field(STRING, "3+", default=None, nullable="3+")
    acks: int = field(INT16)
    timeout_ms: int = field(INT32)
    topic_data: list[TopicProduceData] = field(Array(TopicProduceData))

    @property
    def expects_response(self) -> bool:
        """With acks=0 the broker sends nothing back."""
        return self.acks != 0
