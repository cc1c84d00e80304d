"""A query over topics: ``source`` and topics that it names as views, the result as rows that arrive while it runs."""

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from kcli.core.classes import replace
from kcli.core.errors import KcliError
from kcli.flows.stop import Stop
from kcli.pipeline.decoding import ByRange
from kcli.pipeline.job import StoppedTaskError
from kcli.pipeline.result_values import ResultColumn, unique_names
from kcli.pipeline.spark.path_orders import check_orders
from kcli.pipeline.spark.session import Session
from kcli.pipeline.spark.source import register
from kcli.pipeline.spark.source_settings import SETTINGS, SOURCE_COLUMNS, SourceSettings, settings_to_json
from kcli.pipeline.spark.sql_errors import sql_error
from kcli.pipeline.spark.undecoded import UndecodedParam
from kcli.pipeline.spark.watching import StageCounts, Watched, run_watched
from kcli.pipeline.sql_text import PATH_FUNCTION, Rewritten

_ROWS = 1000
_AT_ONCE = 50_000  # rows of a task: the driver holds those of two
_AHEAD = 8  # portions of rows that wait to be written
_TURN = 0.1  # seconds
_FAILED = "the query failed"

OnTurn = Callable[[StageCounts], object]
Row = tuple[Any, ...]


class Query:
    """A statement that Spark has accepted; nothing has been read yet. ``columns`` are those of the result.

    ``undecoded`` counts the keys and values that could not be decoded, while and after it is read.
    """

    def __init__(
        self, session: Session, settings: SourceSettings, query: Rewritten, limit: int | None
    ) -> None:
        self._session = session
        known = [name for name in SOURCE_COLUMNS if not name.endswith("_json") or name in settings.columns]
        settings = replace(settings, at_once=0 if query.joins_rows else _AT_ONCE)
        self.undecoded: ByRange = {}
        try:
            if settings.serdes:
                accumulator = session.context.accumulator(self.undecoded, UndecodedParam())
                settings = replace(settings, undecoded=accumulator.aid)
            spark = session.sql
            register(spark)
            for table, topic in query.tables.items():
                own = replace(settings.only(topic), pushdown=table in query.read_once)
                source_of(session, own).createOrReplaceTempView(table)
            found = spark.sql(query.sql)
            if PATH_FUNCTION in query.sql:
                check_orders(found._jdf.queryExecution().analyzed())
            self._found = found.toDF(*unique_names(map(query.heading, found.columns)))
            if limit is not None:
                self._found = self._found.limit(limit)
            self.columns = [
                ResultColumn(field.name, field.dataType.simpleString()) for field in self._found.schema.fields
            ]
            self._shown = self._for_output()
        except KcliError:
            raise
        except Exception as error:  # noqa: BLE001 - py4j and pyspark raise anything
            raise sql_error(error, query, known) or session.failure(error, _FAILED) from None

    def rows(self, stop: Stop, on_turn: OnTurn) -> Iterator[Sequence[Row]]:
        """The result in portions, in its order. StoppedTaskError after a request to stop."""
        portions = _Portions(self._shown)
        watched = Watched(self._session, portions.fill, title="kcli query")
        try:
            while True:
                try:
                    portion = portions.get()
                except queue.Empty:
                    if stop:
                        raise StoppedTaskError("the query was stopped", code=stop.exit_code) from None
                    if watched.is_lost:
                        raise self._session.failure(RuntimeError("lost"), _FAILED) from None
                    if watched.wait(0) and portions.is_empty:
                        break
                    with suppress(Exception):  # progress is no reason to fail
                        on_turn(watched.counts())
                    continue
                yield portion
        finally:
            portions.close()
            if not watched.wait(0):
                watched.cancel()
        try:
            watched.result()
        except Exception as error:  # noqa: BLE001 - py4j and pyspark raise anything
            raise self._session.failure(error, _FAILED) from None

    def write_parquet(self, folder: str, stop: Stop, on_turn: OnTurn) -> None:
        """Writes the result to a folder that does not exist."""
        writer = self._found.write.mode("error").option("compression", "zstd")
        run_watched(
            self._session,
            lambda: writer.parquet(folder),
            title="kcli query",
            on_turn=on_turn,
            stop=stop,
            what=_FAILED,
        )

    def _for_output(self) -> DataFrame:
        """With times as numbers, since Python's would be local ones without a zone."""
        made = []
        for column in self.columns:
            own = F.col(f"`{column.name.replace('`', '``')}`")
            if column.kind == "timestamp":
                own = F.unix_millis(own).alias(column.name)
            elif column.kind == "variant":
                own = F.to_json(own).alias(column.name)
            elif column.kind in ("date", "timestamp_ntz") or "interval" in column.kind:
                own = own.cast("string").alias(column.name)
            made.append(own)
        return self._found.select(*made)


def source_of(session: Session, settings: SourceSettings) -> DataFrame:
    """What the settings read, as a relation."""
    return session.sql.read.format("kcli").option(SETTINGS, settings_to_json(settings)).load()


class _Portions:
    """Rows on their way from the thread that reads them to the one that writes them."""

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame
        self._queue: queue.Queue[Sequence[Row]] = queue.Queue(_AHEAD)
        self._closed = threading.Event()

    def fill(self) -> None:
        """Reads all rows, with the next partition of the result in advance; runs in a thread of its own."""
        rows = iter(self._frame.toLocalIterator(prefetchPartitions=True))
        while portion := list(islice(rows, _ROWS)):
            while not self._closed.is_set():
                with suppress(queue.Full):
                    self._queue.put(portion, timeout=_TURN)
                    break
            if self._closed.is_set():
                return

    def get(self) -> Sequence[Row]:
        """The next portion; queue.Empty if there is none yet, or no more."""
        return self._queue.get(timeout=_TURN)

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return self._queue.empty()

    def close(self) -> None:
        """Ends the reading."""
        self._closed.set()
