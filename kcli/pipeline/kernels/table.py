"""Writes the records of a range to a file that a table will have; the driver commits it."""

from contextlib import closing
from dataclasses import dataclass
from typing import Any

from kcli.pipeline.cluster_ref import ClusterRef
from kcli.pipeline.job import TaskContext
from kcli.pipeline.kernels.export import reading, records_in
from kcli.pipeline.manifest import PlannedSlice
from kcli.pipeline.parquet_files import TABLE_SCHEMA, record_batches, spreads_in, write_parquet
from kcli.pipeline.store.store import Store
from kcli.pipeline.store.urls import open_store
from kcli.pipeline.tables.table import TableFile


@dataclass(frozen=True, slots=True)
class TableSettings:
    """Of all tasks."""

    source: ClusterRef


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
    with (
        reading(settings.source, task.slice) as consumer,
        closing(record_batches(consumer, task.slice, context, schema=TABLE_SCHEMA)) as batches,
        store.new(task.path) as file,
    ):
        records = write_parquet(file, batches, task.slice, context, TABLE_SCHEMA)
        context.progress(-records, -file.tell())
        if records:
            file.commit()
        return records > 0


def _found(store: Store, task: TableSlice, context: TaskContext) -> TableFile:
    one = task.slice
    records = records_in(store, task.path, one, "parquet")
    with store.open(task.path) as file:
        spreads = spreads_in(file)
    size = store.size(task.path) or 0
    context.progress(records, size)
    return TableFile(task.path, one.partition, one.start, one.end, records, size, spreads)
