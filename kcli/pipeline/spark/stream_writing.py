"""The stream writer of ``format("kcli")``: each batch is in the topic once, however often Spark runs it.

A task of a batch writes in one transaction, which also commits a position: a group of its own says which batch the
partition of the query has written last. The task first initializes its transactional id, which ends or fences what
another attempt has begun (KIP-98: a speculative copy, a task whose executor was given up, a driver that still runs), and
only then reads the position, waiting for open transactions (KIP-447). So either it sees that the batch is written, and
adds nothing, or nobody but this attempt can write it. The driver decides nothing.

Spark gives a batch that it repeats the same input, and a partition of it the same rows as before, as long as the query
divides its rows in the same way. What is written is compared with what comes again by the number of rows.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from kcli.core.admin.admin import Admin
from kcli.core.clock import wall_ms
from kcli.core.errors import ConfigError, DataLossError, KcliError
from kcli.core.names import STREAMS
from kcli.core.options import ClientOptions, ProducerOptions
from kcli.core.producer.producer import Producer
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.output.progress import counted
from kcli.pipeline.spark.source_reading import errors_carried
from kcli.pipeline.spark.source_settings import SourceSettings
from kcli.pipeline.spark.source_writing import Rows, Sent

_BATCH, _QUERY = "streaming.sql.batchId", "sql.streaming.queryId"
"""Local properties that Spark sets for the jobs of a batch."""
_TIMEOUT = 60.0  # seconds for one call: a transaction of an attempt that was killed may have to end first
_LONGEST_MS = 600_000  # of a transaction, which is as long as its task; brokers allow 15 minutes by default
_NEW_QUERY = (
    'find out what of the batch is in the topic; then go on with another checkpointLocation, and .option("offset", …) or '
    '"startingOffsets" on readStream'
)


class StreamTask(NamedTuple):
    """Which part of which batch a task writes. ``query`` is the id in the checkpoint, which a restart keeps."""

    query: str
    batch: int
    partition: int

    @property
    def group(self) -> str:
        """Has the position of the partition; also its transactional id."""
        return self.of(self.partition)

    def of(self, partition: int) -> str:
        """The group of a partition."""
        return f"{STREAMS}{self.query}.{partition}"


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """The metadata of a position: the batch, and how many rows the task has written. ``at`` in ms since the epoch."""

    v: int = 1
    batch: int
    records: int
    bytes: int = 0
    at: int = 0


class StreamWriter(DataSourceStreamArrowWriter):
    """Travels to the tasks; ``commit`` and ``abort`` are called on the driver."""

    def __init__(self, settings: SourceSettings, schema: StructType) -> None:
        self._settings = settings
        self._rows = Rows(settings, schema)
        if self._rows.topic is None:
            raise ConfigError(
                "a stream is written to one topic",
                why="which batch is written is stored under that topic",
                do='.option("topic", "orders"); the column topic is for batches',
            )

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Sent:
        """Runs in a task of Spark; returns when the rows and the position are committed."""
        with errors_carried():
            return self.write_part(_this_task(), iterator)

    def write_part(self, task: StreamTask, iterator: Iterator[pa.RecordBatch]) -> Sent:
        """Writes the rows of one partition of a batch, unless they are written."""
        settings, topic = self._settings, self._rows.topic
        assert topic is not None
        own = (
            {}
            if "transaction_timeout_ms" in settings.cluster.values
            else {"transaction_timeout_ms": _LONGEST_MS}
        )
        options = settings.cluster.options(ProducerOptions, transactional_id=task.group, **own)
        with (
            Admin(settings.cluster.inner_options(ClientOptions), timeout=_TIMEOUT) as admin,
            Producer(options) as producer,
        ):
            producer.connect([topic], _TIMEOUT)
            producer.init_transactions(_TIMEOUT)
            written = _position(admin, task, topic)
            if written is not None and written.batch == task.batch:
                return _again(task, written, iterator)
            with producer.transaction():
                sent = self._rows.send(producer, iterator)
                now = Written(batch=task.batch, records=sent.records, bytes=sent.bytes, at=wall_ms())
                offset = OffsetAndMetadata(task.batch + 1, msgspec.json.encode(now).decode())
                producer.send_offsets_to_transaction({TopicPartition(topic, 0): offset}, task.group, _TIMEOUT)
            return sent

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's
        """Nothing is left to do: each task has committed its part."""

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's
        """Nothing is undone: the tasks that have committed find that out when Spark runs the batch again."""


def _this_task() -> StreamTask:
    context = TaskContext.get()
    query = context.getLocalProperty(_QUERY) if context is not None else None
    batch = context.getLocalProperty(_BATCH) if context is not None else None
    if context is None or not query or not batch:
        raise ConfigError(
            'writeStream.format("kcli") needs micro-batches',
            why="Spark does not say which batch of which query this is, and without that it cannot be written once",
            do=".trigger(availableNow=True) or .trigger(processingTime=…)",
        )
    return StreamTask(query, int(batch), context.partitionId())


def _position(admin: Admin, task: StreamTask, topic: str) -> Written | None:
    """What the partition has written last; None if it has not written yet. An error where that does not say whether the
    batch is written.
    """
    key = TopicPartition(topic, 0)
    first, own = (_committed(admin, group, key) for group in (task.of(0), task.group))
    if own is None and first is None and task.batch > 0:
        raise DataLossError(
            f"batch {task.batch} of query {task.query}: it is not known what of it is in topic {topic}",
            why=f"group {task.of(0)} has no position: the query has written to something else so far, the topic was "
            "created anew, or the brokers have forgotten the position of a query that did not run for long "
            "(offsets.retention.minutes)",
            do=_NEW_QUERY,
        )
    if own is not None and own.batch > task.batch:
        raise ConfigError(
            f"batch {task.batch} of query {task.query} comes after batch {own.batch}, which is written",
            why="the checkpoint was set back, or copied, or another driver runs the same query",
            do="stop the other one; a copy of a checkpoint is no second query: give it another checkpointLocation",
        )
    return own


def _committed(admin: Admin, group: str, key: TopicPartition) -> Written | None:
    found = admin.fetch_offsets({group: [key]}, require_stable=True)[group]
    if isinstance(found, KcliError):
        raise found
    offset = found[key]
    if isinstance(offset, KcliError):
        raise offset
    if offset is None:
        return None
    try:
        return msgspec.json.decode(offset.metadata.encode(), type=Written)
    except msgspec.DecodeError:
        raise ConfigError(
            f"group {group} has an offset for {key} that is no position of a stream",
            why="its metadata does not say which batch is written",
            do=_NEW_QUERY,
        ) from None


def _again(task: StreamTask, written: Written, iterator: Iterator[pa.RecordBatch]) -> Sent:
    """The batch is written: its rows are only counted. Another number means that they are others."""
    count = sum(batch.num_rows for batch in iterator)
    if count != written.records:
        raise DataLossError(
            f"batch {task.batch} of query {task.query}: partition {task.partition} has written "
            f"{counted(written.records, 'record')}, and now has {count}",
            why="the query was changed, or divides its rows by chance, so records may be missing or there twice",
            do=f"run it with the code and the options as before; else {_NEW_QUERY}",
        )
    return Sent(written.records, written.bytes)
