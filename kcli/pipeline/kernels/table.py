"""Writes the records of a range to a file that a table will have; the driver commits it."""

from collections.abc import Generator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any

from kcli.core.classes import dataclass, field
from kcli.pipeline.cluster_ref import ClusterRef
from kcli.pipeline.job import TaskContext
from kcli.pipeline.kernels.export import reading, records_in
from kcli.pipeline.manifest import PlannedSlice
from kcli.pipeline.parquet_files import TABLE_SCHEMA, record_batches, spreads_in, write_parquet
from kcli.pipeline.store.store import Store
from kcli.pipeline.store.urls import open_store
from kcli.pipeline.tables.columns import table_schema
from kcli.pipeline.tables.table import TableFile
from kcli.pipeline.typed.evolution import conformed

if TYPE_CHECKING:
    from kcli.core.consumer.consumer import Consumer
    from kcli.pipeline.typed.export_columns import TypedTopic


@dataclass(frozen=True, slots=True)
class TableSettings:
    """Of all tasks. ``form``: of the tables; ``typed``: the columns beside those of records, by topic."""

    source: ClusterRef
    form: str
    typed: Mapping[str, "TypedTopic"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TableSlice:
    """``folder``: of the table, see ``canonical``; ``path``: of the file below it."""

    slice: PlannedSlice
    folder: str
    path: str


def run(settings: TableSettings, task: TableSlice, context: TaskContext) -> dict[str, Any]:
    """The item of the report; ``added`` is the file, None for a range without a record."""
    store, one = open_store(task.folder), task.slice
    file = None
    if store.size(task.path) is not None or _write(settings, task, store, context):
        file = _found(store, task, context)
    records = 0 if file is None else file.records
    return {
        "topic": one.topic,
        "partition": one.partition,
        "start": one.start,
        "end": one.end,
        "records": records,
        "skipped_records": one.end - one.start - records,
        "bytes": 0 if file is None else file.bytes,
        "files": [] if file is None else [task.path],
        "added": file,
    }


def _write(settings: TableSettings, task: TableSlice, store: Store, context: TaskContext) -> bool:
    """Writes the file, unless there is no record, or another attempt has written it; whether it is there. What it adds to
    the progress is taken back: ``_found`` adds it.
    """
    schema = table_schema(settings.typed.get(task.slice.topic), settings.form)
    with (
        reading(settings.source, task.slice) as consumer,
        closing(_batches(settings, task.slice, consumer, context)) as batches,
        store.new(task.path) as file,
    ):
        found = (conformed(batch, schema) for batch in batches)
        records = write_parquet(file, found, task.slice, context, schema)
        context.progress(-records, -file.tell())
        if records:
            file.commit()
        return records > 0


def _batches(
    settings: TableSettings, one: PlannedSlice, consumer: "Consumer", context: TaskContext
) -> Generator[Any]:
    """The records as Arrow has them, with typed columns."""
    batches, typed = (
        record_batches(consumer, one, context, schema=TABLE_SCHEMA),
        settings.typed.get(one.topic),
    )
    if typed is None:
        return batches
    from kcli.pipeline.typed.export_columns import decoded_batches  # serdes: only where they are used

    return decoded_batches(batches, typed, settings.source.registry_options(), one.tp, TABLE_SCHEMA)


def _found(store: Store, task: TableSlice, context: TaskContext) -> TableFile:
    one = task.slice
    records = records_in(store, task.path, one, "parquet")
    with store.open(task.path) as file:
        spreads = spreads_in(file)
    size = store.size(task.path) or 0
    context.progress(records, size)
    return TableFile(task.path, one.partition, one.start, one.end, records, size, spreads)
