"""The files of an export as Parquet. The same records make the same bytes, however they arrive.

Row groups end after a number of bytes of records, counted record by record, and each is written as one piece: fetches,
runners and attempts have no influence. Imports pyarrow: the module is imported where a file is written or read.
"""

from bisect import bisect_right
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, Self

import pyarrow as pa
import pyarrow.parquet as pq

from kcli.core.classes import NamedTuple
from kcli.core.consumer.arrow_reader import ArrowReader, RecordFilter
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.errors import ConfigError, KcliError
from kcli.pipeline.job import TaskContext
from kcli.pipeline.kernels.check_files import CHANGED
from kcli.pipeline.manifest import ExactTimes, PlannedSlice
from kcli.pipeline.store.new_file import NewFile
from kcli.pipeline.store.store import Store
from kcli.pipeline.typed.evolution import ColumnConflictError, conformed, evolved

ROW_GROUP_BYTES = 64 << 20
"""Keys, values and headers in a row group; a record that is larger has one of its own."""
_FIXED_BYTES = 24
"""Of a record's other columns: a group of empty records ends too."""
SCHEMA = pa.schema(
    [
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("timestamp_type", pa.string()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
        ("leader_epoch", pa.int32()),
    ]
)
TABLE_SCHEMA = pa.schema([("topic", pa.string()), ("partition", pa.int32()), *SCHEMA])
"""Of a table: it has no folders that say so."""
_SPREAD = {"topic", "partition", "offset", "timestamp", "timestamp_type", "leader_epoch"}
_MERGED_ROWS = 20_000
_IN_ORDER = "DELTA_BINARY_PACKED"


class Spread(NamedTuple):
    """The least and the greatest value of a column in a file, and the number of its nulls."""

    least: Any
    greatest: Any
    nulls: int


class Facts(NamedTuple):
    """What the metadata of a file say of it. ``first`` and ``last``: offsets of its records, of a partitioned export."""

    topic_id: str
    start: int
    end: int
    records: int
    first: int
    last: int


def record_batches(
    consumer: Consumer,
    task: PlannedSlice,
    context: TaskContext,
    times: ExactTimes | None = None,
    schema: pa.Schema = SCHEMA,
) -> Generator[pa.RecordBatch]:
    """The records of the range that the consumer is assigned, of it those within ``times``. ``schema``: this one or
    ``TABLE_SCHEMA``.
    """

    with ArrowReader(
        consumer,
        {task.tp: Span(task.start, task.end)},
        columns=schema.names,
        where=None if times is None else RecordFilter(times.since, times.until),
        utc_timestamps=False,
        on_poll=context.check,
    ) as reader:
        yield from _batches(reader, task)


def write_parquet(
    file: NewFile,
    batches: Iterable[pa.RecordBatch],
    task: PlannedSlice,
    context: TaskContext,
    schema: pa.Schema = SCHEMA,
) -> int:
    """Writes the records of a range; returns their number. ``schema``: that of an export, maybe with typed columns."""
    with RecordsFile(file, task, context, schema, ROW_GROUP_BYTES) as made:
        for batch in batches:
            context.check()
            made.add(batch)
        made.end()
    return made.records


def merge_parquet(
    file: NewFile, sources: Iterable[tuple[Store, str]], task: PlannedSlice, context: TaskContext
) -> int:
    """Writes the records of files of an export that follow each other; returns their number. ConfigError for a file that
    cannot be read.
    """
    known = list(sources)
    schema = SCHEMA
    for store, path in known:
        with _reading(store, path) as stored:
            try:
                schema = evolved(schema, stored.schema_arrow.remove_metadata())
            except ColumnConflictError as error:
                raise ConfigError(
                    f"{store.name(path)} has other columns", why=str(error), do=CHANGED
                ) from None
    return write_parquet(file, _stored_batches(known, schema), task, context, schema)


@contextmanager
def _reading(store: Store, path: str) -> Iterator[pq.ParquetFile]:
    try:
        with store.open(path) as found, pq.ParquetFile(found) as stored:
            if stored.schema_arrow.names[: len(SCHEMA)] != SCHEMA.names:
                raise ConfigError(
                    f"{store.name(path)} has other columns",
                    why=", ".join(stored.schema_arrow.names),
                    do=CHANGED,
                )
            yield stored
    except (pa.ArrowException, OSError) as error:
        raise ConfigError(f"{store.name(path)} cannot be read", why=str(error), do=CHANGED) from error


def _stored_batches(sources: Iterable[tuple[Store, str]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for store, path in sources:
        with _reading(store, path) as stored:
            for group in range(stored.num_row_groups):
                for batch in stored.iter_batches(_MERGED_ROWS, row_groups=[group]):
                    yield conformed(batch, schema)


class RecordsFile:
    """A file that is being written. Of a ``with`` block that ends without ``end`` nothing remains but what ``file``
    discards. ``first`` and ``last``: the offsets of the records so far.
    """

    def __init__(
        self,
        file: NewFile,
        task: PlannedSlice,
        context: TaskContext,
        schema: pa.Schema,
        group_bytes: int,
    ) -> None:
        self._file, self._task, self._context = file, task, context
        flat = [
            field.name for field in schema if field.name not in SCHEMA.names and not field.type.num_fields
        ]
        self._writer = pq.ParquetWriter(
            file,
            schema,
            compression="zstd",
            use_dictionary=["timestamp_type", "leader_epoch", "key", "headers.list.element.key", *flat],
            column_encoding={"offset": _IN_ORDER, "timestamp": _IN_ORDER},
            write_statistics=["offset", "timestamp", "timestamp_type", "key", "leader_epoch", *flat],
        )
        self._groups = _RowGroups(self._writer, file, context, schema, group_bytes)
        self.first = self.last = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._writer.is_open:
            with suppress(pa.ArrowException, OSError, KcliError):  # its end goes to a file that is discarded
                self._writer.close()

    @property
    def records(self) -> int:
        """How many there are so far."""
        return self._groups.records

    def add(self, batch: pa.RecordBatch) -> None:
        """Adds records, in the order of their offsets."""
        if batch.num_rows:
            offsets = batch.column("offset")
            self.first = offsets[0].as_py() if self.first < 0 else self.first
            self.last = offsets[-1].as_py()
            self._groups.add(batch)

    def end(self, *, has_span: bool = False) -> None:
        """Writes what is left, and the metadata; ``has_span``: with the offsets of the first and the last record."""
        task = self._task
        self._groups.end()
        self._writer.add_key_value_metadata(
            {
                "kcli.topic": task.topic,
                "kcli.topic_id": task.topic_id,
                "kcli.partition": str(task.partition),
                "kcli.start": str(task.start),
                "kcli.end": str(task.end),
                "kcli.records": str(self.records),
                **({"kcli.first": str(self.first), "kcli.last": str(self.last)} if has_span else {}),
            }
        )
        self._writer.close()
        self._context.progress(0, self._file.tell() - self._groups.reported)


def read_facts(file: BinaryIO) -> Facts | None:
    """The facts about a file; None for one that was not written by an export, or is damaged."""
    try:
        metadata = pq.read_metadata(file)
        found = metadata.metadata or {}
        facts = Facts(
            found[b"kcli.topic_id"].decode(),
            int(found[b"kcli.start"]),
            int(found[b"kcli.end"]),
            int(found[b"kcli.records"]),
            int(found.get(b"kcli.first", b"-1")),
            int(found.get(b"kcli.last", b"-1")),
        )
    except (pa.ArrowException, KeyError, ValueError, OSError):
        return None
    return facts if facts.records == metadata.num_rows else None


def spreads_in(file: BinaryIO) -> dict[str, Spread]:
    """What the row groups of a file say of its columns with numbers and texts."""
    metadata = pq.read_metadata(file)
    found: dict[str, Spread] = {}
    for number in range(metadata.num_columns):
        name = metadata.schema.column(number).path
        chunks = [metadata.row_group(group).column(number) for group in range(metadata.num_row_groups)]
        if name not in _SPREAD or not all(chunk.is_stats_set for chunk in chunks):
            continue
        known = [chunk.statistics for chunk in chunks]
        limits = [limit for one in known if one.has_min_max for limit in (one.min, one.max)]
        nulls = sum(one.null_count for one in known)
        found[name] = Spread(min(limits, default=None), max(limits, default=None), nulls)
    return found


def _batches(reader: ArrowReader, task: PlannedSlice) -> Any:
    try:
        for batch in reader:
            yield pa.record_batch(batch)
    except KcliError as error:
        if isinstance(error.__cause__, UnicodeError):
            raise KcliError(
                f"{task.tp}: {error.__cause__}",
                why="the column headers of Parquet has their names as text",
                do="--format ndjson keeps such names, as base64",
            ) from error
        raise


class _RowGroups:
    """Collects batches, and writes them in groups."""

    def __init__(
        self,
        writer: pq.ParquetWriter,
        file: NewFile,
        context: TaskContext,
        schema: pa.Schema,
        group_bytes: int,
    ) -> None:
        self._schema, self._group_bytes = schema, group_bytes
        self._writer = writer
        self._file = file
        self._context = context
        self._waiting: list[pa.RecordBatch] = []
        self._size = 0
        self.records = self.reported = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Adds records, and writes the groups that are full."""
        sizes = _Sizes(batch)
        count = batch.num_rows
        start = 0
        while start < count:
            stop = sizes.reach(start, self._group_bytes - self._size)
            if stop == start and self._waiting:
                self.end()
                continue
            stop = max(stop, start + 1)  # a record that is larger than a group
            self._waiting.append(batch.slice(start, stop - start))
            self._size += sizes.between(start, stop)
            start = stop
            if self._size >= self._group_bytes:
                self.end()
        self.records += count
        self._context.progress(count, 0)

    def end(self) -> None:
        """Writes what is waiting as one group."""
        if not self._waiting:
            return
        group = pa.Table.from_batches(self._waiting).cast(self._schema).combine_chunks()
        self._waiting, self._size = [], 0
        self._writer.write_table(group, row_group_size=max(1, group.num_rows))
        self._context.progress(0, self._file.tell() - self.reported)
        self.reported = self._file.tell()


class _Sizes:
    """The size of the records before each row of a batch, out of the offsets that Arrow has anyway."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        headers = batch.column("headers")
        self._rows = batch.num_rows
        self._key, self._value = _offsets(batch.column("key")), _offsets(batch.column("value"))
        self._headers = _offsets(headers)
        names, values = headers.values.flatten()
        self._names, self._contents = _offsets(names), _offsets(values)

    def _before(self, row: int) -> int:
        header = self._headers[row]
        return int(
            self._key[row]
            + self._value[row]
            + (self._names[header] + self._contents[header] if len(self._names) > 1 else 0)
            + _FIXED_BYTES * row
        )

    def between(self, start: int, stop: int) -> int:
        """The size of the records of some rows."""
        return self._before(stop) - self._before(start)

    def reach(self, start: int, limit: int) -> int:
        """The last row before which the records from ``start`` on have at most ``limit`` bytes."""
        base = self._before(start)
        rows = range(self._rows + 1)
        return int(bisect_right(rows, limit, lo=start, key=lambda row: self._before(row) - base)) - 1


def _offsets(column: Any) -> Any:
    """The offsets of a column, one more than it has values."""
    buffer = column.buffers()[1]
    if buffer is None or not len(column):
        return (0,)
    return memoryview(buffer).cast("i")[column.offset : column.offset + len(column) + 1]
