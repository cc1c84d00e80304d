# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""DescribeTransactions (API 65): transactional ids with their state and partitions (KIP-664)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT16, INT32, INT64, STRING, Array, Struct, field


class TopicData(Struct):
    topic: str = field(STRING)
    partitions: list[int] = field(Array(INT32))


class TransactionState(Struct):
    error_code: int = field(INT16)
    transactional_id: str = field(STRING)
    transaction_state: str = field(STRING)
    transaction_timeout_ms: int = field(INT32)
    transaction_start_time_ms: int = field(INT64)
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    topics: list[TopicData] = field(Array(TopicData))


class DescribeTransactionsResponse(Response):
    throttle_time_ms: int = field(INT32)
    transaction_states: list[TransactionState] = field(Array(TransactionState))


class DescribeTransactionsRequest(
    Request, key=65, versions=(0, 0), flexible=0, response=DescribeTransactionsResponse
):
    transactional_ids: list[str] = field(Array(STRING))
