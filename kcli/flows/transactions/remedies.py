"""What ends the transactions that hold partitions back, in sentences with the command. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kcli.flows.transactions.held import ENDING, HANGING, OPEN, PartitionState, PartitionTransaction
from kcli.output.tables import time_text


def remedies(states: Iterable[PartitionState]) -> list[str]:
    """What ends the transactions that hold partitions back: a sentence for each, with all partitions of a topic."""
    alike: dict[tuple[str, str, int], list[PartitionTransaction]] = {}
    for state in states:
        if (holder := state.holder) is not None:
            key = state.tp.topic, holder.state, holder.producer.producer_id
            alike.setdefault(key, []).append(holder)
    return [_remedy(holders) for holders in alike.values()]


def _remedy(holders: Sequence[PartitionTransaction]) -> str:
    first = holders[0]
    numbers = ",".join(str(holder.tp.partition) for holder in holders)
    where = f"{first.tp.topic}-{numbers}"
    producer = f"producer {first.producer.producer_id}"
    name = first.transaction.transactional_id if first.transaction is not None else None
    command = f"`kcli txn abort --topic {first.tp.topic} -p {numbers}`"
    if first.state == OPEN:
        ends = f"at {time_text(first.ends_ms)}" if first.ends_ms >= 0 else "at its timeout"
        return f"{where}: its coordinator aborts the transaction of {name} {ends}; to end it now: {command}"
    if first.state == ENDING:
        return (
            f"{where}: the coordinator is ending the transaction of {name}; if that lasts, check that the leaders of "
            "all its partitions are running"
        )
    if first.state == HANGING:
        other = f", whose transactional id {name} has no such transaction" if name is not None else ""
        return f"{where}: no coordinator ends the transaction of {producer}{other}; to end it: {command}"
    return (
        f"{where}: not all coordinators responded, so it is not known what ends the transaction of {producer}"
    )
