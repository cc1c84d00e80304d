"""The moves of ``kcli reassign`` as rows and as text. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.partition_failures import reason
from kcli.flows.reassign.moves import BrokerTraffic, Move
from kcli.output.progress import size_text
from kcli.output.tables import Column, indented_table

PLAN = (
    Column("topic"),
    Column("partition", "id"),
    Column("replicas"),
    Column("new_replicas"),
    Column("bytes", "size"),
    Column("note", "prose"),
)
REPORT = (*PLAN[:-1], Column("status"), Column("note", "prose"))
_TEXT = (*PLAN[:4], Column("bytes", "id"), PLAN[5])
_BROKERS = tuple(
    Column(key, "id")
    for key in ("broker", "replicas", "new_replicas", "leaders", "new_leaders", "receives", "sends")
)
_MOST_LINES = 50


def plan_row(move: Move, error: KcliError | None = None) -> dict[str, Any]:
    """A row of the plan."""
    return {
        "topic": move.tp.topic,
        "partition": move.tp.partition,
        "replicas": list(move.old),
        "new_replicas": list(move.new),
        "adding": list(move.adding),
        "removing": list(move.removing),
        "bytes": move.copied,
        "note": reason(error) if error is not None else _note(move),
    }


def report_row(move: Move, status: str, error: KcliError | None) -> dict[str, Any]:
    """A row of the report."""
    return plan_row(move, error) | {"status": status}


def moves_table(moves: Sequence[Move], errors: Mapping[TopicPartition, KcliError]) -> list[str]:
    """The moves for people, at most 50 of them."""
    rows = []
    for move in moves[:_MOST_LINES]:
        row = plan_row(move)
        note = "refused" if move.tp in errors else row["note"]
        rows.append(row | {"bytes": size_or_unknown(move.copied), "note": note})
    lines = indented_table(_TEXT, rows)
    if len(moves) > _MOST_LINES:
        lines.append(f"  … and {len(moves) - _MOST_LINES:,} more")
    return lines


def brokers_table(rows: Iterable[BrokerTraffic]) -> list[str]:
    """What each broker has before and after, receives and sends."""
    return indented_table(
        _BROKERS,
        [
            {
                "broker": row.broker,
                "replicas": row.replicas,
                "new_replicas": row.new_replicas,
                "leaders": row.leaders,
                "new_leaders": row.new_leaders,
                "receives": size_text(row.received),
                "sends": size_text(row.sent),
            }
            for row in rows
        ],
    )


def copied_text(moves: Iterable[Move]) -> str:
    """``1.2 GB to copy``; what is known of it."""
    sizes = [move.copied for move in moves]
    known = size_text(sum(size for size in sizes if size is not None))
    return f"{'at least ' if None in sizes else ''}{known} to copy"


def size_or_unknown(size: int | None) -> str:
    """A size for people."""
    return "-" if size is None else size_text(size)


def numbers_text(numbers: Iterable[int]) -> str:
    """``1, 2, 3``."""
    return ", ".join(map(str, numbers))


def _note(move: Move) -> str | None:
    if not move.needed:
        return "as it is"
    return None if move.adding or move.removing else "only the order"
