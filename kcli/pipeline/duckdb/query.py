"""A query on DuckDB in this process: its rows as they come, or a folder of Parquet. Memory is limited, and spills.

DuckDB runs in a thread of its own, so that the thread of the command shows progress and sees a request to stop, which
interrupts it.
"""

from __future__ import annotations

import os
import queue
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcli.core.errors import ConfigError, KcliError
from kcli.core.extras import library
from kcli.flows.stop import Stop
from kcli.pipeline.decoding import ByRange, join_counts
from kcli.pipeline.duckdb.macros import MACROS
from kcli.pipeline.duckdb.scan import Counts, Reading, ScanStream, first_error
from kcli.pipeline.duckdb.statement import Scan, Statement
from kcli.pipeline.duckdb.typed import quoted, text
from kcli.pipeline.job import StoppedTaskError
from kcli.pipeline.plan import Slice
from kcli.pipeline.pushdown import Pushed
from kcli.pipeline.result_values import HEADERS, ResultColumn, unique_names

if TYPE_CHECKING:
    from types import TracebackType

_ROWS = 1000
_AHEAD = 8  # portions of rows that wait to be written
_TURN = 0.05  # seconds
_PART = "part-00000.parquet"
_SUCCESS = "_SUCCESS"
_LEAST_MEMORY = 256 << 20

OnTurn = Callable[[int, int], object]
"""Called with the records and bytes read so far."""
Row = Sequence[Any]
Narrow = Callable[[Sequence[Slice], Pushed], list[Slice]]
"""What has to be read of ranges: asks the cluster for the offset of a time."""


class Query:
    """``with Query(…) as query``: a statement that DuckDB has accepted; nothing has been read yet. ``columns`` are those
    of the result.

    ``undecoded`` counts the keys and values that could not be decoded, after it was read.
    """

    def __init__(
        self,
        statement: Statement,
        slices: Sequence[Slice],
        narrow: Narrow,
        reading: Reading,
        *,
        threads: int,
        limit: int | None,
        memory: int | None = None,
    ) -> None:
        duckdb = library("duckdb", extra="sql", wanted_by="a query on DuckDB")
        self._stack = ExitStack()
        self._counts = Counts(threading.Lock())
        self.columns = [
            ResultColumn(name, column.kind)
            for name, column in zip(
                unique_names(column.name for column in statement.columns), statement.columns, strict=True
            )
        ]
        self._limit = "" if limit is None else f" LIMIT {limit}"
        self._sql = statement.sql
        self._streams: list[ScanStream] = []
        with ExitStack() as stack:
            spilled = stack.enter_context(
                tempfile.TemporaryDirectory(prefix="kcli-query-", ignore_cleanup_errors=True)
            )
            settings = {
                "threads": threads,
                "memory_limit": f"{memory or _memory()}B",
                "temp_directory": spilled,
                "autoinstall_known_extensions": False,
            }
            self._connection = stack.enter_context(duckdb.connect(config=settings))
            stack.callback(self._close_streams)
            for macro in MACROS:
                self._connection.execute(f"CREATE MACRO {macro}")
            for scan in statement.scans:
                self._streams.append(_stream(scan, slices, narrow, reading, self._counts))
                self._connection.register(scan.table, self._streams[-1])
            self._prepare(duckdb)
            self._errors = duckdb.Error
            self._stack = stack.pop_all()

    def __enter__(self) -> Query:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    @property
    def offsets(self) -> int:
        """How many offsets all scans read at most, each once."""
        return sum(stream.offsets for stream in self._streams)

    @property
    def undecoded(self) -> ByRange:
        """See above."""
        found: ByRange = {}
        for stream in self._streams:
            join_counts(found, stream.undecoded)
        return found

    def rows(self, stop: Stop, on_turn: OnTurn) -> Iterator[Sequence[Row]]:
        """The result in portions, in its order. StoppedTaskError after a request to stop."""
        portions: queue.Queue[Sequence[Row] | BaseException | None] = queue.Queue(_AHEAD)
        closed = threading.Event()
        shown = ", ".join(_shown(number, column) for number, column in enumerate(self.columns))
        sql = f"SELECT {shown} FROM {self._named()}{self._limit}"  # noqa: S608 - names are quoted
        worker = self._begun(sql, portions, closed, fetches=True)
        try:
            while (found := self._next(portions, stop, on_turn)) is not None:
                yield self._printed(found)
        finally:
            closed.set()
            self._end(worker)

    def write_parquet(self, folder: str, stop: Stop, on_turn: OnTurn) -> None:
        """Writes the result to a folder that does not exist; it is removed where that fails."""
        os.makedirs(folder)
        portions: queue.Queue[Sequence[Row] | BaseException | None] = queue.Queue(1)
        names = ", ".join(f"c{number} AS {quoted(column.name)}" for number, column in enumerate(self.columns))
        path = Path(folder, _PART)
        copied = f"SELECT {names} FROM {self._named()}{self._limit}"  # noqa: S608 - names are quoted
        sql = f"COPY ({copied}) TO {text(str(path) + '.tmp')} "
        worker = self._begun(
            f"{sql}(FORMAT parquet, COMPRESSION zstd)", portions, threading.Event(), fetches=False
        )
        try:
            while self._next(portions, stop, on_turn) is not None:
                pass
            os.replace(f"{path}.tmp", path)
            Path(folder, _SUCCESS).touch()
        except BaseException:
            self._end(worker)
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def _printed(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Rows with headers as pairs."""
        places = [number for number, column in enumerate(self.columns) if column.kind == HEADERS]
        if not places:
            return rows
        found = [list(row) for row in rows]
        for row in found:
            for place in places:
                row[place] = row[place] and [(entry["key"], entry["value"]) for entry in row[place]]
        return found

    # --- the thread of DuckDB ---------------------------------------------------------------------------

    def _begun(
        self,
        sql: str,
        portions: queue.Queue[Sequence[Row] | BaseException | None],
        closed: threading.Event,
        *,
        fetches: bool,
    ) -> threading.Thread:
        def put(found: Sequence[Row] | BaseException | None) -> None:
            while not closed.is_set():
                with suppress(queue.Full):
                    portions.put(found, timeout=_TURN)
                    return

        def run() -> None:
            try:
                self._connection.execute(sql)
                while fetches and not closed.is_set() and (rows := self._connection.fetchmany(_ROWS)):
                    put(rows)
            except BaseException as error:  # noqa: BLE001 - handed to the thread of the command
                put(error)
            else:
                put(None)

        worker = threading.Thread(target=run, name="kcli-duckdb", daemon=True)
        worker.start()
        return worker

    def _next(
        self, portions: queue.Queue[Sequence[Row] | BaseException | None], stop: Stop, on_turn: OnTurn
    ) -> Sequence[Row] | None:
        while True:
            if stop:
                raise StoppedTaskError("the query was stopped", code=stop.exit_code)
            try:
                found = portions.get(timeout=_TURN)
            except queue.Empty:
                on_turn(self._counts.records, self._counts.bytes)
                continue
            on_turn(self._counts.records, self._counts.bytes)
            failed = found if isinstance(found, BaseException) else None
            # DuckDB 1.4 takes an error of a stream for its end: what was read may be less than what was asked for.
            if found is None:
                failed = next((stream.error for stream in self._streams if stream.error is not None), None)
            if failed is not None:
                raise self._failure(failed) from None
            assert not isinstance(found, BaseException)
            return found

    def _end(self, worker: threading.Thread) -> None:
        """Ends what the thread still does."""
        for stream in self._streams:
            stream.close()
        while worker.is_alive():
            self._connection.interrupt()
            worker.join(_TURN)

    def _close_streams(self) -> None:
        for stream in self._streams:
            stream.close()

    # --- statements and errors --------------------------------------------------------------------------

    def _named(self) -> str:
        names = ", ".join(f"c{number}" for number in range(len(self.columns)))
        return f"({self._sql}) AS result({names})"

    def _prepare(self, duckdb: Any) -> None:
        """Has DuckDB look at all names and types."""
        try:
            self._connection.execute(f"EXPLAIN SELECT * FROM {self._named()}").fetchall()  # noqa: S608 - as above
        except duckdb.Error as error:
            raise ConfigError(
                "the SQL is wrong",
                why=_message(error),
                do="correct it; `kcli pipeline query --help` lists the columns",
            ) from None

    def _failure(self, error: BaseException) -> BaseException:
        own = first_error(self._streams)
        if own is not None:
            return own
        if isinstance(error, self._errors):
            return KcliError("the query failed", why=_message(error))
        return error


def _stream(
    scan: Scan, slices: Sequence[Slice], narrow: Narrow, reading: Reading, counts: Counts
) -> ScanStream:
    pushed = Pushed()
    for _ in pushed.accept(scan.conditions):
        pass  # what is not taken is evaluated by DuckDB, as all conditions are
    where = pushed.record_filter(reading.times)
    return ScanStream(scan, narrow(slices, pushed), where, reading, counts)


def _shown(number: int, column: ResultColumn) -> str:
    """A column as it is printed: times as ms, since Python's own would need a zone."""
    if column.kind == "timestamp":
        return f"epoch_ms(c{number})"
    return f"CAST(c{number} AS VARCHAR)" if column.kind == "date" else f"c{number}"


def _message(error: BaseException) -> str:
    """DuckDB's text without the SQL that it was given."""
    lines = str(error).split("\n")
    return lines[0].removeprefix("Invalid Input Error: ").rstrip(". ") or type(error).__name__


def _memory() -> int:
    """Half of the memory that is free."""
    free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                free = int(line.split()[1]) * 1024
    return max(_LEAST_MEMORY, free // 2)
