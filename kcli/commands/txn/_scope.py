"""What ``--topic`` and ``-p`` of ``kcli txn`` select, and the survey of it."""

from __future__ import annotations

from collections.abc import Sequence

from kcli.account.survey import Missing
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.params import check_topic_name
from kcli.commands.shared.usage import usage
from kcli.core.admin.admin import Admin
from kcli.core.types import TopicPartition
from kcli.flows.partition_failures import partition_names
from kcli.flows.transactions.coordinated import ReadLog
from kcli.flows.transactions.held import Survey, survey
from kcli.output.progress import counted

_MANY = 1_000
"""Partitions whose offsets take a while."""


def check_scope(
    command: str, name: str | None, topic: str | None, partitions: tuple[int, ...] | None, *, needed: bool
) -> None:
    """A usage error unless a transactional id or a topic is given, or neither where that is possible."""
    if partitions is not None and topic is None:
        raise usage(
            f"txn {command}: -p without a topic",
            why="partitions are those of --topic",
            do=f"add it: `kcli txn {command} --topic TOPIC -p {','.join(map(str, partitions))}`",
        )
    if name is not None and topic is not None:
        raise usage(
            f"txn {command}: both a transactional id and --topic are given",
            why="one selects a transaction, the other what holds partitions back",
            do="leave one of them out",
        )
    if needed and not name and topic is None:
        raise usage(
            f"txn {command}: no transaction is selected",
            why="a transactional id, or a topic whose partitions are held back, is needed",
            do=f"as in `kcli txn {command} --topic orders -p 0`; `kcli txn list` shows what is open",
        )
    if topic is not None:
        check_topic_name(topic, f"txn {command}")


def surveyed(
    inv: Invocation,
    admin: Admin,
    partitions: Sequence[TopicPartition],
    read_log: ReadLog,
    *,
    lacks_partitions: bool = True,
) -> Survey:
    """The survey of these partitions. Coordinators that could not be queried are missing, and so are the
    partitions that could not be read where ``lacks_partitions``.
    """
    if len(partitions) > _MANY:
        inv.talk.note(f"reading the offsets of {counted(len(partitions), 'partition')} …")
    found = survey(admin, partitions, read_log)
    for error in found.coordinated.errors:
        inv.lacks(Missing.of(error))
    for unread, error in found.unread if lacks_partitions else ():
        names = partition_names(unread)
        inv.lacks(Missing(f"transactions in {names}", names, error))
    return found
