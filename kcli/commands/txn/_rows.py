"""What ``kcli txn`` prints: columns, rows, texts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kcli.flows.transactions.held import (
    PartitionState,
    PartitionTransaction,
    age,
    known,
)
from kcli.flows.transactions.listed import OpenTransaction, of_coordinator
from kcli.output.progress import duration_text
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column, time_text

if TYPE_CHECKING:
    from kcli.core.admin.transactions import TransactionDescription

Row = dict[str, Any]

LIST = (
    Column("transactional_id"),
    Column(
        "state",
        values="string",
        meaning="State of the transaction, as Kafka names it; Hanging: no coordinator ends it; Unknown.",
    ),
    Column("producer_id", "id"),
    Column("producer_epoch", "id", wide=True),
    Column("coordinator", "id", spare=2),
    Column("since", "time", wide=True),
    Column("age_seconds", "duration"),
    Column("timeout_seconds", "duration", spare=1),
    Column(
        "partitions",
        "prose",
        values="strings",
        meaning="The partitions that it has written to, as topic-number.",
    ),
)
PARTITION = (
    Column("topic"),
    Column("partition", "id"),
    Column(
        "state",
        values="string",
        meaning="ongoing, hanging or ending, for example; free: there is no open transaction; unknown: the "
        "partition could not be read.",
    ),
    Column("transactional_id"),
    Column("producer_id", "id"),
    Column("producer_epoch", "id", wide=True),
    Column("start_offset", "number"),
    Column("last_stable", "number", spare=1),
    Column("end", "number", spare=1),
    Column("waiting", "number"),
    Column("since", "time", wide=True),
    Column("age_seconds", "duration"),
    Column(
        "last_write", "time", wide=True, meaning="Timestamp of its last record; null where it is unknown."
    ),
    Column("ends_at", "time", spare=2),
)
TRANSACTION = (
    Column("transactional_id"),
    Column("state", values="string", meaning="State of the transaction, as Kafka names it."),
    Column("producer_id", "id"),
    Column("producer_epoch", "id"),
    Column("coordinator", "id"),
    Column("since", "time"),
    Column("age_seconds", "duration"),
    Column("timeout_seconds", "duration"),
    Column("ends_at", "time"),
    Column("partitions", values="objects", inner=PARTITION, meaning="Its partitions."),
)
FREE, UNREADABLE = "free", "unknown"


def transaction_row(one: OpenTransaction, now: int) -> Row:
    """An open transaction."""
    return {
        "transactional_id": one.transactional_id,
        "state": one.state,
        "producer_id": one.producer_id,
        "producer_epoch": one.producer_epoch,
        "coordinator": known(one.coordinator),
        "since": known(one.since_ms),
        "age_seconds": age(one.since_ms, now),
        "timeout_seconds": one.timeout_ms / 1000 if one.timeout_ms >= 0 else None,
        "partitions": [str(tp) for tp in one.partitions],
    }


def partition_rows(state: PartitionState, now: int) -> list[Row]:
    """A row for each open transaction in a partition, the one that holds it back first; one if there is none."""
    found = [_partition_row(state, one, now) for one in state.transactions]
    return found or [_partition_row(state, None, now)]


def _partition_row(state: PartitionState, one: PartitionTransaction | None, now: int) -> Row:
    unread = state.stable is None or state.error is not None
    return {
        "topic": state.tp.topic,
        "partition": state.tp.partition,
        "state": one.state if one is not None else UNREADABLE if unread else FREE,
        "transactional_id": one.transaction.transactional_id if one and one.transaction else None,
        "producer_id": one.producer.producer_id if one else None,
        "producer_epoch": one.producer.producer_epoch if one else None,
        "start_offset": one.start_offset if one else None,
        "last_stable": state.stable,
        "end": state.end,
        "waiting": state.waiting,
        "since": known(one.since_ms) if one else None,
        "age_seconds": age(one.since_ms, now) if one else None,
        "last_write": known(one.producer.last_timestamp) if one else None,
        "ends_at": known(one.ends_ms) if one else None,
    }


def transaction_item(one: TransactionDescription, rows: Sequence[Row], now: int) -> Row:
    """A transactional id with its partitions, for JSON."""
    ends = one.start_ms + one.timeout_ms if one.start_ms >= 0 and one.state == "Ongoing" else None
    return transaction_row(of_coordinator(one), now) | {"ends_at": ends, "partitions": list(rows)}


def transaction_text(one: TransactionDescription, now: int) -> str:
    """A transactional id in a few lines, for people."""
    name = visible_line(one.transactional_id)
    since = ""
    if one.start_ms >= 0:
        since = f", begun {duration_text(age(one.start_ms, now) or 0)} ago at {time_text(one.start_ms)}"
    coordinator = f", coordinator broker {one.coordinator}" if one.coordinator >= 0 else ""
    lines = [
        f"transactional id {name}: {one.state}{since}",
        f"  producer {one.producer_id}, epoch {one.producer_epoch}{coordinator}",
    ]
    timeout = f"  timeout {duration_text(one.timeout_ms / 1000)}"
    if one.state == "Ongoing" and one.start_ms >= 0:
        ends = one.start_ms + one.timeout_ms
        lines.append(f"{timeout}: its coordinator aborts it at {time_text(ends)}, unless it ends before")
    else:
        lines.append(timeout)
    return "\n".join(lines) + "\n"
