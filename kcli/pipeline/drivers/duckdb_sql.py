"""The query of ``kcli pipeline query`` on DuckDB, in this process."""

import os
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType

from kcli.core.classes import replace
from kcli.core.consumer.consumer import Consumer
from kcli.core.options import ConsumerOptions
from kcli.flows.stop import Stop
from kcli.output.progress import Progress
from kcli.pipeline.decoding import undecoded_warnings
from kcli.pipeline.duckdb.query import Query
from kcli.pipeline.duckdb.scan import Reading
from kcli.pipeline.duckdb.statement import translate
from kcli.pipeline.plan import Slice, first_since
from kcli.pipeline.pushdown import Pushed
from kcli.pipeline.result_values import ResultColumn
from kcli.pipeline.spark.source_settings import SourceSettings
from kcli.pipeline.sql_text import Rewritten
from kcli.serde.names import parse_serdes
from kcli.serde.opening import Serdes, open_serdes
from kcli.serde.registry.options import RegistryOptions

_READERS = 4  # threads of a scan, at most


class QueriedHere:
    """``with QueriedHere(…) as queried``: a query that DuckDB has accepted, and that has not run yet; of its result at
    most ``limit`` rows. ``options`` and ``registry``: of the clients here. ``threads``: of DuckDB (None: as many as there
    are processors). ``bar`` shows what is read.
    """

    def __init__(
        self,
        settings: SourceSettings,
        options: ConsumerOptions,
        registry: Callable[[], RegistryOptions],
        query: Rewritten,
        limit: int | None,
        bar: Progress,
        *,
        threads: int | None,
    ) -> None:
        self._settings, self._bar = settings, bar
        at_once = threads or processors()
        self._options = replace(options, group_id="", enable_auto_commit=False)
        decoded = [f"{part}_json" for part in ("key", "value") if getattr(settings, f"{part}_serde")]
        self._query = Query(
            translate(query, decoded),
            settings.slices or (),
            self._narrowed,
            Reading(
                self._options,
                lambda: opened_serdes(settings, registry),
                min(_READERS, max(1, at_once // 2)),
                settings.times,
            ),
            threads=at_once,
            limit=limit,
        )
        self.columns: Sequence[ResultColumn] = self._query.columns

    def __enter__(self) -> "QueriedHere":
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._query.__exit__(_type, _error, _traceback)

    def rows(self, stop: Stop) -> Iterator[Sequence[Sequence[object]]]:
        """Runs it: its rows, in portions as they come."""
        return self._query.rows(stop, self._show)

    def write_parquet(self, folder: str, stop: Stop) -> None:
        """Runs it: its rows are files of a new folder."""
        self._query.write_parquet(folder, stop, self._show)

    def undecoded(self) -> Iterator[str]:
        """What could not be decoded of the records that were read, a sentence each."""
        serdes = {"key": self._settings.key_serde, "value": self._settings.value_serde}
        yield from undecoded_warnings(self._query.undecoded, serdes)

    def _show(self, records: int, size: int) -> None:
        offsets = self._query.offsets
        self._bar.update(records, size, share=min(1.0, records / offsets) if offsets else None)

    def _narrowed(self, slices: Sequence[Slice], pushed: Pushed) -> list[Slice]:
        found = pushed.narrowed(slices)
        if pushed.since_ms is None:
            return found
        with Consumer(self._options) as consumer:
            return pushed.begun(found, first_since(consumer, found, pushed.since_ms))


def opened_serdes(settings: SourceSettings, registry: Callable[[], RegistryOptions]) -> Serdes:
    """The serdes of a query."""
    return open_serdes(parse_serdes(settings.serdes), registry()) if settings.serdes else Serdes()


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
