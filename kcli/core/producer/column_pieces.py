"""Checks the rows of an Arrow table and cuts them into pieces that fit into memory, before any is queued. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from kcli.core.arrow.record_columns import ArrowRecords
from kcli.core.classes import dataclass, replace
from kcli.core.errors import ConfigError
from kcli.core.kernels.active import group_values, measure_columns
from kcli.core.kernels.shapes import BytesColumn, NumberColumn, RecordColumns
from kcli.core.names import check_topic
from kcli.core.producer.origins import Rows, packed_rows


@dataclass(frozen=True, slots=True)
class Selection:
    """Some rows of a table: ``rows[start:stop]`` (packed int32; None: all rows). ``size`` is about that of the records.

    ``too_long``: it is one row, whose record is larger than allowed.
    """

    topic: str
    records: ArrowRecords
    rows: bytes | None
    start: int
    stop: int
    size: int
    too_long: bool = False

    @property
    def columns(self) -> RecordColumns:
        """The columns of the table."""
        return self.records.columns

    @property
    def partitions(self) -> NumberColumn | None:
        """The partitions that rows name."""
        return self.records.partition

    def __len__(self) -> int:
        return self.stop - self.start

    def numbers(self) -> Rows:
        """The numbers of its rows in the table."""
        if self.rows is None:
            return range(self.start, self.stop)
        return packed_rows(self.rows)[self.start : self.stop]


def cut_table(records: ArrowRecords, topic: str | None, room: int, longest: int) -> list[Selection]:
    """The rows in pieces of about ``room`` bytes, in order for each topic; without ``topic`` their column says it.

    ConfigError for a row that cannot be a record, by its number.
    """
    try:
        return [piece for whole in _by_topic(records, topic) for piece in _pieces(whole, room, longest)]
    except ValueError as error:
        raise ConfigError(
            "the Arrow data cannot be sent", why=str(error), do="nothing of this table was queued"
        ) from None


def _by_topic(records: ArrowRecords, topic: str | None) -> Iterator[Selection]:
    count = records.columns.length
    if topic is not None:
        yield Selection(topic, records, None, 0, count, 0)
        return
    if count and records.topic is None:
        raise ValueError("row 0: its topic is null")
    column = records.topic or BytesColumn(4, 0, None, b"", ())
    for name, rows in group_values(column, count, None, 0, count) if count else ():
        first = packed_rows(rows)[0]
        if name is None:
            raise ValueError(f"row {first}: its topic is null")
        try:
            check_topic(text := name.decode("utf-8", "replace"))
        except ConfigError as error:
            raise ValueError(f"row {first}: {error}") from None
        own = len(rows) // 4
        yield Selection(text, records, None if own == count else rows, 0, own, 0)


def _pieces(whole: Selection, room: int, longest: int) -> Iterator[Selection]:
    start = whole.start
    while start < whole.stop:
        stop, size = measure_columns(whole.columns, whole.rows, start, whole.stop, room, longest)
        too_long = stop == start
        yield replace(whole, start=start, stop=stop + too_long, size=size, too_long=too_long)
        start = stop + too_long
