"""The table of a group's partitions."""

from collections.abc import Sequence
from operator import attrgetter

from kcli.core.classes import NamedTuple
from kcli.flows.lag import partition_lag as fields
from kcli.flows.lag.partition_lag import PartitionLag
from kcli.flows.lag.verdicts import VERDICT
from kcli.output.progress import duration_text
from kcli.output.tables import Field
from kcli.tui import figures
from kcli.tui.cells import Cell
from kcli.tui.columns import Column, fields_of
from kcli.tui.group_columns import TREND, verdict_cell
from kcli.tui.standing import meaning


class PartitionRow(NamedTuple):
    """A partition, its lags of the last five minutes, and its verdict. ``most`` is the largest lag of the partitions
    beside it, so that their courses can be compared, or its share of the lag at which the group's course is flat.
    """

    lag: PartitionLag
    recent: Sequence[int | None]
    verdict: str | None = None
    most: float = 0


def _margin(row: PartitionRow) -> Cell:
    margin = row.lag.margin
    if margin is None:
        return Cell(figures.UNKNOWN, "dim")
    return Cell(duration_text(margin), "bad" if row.lag.at_risk else "")


def _client(row: PartitionRow) -> str:
    return "" if row.lag.member is None else row.lag.member.client_id


def _host(row: PartitionRow) -> str:
    return "" if row.lag.member is None else row.lag.member.host


def _has_member(row: PartitionRow) -> bool:
    """All members of a share group read all of its partitions."""
    return row.lag.member is not None


def _course(row: PartitionRow, width: int = TREND) -> Cell:
    return Cell(figures.course(row.recent, width, calm=row.most + 1), meaning(row.verdict))


_lag = attrgetter("lag")

COLUMNS: tuple[Column[PartitionRow], ...] = (
    Column(
        "VERDICT", 11, lambda one: verdict_cell(one.verdict), lambda one: one.verdict, drop=2, grows=True,
        about="what the group does with it, in a word",
        data=(Field("verdict", of=lambda one: one.verdict, values=VERDICT.values, meaning=VERDICT.meaning),),
    ),
    Column(
        "TOPIC", 12, lambda one: Cell(one.lag.tp.topic), lambda one: one.lag.tp, grows=True, least=6,
        middle=True,
        about="the topic",
        data=(fields.TOPIC.within(_lag),),
    ),
    Column(
        "PART", 5, lambda one: Cell(str(one.lag.tp.partition)), lambda one: one.lag.tp.partition, right=True,
        about="the partition",
        data=(fields.PARTITION.within(_lag),),
    ),
    Column(
        "COMMITTED", 12, lambda one: Cell(figures.offset(one.lag.committed)), lambda one: one.lag.committed,
        drop=5, right=True, falling=True,
        about="the committed offset: the next record that the group reads",
        data=(fields.COMMITTED.within(_lag),),
    ),
    Column(
        "END", 12, lambda one: Cell(figures.offset(one.lag.end)), lambda one: one.lag.end, drop=6,
        right=True, falling=True,
        about="the offset after the last record",
        data=(fields.END.within(_lag),),
    ),
    Column(
        "LAG", 11, lambda one: Cell(figures.count(one.lag.lag)), lambda one: one.lag.lag, right=True,
        falling=True, least=6, narrow=lambda one: Cell(figures.short(one.lag.lag)),
        about="end minus committed offset",
        data=(fields.LAG_RECORDS.within(_lag),),
    ),
    Column(
        "BEHIND", 9, lambda one: Cell(figures.age(one.lag.seconds, one.lag.method)),
        lambda one: one.lag.seconds, drop=1, right=True, falling=True,
        about="age of the first unread record; ≈: estimated",
        data=(fields.LAG_SECONDS.within(_lag), fields.LAG_METHOD.within(_lag)),
    ),
    Column(
        "MARGIN", 7, _margin, lambda one: one.lag.margin, drop=4, right=True,
        about="how long that record is still kept, by the topic's retention",
        data=(fields.MARGIN.within(_lag), fields.LOST.within(_lag)),
    ),
    Column(
        "5 MIN", TREND, _course, lambda one: one.lag.lag, drop=8, right=True, stretch=_course,
        about="the lag of the last five minutes, from when the screen was opened",
    ),
    Column(
        "MEMBER", 12, lambda one: Cell(_client(one)), _client, drop=3, grows=True,
        needed=_has_member,
        about="the client id of the member that reads it",
        data=tuple(one.within(_lag) for one in (fields.MEMBER_ID, fields.CLIENT_ID)),
    ),
    Column(
        "HOST", 11, lambda one: Cell(_host(one)), _host, drop=7, grows=True,
        needed=_has_member,
        about="where that member runs",
        data=(fields.HOST.within(_lag),),
    ),
    Column(
        "NOTE", 8, lambda one: Cell(one.lag.note, "warn"), lambda one: one.lag.note, drop=9, grows=True,
        about="why something is not known, and what is lost",
        data=(Field("note", of=lambda one: one.lag.note or None),),
    ),
)  # fmt: skip
FIELDS = fields_of(COLUMNS)
