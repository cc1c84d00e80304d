"""Transactions as their coordinators had them, from ``__transaction_state``. Pure."""

from collections import Counter

from kcli.core.errors import ProtocolError
from kcli.core.offline.coordinator_log import CoordinatorLog
from kcli.core.protocol.stored.kinds import TRANSACTION_STATES
from kcli.core.protocol.stored.reading import NEVER, struct_of, type_number
from kcli.core.protocol.stored.transaction_records import TransactionLogKey, TransactionLogValue
from kcli.core.types import TopicPartition

TOPIC = "__transaction_state"


_PREPARE_COMMIT = 2


class StoredTransactions:
    """The newest value of each transactional id of some partitions. ``unknown`` counts records that are not understood."""

    def __init__(self) -> None:
        self.transactions: dict[str, TransactionLogValue] = {}
        self.unknown: Counter[str] = Counter()

    def add(self, log: CoordinatorLog) -> None:
        """Adds those of one partition."""
        first, last = TransactionLogValue.versions
        for key, (offset, value) in log.values.items():
            try:
                number, version = type_number(key), type_number(value)
                if number or not first <= version <= last:
                    self.unknown[f"type {number} version {version}"] += 1
                    continue
                name = struct_of(TransactionLogKey, key, 2, 0, NEVER).transactional_id
                found = struct_of(TransactionLogValue, value, 2, version, TransactionLogValue.flexible)
            except ProtocolError as error:
                where = f"the record of {TOPIC} at offset {offset} cannot be read"
                raise ProtocolError(where, why=str(error)) from None
            self.transactions[name] = found


    def committing(self, tp: TopicPartition) -> frozenset[int]:
        """The producers whose transaction with this partition the coordinator had decided to commit, and told so: what is
        left of it is to write the markers.
        """
        return frozenset(
            one.producer_id
            for one in self.transactions.values()
            if one.transaction_status == _PREPARE_COMMIT
            and any(
                tp.topic == some.topic and tp.partition in some.partition_ids
                for some in one.transaction_partitions or ()
            )
        )


def state_name(value: TransactionLogValue) -> str:
    """Kafka's name of the state."""
    return TRANSACTION_STATES.get(value.transaction_status, f"unknown ({value.transaction_status})")
