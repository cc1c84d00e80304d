"""The table of a topic's partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcli.core.classes import NamedTuple
from kcli.flows.cluster_state import is_offline, is_under_replicated
from kcli.output.progress import size_text
from kcli.output.tables import Field
from kcli.tui import figures
from kcli.tui.cells import Cell
from kcli.tui.columns import Column, fields_of
from kcli.tui.look import SIGNS

if TYPE_CHECKING:
    from kcli.core.cluster.metadata import PartitionView
    from kcli.flows.groups.offsets import LogEnds


class TopicPartitionRow(NamedTuple):
    """A partition with its log; ``size`` is that of its leader's, in bytes."""

    view: PartitionView
    log: LogEnds
    size: int | None

    @property
    def records(self) -> int | None:
        """Offsets that are kept."""
        if self.log.start is None or self.log.end is None:
            return None
        return self.log.end - self.log.start


def _state(row: TopicPartitionRow) -> Cell:
    if is_offline(row.view):
        return Cell(f"{SIGNS['bad']} no leader", "bad")
    if is_under_replicated(row.view):
        return Cell(f"{SIGNS['warn']} {len(row.view.isr)} of {len(row.view.replicas)} in sync", "warn")
    return Cell(f"{SIGNS['ok']} ok")


def _rank(row: TopicPartitionRow) -> tuple[int, int]:
    return (2 if is_offline(row.view) else 1 if is_under_replicated(row.view) else 0), -row.view.partition


def _numbers(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers))


COLUMNS: tuple[Column[TopicPartitionRow], ...] = (
    Column(
        "PART", 5, lambda one: Cell(str(one.view.partition)), lambda one: one.view.partition, right=True,
        about="the partition",
        data=(
            Field(
                "partition", "id", of=lambda one: one.view.partition, values="integer",
                meaning="The number of the partition.",
            ),
        ),
    ),
    Column(
        "STATE", 16, _state, _rank, falling=True, least=11,
        about="whether it has a leader, and whether all its replicas are in sync",
    data=(
            Field(
                "state", of=lambda one: "offline" if is_offline(one.view) else "under-replicated"
                if is_under_replicated(one.view) else "ok",
                values=("ok", "under-replicated", "offline"),
                meaning="offline: it has no leader; under-replicated: not all replicas are in sync.",
            ),
        ),
    ),
    Column(
        "LEADER", 6, lambda one: Cell(figures.UNKNOWN if one.view.leader < 0 else str(one.view.leader)),
        lambda one: one.view.leader, right=True, drop=3,
        data=(
            Field(
                "leader", "id", of=lambda one: one.view.leader if one.view.leader >= 0 else None,
                values="integer?", meaning="The broker that leads it; null without one.",
            ),
        ),
    ),
    Column(
        "REPLICAS", 9, lambda one: Cell(_numbers(one.view.replicas)), lambda one: one.view.replicas, drop=5,
        grows=True,
        data=(
            Field(
                "replicas", of=lambda one: list(one.view.replicas), values="integers",
                meaning="The brokers with a replica, the preferred leader first.",
            ),
        ),
    ),
    Column(
        "ISR", 9, lambda one: Cell(_numbers(one.view.isr)), lambda one: one.view.isr, drop=4, grows=True,
        data=(
            Field(
                "isr", of=lambda one: list(one.view.isr), values="integers",
                meaning="Those of them that are in sync.",
            ),
        ),
    ),
    Column(
        "START", 13, lambda one: Cell(figures.offset(one.log.start)), lambda one: one.log.start, drop=6,
        right=True, falling=True,
        data=(
            Field(
                "start", "number", of=lambda one: one.log.start,
                meaning="The first offset that is kept; null where it is unknown.",
            ),
        ),
    ),
    Column(
        "END", 13, lambda one: Cell(figures.offset(one.log.end)), lambda one: one.log.end, drop=1, right=True,
        falling=True,
        data=(
            Field(
                "end", "number", of=lambda one: one.log.end,
                meaning="The offset after the last record; null where it is unknown.",
            ),
        ),
    ),
    Column(
        "RECORDS", 11, lambda one: Cell(figures.count(one.records)), lambda one: one.records, right=True,
        falling=True, least=6,
        data=(
            Field(
                "records", "number", of=lambda one: one.records,
                meaning="Offsets that are kept; null where that is unknown.",
            ),
        ),
    ),
    Column(
        "SIZE", 9, lambda one: Cell(figures.UNKNOWN if one.size is None else size_text(one.size)),
        lambda one: one.size, right=True, falling=True, drop=2,
        data=(
            Field(
                "size_bytes", "size", of=lambda one: one.size,
                meaning="Bytes of the leader's log; null where it is unknown.",
            ),
        ),
    ),
    Column(
        "NOTE", 8, lambda one: Cell(one.log.note or "", "warn"), lambda one: one.log.note or "", drop=7, grows=True,
        about="why its offsets are not known",
        data=(Field("note", of=lambda one: one.log.note, meaning="Why its offsets are unknown; null as a rule."),),
    ),
)  # fmt: skip
FIELDS = fields_of(COLUMNS)
