"""A followed query on DuckDB: rows as records arrive, or those of each window when it closes.

Of the records of open windows the columns that the query reads are kept in a table of DuckDB, whose memory is limited and
spills. A window closes when the watermark (``pipeline/watermark.py``) has passed its end: then the query runs on its
records alone, so its rows are those of the same query on a range. Records of windows that are closed are counted.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from kcli.core.arrow.export import schema_capsule
from kcli.core.arrow.fields import table_schema
from kcli.core.arrow.table import ArrowBatch, BatchStream, fields_for
from kcli.core.classes import dataclass, field
from kcli.core.consumer.subscription import Span
from kcli.core.types import TopicPartition
from kcli.flows.stop import Stop
from kcli.output.tables import time_text
from kcli.pipeline.decoding import ByRange
from kcli.pipeline.duckdb.database import Database, Row
from kcli.pipeline.duckdb.follow_reading import Arrived, FollowReading, Standings
from kcli.pipeline.duckdb.following import Followed
from kcli.pipeline.duckdb.scan import Reading, ScanColumns
from kcli.pipeline.duckdb.typed import quoted
from kcli.pipeline.watermark import Watermark

if TYPE_CHECKING:
    from types import TracebackType

_ROWS = 1000
_STALLED = 10.0  # seconds until a partition that is not read is reported
_SETTLED_MS = 2000
"""How long after a time its records are certainly in the log ends that brokers report."""
_BATCH, _ROWS_OF_WINDOWS, _CLOSING = "kcli_batch", "kcli_rows", "kcli_closing"

Wanted = Callable[[Mapping[TopicPartition, Span]], Mapping[TopicPartition, Span]]


@dataclass(slots=True)
class PartitionRead:
    """What was read of a partition: offsets from ``start`` to before ``next``, with ``records``. ``late``: those that
    came after their window had closed, the first at ``first_late``; ``timeless``: those without a time. ``waits``: why it
    is not read on.
    """

    start: int
    next: int
    records: int = 0
    late: int = 0
    first_late: int = -1
    timeless: int = 0
    waits: str = ""


@dataclass(slots=True)
class FollowAccount:
    """What a followed query has done. ``open``: the windows that were not printed, start → records. ``cut``: the start of
    a window of which not all rows were printed.
    """

    partitions: dict[TopicPartition, PartitionRead] = field(default_factory=dict)
    records: int = 0
    bytes: int = 0
    windows: int = 0
    open: dict[int, int] = field(default_factory=dict)
    cut: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowLimits:
    """When windows close, and when all ends. ``late`` and ``idle`` (seconds): see ``Watermark``. ``until_ms``: records
    from then on are not wanted. ``limit``: of rows. ``idle_timeout``: seconds without any record.
    """

    late: float
    idle: float
    until_ms: int | None
    limit: int | None
    idle_timeout: float | None


class FollowQuery:
    """``with FollowQuery(…) as query``: DuckDB has accepted it, nothing has been read yet. ``columns`` are those of the
    result; ``account`` and ``undecoded`` are complete after ``rows`` has ended, however it did.
    """

    def __init__(
        self,
        followed: Followed,
        spans: Mapping[TopicPartition, Span],
        topics: Sequence[str],
        wanted: Wanted,
        reading: Reading,
        limits: FollowLimits,
        warn: Callable[[str], object],
        *,
        threads: int,
    ) -> None:
        self._statement, self._width = followed.statement, followed.width_ms
        (scan,) = self._statement.scans
        for name in ("timestamp", "offset"):
            scan.columns.setdefault(name, name)
        self._scan = scan
        self._columns = ScanColumns(scan)
        self._limits, self._warn = limits, warn
        self._reading = FollowReading(self._columns, spans, topics, wanted, reading)
        self._watermark = Watermark(spans, late_ms=round(limits.late * 1000), idle=limits.idle)
        self._closed_ms: int | None = None
        self._left = limits.limit
        self._stalled: dict[TopicPartition, float] = {}
        self._late_said = False
        self.account = FollowAccount(
            {tp: PartitionRead(span.start or 0, span.start or 0) for tp, span in spans.items()}
        )
        with ExitStack() as stack:
            self._database = stack.enter_context(Database(self._statement.columns, threads))
            self.columns = self._database.columns
            self._prepare()
            self._database.check(self._statement.sql)
            self._stack = stack.pop_all()

    def __enter__(self) -> FollowQuery:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    @property
    def undecoded(self) -> ByRange:
        """See ``decoding.py``."""
        found = list(self._reading.undecoded.items())
        return {(part, *tp, self.account.partitions[tp].start): each for (part, tp), each in found}

    def rows(self, stop: Stop) -> Iterator[Sequence[Row]]:
        """The result in portions, an empty one at least every moment. Ends at a limit, or with a request to stop."""
        try:
            with self._reading:
                yield from self._followed(stop)
        except Exception as error:  # noqa: BLE001 - DuckDB's become kcli's
            raise self._database.failure(error) from None
        finally:
            self._note_open_windows()

    # --- the loop ---------------------------------------------------------------------------------------

    def _followed(self, stop: Stop) -> Iterator[Sequence[Row]]:
        began = heard = time.monotonic()
        while not stop:
            now = time.monotonic()
            try:
                found = self._reading.next()
            except queue.Empty:
                yield ()
            else:
                if found is None:  # all ranges are read to their ends: no window gets more
                    yield from self._close_windows(None)
                    return
                if isinstance(found, Arrived):
                    heard = now
                    yield from self._arrived(found, now)
                else:
                    self._note_standings(found, now)
                    if self._has_ended(found):
                        yield from self._close_windows(self._limits.until_ms)
                        return
            if self._full():
                return
            mark = self._watermark.advance(now)
            if mark is not None:
                until = self._limits.until_ms
                # A window that goes on after the end is not complete.
                yield from self._close_windows(mark if until is None else min(mark, until))
            if self._full():
                return
            wanted = self._limits.idle_timeout
            if wanted is not None and now - max(heard, began) >= wanted:
                return

    def _full(self) -> bool:
        return self._left == 0

    def _has_ended(self, found: Standings) -> bool:
        until = self._limits.until_ms
        if until is None:
            return False
        is_past = found.at_ms >= until + _SETTLED_MS and self._watermark.all_at_end
        return is_past or self._watermark.has_passed(until)

    def _note_standings(self, found: Standings, now: float) -> None:
        for tp, standing in found.partitions.items():
            read = self._read_of(tp, standing.position)
            read.next, read.waits = standing.position, standing.waits
            self._watermark.stands(tp, now, at_end=standing.at_end)
            if not standing.waits:
                self._stalled.pop(tp, None)
            elif 0 <= now - self._stalled.setdefault(tp, now) >= _STALLED:
                self._stalled[tp] = float("inf")  # once
                windows = "; windows wait for it" if self._width is not None else ""
                self._warn(
                    f"{tp} is not read at present, at offset {standing.position}: {standing.waits}{windows}"
                )

    def _read_of(self, tp: TopicPartition, position: int) -> PartitionRead:
        found = self.account.partitions.get(tp)
        if found is None:
            found = self.account.partitions[tp] = PartitionRead(position, position)
        return found

    # --- records ----------------------------------------------------------------------------------------

    def _arrived(self, found: Arrived, now: float) -> Iterator[Sequence[Row]]:
        batch = found.batch
        read = self._read_of(batch.tp, batch.first_offset)
        read.records += batch.count
        read.next = batch.last_offset + 1
        self.account.records += batch.count
        self.account.bytes = found.bytes
        self._watermark.read(batch.tp, found.times and found.times[1], now)
        self._database.register(_BATCH, _OneBatch(batch))
        if self._width is None:
            yield from self._rows_of(self._statement.sql)
        else:
            self._keep(read, found)

    def _keep(self, read: PartitionRead, found: Arrived) -> None:
        """Adds the records to their windows, and counts those that have none that is open."""
        oldest = found.times[0] if found.times is not None else None
        is_late = self._closed_ms is not None and oldest is not None and oldest < self._closed_ms
        (kept,) = self._execute(
            f"INSERT INTO {_ROWS_OF_WINDOWS} SELECT {self._window()}, * {self._passing(self._open())}"
        )
        if is_late:
            late, first = self._execute(
                f"SELECT count(*), min({self._column('offset')}) "
                f"{self._passing(f'{self._ms()} < {self._closed_ms}')}"
            )
            if late:
                self._note_late(read, found.batch.tp, late, first)
        if not is_late and kept == found.batch.count:
            return
        (timeless,) = self._execute(f"SELECT count(*) {self._passing(f'{self._ms()} IS NULL')}")
        read.timeless += timeless

    def _note_late(self, read: PartitionRead, tp: TopicPartition, late: int, first: int) -> None:
        read.first_late = first if read.first_late < 0 else min(read.first_late, first)
        read.late += late
        if not self._late_said:
            self._late_said = True
            assert self._closed_ms is not None
            self._warn(
                f"{tp}@{first}: a record came after its window had closed, and is not in it; windows are closed up to "
                f"{time_text(self._closed_ms)} (the account counts such records; --late DUR waits for them)"
            )

    # --- windows ----------------------------------------------------------------------------------------

    def _close_windows(self, mark: int | None) -> Iterator[Sequence[Row]]:
        """Prints the windows that end up to then, in order; None: all."""
        if self._width is None:
            return
        closed = None if mark is None else mark // self._width * self._width
        if closed is not None and self._closed_ms is not None and closed <= self._closed_ms:
            return
        below = "true" if closed is None else f"kcli_window < {closed}"
        windows = self._windows(below)
        if closed is not None:
            self._closed_ms = closed
        if not windows:
            return
        self._make(_CLOSING, f"* FROM {_ROWS_OF_WINDOWS} WHERE {below} ORDER BY kcli_window")
        # A table does not become smaller by DELETE: what stays is copied.
        self._make("kcli_next", f"* FROM {_ROWS_OF_WINDOWS} WHERE NOT ({below})")
        self._run(f"DROP TABLE {_ROWS_OF_WINDOWS}")
        self._run(f"ALTER TABLE kcli_next RENAME TO {_ROWS_OF_WINDOWS}")
        self.account.open = dict(windows)
        for start, _ in windows:
            self._show(f"{_CLOSING} WHERE kcli_window = {start}")
            yield from self._rows_of(self._statement.sql, window=start)
            if self._full():
                break
            del self.account.open[start]
            self.account.windows += 1
        self._run(f"DROP TABLE {_CLOSING}")

    def _note_open_windows(self) -> None:
        if self._width is not None:
            try:
                found = self._windows("true")
            except Exception as error:  # noqa: BLE001 - the account is of what is known
                self._warn(f"what windows are open is not known: {error}")
            else:
                self.account.open = dict(sorted([*self.account.open.items(), *found]))

    # --- SQL --------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        self._database.register(_BATCH, _OneBatch(None, self._columns))
        if self._width is None:
            where = "" if self._limits.until_ms is None else f" WHERE {self._before_end()}"
            self._show(_BATCH + where)
            return
        self._make(_ROWS_OF_WINDOWS, f"{self._window()}, * FROM {_BATCH}")
        self._show(_ROWS_OF_WINDOWS)

    def _rows_of(self, sql: str, window: int | None = None) -> Iterator[Sequence[Row]]:
        """The rows of a statement, up to the limit."""
        cursor = self._connection.execute(self._database.shown(sql))
        while rows := cursor.fetchmany(_ROWS):
            if self._left is not None:
                taken, rest = rows[: self._left], rows[self._left :]
                self._left -= len(taken)
                if self._left == 0 and window is not None and (rest or cursor.fetchmany(1)):
                    self.account.cut = window
                elif self._left == 0 and window is not None:
                    self.account.windows += 1
                    del self.account.open[window]
                rows = taken
            yield self._database.printed(rows)
            if self._full():
                return

    @property
    def _connection(self) -> Any:
        return self._database.connection

    def _run(self, sql: str) -> None:
        self._connection.execute(sql)

    def _windows(self, condition: str) -> list[tuple[int, int]]:
        """The windows that have records, and how many."""
        counts = f"SELECT kcli_window, count(*) FROM {_ROWS_OF_WINDOWS}"  # noqa: S608 - no text of users
        found: list[tuple[int, int]] = self._connection.execute(
            f"{counts} WHERE {condition} GROUP BY 1 ORDER BY 1"
        ).fetchall()
        return found

    def _make(self, table: str, selected: str) -> None:
        self._run(f"CREATE TABLE {table} AS SELECT {selected}")

    def _show(self, rows: str) -> None:
        """Lets the statement read these."""
        self._run(f"CREATE OR REPLACE TEMP VIEW {self._scan.table} AS FROM {rows}")

    def _execute(self, sql: str) -> Row:
        row: Row
        (row,) = self._connection.execute(sql).fetchall()  # to the end: else nothing can be registered
        return row

    def _passing(self, condition: str) -> str:
        """FROM and WHERE for the records of the batch that the query wants, and that meet the condition."""
        found = [f"({condition})", *([f"({self._statement.where})"] if self._statement.where else [])]
        if self._limits.until_ms is not None:
            found.append(f"coalesce({self._before_end()}, true)")
        return f"FROM {_BATCH} AS {quoted(self._statement.alias)} WHERE {' AND '.join(found)}"

    def _open(self) -> str:
        return (
            f"{self._ms()} >= {self._closed_ms}"
            if self._closed_ms is not None
            else f"{self._ms()} IS NOT NULL"
        )

    def _before_end(self) -> str:
        return f"{self._ms()} < {self._limits.until_ms}"

    def _window(self) -> str:
        return f"{self._ms()} // {self._width} * {self._width} AS kcli_window"

    def _ms(self) -> str:
        return f"epoch_ms({self._column('timestamp')})"

    def _column(self, wanted: str) -> str:
        return next(quoted(name) for name, what in self._scan.columns.items() if what == wanted)


class _OneBatch:
    """A batch as a table for DuckDB, or None: an empty one."""

    def __init__(self, batch: ArrowBatch | None, columns: ScanColumns | None = None) -> None:
        self._batches = [] if batch is None else [batch]
        self._fields = batch.fields if batch is not None else columns.fields if columns is not None else ()

    def __arrow_c_schema__(self) -> object:
        return schema_capsule(table_schema(self._fields))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        fields = fields_for(self._fields, requested_schema)
        return BatchStream(fields, iter(self._batches), on_error=_raised, on_close=_closed).capsule()


def _raised(_error: BaseException) -> None:
    """A list has no errors."""


def _closed() -> None:
    """There is nothing to close."""
