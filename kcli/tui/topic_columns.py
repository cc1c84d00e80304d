"""The table of topics."""

from kcli.flows.monitor.snapshot import TopicLine
from kcli.output.progress import size_text
from kcli.output.tables import Field
from kcli.tui import figures
from kcli.tui.cells import Cell
from kcli.tui.columns import Column, fields_of
from kcli.tui.look import SIGNS


def _size(line: TopicLine) -> Cell:
    return Cell(figures.UNKNOWN if line.size is None else size_text(line.size))


def _groups(line: TopicLine) -> Cell:
    return Cell(figures.at_least(str(line.groups), partial=line.at_least))


def _health(line: TopicLine) -> Cell:
    if line.offline:
        return Cell(f"{SIGNS['bad']} {line.offline} offline", "bad")
    if line.under_replicated:
        return Cell(f"{SIGNS['warn']} {line.under_replicated} not in sync", "warn")
    return Cell(f"{SIGNS['ok']} ok")


def _short_health(line: TopicLine) -> Cell:
    cell = _health(line)
    return cell._replace(text=" ".join(cell.text.split()[:2]))


COLUMNS: tuple[Column[TopicLine], ...] = (
    Column(
        "TOPIC", 16, lambda one: Cell(one.topic), lambda one: one.topic, grows=True, least=6,
        middle=True,
        about="the topic's name",
        data=(Field("topic", of=lambda one: one.topic),),
    ),
    Column(
        "PARTS", 6, lambda one: Cell(f"{one.partitions:,}"), lambda one: one.partitions, drop=4, right=True,
        falling=True,
        data=(
            Field("partitions", "number", of=lambda one: one.partitions, values="count", meaning="Partitions."),
        ),
    ),
    Column(
        "RECORDS", 11, lambda one: Cell(figures.count(one.records)), lambda one: one.records, drop=3,
        right=True, falling=True,
        data=(
            Field(
                "records", "number", of=lambda one: one.records,
                meaning="Offsets that are kept: compaction and markers make the number of records smaller; "
                "null where it is unknown.",
            ),
        ),
    ),
    Column(
        "SIZE", 9, _size, lambda one: one.size, drop=1, right=True, falling=True,
        data=(
            Field(
                "size_bytes", "size", of=lambda one: one.size,
                meaning="Bytes of the leaders' logs; null where it is unknown.",
            ),
        ),
    ),
    Column(
        "IN/S", 7, lambda one: Cell(figures.per_second(one.produced)), lambda one: one.produced, right=True,
        falling=True, least=6,
        data=(
            Field(
                "produced_per_second", "number", of=lambda one: one.produced, digits=1, values="number?",
                meaning="Records written per second, since the reading before; null where it is unknown.",
            ),
        ),
    ),
    Column(
        "GROUPS", 7, _groups, lambda one: one.groups, drop=2, right=True,
        falling=True,
        data=(
            Field("groups", "number", of=lambda one: one.groups, values="count", meaning="Groups that read it."),
        ),
    ),
    Column(
        "WORST LAG", 11, lambda one: Cell(figures.count(one.lag)), lambda one: one.lag, right=True,
        falling=True, least=6, narrow=lambda one: Cell(figures.short(one.lag)),
        data=(
            Field(
                "worst_lag_records", "number", of=lambda one: one.lag,
                meaning="Lag of the group with the most lag there; null where it is unknown.",
            ),
        ),
    ),
    Column(
        "OF GROUP", 14, lambda one: Cell(one.worst or ""), lambda one: one.worst, drop=5, grows=True,
        data=(Field("worst_group", of=lambda one: one.worst, meaning="That group; null where there is none."),),
    ),
    Column(
        "REPLICAS", 15, _health, lambda one: (one.offline or 0, one.under_replicated or 0), least=8,
        narrow=_short_health, falling=True,
        about="partitions without a leader, or with replicas that are not in sync",
        data=(
            Field(
                "offline", "number", of=lambda one: one.offline,
                meaning="Partitions without a leader; null where it is unknown.",
            ),
            Field(
                "under_replicated", "number", of=lambda one: one.under_replicated,
                meaning="Partitions with replicas that are not in sync; null where it is unknown.",
            ),
        ),
    ),
)  # fmt: skip
FIELDS = fields_of(COLUMNS)
