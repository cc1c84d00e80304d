"""The batch reader of ``format("kcli")``: plans ranges on the driver, and reads one of them in each task."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from kcli.core.consumer.arrow_reader import ArrowReader, RecordFilter
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.errors import ConfigError, KcliError, NotFoundError
from kcli.core.options import ConsumerOptions
from kcli.pipeline.plan import Slice, first_since, pin, split
from kcli.pipeline.pushdown import Pushed
from kcli.pipeline.spark.errors import CarriedError
from kcli.pipeline.spark.source_columns import RowBatches
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
        return split(found, max(settings.slots or _SLOTS, self._parts(found)))

    def _parts(self, found: list[Slice]) -> int:
        """In how many parts the driver can hold the rows of each task that reads one."""
        at_once = self.settings.at_once * (_OF_KEYS if self.pushed.keys is not None else 1)
        return sum(each.offsets for each in found) // at_once if at_once else 1

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Runs in a task of Spark."""
        spare_imports()
        if isinstance(partition, SlicePartition):  # not if there is nothing to read
            pushed = self.pushed
            keys = (
                None if pushed.keys is None else sorted(pushed.keys, key=lambda key: (key is not None, key))
            )
            where = RecordFilter(pushed.since_ms, pushed.until_ms, keys, pushed.key_not_null)
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


def read_slice(
    settings: SourceSettings, slice_: Slice, where: RecordFilter | None = None
) -> Iterator[pa.RecordBatch]:
    """The records of a range as batches with the columns of the settings."""
    with errors_carried(), open_consumer(settings) as consumer, _serdes(settings) as serdes:
        batches = RowBatches(settings, serdes)
        spans = {slice_.tp: Span(slice_.start, slice_.end)}
        with ArrowReader(consumer, spans, columns=batches.needed, where=where) as reader:
            try:
                for batch in reader:
                    yield batches.rows(batch)
            finally:  # also where a limit of the query ends the reading
                if settings.undecoded is not None:
                    report_undecoded(settings.undecoded, slice_, batches.undecoded)


def open_consumer(settings: SourceSettings) -> Consumer:
    """A consumer without a group."""
    options = settings.cluster.options(ConsumerOptions)
    return Consumer(replace(options, group_id="", enable_auto_commit=False))


def pinned(settings: SourceSettings, consumer: Consumer) -> list[Slice]:
    """The range of each partition, as it is now."""
    limit = consumer.options.default_api_timeout_ms / 1000
    consumer.connect(limit)
    return pinned_topics(settings, consumer, topics_of(settings, consumer), limit)


def pinned_topics(
    settings: SourceSettings, consumer: Consumer, topics: Sequence[str], limit: float
) -> list[Slice]:
    """The range of each partition of these topics, as it is now."""
    return pin(
        consumer,
        topics,
        settings.range,
        limit,
        partitions=settings.partitions,
        do='choose another .option("offset", …)',
    )


def topics_of(settings: SourceSettings, consumer: Consumer) -> list[str]:
    """The topics that are read; NotFoundError if there are none, ConfigError if none is named."""
    if not settings.pattern:
        if not settings.topics:
            raise ConfigError(
                "no topic is named",
                why="a topic is read or written",
                do='.option("topic", "orders"), or "pattern"',
            )
        return list(settings.topics)
    cluster = consumer.cluster
    views = cluster.all_topics(cluster.deadline(consumer.options.default_api_timeout_ms / 1000)).topics
    hidden = consumer.options.exclude_internal_topics
    found = [
        name
        for name, view in sorted(views.items())
        if view.partitions and not (hidden and view.internal) and re.match(settings.pattern, name)
    ]
    if not found:
        raise NotFoundError(
            f"no topic matches {settings.pattern}",
            why="the cluster has no topic with such a name, apart from internal ones",
            do="`kcli topics list` lists the topics",
        )
    return found


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
