# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""WriteTxnMarkers (API 27): ends a transaction in its partitions; brokers say it to each other, and tools to brokers."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BOOL, INT8, INT16, INT32, INT64, STRING, Array, Struct, field


class WritableTxnMarkerPartitionResult(Struct):
    partition_index: int = field(INT32)
    error_code: int = field(INT16)


class WritableTxnMarkerTopicResult(Struct):
    name: str = field(STRING)
    partitions: list[WritableTxnMarkerPartitionResult] = field(Array(WritableTxnMarkerPartitionResult))


class WritableTxnMarkerResult(Struct):
    producer_id: int = field(INT64)
    topics: list[WritableTxnMarkerTopicResult] = field(Array(WritableTxnMarkerTopicResult))


class WriteTxnMarkersResponse(Response):
    markers: list[WritableTxnMarkerResult] = field(Array(WritableTxnMarkerResult))


class WritableTxnMarkerTopic(Struct):
    name: str = field(STRING)
    partition_indexes: list[int] = field(Array(INT32))


class WritableTxnMarker(Struct):
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    transaction_result: bool = field(BOOL)
    topics: list[WritableTxnMarkerTopic] = field(Array(WritableTxnMarkerTopic))
    coordinator_epoch: int = field(INT32)
    transaction_version: int = field(INT8, "2+", default=0)


class WriteTxnMarkersRequest(Request, key=27, versions=(1, 2), flexible=1, response=WriteTxnMarkersResponse):
    markers: list[WritableTxnMarker] = field(Array(WritableTxnMarker))
