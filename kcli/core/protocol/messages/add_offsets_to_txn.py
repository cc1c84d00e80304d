# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""AddOffsetsToTxn (API 25): a group whose offsets a transaction is about to commit (KIP-98)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT16, INT32, INT64, STRING, field


class AddOffsetsToTxnResponse(Response):
    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)


class AddOffsetsToTxnRequest(Request, key=25, versions=(0, 4), flexible=3, response=AddOffsetsToTxnResponse):
    transactional_id: str = field(STRING)
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    group_id: str = field(STRING)
