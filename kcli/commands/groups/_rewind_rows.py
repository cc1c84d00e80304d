"""RewindPlan, RewindReport and RewindJournalList: columns and rows. Pure."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from kcli.core.types import OffsetAndMetadata
from kcli.flows.rewind.journal import Journal
from kcli.flows.rewind.mark import marked_by
from kcli.flows.rewind.outcomes import GroupReport, Outcome, commit_text
from kcli.flows.rewind.plan import GroupPlan, RewindItem, RewindPlan
from kcli.output.tables import Column

Row = dict[str, Any]

PLAN = (
    Column("group"),
    Column("topic"),
    Column("partition", "id"),
    Column("committed", "number", spare=1),
    Column("new", "number"),
    Column("change", "number"),
    Column("records", "number", spare=2),
    Column("note", "prose"),
)
REPORT = (
    Column("group"),
    Column("topic"),
    Column("partition", "id"),
    Column("committed", "number", spare=1),
    Column("new", "number"),
    Column("found", "number", spare=2),
    Column("status"),
    Column("note", "prose"),
)
JOURNALS = (
    Column("id", "id"),
    Column("group"),
    Column("at", "time", spare=1),
    Column("partitions", "number", spare=2),
    Column("to"),
    Column("status", spare=3),
    Column("undoes", wide=True),
)


def plan_rows(plan: RewindPlan) -> Iterator[Row]:
    """A row for each partition; JSON also has what is done with it, and the time span."""
    for group in plan.groups:
        for item in group.items:
            yield {
                **_partition_fields(group, item),
                "change": item.change,
                "records": item.records,
                "note": item.note or None,
                "action": "refused" if group.refusal is not None else item.action,
                "span_seconds": None if item.span_ms is None else item.span_ms / 1000,
            }


def report_rows(report: GroupReport) -> Iterator[Row]:
    """A row for each partition of one group."""
    for outcome in report.outcomes:
        error = outcome.error or report.error
        yield {
            **_partition_fields(report.plan, outcome.item),
            "found": _offset(outcome.found),
            "status": outcome.status,
            "note": str(error) if error is not None else _by(outcome) or outcome.item.note or None,
            "action": outcome.item.action,
            "undo": report.plan.id if report.kept else None,
            **(_live_fields(outcome) if report.plan.live else {}),
        }


def _by(outcome: Outcome) -> str:
    """What else was found: a lack of metadata, the rewind whose offsets are there instead of the planned ones, or what
    was there and is replaced.
    """
    if outcome.without_metadata:
        return "set, without its metadata"
    if outcome.status == "overwrote":
        return f"overwrote {commit_text(outcome.replaced)}"
    rewind = marked_by(outcome.found) if outcome.status == "overwritten" else None
    return f"overwritten by rewind {rewind}" if rewind else ""


def _live_fields(outcome: Outcome) -> Row:
    """The owner of the partition after a live rewind, and the commits seen since the release."""
    member = outcome.member
    return {
        "member_id": None if member is None else member.member_id,
        "client_id": None if member is None else member.client_id,
        "host": None if member is None else member.host,
        "commits": [{"seconds": round(at, 3), "offset": offset} for at, offset in outcome.seen],
    }


def journal_row(journal: Journal) -> Row:
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


def _partition_fields(group: GroupPlan, item: RewindItem) -> Row:
    return {
        "group": group.group,
        "topic": item.tp.topic,
        "partition": item.tp.partition,
        "committed": _offset(item.committed),
        "new": _offset(item.new),
    }


def _offset(commit: OffsetAndMetadata | None) -> int | None:
    return None if commit is None else commit.offset
