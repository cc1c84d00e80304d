"""Writes the records of a range to a file, or to one in each folder of a partitioned export: all of them, committed ones
only, in the order of their offsets.
"""

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from kcli.core.admin.topics import id_text
from kcli.core.classes import dataclass, field
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.errors import DataLossError, TimedOutError
from kcli.core.options import WHOLE_BATCHES, ConsumerOptions
from kcli.flows.filters.selection import Selection, TimeFilter
from kcli.pipeline.cluster_ref import ClusterRef
from kcli.pipeline.job import TaskContext
from kcli.pipeline.manifest import ExactTimes, ExportedFile, ForeignFileError, PlannedSlice
from kcli.pipeline.partition_by import PartitionBy
from kcli.pipeline.store.new_file import NewFile, digest_of
from kcli.pipeline.store.store import Store, sizes
from kcli.pipeline.store.urls import open_store
from kcli.pipeline.text_files import count_records, formatter_of
from kcli.pipeline.written_range import files_written, note_written

if TYPE_CHECKING:
    from kcli.pipeline.typed.export_columns import TypedTopic

_JOINED_BYTES = 800_000
_TURN = 0.5  # seconds between two looks at a request to stop
_PATIENCE = 120.0  # seconds without a record until the attempt ends


@dataclass(frozen=True, slots=True)
class ExportSettings:
    """``folder``: see ``canonical``; the same where the tasks run. ``times``: only records within these. ``typed``: the
    columns beside those of records, by topic.
    """

    source: ClusterRef
    folder: str
    format: str
    times: ExactTimes | None = None
    by: PartitionBy | None = None
    typed: Mapping[str, "TypedTopic"] = field(default_factory=dict)


def run(settings: ExportSettings, task: PlannedSlice, context: TaskContext) -> dict[str, Any]:
    """The item of the report; ``exported`` are the files for the manifest."""
    if settings.by is None:
        files: Sequence[ExportedFile] = [_file(settings, task, context)]
    else:
        files = _files(settings, task, settings.by, context)
    records = sum(file.records for file in files)
    return {
        "topic": task.topic,
        "partition": task.partition,
        "start": task.start,
        "end": task.end,
        "records": records,
        "skipped_records": task.end - task.start - records,
        "bytes": sum(file.bytes for file in files),
        "files": [file.path for file in files],
        "exported": files,
    }


def _files(
    settings: ExportSettings, task: PlannedSlice, by: PartitionBy, context: TaskContext
) -> Sequence[ExportedFile]:
    """The files in the folders of ``by``."""
    from kcli.pipeline.partitioned_files import write_partitioned  # pyarrow: an extra

    store = open_store(settings.folder)
    found = files_written(store, task)
    if found is None or sizes(store, [file.path for file in found]) != [file.bytes for file in found]:
        with (
            reading(settings.source, task) as consumer,
            closing(_batches(settings, task, consumer, context)) as batches,
        ):
            found = write_partitioned(store, batches, task, by, context, _schema(settings, task))
        return note_written(store, task, found)
    context.progress(sum(file.records for file in found), sum(file.bytes for file in found))
    return found


def _batches(
    settings: ExportSettings, task: PlannedSlice, consumer: Consumer, context: TaskContext
) -> Generator[Any]:
    """The records as Arrow has them, with typed columns."""
    from kcli.pipeline.parquet_files import record_batches  # pyarrow: an extra

    batches, typed = record_batches(consumer, task, context, settings.times), settings.typed.get(task.topic)
    if typed is None:
        return batches
    from kcli.pipeline.typed.export_columns import decoded_batches  # pyarrow: an extra

    return decoded_batches(batches, typed, settings.source.registry_options(), task.tp)


def _schema(settings: ExportSettings, task: PlannedSlice) -> Any:
    from kcli.pipeline.parquet_files import SCHEMA  # pyarrow: an extra

    typed = settings.typed.get(task.topic)
    if typed is None:
        return SCHEMA
    from kcli.pipeline.typed.export_columns import export_schema  # serdes: only where they are used

    return export_schema(typed)


def _file(settings: ExportSettings, task: PlannedSlice, context: TaskContext) -> ExportedFile:
    """The file of the range."""
    path = task.path(settings.format)
    store = open_store(settings.folder)
    found = None if store.size(path) is not None else _write(settings, task, store, path, context)
    if found is None:  # by an earlier attempt, or another one at the same time
        records = records_in(store, path, task, settings.format)
        with store.open(path) as file:
            found = ExportedFile("", 0, 0, records, *digest_of(file))
        context.progress(records, found.bytes)
    return ExportedFile(path, task.start, task.end, found.records, found.bytes, found.sha256)


def _write(
    settings: ExportSettings, task: PlannedSlice, store: Store, path: str, context: TaskContext
) -> ExportedFile | None:
    """Writes the file; None if another attempt has written it meanwhile."""
    with reading(settings.source, task) as consumer, store.new(path) as file:
        if settings.format == "parquet":
            from kcli.pipeline.parquet_files import write_parquet  # pyarrow: an extra

            with closing(_batches(settings, task, consumer, context)) as batches:
                records = write_parquet(file, batches, task, context, _schema(settings, task))
        else:
            records = _write_text(file, consumer, settings, context)
        digest = file.digest()
        if not file.commit():
            context.progress(-records, -digest.bytes)
            return None
        return ExportedFile("", 0, 0, records, *digest)


@contextmanager
def reading(source: ClusterRef, task: PlannedSlice) -> Iterator[Consumer]:
    """A consumer of the range; DataLossError if the topic is another one now."""
    options = source.options(
        ConsumerOptions,
        isolation_level="read_committed",
        max_poll_records=WHOLE_BATCHES,
        on_out_of_range="fail",
        on_corrupt="fail",
        enable_auto_commit=False,
        group_id="",
    )
    with Consumer(options, joins=_JOINED_BYTES) as consumer:
        consumer.partitions([task.topic], options.default_api_timeout_ms / 1000)
        if id_text(consumer.cluster.view.topics[task.topic].id) != task.topic_id:
            raise DataLossError(
                f"topic {task.topic} was deleted and created again",
                why="the range to be exported is of the topic that is gone",
                do="export the new topic to another folder",
            )
        consumer.assign({task.tp: Span(task.start, task.end)})
        yield consumer


def _write_text(file: NewFile, consumer: Consumer, settings: ExportSettings, context: TaskContext) -> int:
    formatter, times = formatter_of(settings.format), settings.times
    selection = Selection([TimeFilter(times.since, times.until)] if times is not None else [])
    file.write(formatter.begin())
    records, heard = 0, time.monotonic()
    while not consumer.done:
        context.check()
        before, wrote, scanned = records, file.tell(), selection.scanned
        for fetched in consumer.poll(_TURN):
            selected = selection.select(fetched)
            if selected is not None:
                rendered = formatter.batch(fetched, None, selected)
                file.write(rendered.data)
                records += rendered.count
        if selection.scanned > scanned:
            heard = time.monotonic()
            context.progress(records - before, file.tell() - wrote)
        elif time.monotonic() > heard + _PATIENCE:
            raise TimedOutError(
                f"no record of {', '.join(map(str, consumer.assignment))} arrived for {_PATIENCE:.0f} s",
                why="the range is not read to its end yet",
                do="check its leader: `kcli topics describe TOPIC` shows it",
            )
    file.write(formatter.end())
    return records


def records_in(store: Store, path: str, task: PlannedSlice, form: str) -> int:
    """The number of records in a file that is complete; ForeignFileError if it is of something else."""
    with store.open(path) as file:
        if form != "parquet":
            return count_records(file, form)
        from kcli.pipeline.parquet_files import read_facts  # pyarrow: an extra

        facts = read_facts(file)
    if facts is None or facts[:3] != (task.topic_id, task.start, task.end):
        raise ForeignFileError(
            f"{store.name(path)} is another file",
            why="its metadata do not name this topic and range",
            do="remove it, or export to another folder",
        )
    return facts[3]
