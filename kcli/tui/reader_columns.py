"""The table of the groups that read a topic."""

from kcli.flows.lag.verdicts import VERDICT
from kcli.flows.monitor.opened_topic import TopicReader
from kcli.output.tables import Field
from kcli.tui import figures
from kcli.tui.cells import Cell
from kcli.tui.columns import Column, fields_of
from kcli.tui.group_columns import verdict_cell
from kcli.tui.standing import meaning

_RANKS = {"bad": 0, "warn": 1, "unread": 2}

COLUMNS: tuple[Column[TopicReader], ...] = (
    Column(
        "VERDICT", 13, lambda one: verdict_cell(one.verdict),
        lambda one: (_RANKS.get(meaning(one.verdict), 3), one.group), least=9,
        about="the worst of its partitions of this topic",
        data=(Field("verdict", of=lambda one: one.verdict, values=VERDICT.values, meaning=VERDICT.meaning),),
    ),
    Column(
        "GROUP", 16, lambda one: Cell(one.group), lambda one: one.group, grows=True, least=6,
        about="the group's name",
        data=(Field("group", of=lambda one: one.group),),
    ),
    Column(
        "LAG", 11, lambda one: Cell(figures.count(one.lag.lag)), lambda one: one.lag.lag, right=True,
        falling=True, least=6, narrow=lambda one: Cell(figures.short(one.lag.lag)),
        about="records of this topic that it has not read",
        data=(
            Field(
                "lag_records", "number", of=lambda one: one.lag.lag,
                meaning="Records of the topic that it has not read; null where that is unknown.",
            ),
        ),
    ),
    Column(
        "BEHIND", 9, lambda one: Cell(figures.age(one.lag.seconds, one.lag.method)),
        lambda one: one.lag.seconds, drop=1, right=True, falling=True,
        about="age of the first unread record; ≈: estimated",
        data=(
            Field(
                "lag_seconds", "duration", of=lambda one: one.lag.seconds, values="number?",
                meaning="Age of its first unread record of the topic; null where that is unknown.",
            ),
        ),
    ),
    Column(
        "PARTS", 6, lambda one: Cell(f"{one.partitions:,}"), lambda one: one.partitions, right=True,
        falling=True, drop=3,
        about="partitions of the topic that it reads, or has an offset for",
        data=(
            Field(
                "partitions", "number", of=lambda one: one.partitions, values="count",
                meaning="Partitions of the topic that it reads, or has an offset for.",
            ),
        ),
    ),
    Column(
        "MEMBERS", 7, lambda one: Cell(f"{one.members:,}"), lambda one: one.members, right=True, falling=True,
        drop=2,
        about="its members that have some of them",
        data=(
            Field(
                "members", "number", of=lambda one: one.members, values="count",
                meaning="Its members that have some of them.",
            ),
        ),
    ),
)  # fmt: skip
FIELDS = fields_of(COLUMNS)
