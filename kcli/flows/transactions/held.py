"""Partitions that open transactions hold back, and who can end each: its coordinator, or only an abort by hand (KIP-664).

A transaction is in a partition from its first record there to its marker. Readers of committed records stop at the
first open one: the last stable offset. Its coordinator writes the marker; a transaction hangs in a partition if no
coordinator has it, or if its coordinator's transaction does not contain the partition.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from kcli.core.admin.admin import Admin
from kcli.core.classes import dataclass, replace
from kcli.core.cluster.metadata import no_partition
from kcli.core.errors import KcliError, PartlyFailedError, UnsupportedError
from kcli.core.types import TopicPartition
from kcli.flows.groups.offsets import log_ends
from kcli.flows.transactions.coordinated import COMPLETING, ONGOING, Coordinated, ReadLog, transactions_of
from kcli.output.progress import counted

if TYPE_CHECKING:
    from kcli.core.admin.first_records import FirstRecord
    from kcli.core.admin.transactions import ProducerDescription, TransactionDescription

OPEN, ENDING, HANGING, UNKNOWN = "open", "ending", "hanging", "unknown"
"""``open``: its coordinator has it, and aborts it at its timeout. ``ending``: the coordinator is writing the markers.
``hanging``: no coordinator ends it. ``unknown``: not all coordinators responded."""


@dataclass(frozen=True, slots=True)
class PartitionTransaction:
    """An open transaction in a partition. ``since_ms``: when it began, as far as known; −1 if it is not.

    ``transaction`` is what a coordinator has for the producer, if any: for a hanging one, it is without this partition.
    """

    tp: TopicPartition
    producer: ProducerDescription
    transaction: TransactionDescription | None
    state: str
    since_ms: int

    @property
    def start_offset(self) -> int:
        """Its first record in the partition."""
        return self.producer.open_since

    @property
    def ends_ms(self) -> int:
        """When its coordinator aborts it; −1 if nothing does, or it is unknown."""
        found = self.transaction
        return (
            found.start_ms + found.timeout_ms if self.state == OPEN and found and found.start_ms >= 0 else -1
        )


@dataclass(frozen=True, slots=True)
class PartitionState:
    """``stable`` is the last stable offset, ``end`` the high watermark; None if unknown, with ``error``.

    ``transactions``: the open ones, by their first record in the partition.
    """

    tp: TopicPartition
    stable: int | None
    end: int | None
    transactions: tuple[PartitionTransaction, ...] = ()
    error: KcliError | None = None

    @property
    def waiting(self) -> int | None:
        """Offsets that readers of committed records cannot read yet: at most as many records."""
        return None if self.stable is None or self.end is None else max(0, self.end - self.stable)

    @property
    def holder(self) -> PartitionTransaction | None:
        """The transaction that holds the partition back: the first one."""
        return self.transactions[0] if self.transactions else None


@dataclass(frozen=True, slots=True)
class Survey:
    """``partitions`` in order. ``coordinated``: what coordinators have for the producers found there."""

    partitions: tuple[PartitionState, ...]
    coordinated: Coordinated

    @property
    def held(self) -> list[PartitionState]:
        """The partitions that are held back."""
        return [state for state in self.partitions if state.waiting]

    @property
    def unread(self) -> list[tuple[list[TopicPartition], KcliError]]:
        """The partitions that could not be read, with an error for each cause."""
        by_cause: dict[tuple[type, str], dict[TopicPartition, KcliError]] = {}
        for tp, error in ((state.tp, state.error) for state in self.partitions):
            if error is not None:
                by_cause.setdefault((type(error), error.why.replace(str(tp), "")), {})[tp] = error
        found: list[tuple[list[TopicPartition], KcliError]] = []
        for alike in by_cause.values():
            first, error = next(iter(alike.items()))
            more = f" and {counted(len(alike) - 1, 'other partition')}" if len(alike) > 1 else ""
            found.append((list(alike), PartlyFailedError(f"{first}{more} could not be checked", error)))
        return found


def survey(
    admin: Admin,
    partitions: Collection[TopicPartition],
    read_log: ReadLog,
) -> Survey:
    """The open transactions of these partitions; of those that nothing holds back, only the offsets.

    UnsupportedError if brokers cannot describe producers (before Kafka 2.8) and a partition is held back.
    """
    wanted = sorted(partitions)
    # All at once: each part of them would ask all brokers, and there are as many parts as partitions.
    ends = log_ends(admin, wanted, stable=True)
    states = {tp: PartitionState(tp, log.stable, log.end, (), log.error) for tp, log in ends.items()}
    found = open_producers(admin, [tp for tp, state in states.items() if state.waiting])
    ids = {one.producer_id for rows in found.values() if not isinstance(rows, KcliError) for one in rows}
    coordinated = transactions_of(admin, ids, read_log)
    hanging = _hanging(found, coordinated)
    still = open_producers(admin, hanging)
    times = _first_times(admin, {(tp, one.open_since) for tp, rows in hanging.items() for one in rows})
    for tp, rows in found.items():
        if isinstance(rows, KcliError):
            states[tp] = replace(states[tp], error=rows)
            continue
        again = still.get(tp, rows)
        current = rows if isinstance(again, KcliError) else _same(rows, again)
        states[tp] = replace(
            states[tp],
            transactions=tuple(_transaction(tp, one, coordinated, times) for one in current),
        )
    return Survey(tuple(states[tp] for tp in wanted), coordinated)


def partitions_of(admin: Admin, topic: str, partitions: tuple[int, ...] | None) -> list[TopicPartition]:
    """The partitions that ``--topic`` and ``-p`` select; an error if one does not exist."""
    found = admin.describe_topics([topic])[topic]
    if isinstance(found, KcliError):
        raise found
    numbers = [part.partition for part in found.partitions]
    for number in partitions or ():
        if number not in numbers:
            raise no_partition(TopicPartition(topic, number), len(numbers))
    if not numbers and found.error is not None:
        raise found.error
    return [TopicPartition(topic, number) for number in sorted(partitions or numbers)]


def open_producers(
    admin: Admin, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, list[ProducerDescription] | KcliError]:
    """The producers with an open transaction in each partition, by its first offset there."""
    found: dict[TopicPartition, list[ProducerDescription] | KcliError] = {}
    for tp, rows in (admin.describe_producers(partitions) if partitions else {}).items():
        if isinstance(rows, UnsupportedError):
            raise rows
        if isinstance(rows, KcliError):
            found[tp] = rows
        else:
            found[tp] = sorted((one for one in rows if one.open_since >= 0), key=lambda one: one.open_since)
    return found


def state_of(tp: TopicPartition, transaction: TransactionDescription | None, *, complete: bool) -> str:
    """What ends an open transaction, by what its coordinator has for the producer. Pure.

    ``complete``: all coordinators have responded.
    """
    if transaction is not None and tp in transaction.partitions:
        if transaction.state == ONGOING:
            return OPEN
        if transaction.state in COMPLETING:
            return ENDING
    return HANGING if complete or transaction is not None else UNKNOWN


def _hanging(
    found: Mapping[TopicPartition, list[ProducerDescription] | KcliError], coordinated: Coordinated
) -> dict[TopicPartition, list[ProducerDescription]]:
    """Those that seem to hang: a transaction that ended between the two requests looks the same."""
    hanging: dict[TopicPartition, list[ProducerDescription]] = {}
    for tp, rows in found.items():
        for one in [] if isinstance(rows, KcliError) else rows:
            transaction = coordinated.of_producer(one.producer_id)
            if state_of(tp, transaction, complete=not coordinated.errors) == HANGING:
                hanging.setdefault(tp, []).append(one)
    return hanging


def _same(before: list[ProducerDescription], after: list[ProducerDescription]) -> list[ProducerDescription]:
    """The transactions that are still open: same producer, same first offset."""
    open_now = {(one.producer_id, one.open_since) for one in after}
    return [one for one in before if (one.producer_id, one.open_since) in open_now]


def _first_times(
    admin: Admin, positions: Collection[tuple[TopicPartition, int]]
) -> dict[tuple[TopicPartition, int], int]:
    """The timestamps of first records: when a transaction began that no coordinator has."""
    rows: Mapping[tuple[TopicPartition, int], FirstRecord | KcliError | None] = (
        admin.first_records(positions, committed_only=False) if positions else {}
    )
    return {
        at: row.timestamp for at, row in rows.items() if row is not None and not isinstance(row, KcliError)
    }


def _transaction(
    tp: TopicPartition,
    producer: ProducerDescription,
    coordinated: Coordinated,
    times: Mapping[tuple[TopicPartition, int], int],
) -> PartitionTransaction:
    transaction = coordinated.of_producer(producer.producer_id)
    state = state_of(tp, transaction, complete=not coordinated.errors)
    if state in (OPEN, ENDING) and transaction is not None:
        since = transaction.start_ms
    else:
        since = times.get((tp, producer.open_since), producer.last_timestamp)
    return PartitionTransaction(tp, producer, transaction, state, since)


def age(since_ms: int, now: int) -> float | None:
    """Seconds; None if it is not known when it began."""
    return max(0, now - since_ms) / 1000 if since_ms >= 0 else None


def known(number: int) -> int | None:
    """None for −1."""
    return number if number >= 0 else None
