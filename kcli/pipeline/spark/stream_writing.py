"""The stream writer of ``format("kcli")``: each batch is in the topic once, however often Spark runs it.

A task of a batch writes in one transaction, which also commits a position: a group of its own says which batch the
partition of the query has written last. The task first initializes its transactional id, which ends or fences what
another attempt has begun (KIP-98: a speculative copy, a task whose executor was given up, a driver that still runs), and
only then reads the position, waiting for open transactions (KIP-447). So either it sees that the batch is written, and
adds nothing, or nobody but this attempt can write it.

Spark gives a batch that it repeats the same input, and a partition of it the same rows as before, as long as the query
divides its rows in the same way. A task whose part is written compares what comes again with that, by a digest. If each
part that is written comes again as it was, what is not written has none of its rows. So what remains is a part that has
no task now: the driver looks for such after the first batch of a run, the only one that another run can have begun.
"""

from collections.abc import Iterator, Sequence

import msgspec
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple, dataclass
from kcli.core.clock import wall_ms
from kcli.core.errors import ConfigError, DataLossError, KcliError
from kcli.core.names import STREAMS
from kcli.core.options import ClientOptions, ProducerOptions
from kcli.core.producer.producer import Producer
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.output.progress import counted
from kcli.pipeline.spark.row_digest import RowDigest
from kcli.pipeline.spark.source_reading import errors_carried
from kcli.pipeline.spark.source_settings import SourceSettings
from kcli.pipeline.spark.source_writing import Rows, Sent

_BATCH, _QUERY, _RUN = "streaming.sql.batchId", "sql.streaming.queryId", "spark.jobGroup.id"
"""Local properties that Spark sets for the jobs of a batch."""
_TIMEOUT = 60.0  # seconds for one call: a transaction of an attempt that was killed may have to end first
_LONGEST_MS = 600_000  # of a transaction, which is as long as its task; brokers allow 15 minutes by default
_NEW_QUERY = (
    'find out what of the batch is in the topic; then go on with another checkpointLocation, and .option("offset", …) or '
    '"startingOffsets" on readStream'
)


class StreamTask(NamedTuple):
    """Which part of which batch a task writes. ``query`` is the id in the checkpoint, which a restart keeps; ``run`` that
    of this start of it.
    """

    query: str
    batch: int
    partition: int
    run: str = ""

    @property
    def group(self) -> str:
        """Has the position of the partition; also its transactional id."""
        return self.of(self.partition)

    def of(self, partition: int) -> str:
        """The group of a partition."""
        return f"{STREAMS}{self.query}.{partition}"


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """The metadata of a position: the batch, and what the task has written. ``run`` has done it, and its first batch in
    this partition was ``began``. ``at`` in ms since the epoch.
    """

    v: int = 1
    batch: int
    records: int
    digest: str
    bytes: int = 0
    run: str = ""
    began: int = 0
    at: int = 0

    def shows_first(self, task: StreamTask) -> bool:
        """Whether the run of the task has written a batch before, so that nobody else has begun this one."""
        return bool(task.run) and self.run == task.run and self.began < task.batch


@dataclass
class Part(Sent):
    """What a task has sent. ``begun``: another run can have written parts of the batch."""

    query: str
    begun: bool


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

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Part:
        """Runs in a task of Spark; returns when the rows and the position are committed."""
        with errors_carried():
            return self.write_part(_this_task(), iterator)

    def write_part(self, task: StreamTask, iterator: Iterator[pa.RecordBatch]) -> Part:
        """Writes the rows of one partition of a batch, unless they are written."""
        settings, topic = self._settings, self._rows.topic
        assert topic is not None
        given = "transaction_timeout_ms" in settings.cluster.values
        longest = {} if given else {"transaction_timeout_ms": _LONGEST_MS}
        options = settings.cluster.options(ProducerOptions, transactional_id=task.group, **longest)
        with (
            Admin(settings.cluster.inner_options(ClientOptions), timeout=_TIMEOUT) as admin,
            Producer(options) as producer,
        ):
            producer.connect([topic], _TIMEOUT)
            producer.init_transactions(_TIMEOUT)
            own, other = _positions(admin, task, topic)
            begun = not any(each is not None and each.shows_first(task) for each in (own, other))
            if own is not None and own.batch == task.batch:
                _check_same(task, own, self._rows.encoded(iterator))
                return Part(own.records, own.bytes, task.query, begun)
            digest = RowDigest()
            with producer.transaction():
                sent = self._rows.send(producer, digest.through(self._rows.encoded(iterator)))
                now = Written(
                    batch=task.batch,
                    records=sent.records,
                    digest=digest.value,
                    bytes=sent.bytes,
                    run=task.run,
                    began=own.began if own is not None and own.run == task.run else task.batch,
                    at=wall_ms(),
                )
                offset = OffsetAndMetadata(task.batch + 1, msgspec.json.encode(now).decode())
                producer.send_offsets_to_transaction({TopicPartition(topic, 0): offset}, task.group, _TIMEOUT)
            return Part(sent.records, sent.bytes, task.query, begun)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's
        """Each task has committed its part; an error if there are parts of the batch beside those."""
        parts = [each for each in messages if isinstance(each, Part)]
        if not parts or not all(each.begun for each in parts):
            return
        topic = self._rows.topic
        assert topic is not None
        with (
            errors_carried(),
            Admin(self._settings.cluster.inner_options(ClientOptions), timeout=_TIMEOUT) as admin,
        ):
            _check_no_other(admin, StreamTask(parts[0].query, batchId, 0), len(messages), topic)

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
    return StreamTask(query, int(batch), context.partitionId(), context.getLocalProperty(_RUN) or "")


def _positions(admin: Admin, task: StreamTask, topic: str) -> tuple[Written | None, Written | None]:
    """What the partition has written last, or None and what partition 0 has: each batch has that one. An error where
    they do not say whether the batch is written.
    """
    key = TopicPartition(topic, 0)
    own, first = _committed(admin, task.group, key), None
    if own is None and task.batch > 0:
        # Not the task that owns it, whose transaction may be open: killed after it has sent its position, and waiting
        # for a slot that this task has. So its last position, and only if there is none what the last batch ends with.
        first = _committed(admin, task.of(0), key, stable=False) or _committed(admin, task.of(0), key)
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
    return own, first


def _committed(admin: Admin, group: str, key: TopicPartition, *, stable: bool = True) -> Written | None:
    found = admin.fetch_offsets({group: [key]}, require_stable=stable)[group]
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


def _check_same(task: StreamTask, written: Written, records: Iterator[pa.RecordBatch]) -> None:
    """The part is written: its records are only compared."""
    digest = RowDigest()
    for batch in records:
        digest.add(batch)
    if (digest.records, digest.value) == (written.records, written.digest):
        return
    now = "as many others" if digest.records == written.records else f"{digest.records}"
    raise DataLossError(
        f"batch {task.batch} of query {task.query}: partition {task.partition} has written "
        f"{counted(written.records, 'record')}, and now has {now}",
        why="the query or its options were changed, it divides its rows otherwise than before, or makes values by chance "
        "(uuid(), rand()), so records may be missing or there twice",
        do=f"run it with the code, the options and as many cores as before; else {_NEW_QUERY}",
    )


def _check_no_other(admin: Admin, task: StreamTask, count: int, topic: str) -> None:
    """An error if a partition from ``count`` on has written the batch."""
    listing = admin.list_groups()
    for error in listing.missing:
        raise error
    head = task.of(0)[:-1]
    numbers = [each.group_id.removeprefix(head) for each in listing.groups if each.group_id.startswith(head)]
    others = sorted(int(number) for number in numbers if number.isdecimal() and int(number) >= count)
    found = [
        number
        for number in others
        if (written := _committed(admin, task.of(number), TopicPartition(topic, 0))) is not None
        and written.batch >= task.batch
        and written.records
    ]
    if found:
        raise DataLossError(
            f"batch {task.batch} of query {task.query}: {counted(len(found), 'partition')} "
            f"({', '.join(map(str, found[:5]))}{', …' if found[5:] else ''}) had written records of it, and it has only "
            f"{counted(count, 'partition')} now",
            why="the query or its options were changed, or it divides its rows by the number of cores, so records are "
            "there twice",
            do=_NEW_QUERY,
        )
