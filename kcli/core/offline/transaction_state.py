"""Transactions as their coordinators had them, from ``__transaction_state``. Pure."""

from collections import Counter

from kcli.core.offline.coordinator_log import CoordinatorLog, stored_records
from kcli.core.protocol.stored.kinds import TRANSACTION_STATES
from kcli.core.protocol.stored.transaction_records import TransactionLogValue
from kcli.core.types import TopicPartition

TOPIC = "__transaction_state"


_PREPARE_COMMIT = 2


class StoredTransactions:
    """The newest value of each transactional id of some partitions. ``unknown`` counts records by name."""

    def __init__(self) -> None:
        self.transactions: dict[str, TransactionLogValue] = {}
        self.unknown: Counter[str] = Counter()

    def add(self, log: CoordinatorLog) -> None:
        """Adds those of one partition."""
        for key, value in stored_records(log, TOPIC, self.unknown):
            self.transactions[key.transactional_id] = value

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
