"""The moves of ``kcli reassign`` as rows and as text. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from kcli.core.types import TopicPartition
from kcli.flows.reassign.moves import BrokerTraffic, Move
from kcli.output.progress import size_text
from kcli.output.tables import Column, indented_table

NEW_REPLICAS = Column(
    "new_replicas", values="integers?", meaning="Numbers of the brokers that are to have a replica."
)
COLUMNS = (
    Column("topic"),
    Column("partition", "id"),
    Column("replicas"),
    NEW_REPLICAS,
    Column("bytes", "size", meaning="Bytes to be copied; null where it is unknown."),
)
FURTHER = (
    Column("adding", values="integers?", meaning="Brokers that get a replica."),
    Column("removing", values="integers?", meaning="Brokers that lose their replica."),
)
_TEXT = (*COLUMNS[:4], Column("bytes", "id"), Column("note", "prose"))
_BROKERS = tuple(
    Column(key, "id")
    for key in ("broker", "replicas", "new_replicas", "leaders", "new_leaders", "receives", "sends")
)
_MOST_LINES = 50
NO_NOTES: Mapping[TopicPartition, str] = MappingProxyType({})


def move_row(move: Move) -> dict[str, Any]:
    """The values of the columns."""
    return {
        "topic": move.tp.topic,
        "partition": move.tp.partition,
        "replicas": list(move.old),
        "new_replicas": list(move.new),
        "adding": list(move.adding),
        "removing": list(move.removing),
        "bytes": move.copied,
    }


def moves_table(moves: Sequence[Move], notes: Mapping[TopicPartition, str] = NO_NOTES) -> list[str]:
    """The moves for people, at most 50 of them; ``notes`` stand for what a move says of itself."""
    rows = []
    for move in moves[:_MOST_LINES]:
        note = notes.get(move.tp) or move_note(move)
        rows.append(move_row(move) | {"bytes": size_or_unknown(move.copied), "note": note})
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


def move_note(move: Move) -> str:
    """A remark on a move."""
    if not move.needed:
        return "as it is"
    return "" if move.adding or move.removing else "only the order"
