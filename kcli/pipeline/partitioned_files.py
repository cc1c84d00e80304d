"""The files of a range of a partitioned export: one in the folder of each day or hour that its records have.

A few are open at once, each with a row group in memory: the one that was idle the longest is ended for another, and a
record that belongs there later begins a further file of it. What becomes of a record depends on the records before it
and on nothing else, so that each attempt writes the same files. Imports pyarrow, as ``parquet_files``.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from kcli.core.errors import ConfigError
from kcli.pipeline.job import StoppedTaskError, TaskContext
from kcli.pipeline.manifest import ExportedFile, ForeignFileError, PlannedSlice
from kcli.pipeline.parquet_files import RecordsFile, read_facts
from kcli.pipeline.partition_by import PartitionBy
from kcli.pipeline.store.new_file import NewFile, digest_of
from kcli.pipeline.store.store import Store

MOST_OPEN = 8
MOST_FILES = 1000
"""Of a range: whoever reads it back in order may have them open at once."""
GROUP_BYTES = 16 << 20
_DAY, _HOUR = 86_400_000, 3_600_000
_LAST_TIME = 253_370_764_800_000
"""9999-01-01, in ms: dates have four digits, also a day later on the clocks of some zone."""


def partition_keys(timestamps: pa.Array, by: PartitionBy) -> pa.Array:
    """The key of each timestamp (int64, ms since the epoch) for ``PartitionBy.folder``; null for records without a
    time. Pure; ConfigError for a zone that this machine does not know.
    """
    usable = pc.and_(pc.greater_equal(timestamps, 0), pc.less(timestamps, _LAST_TIME))
    times = pc.if_else(usable, timestamps, pa.scalar(None, pa.int64()))
    try:
        clock = pc.local_timestamp(times.cast(pa.timestamp("ms", by.zone))).cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise ConfigError(
            f"this machine does not know the time zone {by.zone}",
            why=str(error),
            do="install its time zone data (tzdata)",
        ) from None
    unit = _HOUR if by.unit == "hour" else _DAY
    # Clocks west of UTC begin before the epoch, and Arrow divides towards zero.
    return pc.subtract(pc.divide(pc.add(clock, _DAY), unit), _DAY // unit)


def partition_columns(timestamps: pa.Array, by: PartitionBy) -> dict[str, pa.Array]:
    """The columns that the folders of records are for readers: ``date`` (date32), and ``hour`` (int32). Pure."""
    keys = partition_keys(timestamps, by)
    if by.unit == "date":
        return {"date": keys.cast(pa.int32()).cast(pa.date32())}
    days = pc.subtract(pc.divide(pc.add(keys, 24), 24), 1)
    hours = pc.subtract(keys, pc.multiply(days, 24))
    return {"date": days.cast(pa.int32()).cast(pa.date32()), "hour": hours.cast(pa.int32())}


def write_partitioned(
    store: Store,
    batches: Iterable[pa.RecordBatch],
    task: PlannedSlice,
    by: PartitionBy,
    context: TaskContext,
    schema: pa.Schema,
) -> list[ExportedFile]:
    """Writes the files of a range. Those that are there already, of an attempt that was killed, are kept."""
    with _Files(store, task, by, context, schema) as files:
        for batch in batches:
            if context.stopped():
                raise StoppedTaskError("the job was stopped before this task was done")
            files.add(batch)
        return files.end()


class _Open:
    """A file of a folder."""

    def __init__(self, file: NewFile, path: str, records: RecordsFile) -> None:
        self.file, self.path, self.records = file, path, records

    def discard(self) -> None:
        with self.file, self.records:
            pass


class _Files:
    """``open`` by key, the one that was idle the longest first."""

    def __init__(
        self, store: Store, task: PlannedSlice, by: PartitionBy, context: TaskContext, schema: pa.Schema
    ) -> None:
        self._store, self._task, self._by, self._context, self._schema = store, task, by, context, schema
        self._open: dict[int | None, _Open] = {}
        self._numbers: dict[int | None, int] = {}
        self._ended: list[ExportedFile] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        for one in self._open.values():
            one.discard()

    def add(self, batch: pa.RecordBatch) -> None:
        """Adds records in the order of their offsets."""
        keys = partition_keys(batch.column("timestamp").cast(pa.int64()), self._by)
        ends = pc.min_max(keys)
        if not keys.null_count and ends["min"] == ends["max"]:  # as most are
            if len(keys):
                self._add(ends["min"].as_py(), batch)
            return
        rows: dict[int | None, list[int]] = {}
        for row, key in enumerate(keys.to_pylist()):
            rows.setdefault(key, []).append(row)
        too_many = max(0, len(self._open.keys() | rows) - MOST_OPEN)
        idle = list(self._open)[:too_many]
        if len(rows) <= MOST_OPEN and rows.keys().isdisjoint(idle):
            # Row by row the same files would be ended, none of which has a record here: each folder gets its own at once.
            for key in idle:
                self._end(key)
            for key, own in sorted(rows.items(), key=lambda item: item[1][-1]):
                self._add(key, batch.take(pa.array(own)))
        else:
            for key, start, count in _runs(keys.to_pylist()):
                self._add(key, batch.slice(start, count))

    def end(self) -> list[ExportedFile]:
        """Ends all files, and returns what they are."""
        while self._open:
            self._end(next(iter(self._open)))
        return sorted(self._ended, key=lambda file: (file.first, file.path))

    def _add(self, key: int | None, batch: pa.RecordBatch) -> None:
        one = self._open.pop(key, None)
        if one is None:
            if len(self._open) >= MOST_OPEN:
                self._end(next(iter(self._open)))
            one = self._begun(key)
        self._open[key] = one
        one.records.add(batch)

    def _begun(self, key: int | None) -> _Open:
        task = self._task
        if sum(self._numbers.values()) >= MOST_FILES:
            raise ConfigError(
                f"{task.tp}: offsets {task.start} to {task.end - 1} would be more than {MOST_FILES} files",
                why=f"the times of its records do not rise, and are in many folders of {self._by}",
                do="--partition-by date has fewer folders than hour; or leave it out"
                if self._by.unit == "hour"
                else "leave --partition-by out",
            )
        number = self._numbers[key] = self._numbers.get(key, 0) + 1
        folder = f"{self._by.folder(key)}/"
        path = task.path("parquet", folder, number)
        file = self._store.new(path)
        return _Open(file, path, RecordsFile(file, task, self._context, self._schema, GROUP_BYTES))

    def _end(self, key: int | None) -> None:
        one, task = self._open[key], self._task
        with one.file:
            one.records.end(has_span=True)
            digest, made = one.file.digest(), one.records
            if not one.file.commit():
                digest = self._kept(one)
        del self._open[key]
        self._ended.append(
            ExportedFile(one.path, task.start, task.end, made.records, *digest, made.first, made.last)
        )

    def _kept(self, one: _Open) -> Any:
        """The digest of the file that an earlier attempt has made, or another one at the same time."""
        task, made = self._task, one.records
        with self._store.open(one.path) as found:
            facts = read_facts(found)
            if facts != (task.topic_id, task.start, task.end, made.records, made.first, made.last):
                raise ForeignFileError(
                    f"{self._store.name(one.path)} is another file",
                    why="it does not have the records that the topic has of this range and folder: it is of another "
                    "export, or of a run that was killed before the topic was compacted",
                    do="remove it, and run the export again",
                )
            found.seek(0)
            return digest_of(found)


def _runs(keys: list[int | None]) -> Iterator[tuple[int | None, int, int]]:
    start = 0
    for key, own in groupby(keys):
        count = sum(1 for _one in own)
        yield key, start, count
        start += count
