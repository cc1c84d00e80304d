"""The knobs that move coordinators, and those of producer ids and transactions, as methods of FakeCluster."""

import dataclasses

from tests.fake.coordinators import GROUP, TRANSACTION
from tests.fake.state import State
from tests.fake.thread import LoopThread
from tests.fake.transactions import Transaction

_KINDS = {"group": GROUP, "transaction": TRANSACTION}


class CoordinatorControls:
    """Needs ``_state`` and ``_thread``."""

    _state: State
    _thread: LoopThread

    def next_producer_id(self, producer_id: int, epoch: int = 0) -> None:
        """The id that the next new producer gets, and the epoch that all new ones begin with."""

        def seed() -> None:
            self._state.producer_ids.next_id = producer_id
            self._state.producer_ids.first_epoch = epoch

        self._thread.call(seed)

    def set_producer_epoch(self, transactional_id: str, epoch: int) -> None:
        """The epoch that the coordinator has for a transactional id."""
        self._thread.call(lambda: setattr(self._state.transactions.by_id[transactional_id], "epoch", epoch))

    def coordinator(self, kind: str, key: str) -> int:
        """``kind`` is ``group`` or ``transaction``."""
        return self._thread.call(self._state.coordinators.of, _KINDS[kind], key)

    def move_coordinator(self, kind: str, key: str, node: int) -> None:
        """Another node coordinates; −1: none is available. What it knows moves with it."""
        self._thread.call(self._state.coordinators.move, _KINDS[kind], key, node)

    def lose_coordinator(self, kind: str, partition: int) -> None:
        """A partition of ``__consumer_offsets`` or ``__transaction_state``, which the cluster must have, loses its leader
        and all in-sync replicas: nobody coordinates what is stored there.
        """
        topic = {"group": "__consumer_offsets", "transaction": "__transaction_state"}[kind]

        def lose() -> None:
            parts = self._state.topics.by_name[topic].partitions
            parts[partition].lead(-1)
            parts[partition].isr = []
            self._state.coordinators.lose(_KINDS[kind], partition, len(parts))
            self._state.changed()

        self._thread.call(lose)

    @property
    def transactions(self) -> dict[str, Transaction]:
        """Copies of what the coordinator knows, by transactional id."""
        by_id = self._state.transactions.by_id
        return self._thread.call(lambda: {k: _copied(t) for k, t in by_id.items()})

    def expire_transaction(self, transactional_id: str) -> None:
        """The transaction's timeout has passed: it is aborted, its producer is fenced."""
        by_id = self._state.transactions.by_id
        self._thread.call(lambda: self._state.transactions.fence(by_id[transactional_id]))

    def complete_transaction(self, transactional_id: str) -> None:
        """Writes the markers now, where ``completion_delay`` keeps them waiting."""
        by_id = self._state.transactions.by_id
        self._thread.call(lambda: self._state.transactions.complete(by_id[transactional_id]))

    def forget_transaction(self, transactional_id: str) -> None:
        """The coordinator loses the id, as after ``transactional.id.expiration.ms``."""
        self._thread.call(lambda: self._state.transactions.by_id.pop(transactional_id))


def _copied(txn: Transaction) -> Transaction:
    return dataclasses.replace(txn, partitions=set(txn.partitions), groups=set(txn.groups), timer=None)
