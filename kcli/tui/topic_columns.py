"""The table of topics."""

from kcli.flows.monitor.snapshot import TopicLine
from kcli.output.progress import size_text
from kcli.tui import figures
from kcli.tui.cells import Cell
from kcli.tui.columns import Column


def _size(line: TopicLine) -> Cell:
    return Cell(figures.UNKNOWN if line.size is None else size_text(line.size))


def _health(line: TopicLine) -> Cell:
    if line.offline:
        return Cell(f"{line.offline} offline", "bad")
    if line.under_replicated:
        return Cell(f"{line.under_replicated} under-replicated", "warn")
    return Cell("ok", "ok")


COLUMNS: tuple[Column[TopicLine], ...] = (
    Column("TOPIC", 16, lambda one: Cell(one.topic), lambda one: one.topic, grows=True),
    Column(
        "PARTS", 6, lambda one: Cell(f"{one.partitions:,}"), lambda one: one.partitions,
        drop=4, right=True, falling=True,
    ),
    Column(
        "RECORDS", 11, lambda one: Cell(figures.count(one.records)), lambda one: one.records,
        drop=3, right=True, falling=True,
    ),
    Column("SIZE", 9, _size, lambda one: one.size, drop=1, right=True, falling=True),
    Column(
        "IN", 9, lambda one: Cell(figures.rate(one.produced)), lambda one: one.produced, right=True, falling=True
    ),
    Column("GROUPS", 7, lambda one: Cell(str(one.groups)), lambda one: one.groups, drop=2, right=True, falling=True),
    Column("WORST LAG", 11, lambda one: Cell(figures.count(one.lag)), lambda one: one.lag, right=True, falling=True),
    Column("OF GROUP", 14, lambda one: Cell(one.worst or ""), lambda one: one.worst, drop=5, grows=True),
    Column("HEALTH", 19, _health, lambda one: (one.offline or 0, one.under_replicated or 0), drop=6, falling=True),
)  # fmt: skip
