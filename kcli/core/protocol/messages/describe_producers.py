# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""DescribeProducers (API 61): the producers that a partition's leader knows (KIP-664)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT16, INT32, INT64, STRING, Array, Struct, field


class ProducerState(Struct):
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT32)
    last_sequence: int = field(INT32, default=-1)
    last_timestamp: int = field(INT64, default=-1)
    coordinator_epoch: int = field(INT32)
    current_txn_start_offset: int = field(INT64, default=-1)


class PartitionResponse(Struct):
    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, default=None, nullable="0+")
    active_producers: list[ProducerState] = field(Array(ProducerState))


class TopicResponse(Struct):
    name: str = field(STRING)
    partitions: list[PartitionResponse] = field(Array(PartitionResponse))


class DescribeProducersResponse(Response):
    throttle_time_ms: int = field(INT32)
    topics: list[TopicResponse] = field(Array(TopicResponse))


class TopicRequest(Struct):
    name: str = field(STRING)
    partition_indexes: list[int] = field(Array(INT32))


class DescribeProducersRequest(
    Request, key=61, versions=(0, 0), flexible=0, response=DescribeProducersResponse
):
    topics: list[TopicRequest] = field(Array(TopicRequest))
