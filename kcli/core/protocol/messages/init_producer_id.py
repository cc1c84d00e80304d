# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""InitProducerId (API 22): a producer id and epoch for idempotence and transactions (KIP-98, 360, 890)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BOOL, INT16, INT32, INT64, STRING, field


class InitProducerIdResponse(Response):
    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    producer_id: int = field(INT64, default=-1)
    producer_epoch: int = field(INT16)
    ongoing_txn_producer_id: int = field(INT64, "6+", default=-1)
    ongoing_txn_producer_epoch: int = field(INT16, "6+", default=-1)


class InitProducerIdRequest(Request, key=22, versions=(0, 5), flexible=2, response=InitProducerIdResponse):
    transactional_id: str | None = field(STRING, nullable="0+")
    transaction_timeout_ms: int = field(INT32)
    producer_id: int = field(INT64, "3+", default=-1)
    producer_epoch: int = field(INT16, "3+", default=-1)
    enable2_pc: bool = field(BOOL, "6+", default=False)
    keep_prepared_txn: bool = field(BOOL, "6+", default=False)
