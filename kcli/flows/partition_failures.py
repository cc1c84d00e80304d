"""Errors of many partitions as few messages: one for each reason, with the partitions that it concerns. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kcli.core.errors import KcliError, PartlyFailedError, UnsupportedError
from kcli.core.types import TopicPartition

_MOST = 8


def partition_names(partitions: Iterable[TopicPartition]) -> str:
    """``orders-0,4, payments-1``; of many the first, and how many more there are."""
    rows = sorted(partitions)
    by_topic: dict[str, list[str]] = {}
    for tp in rows[:_MOST]:
        by_topic.setdefault(tp.topic, []).append(str(tp.partition))
    more = f" and {len(rows) - _MOST} more" if len(rows) > _MOST else ""
    return ", ".join(f"{topic}-{','.join(numbers)}" for topic, numbers in by_topic.items()) + more


def grouped_failures(what: str, errors: Mapping[TopicPartition, KcliError]) -> list[KcliError]:
    """An error for each reason; ``what`` has ``{}`` where the partitions are named."""
    by_reason: dict[str, dict[TopicPartition, KcliError]] = {}
    for tp, error in errors.items():
        by_reason.setdefault(reason(error), {})[tp] = error
    found: list[KcliError] = []
    for alike in by_reason.values():
        first = next(iter(alike.values()))
        error = PartlyFailedError(what.format(partition_names(alike)), first)
        error.why = reason(first)
        found.append(error)
    return found


def reason(error: KcliError) -> str:
    """Why, without the partition where the cause says it; a broker that is too old, and a file, are named."""
    from kcli.files.journal_folder import JournalError  # few runs need it

    return str(error) if isinstance(error, UnsupportedError | JournalError) else error.why or error.what
