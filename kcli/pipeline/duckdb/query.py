"""A query on DuckDB in this process: its rows as they come, or a folder of Parquet. Memory is limited, and spills.

DuckDB runs in a thread of its own, so that the thread of the command shows progress and sees a request to stop, which
interrupts it.
"""

from __future__ import annotations

import os
import queue
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kcli.flows.stop import Stop
from kcli.pipeline.decoding import ByRange, join_counts
from kcli.pipeline.duckdb.database import Database, Row
from kcli.pipeline.duckdb.scan import Counts, Reading, ScanStream, first_error
from kcli.pipeline.duckdb.statement import Scan, Statement
from kcli.pipeline.duckdb.typed import quoted, text
from kcli.pipeline.job import StoppedTaskError
from kcli.pipeline.plan import Slice
from kcli.pipeline.pushdown import Pushed

if TYPE_CHECKING:
    from types import TracebackType

_ROWS = 1000
_AHEAD = 8  # portions of rows that wait to be written
_TURN = 0.05  # seconds
_PART = "part-00000.parquet"
_SUCCESS = "_SUCCESS"

OnTurn = Callable[[int, int], object]
"""Called with the records and bytes read so far."""
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
        self._counts = Counts(threading.Lock())
        self._limit = "" if limit is None else f" LIMIT {limit}"
        self._sql = statement.sql
        self._streams: list[ScanStream] = []
        with ExitStack() as stack:
            self._database = stack.enter_context(Database(statement.columns, threads, memory))
            self.columns = self._database.columns
            stack.callback(self._close_streams)
            for scan in statement.scans:
                self._streams.append(_stream(scan, slices, narrow, reading, self._counts))
                self._database.register(scan.table, self._streams[-1])
            self._database.check(self._sql)
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
        sql = self._database.shown(self._sql) + self._limit
        worker = self._begun(sql, portions, closed, fetches=True)
        try:
            while (found := self._next(portions, stop, on_turn)) is not None:
                yield self._database.printed(found)
        finally:
            closed.set()
            self._end(worker)

    def write_parquet(self, folder: str, stop: Stop, on_turn: OnTurn) -> None:
        """Writes the result to a folder that does not exist; it is removed where that fails."""
        os.makedirs(folder)
        portions: queue.Queue[Sequence[Row] | BaseException | None] = queue.Queue(1)
        names = ", ".join(f"c{number} AS {quoted(column.name)}" for number, column in enumerate(self.columns))
        path = Path(folder, _PART)
        copied = f"SELECT {names} FROM {self._database.named(self._sql)}{self._limit}"  # noqa: S608 - names are quoted
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
                self._database.connection.execute(sql)
                while (
                    fetches and not closed.is_set() and (rows := self._database.connection.fetchmany(_ROWS))
                ):
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
            self._database.connection.interrupt()
            worker.join(_TURN)

    def _close_streams(self) -> None:
        for stream in self._streams:
            stream.close()

    def _failure(self, error: BaseException) -> BaseException:
        own = first_error(self._streams)
        return own if own is not None else self._database.failure(error)


def _stream(
    scan: Scan, slices: Sequence[Slice], narrow: Narrow, reading: Reading, counts: Counts
) -> ScanStream:
    pushed = Pushed()
    for _ in pushed.accept(scan.conditions):
        pass  # what is not taken is evaluated by DuckDB, as all conditions are
    where = pushed.record_filter(reading.times)
    return ScanStream(scan, narrow(slices, pushed), where, reading, counts)
