"""Judges the transactions that hold partitions back: those that hang, and those that are open for long. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from kcli.core.exit_codes import ExitCode
from kcli.core.types import TopicPartition
from kcli.flows.doctor.findings import Finding, failed, skipped, warning, well
from kcli.flows.transactions.held import HANGING, UNKNOWN, PartitionTransaction, Survey
from kcli.output.progress import counted

TRANSACTIONS = "transactions"
LONG = 900.0
"""Seconds: ``transaction.max.timeout.ms`` of brokers by default."""
_HANGING_CODE = ExitCode.FAILED
_MOST_NAMED = 5


def judge(survey: Survey, now: int) -> Iterator[Finding]:
    """The findings about a survey; ``now`` in ms since the epoch."""
    opened = [one for state in survey.partitions for one in state.transactions]
    hanging = [one for one in opened if one.state == HANGING]
    unknown = [one for one in opened if one.state == UNKNOWN]
    long = [one for one in opened if one not in hanging and one not in unknown and _age(one, now) > LONG]
    for producer in dict.fromkeys(one.producer.producer_id for one in hanging):
        yield _hanging([one for one in hanging if one.producer.producer_id == producer])
    for one in long:
        name = one.transaction.transactional_id if one.transaction is not None else "?"
        yield warning(
            TRANSACTIONS,
            "open for long",
            f"{one.tp}: that of {name}, for {int(_age(one, now) // 60)} minutes",
            why=f"readers of committed records wait at offset {one.start_offset:,}",
            do=f"check its client, or end it: `kcli txn abort {quote(name)}`",
        )
    if unknown or survey.coordinated.errors:
        error = next(iter(survey.coordinated.errors), None)
        yield warning(
            TRANSACTIONS,
            "coordinators",
            "not all transaction coordinators responded",
            why=str(error) if error is not None else "",
            do="check the brokers; until then it is not known which transactions hang",
        )
    unread = [state for state in survey.partitions if state.error is not None]
    if unread:
        more = f" and {len(unread) - 1} more" if len(unread) > 1 else ""
        yield skipped(TRANSACTIONS, "hanging", f"{unread[0].tp}{more}: {unread[0].error}")
    if not hanging:
        held = len(survey.held)
        log = ", as far as the log of the coordinators shows" if survey.coordinated.from_log else ""
        text = f"none in {counted(len(survey.partitions) - len(unread), 'partition')}{log}"
        yield well(TRANSACTIONS, "hanging", text + (f"; {held:,} wait for open ones" if held else ""))


def _hanging(alike: list[PartitionTransaction]) -> Finding:
    """All partitions in which a producer's transaction hangs."""
    first = alike[0]
    topics: dict[str, list[TopicPartition]] = {}
    for one in alike:
        topics.setdefault(one.tp.topic, []).append(one.tp)
    commands = [
        f"`kcli txn abort --topic {topic} -p {','.join(str(tp.partition) for tp in found)}`"
        for topic, found in topics.items()
    ]
    more = f" and {len(alike) - _MOST_NAMED} more" if len(alike) > _MOST_NAMED else ""
    named = ", ".join(str(one.tp) for one in alike[:_MOST_NAMED])
    return failed(
        TRANSACTIONS,
        "hanging",
        f"producer {first.producer.producer_id} in {named}{more}",
        why="no coordinator ends its transaction: readers of committed records wait there indefinitely",
        do=" and ".join(commands[:_MOST_NAMED]),
        code=_HANGING_CODE,
    )


def _age(one: PartitionTransaction, now: int) -> float:
    return (now - one.since_ms) / 1000 if one.since_ms >= 0 else 0.0
