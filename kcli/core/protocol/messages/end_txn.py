# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""EndTxn (API 26): commits or aborts a transaction; since v5 the answer carries the next epoch (KIP-890)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BOOL, INT16, INT32, INT64, STRING, field


class EndTxnResponse(Response):
    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    producer_id: int = field(INT64, "5+", default=-1)
    producer_epoch: int = field(INT16, "5+", default=-1)


class EndTxnRequest(Request, key=26, versions=(0, 5), flexible=3, response=EndTxnResponse):
    transactional_id: str = field(STRING)
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    committed: bool = field(BOOL)
