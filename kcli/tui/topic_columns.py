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
    Column(
        "TOPIC", 16, lambda one: Cell(one.topic), lambda one: one.topic, grows=True, least=6,
        about="the topic's name",
        data={"topic": lambda one: one.topic},
    ),
    Column(
        "PARTS", 6, lambda one: Cell(f"{one.partitions:,}"), lambda one: one.partitions, drop=4, right=True,
        falling=True,
        about="partitions",
        data={"partitions": lambda one: one.partitions},
    ),
    Column(
        "RECORDS", 11, lambda one: Cell(figures.count(one.records)), lambda one: one.records, drop=3,
        right=True, falling=True,
        about="offsets that are kept: compaction and markers make the number of records smaller",
        data={"records": lambda one: one.records},
    ),
    Column(
        "SIZE", 9, _size, lambda one: one.size, drop=1, right=True, falling=True,
        about="bytes of the leaders' logs",
        data={"size_bytes": lambda one: one.size},
    ),
    Column(
        "IN", 9, lambda one: Cell(figures.rate(one.produced)), lambda one: one.produced, right=True,
        falling=True, least=6,
        about="records written per second, since the reading before",
        data={"produced_per_second": lambda one: figures.rounded(one.produced, 1)},
    ),
    Column(
        "GROUPS", 7, lambda one: Cell(str(one.groups)), lambda one: one.groups, drop=2, right=True,
        falling=True,
        about="groups that read it",
        data={"groups": lambda one: one.groups},
    ),
    Column(
        "WORST LAG", 11, lambda one: Cell(figures.count(one.lag)), lambda one: one.lag, right=True,
        falling=True, least=6, narrow=lambda one: Cell(figures.short(one.lag)),
        about="lag of the group with the most lag there",
        data={"worst_lag_records": lambda one: one.lag},
    ),
    Column(
        "OF GROUP", 14, lambda one: Cell(one.worst or ""), lambda one: one.worst, drop=5, grows=True,
        about="that group",
        data={"worst_group": lambda one: one.worst},
    ),
    Column(
        "HEALTH", 19, _health, lambda one: (one.offline or 0, one.under_replicated or 0), drop=6,
        falling=True,
        about="partitions without a leader, or with replicas that are not in sync",
        data={"offline": lambda one: one.offline, "under_replicated": lambda one: one.under_replicated},
    ),
)  # fmt: skip
