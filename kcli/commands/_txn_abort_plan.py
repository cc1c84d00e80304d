"""The plan of ``kcli txn abort``: which transactions are ended, how, and what that means for a client. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Any

from kcli.commands._txn_rows import age, known
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.flows.transactions.abort import DONE, ENDED, FAILED, FENCE, MARKER, Item, Result
from kcli.flows.transactions.coordinated import COMPLETING, ONGOING
from kcli.flows.transactions.held import ENDING, UNKNOWN, PartitionState, PartitionTransaction
from kcli.output.progress import counted, duration_text
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column, indented_table, time_text

if TYPE_CHECKING:
    from kcli.core.admin.transactions import TransactionDescription

PLAN = (
    Column("topic"),
    Column("partition", "id"),
    Column("action"),
    Column("transactional_id"),
    Column("producer_id", "id"),
    Column("producer_epoch", "id"),
    Column("start_offset", "number"),
    Column("last_stable", "number"),
    Column("end", "number", spare=1),
    Column("waiting", "number"),
    Column("age_seconds", "duration", spare=2),
)
REPORT = (*PLAN[:-1], Column("status"), Column("note", "prose"))

RECENT = 900.0
"""Seconds; ``transaction.max.timeout.ms`` of a broker by default: a transaction that was written to since may be live."""

Row = dict[str, Any]


class AbortRefusedError(KcliError):
    """A transaction that cannot be ended by hand in its present state."""

    exit_code = ExitCode.REFUSED


@dataclass(frozen=True, slots=True)
class Plan:
    """``transactions`` are fenced, which ends them in all their partitions; ``items`` are the partitions that are read
    back. ``typed_name``: has to be typed, because a client may be hurt. ``nothing``: said where there is nothing to do.
    """

    title: str
    transactions: tuple[TransactionDescription, ...]
    items: tuple[Item, ...]
    refused: tuple[KcliError, ...]
    typed_name: str | None
    nothing: str = "nothing is to be aborted"

    @property
    def possible(self) -> bool:
        """Whether anything can be done."""
        return bool(self.transactions or self.items)


def plan_of_transaction(
    transaction: TransactionDescription, states: Sequence[PartitionState], now: int, older_than: float | None
) -> Plan:
    """The plan for a transactional id."""
    name = transaction.transactional_id
    title = f"Abort the transaction of {visible_line(name)}"
    too_young = older_than is not None and (age(transaction.start_ms, now) or 0) <= older_than
    if transaction.state in COMPLETING:
        return Plan(title, (), (), (_being_ended(transaction),), name)
    if transaction.state != ONGOING:
        reason = (
            f"nothing is to be aborted: {visible_line(name)} has no open transaction ({transaction.state})"
        )
        return Plan(title, (), (), (), name, reason)
    if too_young:
        return Plan(title, (), (), (), name, "nothing is to be aborted: its transaction is not that old")
    items = [
        Item(one, state.stable, state.end)
        for state in states
        for one in state.transactions
        if one.transaction is not None and one.transaction.transactional_id == name
    ]
    fenced = tuple(item for item in items if item.action == FENCE)
    return Plan(title, (transaction,), fenced, (), name)


def plan_of_partitions(
    topic: str, states: Sequence[PartitionState], now: int, older_than: float | None
) -> Plan:
    """The plan for what holds partitions of a topic back: the first transaction of each."""
    items, refused = [], []
    for state in states:
        holder = state.holder
        if holder is None or (older_than is not None and (age(holder.since_ms, now) or 0) <= older_than):
            continue
        if holder.state in (ENDING, UNKNOWN):
            refused.append(_refused(holder))
        else:
            items.append(Item(holder, state.stable, state.end))
    transactions = {
        one.transactional_id: one
        for item in items
        if item.action == FENCE and (one := item.held.transaction) is not None
    }
    typed = None
    if len(transactions) == 1 and all(item.action == FENCE for item in items):
        (typed,) = transactions
    elif transactions or any(_is_recent(item.held, now) for item in items):
        typed = topic
    what = f"what holds {counted(len(items), 'partition')} of topic {visible_line(topic)} back"
    return Plan(f"Abort {what}", tuple(transactions.values()), tuple(items), tuple(refused), typed)


def question(plan: Plan) -> str:
    """The question after the plan."""
    count = len({(item.held.producer.producer_id) for item in plan.items}) or len(plan.transactions)
    return f"Abort {counted(count, 'transaction')}?"


def plan_text(plan: Plan, now: int) -> str:
    """The plan for people: the table, then what each kind of end means."""
    rows = plan_rows(plan, now)
    lines = [plan.title + ":", *indented_table(PLAN, [_shown(row) for row in rows])]
    for one in plan.transactions:
        parts = counted(len(one.partitions), "partition")
        lines.append(
            f"The producer of {visible_line(one.transactional_id)} is fenced, which aborts its transaction ({parts}). "
            "A client that still runs gets PRODUCER_FENCED and has to start anew."
        )
        if one.start_ms >= 0:
            ends = time_text(one.start_ms + one.timeout_ms)
            lines.append(f"Without this, its coordinator aborts it at {ends}.")
    markers = [item for item in plan.items if item.action == MARKER]
    if markers:
        hanging = ", ".join(str(item.tp) for item in markers)
        lines.append(
            f"No coordinator ends what is open in {hanging}, as far as this client may describe transactional ids: "
            "an abort marker is written there."
        )
    for item in markers:
        if _is_recent(item.held, now):
            since = duration_text(age(item.held.producer.last_timestamp, now) or 0)
            lines.append(f"{item.tp} was written to {since} ago: its client may still be at work.")
    if plan.possible:
        lines.append("Records of an aborted transaction are never read as committed; this cannot be undone.")
    return "\n".join(lines)


def plan_rows(plan: Plan, now: int) -> list[Row]:
    """A row for each partition; for a transaction in none that can be read, one without."""
    rows = [_item_row(item, now) for item in plan.items]
    return rows + [_bare_row(one, now) for one in _unlisted(plan)]


def report_rows(plan: Plan, result: Result, now: int) -> list[Row]:
    """The rows of the plan with what became of each; ``last_stable`` and ``waiting`` as read back."""
    rows = []
    for item in plan.items:
        outcome = result.partitions[item.tp]
        row = _item_row(item, now)
        del row["age_seconds"]
        waiting = (
            None if outcome.stable is None or outcome.end is None else max(0, outcome.end - outcome.stable)
        )
        note = str(outcome.error) if outcome.error is not None else None
        if note is None and waiting:
            note = f"another transaction holds it back at {outcome.stable:,}"
        bounds = {"last_stable": outcome.stable, "end": outcome.end, "waiting": waiting}
        rows.append(row | bounds | {"status": outcome.status, "note": note})
    for one in _unlisted(plan):
        row = _bare_row(one, now)
        del row["age_seconds"]
        error = result.fenced.get(one.transactional_id)
        status = ENDED if one.transactional_id not in result.fenced else FAILED if error else DONE
        rows.append(row | {"status": status, "note": str(error) if error else None})
    return rows


def _unlisted(plan: Plan) -> list[TransactionDescription]:
    """Those that are fenced, but have no records in a partition that is read back."""
    listed = {
        item.held.transaction.transactional_id
        for item in plan.items
        if item.action == FENCE and item.held.transaction is not None
    }
    return [one for one in plan.transactions if one.transactional_id not in listed]


def _item_row(item: Item, now: int) -> Row:
    held = item.held
    waiting = None if item.stable is None or item.end is None else max(0, item.end - item.stable)
    return {
        "topic": item.tp.topic,
        "partition": item.tp.partition,
        "action": item.action,
        "transactional_id": held.transaction.transactional_id if held.transaction is not None else None,
        "producer_id": held.producer.producer_id,
        "producer_epoch": held.producer.producer_epoch,
        "start_offset": held.start_offset,
        "last_stable": item.stable,
        "end": item.end,
        "waiting": waiting,
        "age_seconds": age(held.since_ms, now),
    }


def _bare_row(one: TransactionDescription, now: int) -> Row:
    nothing = dict.fromkeys(("topic", "partition", "start_offset", "last_stable", "end", "waiting"))
    return nothing | {
        "action": FENCE,
        "transactional_id": one.transactional_id,
        "producer_id": known(one.producer_id),
        "producer_epoch": known(one.producer_epoch),
        "age_seconds": age(one.start_ms, now),
    }


def _shown(row: Row) -> Row:
    """Numbers with separators, the age in words."""
    numbers = {column.key for column in PLAN if column.kind == "number"}
    shown = {
        key: f"{value:,}" if key in numbers and value is not None else value for key, value in row.items()
    }
    return shown | {"age_seconds": None if row["age_seconds"] is None else duration_text(row["age_seconds"])}


def _is_recent(held: PartitionTransaction, now: int) -> bool:
    seconds = age(held.producer.last_timestamp, now)
    return seconds is not None and seconds < RECENT


def _refused(holder: PartitionTransaction) -> KcliError:
    if holder.state == ENDING and holder.transaction is not None:
        return _being_ended(holder.transaction)
    return AbortRefusedError(
        f"the transaction of producer {holder.producer.producer_id} in {holder.tp} is not aborted",
        why="not all coordinators responded: one of them may have it, and its client may be at work",
        do="run it again when all brokers respond",
    )


def _being_ended(transaction: TransactionDescription) -> KcliError:
    word = "commit" if transaction.state == "PrepareCommit" else "abort"
    return AbortRefusedError(
        f"the transaction of {transaction.transactional_id} is not aborted",
        why=f"its state is {transaction.state}: it was told to {word}, and its coordinator is writing the markers",
        do="wait a moment; if it lasts, check that the leaders of all its partitions are running: "
        f"`kcli txn describe {quote(transaction.transactional_id)}`",
    )
