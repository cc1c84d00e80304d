# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""ListTransactions (API 66): the transactional ids that a broker coordinates (KIP-664)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT16, INT32, INT64, STRING, Array, Struct, field


class TransactionState(Struct):
    transactional_id: str = field(STRING)
    producer_id: int = field(INT64)
    transaction_state: str = field(STRING)


class ListTransactionsResponse(Response):
    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    unknown_state_filters: list[str] = field(Array(STRING))
    transaction_states: list[TransactionState] = field(Array(TransactionState))


class ListTransactionsRequest(
    Request, key=66, versions=(0, 2), flexible=0, response=ListTransactionsResponse
):
    state_filters: list[str] = field(Array(STRING))
    producer_id_filters: list[int] = field(Array(INT64))
    duration_filter: int = field(INT64, "1+", default=-1)
    transactional_id_pattern: str | None = field(STRING, "2+", default=None, nullable="2+")
