"""The transaction coordinator: states, epochs, fencing, markers (KIP-98, KIP-360, KIP-890). Loop thread only.

One object for the whole cluster; which node may be asked is judged in ``txn_requests``. The order of the checks is
that of Kafka's TransactionCoordinator.
"""

import asyncio
import math
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.types import TopicPartition
from tests.fake.codes import Code, RefusedError

if TYPE_CHECKING:
    from tests.fake.state import State

LAST_EPOCH = 32_767
NO_EPOCH = -1


class TxnState(Enum):
    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"


PREPARING = (TxnState.PREPARE_COMMIT, TxnState.PREPARE_ABORT)


@dataclass(slots=True)
class Transaction:
    """What the coordinator knows of one transactional id."""

    transactional_id: str
    producer_id: int
    epoch: int = NO_EPOCH
    last_epoch: int = NO_EPOCH
    previous_id: int = -1
    next_id: int = -1
    """The producer id that takes over when the markers are written, because epochs ran out."""
    timeout_ms: int = 60_000
    state: TxnState = TxnState.EMPTY
    partitions: set[TopicPartition] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)
    timer: asyncio.TimerHandle | None = field(default=None, repr=False)
    started_ms: int = -1

    @property
    def exhausted(self) -> bool:
        return self.epoch >= LAST_EPOCH - 1


class Transactions:
    """By transactional id. Methods raise RefusedError with the coordinator's own code."""

    def __init__(self, state: "State") -> None:
        self.by_id: dict[str, Transaction] = {}
        self._state = state

    def init(self, request: InitProducerIdRequest) -> tuple[int, int]:
        """(producer id, epoch) for an InitProducerId; aborts what is open and says CONCURRENT_TRANSACTIONS."""
        name = request.transactional_id or ""
        if not name:
            raise RefusedError(Code.INVALID_REQUEST)
        if not 0 < request.transaction_timeout_ms <= self._state.settings.transaction_max_timeout_ms:
            raise RefusedError(Code.INVALID_TRANSACTION_TIMEOUT)
        txn = self.by_id.get(name)
        if txn is None:
            ids = self._state.producer_ids
            txn = self.by_id[name] = Transaction(name, ids.take(), epoch=ids.first_epoch - 1)
        expected = request.producer_epoch if request.producer_id != -1 else None
        if not _may_init(txn, request.producer_id, request.producer_epoch):
            raise RefusedError(Code.PRODUCER_FENCED)
        if txn.state in PREPARING:
            raise RefusedError(Code.CONCURRENT_TRANSACTIONS)
        if txn.state is TxnState.ONGOING:
            self.fence(txn)
            raise RefusedError(Code.CONCURRENT_TRANSACTIONS)
        txn.timeout_ms = request.transaction_timeout_ms
        if txn.exhausted and expected in (None, txn.epoch):
            self._rotate(txn, remember=expected is not None)
        else:
            txn.epoch, txn.last_epoch = _next_epoch(txn, expected)
        txn.state = TxnState.EMPTY
        return txn.producer_id, txn.epoch

    def add(
        self,
        name: str,
        producer_id: int,
        epoch: int,
        partitions: set[TopicPartition] | None = None,
        groups: set[str] | None = None,
    ) -> None:
        """Puts partitions or groups into the transaction; begins it when there is none."""
        txn = self._of(name, producer_id, epoch)
        if txn.state in PREPARING:
            raise RefusedError(Code.CONCURRENT_TRANSACTIONS)
        if txn.state is not TxnState.ONGOING:
            self._begin(txn)
        txn.partitions |= partitions or set()
        txn.groups |= groups or set()

    def verify(self, name: str, producer_id: int, epoch: int, where: TopicPartition | str) -> None:
        """INVALID_TXN_STATE unless a partition (or a group, by name) is in the open transaction."""
        txn = self._of(name, producer_id, epoch)
        if txn.state in PREPARING:
            raise RefusedError(Code.CONCURRENT_TRANSACTIONS)
        members: set[TopicPartition] | set[str]
        members = txn.groups if isinstance(where, str) else txn.partitions
        if where not in members:
            raise RefusedError(Code.INVALID_TXN_STATE, f"{where} was not added to the transaction")

    def end(self, name: str, producer_id: int, epoch: int, *, commit: bool, bump: bool) -> tuple[int, int]:
        """Ends the transaction; (producer id, epoch) to continue with. ``bump`` is EndTxn v5 (KIP-890)."""
        txn = self.by_id.get(name)
        if txn is None:
            raise RefusedError(Code.INVALID_PRODUCER_ID_MAPPING)
        overflowed = bump and txn.previous_id == producer_id and epoch == LAST_EPOCH - 1 and txn.epoch == 0
        if txn.producer_id != producer_id and not overflowed:
            raise RefusedError(Code.INVALID_PRODUCER_ID_MAPPING)
        repeated = overflowed or (bump and txn.epoch == epoch + 1)
        if not _may_end(txn, epoch, repeated=repeated, bump=bump):
            raise RefusedError(Code.PRODUCER_FENCED)
        if txn.state is TxnState.ONGOING:
            return self._prepare(txn, commit=commit, bump=bump)
        ended = TxnState.COMPLETE_COMMIT if commit else TxnState.COMPLETE_ABORT
        preparing = TxnState.PREPARE_COMMIT if commit else TxnState.PREPARE_ABORT
        if txn.state is ended and (repeated or not bump):
            return txn.producer_id, txn.epoch
        if txn.state is preparing:
            raise RefusedError(Code.CONCURRENT_TRANSACTIONS)
        if bump and not commit and not repeated and txn.state not in PREPARING:
            return self._prepare(txn, commit=False, bump=True)  # an abort of nothing bumps the epoch
        raise RefusedError(Code.INVALID_TXN_STATE)

    def fence(self, txn: Transaction) -> None:
        """Aborts the open transaction under a higher epoch, so that its producer is a zombie from now on."""
        if txn.state is TxnState.ONGOING:
            txn.epoch, txn.last_epoch = min(txn.epoch + 1, LAST_EPOCH), NO_EPOCH
            self._prepare(txn, commit=False, bump=False)

    def complete(self, txn: Transaction) -> None:
        """Writes the markers of a transaction that is being completed."""
        if txn.state not in PREPARING:
            return
        commit = txn.state is TxnState.PREPARE_COMMIT
        for tp in sorted(txn.partitions):
            topic = self._state.topics.by_name.get(tp.topic)
            if topic is None or tp.partition >= len(topic.partitions):
                continue  # deleted meanwhile
            place = topic.partitions[tp.partition]
            place.log.mark(
                txn.producer_id,
                txn.epoch,
                committed=commit,
                leader_epoch=place.leader_epoch,
                now_ms=self._state.now_ms,
            )
        if txn.groups:
            self._state.groups.complete_txn(txn.producer_id, commit)
        txn.partitions, txn.groups = set(), set()
        txn.state = TxnState.COMPLETE_COMMIT if commit else TxnState.COMPLETE_ABORT
        if txn.next_id != -1:
            txn.previous_id, txn.producer_id, txn.next_id = txn.producer_id, txn.next_id, -1
            txn.epoch, txn.last_epoch = 0, NO_EPOCH
        self._state.changed()

    # --- inside ------------------------------------------------------------------------------------

    def _of(self, name: str, producer_id: int, epoch: int) -> Transaction:
        txn = self.by_id.get(name)
        if txn is None or txn.producer_id != producer_id:
            raise RefusedError(Code.INVALID_PRODUCER_ID_MAPPING)
        if txn.epoch != epoch:
            raise RefusedError(Code.PRODUCER_FENCED)
        return txn

    def _begin(self, txn: Transaction) -> None:
        txn.state = TxnState.ONGOING
        txn.started_ms = self._state.now_ms
        loop = asyncio.get_running_loop()
        txn.timer = loop.call_later(txn.timeout_ms / 1000, self.fence, txn)

    def _prepare(self, txn: Transaction, *, commit: bool, bump: bool) -> tuple[int, int]:
        if txn.timer is not None:
            txn.timer.cancel()
        if bump:
            if txn.exhausted:
                txn.next_id = self._state.producer_ids.take()
            txn.epoch, txn.last_epoch = txn.epoch + 1, txn.epoch
        txn.state = TxnState.PREPARE_COMMIT if commit else TxnState.PREPARE_ABORT
        granted = (txn.next_id, 0) if txn.next_id != -1 else (txn.producer_id, txn.epoch)
        delay = self._state.settings.completion_delay
        if delay <= 0:
            self.complete(txn)
        elif delay < math.inf:
            asyncio.get_running_loop().call_later(delay, self.complete, txn)
        return granted

    def _rotate(self, txn: Transaction, *, remember: bool) -> None:
        """A new producer id, because the epochs of the old one ran out."""
        last = txn.epoch if remember else NO_EPOCH
        txn.previous_id, txn.producer_id = txn.producer_id, self._state.producer_ids.take()
        txn.epoch, txn.last_epoch = 0, last


def _may_init(txn: Transaction, producer_id: int, epoch: int) -> bool:
    """Whether a client that says who it is may have the id (KIP-360)."""
    if producer_id == -1 or txn.epoch == NO_EPOCH:
        return True
    return txn.producer_id == producer_id or (txn.previous_id == producer_id and epoch >= LAST_EPOCH - 1)


def _next_epoch(txn: Transaction, expected: int | None) -> tuple[int, int]:
    """(epoch, last epoch) after an InitProducerId of a client that had the epoch ``expected``."""
    if expected is None:
        return txn.epoch + 1, NO_EPOCH
    if txn.epoch in (NO_EPOCH, expected):
        return txn.epoch + 1, txn.epoch
    if expected == txn.last_epoch:
        return txn.epoch, txn.last_epoch  # asked again: the first answer was lost
    raise RefusedError(Code.PRODUCER_FENCED)


def _may_end(txn: Transaction, epoch: int, *, repeated: bool, bump: bool) -> bool:
    if not bump:
        return epoch == txn.epoch
    if txn.state in PREPARING:
        return repeated
    if txn.state in (TxnState.COMPLETE_COMMIT, TxnState.COMPLETE_ABORT):
        return repeated or epoch == txn.epoch
    return epoch == txn.epoch
