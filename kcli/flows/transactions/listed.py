"""Open transactions as they are listed: those of coordinators, and those in partitions that none of them ends. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kcli.core.classes import NamedTuple
from kcli.core.types import TopicPartition
from kcli.flows.transactions.held import HANGING, UNKNOWN, PartitionTransaction, Survey

if TYPE_CHECKING:
    from kcli.core.admin.transactions import TransactionDescription
    from kcli.flows.transactions.coordinated import Coordinated

HANGING_STATE, UNKNOWN_STATE = "Hanging", "Unknown"
"""In place of the coordinator's word: no coordinator ends it; not all coordinators responded."""


class OpenTransaction(NamedTuple):
    """``transactional_id`` is None where no coordinator knows the producer. −1 is unknown; times are in ms."""

    transactional_id: str | None
    state: str
    producer_id: int
    producer_epoch: int
    coordinator: int
    since_ms: int
    timeout_ms: int
    partitions: tuple[TopicPartition, ...]

    @property
    def hangs(self) -> bool:
        """Whether no coordinator ends it."""
        return self.state == HANGING_STATE


def listed(coordinated: Coordinated, found: Survey | None) -> list[OpenTransaction]:
    """The transactions of coordinators, and those of partitions that none of them ends."""
    return [
        *map(of_coordinator, coordinated.transactions),
        *map(_of_partition, _left(found)),
    ]


def of_coordinator(one: TransactionDescription) -> OpenTransaction:
    """A transaction that its coordinator has."""
    return OpenTransaction(
        one.transactional_id,
        one.state,
        one.producer_id,
        one.producer_epoch,
        one.coordinator,
        one.start_ms,
        one.timeout_ms,
        one.partitions,
    )


def _left(found: Survey | None) -> Iterable[PartitionTransaction]:
    for state in () if found is None else found.partitions:
        yield from (one for one in state.transactions if one.state in (HANGING, UNKNOWN))


def _of_partition(one: PartitionTransaction) -> OpenTransaction:
    """One that no coordinator ends, or whose coordinator could not be asked: its timeout ends nothing."""
    return OpenTransaction(
        None if one.transaction is None else one.transaction.transactional_id,
        HANGING_STATE if one.state == HANGING else UNKNOWN_STATE,
        one.producer.producer_id,
        one.producer.producer_epoch,
        -1 if one.transaction is None else one.transaction.coordinator,
        one.since_ms,
        -1,
        (one.tp,),
    )
