"""The batch reader of ``format("kcli")``: plans ranges on the driver, and reads one of them in each task."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from kcli.core.classes import dataclass
from kcli.core.consumer.arrow_reader import ArrowReader, RecordFilter
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.fetcher import OutOfRangeError
from kcli.core.consumer.subscription import Span
from kcli.core.errors import DataLossError, KcliError, NotFoundError
from kcli.pipeline.plan import Slice, first_since, split
from kcli.pipeline.pushdown import Pushed
from kcli.pipeline.spark.errors import CarriedError
from kcli.pipeline.spark.source_columns import RowBatches
from kcli.pipeline.spark.source_planning import open_consumer, pinned, say_loss
from kcli.pipeline.spark.source_settings import SourceSettings
from kcli.pipeline.spark.undecoded import report_undecoded
from kcli.pipeline.spark.worker_process import spare_imports
from kcli.serde.names import parse_serdes
from kcli.serde.opening import Serdes, open_serdes

_SLOTS = 8  # slices of a reading whose number of tasks at a time is not known
_OF_KEYS = 5  # records for each one that has a key of those searched for, at least; a task costs 50 ms


@dataclass(frozen=True)
class SlicePartition(InputPartition):
    """What one task of Spark reads."""

    slice: Slice


class BatchReader(DataSourceReader):
    """Reads what the topics contained when the query was planned: a task that runs again reads the same."""

    def __init__(self, settings: SourceSettings) -> None:
        self.settings = settings
        self.pushed = Pushed()
        self.pushFilters = PushFilters(self.pushed if settings.pushdown else None)  # type: ignore[method-assign]

    def partitions(self) -> list[InputPartition]:
        """A task for each range."""
        with errors_carried():
            return [SlicePartition(each) for each in self.plan()]

    def plan(self) -> list[Slice]:
        """The ranges that have to be read."""
        settings, pushed = self.settings, self.pushed
        if settings.slices is not None and pushed.since_ms is None:
            found = pushed.narrowed(settings.slices)
        else:
            with open_consumer(settings) as consumer:
                found = pushed.narrowed(
                    settings.slices if settings.slices is not None else pinned(settings, consumer)
                )
                if pushed.since_ms is not None:
                    found = pushed.begun(found, first_since(consumer, found, pushed.since_ms))
        return pieces(split(found, max(settings.slots or _SLOTS, self._parts(found))), settings.largest)

    def _parts(self, found: list[Slice]) -> int:
        """In how many parts the driver can hold the rows of each task that reads one."""
        at_once = self.settings.at_once * (_OF_KEYS if self.pushed.keys is not None else 1)
        return sum(each.offsets for each in found) // at_once if at_once else 1

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Runs in a task of Spark."""
        spare_imports()
        if isinstance(partition, SlicePartition):  # not if there is nothing to read
            where = self.pushed.record_filter(self.settings.times)
            yield from read_slice(self.settings, partition.slice, where)


class PushFilters:
    """``pushFilters`` of a reader. Spark refuses a reader that overrides this method where the session does not push
    filters down (``spark.sql.python.filterPushdown.enabled``); this one passes for the method of the base class, and is
    called only where the session does.
    """

    def __init__(self, pushed: Pushed | None) -> None:
        self._pushed = pushed  # None: nothing is accepted

    @property
    def __func__(self) -> object:
        return getattr(DataSourceReader, "pushFilters", None)  # pyspark 4.0 has none

    def __call__(self, filters: list[Any]) -> list[Any]:
        """Returns what Spark has to evaluate itself."""
        return filters if self._pushed is None else list(self._pushed.accept(filters))


def pieces(slices: list[Slice], largest: int) -> list[Slice]:
    """The same offsets in slices of at most ``largest`` (0: any size)."""
    if not largest:
        return slices
    return [
        each._replace(start=start, end=min(start + largest, each.end))
        for each in slices
        for start in range(each.start, each.end, largest)
    ]


def read_slice(
    settings: SourceSettings, slice_: Slice, where: RecordFilter | None = None
) -> Iterator[pa.RecordBatch]:
    """The records of a range as batches with the columns of the settings."""
    with errors_carried(), open_consumer(settings) as consumer, _serdes(settings) as serdes:
        batches = RowBatches(settings, serdes)
        try:
            start: int | None = slice_.start
            while start is not None:
                start = yield from _read_from(start, settings, slice_, where, consumer, batches)
        finally:  # also where a limit of the query ends the reading
            if settings.undecoded is not None:
                report_undecoded(settings.undecoded, slice_, batches.undecoded)


def _read_from(
    start: int,
    settings: SourceSettings,
    slice_: Slice,
    where: RecordFilter | None,
    consumer: Consumer,
    batches: RowBatches,
) -> Generator[pa.RecordBatch, None, int | None]:
    """Reads up to the end of the slice; returns where to continue if retention took what is next, and that shall be left
    out.
    """
    spans = {slice_.tp: Span(start, slice_.end)}
    with ArrowReader(consumer, spans, columns=batches.needed, where=where) as reader:
        try:
            for batch in reader:
                yield batches.rows(batch)
        except (DataLossError, NotFoundError) as error:
            if settings.fail_on_loss:
                raise
            say_loss(str(error))
            return _behind(error, slice_)
    return None


def _behind(error: KcliError, slice_: Slice) -> int | None:
    """Where a log continues of which the beginning is gone; None for one that has nothing more of the slice."""
    if isinstance(error, OutOfRangeError) and error.offset < error.start < slice_.end:
        return error.start
    return None


@contextmanager
def errors_carried() -> Iterator[None]:
    """Errors of kcli pass through Spark as text, from which ``spark_error`` makes them again."""
    try:
        yield
    except KcliError as error:
        raise CarriedError(error) from error


def _serdes(settings: SourceSettings) -> Serdes:
    specs = parse_serdes(settings.serdes)
    if not settings.serdes:
        return Serdes()
    return open_serdes(specs, settings.cluster.registry_options())
