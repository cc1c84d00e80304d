# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""Records of transaction coordinators in ``__transaction_state``. Pure."""

from typing import ClassVar

from kcli.core.protocol.schema import INT8, INT16, INT32, INT64, STRING, Array, Struct, field


class TransactionLogKey(Struct):
    transactional_id: str = field(STRING)


class PartitionsSchema(Struct):
    topic: str = field(STRING)
    partition_ids: list[int] = field(Array(INT32))


class TransactionLogValue(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 1)
    flexible: ClassVar[int] = 1

    producer_id: int = field(INT64)
    previous_producer_id: int = field(INT64, "1+", default=-1, tag=0)
    next_producer_id: int = field(INT64, "1+", default=-1, tag=1)
    producer_epoch: int = field(INT16)
    next_producer_epoch: int = field(INT16, "1+", default=-1, tag=3)
    transaction_timeout_ms: int = field(INT32)
    transaction_status: int = field(INT8)
    transaction_partitions: list[PartitionsSchema] | None = field(Array(PartitionsSchema), nullable="0+")
    transaction_last_update_timestamp_ms: int = field(INT64)
    transaction_start_timestamp_ms: int = field(INT64)
    client_transaction_version: int = field(INT16, "1+", default=0, tag=2)


KINDS: dict[int, tuple[type[Struct], type[Struct]]] = {
    0: (TransactionLogKey, TransactionLogValue),
}
"""The classes by the number of the kind of records."""
