"""``kcli groups rewind --journal``: the rewinds of this cluster that were made from this machine."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.core.types import TopicPartition
from kcli.flows.rewind.journal import Journal, Journals
from kcli.output.progress import counted
from kcli.output.tables import Column

JOURNALS = (
    Column("id", "id", values="string", meaning="Id for --undo."),
    Column("group"),
    Column("at", "time", spare=1, values="time", meaning="When it was made."),
    Column("partitions", "number", spare=2, values="count", meaning="How many partitions."),
    Column("to", values="string", meaning="The target, in words."),
    Column(
        "status",
        spare=3,
        meaning="What became of it: undone, a status, or how many partitions have which; null where it is unknown.",
    ),
    Column("undoes", wide=True, meaning="Id of the rewind that it undoes."),
)
OFFSETS = (
    Column(
        "offsets",
        values="objects",
        inner=(
            Column("topic"),
            Column("partition"),
            Column("committed"),
            Column("leader_epoch"),
            Column("metadata", values="string", meaning="Metadata of the commit before."),
            Column("new", values="count?", meaning="The offset that was to be committed."),
            Column("status", meaning="The status that was seen last."),
        ),
        meaning="The partitions, before and after.",
    ),
)


def list_journals(inv: Invocation, names: Sequence[str]) -> int:
    """The exit status."""
    inv.page()
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
    found, broken = Journals(cluster).listed()
    for path in broken:
        inv.talk.warn(f"{path} is not a journal of this cluster")
    undone = undone_partitions(found)
    rows = [
        journal_row(journal, undone.get(journal.id, frozenset()))
        for journal in found
        if not names or journal.group in names
    ]
    print_rows(inv, "RewindJournalList", JOURNALS, rows, cluster, item="RewindJournal")
    if not rows:
        inv.talk.note(f"no rewind of {', '.join(names) or 'this cluster'} was made from this machine")
    return inv.finish(done=True)


def undone_partitions(journals: Sequence[Journal]) -> dict[str, set[TopicPartition]]:
    """By id of a rewind: the partitions that a later one has set back, and no one has set again. Pure."""
    undone: dict[str, set[TopicPartition]] = {}
    for journal in sorted(journals, key=lambda one: one.at, reverse=True):  # who undoes comes later
        if journal.undoes is not None:
            kept = journal.before.keys() - undone.get(journal.id, set())
            undone.setdefault(journal.undoes, set()).update(kept)
    return undone


def journal_row(journal: Journal, undone: Collection[TopicPartition] = ()) -> dict[str, Any]:
    """One rewind; JSON has the partitions in full."""
    return {
        "id": journal.id,
        "group": journal.group,
        "at": journal.at,
        "partitions": len(journal.partitions),
        "to": journal.to,
        "status": _status(journal, undone),
        "undoes": journal.undoes,
        "offsets": [
            {
                "topic": row.topic,
                "partition": row.partition,
                "committed": row.committed,
                "leader_epoch": row.leader_epoch if row.leader_epoch >= 0 else None,
                "metadata": row.metadata,
                "new": row.new,
                "status": row.status,
            }
            for row in journal.partitions
        ],
    }


def _status(journal: Journal, undone: Collection[TopicPartition]) -> str | None:
    """``undone``, ``held``, ``3 held, 1 unknown``; None if the journal has no status."""
    if undone:
        left = len(journal.before.keys() - set(undone))
        return f"undone, but for {counted(left, 'partition')}" if left else "undone"
    counts = Counter(row.status for row in journal.partitions if row.status is not None)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{count} {status}" for status, count in sorted(counts.items())) or None
