"""``kcli groups rewind --journal``: the rewinds of this cluster that were made from this machine."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.flows.rewind.journal import Journal, Journals
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
        meaning="What became of it: a status, or how many partitions have which; null where it is unknown.",
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
    rows = [journal_row(journal) for journal in found if not names or journal.group in names]
    print_rows(inv, "RewindJournalList", JOURNALS, rows, cluster, item="RewindJournal")
    if not rows:
        inv.talk.note(f"no rewind of {', '.join(names) or 'this cluster'} was made from this machine")
    return inv.finish(done=True)


def journal_row(journal: Journal) -> dict[str, Any]:
    """One rewind; JSON has the partitions in full."""
    return {
        "id": journal.id,
        "group": journal.group,
        "at": journal.at,
        "partitions": len(journal.partitions),
        "to": journal.to,
        "status": _status(journal),
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


def _status(journal: Journal) -> str | None:
    """``held``, ``3 held, 1 unknown``; None if the journal has no status."""
    counts = Counter(row.status for row in journal.partitions if row.status is not None)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{count} {status}" for status, count in sorted(counts.items())) or None
