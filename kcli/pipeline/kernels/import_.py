"""Restores one partition of an export, in transactions that also commit how far it got.

The task has a transactional id of its own. It initializes that id, which fences an earlier attempt that may still run,
and only then reads the position. So however often it is begun, and wherever it was killed, each record is stored once.
"""

import math
import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import Any, Literal

import msgspec

from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple, dataclass
from kcli.core.clock import wall_ms
from kcli.core.errors import (
    KcliError,
    ProducerFencedError,
    RecordRefusedError,
    TimedOutError,
    TransactionAbortableError,
    TransactionUnknownError,
)
from kcli.core.names import IMPORTS
from kcli.core.options import ClientOptions, ProducerOptions, limited_by_brokers
from kcli.core.producer.producer import Producer
from kcli.core.producer.report import Report
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.errors import refused_by_target
from kcli.flows.mirror.job.group_position import Bookmark, Position, committed, read_positions
from kcli.flows.mirror.topics.preflight import ConflictError
from kcli.flows.stop import Stop
from kcli.flows.transactions.ends import commit_transaction
from kcli.pipeline.cluster_ref import ClusterRef
from kcli.pipeline.job import StoppedTaskError, TaskContext
from kcli.pipeline.manifest import ExportedFile
from kcli.pipeline.restored_offsets import RestoredOffsets, commits_of, read_offsets
from kcli.pipeline.store.urls import open_store

_TIMEOUT = 60.0  # seconds for one call: a transaction of an attempt that was killed may have to end first
_CREATED_PATIENCE = 30.0  # seconds until a new topic is in the metadata of all brokers
_COMMIT_PATIENCE = 120.0
_LOOK = 0.5
_TAKEOVER_SECONDS = 2.0
_TRANSACTION_BYTES = 64 << 20
_TRANSACTION_SECONDS = 10.0


class ImportTask(NamedTuple):
    """``files`` hold what is left of ``source`` up to ``end``. ``target``: with ``by_key`` only its topic counts.
    ``wanted``: the offsets that groups are at, of which the task finds out where they are on the target; None: of none.
    ``is_first``: no record of the partition is before ``files``.
    """

    source: TopicPartition
    topic_id: str
    target: TopicPartition
    files: tuple[ExportedFile, ...]
    start: int
    end: int
    partitions: int
    wanted: tuple[int, ...] | None = None
    is_first: bool = True


@dataclass(frozen=True, slots=True)
class ImportSettings:
    """``run`` identifies the command; ``job`` the import, over all its runs. ``folder``: see ``canonical``. Without
    ``keep_times`` records get the time at which they are sent.
    """

    target: ClusterRef
    folder: str
    format: str
    source_cluster: str
    job: str
    run: str
    by_key: bool
    keep_times: bool = True


class InterruptedImportError(TimedOutError):
    """The transaction was aborted, or another attempt took over: a further attempt continues."""


def group_of(job: str, source_cluster: str) -> str:
    """The group that has the positions of an import."""
    return f"{IMPORTS}{job}.{source_cluster}"


def anchor_of(
    job: str, source_cluster: str, source: TopicPartition, target: TopicPartition, *, by_key: bool
) -> tuple[str, TopicPartition]:
    """Where the position of a source partition is committed: a group, and a partition that exists.

    By key, all of them write to all partitions: each has a group of its own then.
    """
    group = group_of(job, source_cluster)
    if by_key:
        return f"{group}.{source}", TopicPartition(target.topic, 0)
    return group, target


def run(settings: ImportSettings, task: ImportTask, context: TaskContext) -> dict[str, Any]:
    """See ``Kernel``. ``end`` of the item is the offset up to which the partition is restored."""
    with ExitStack() as stack:
        try:
            return _Import(settings, task, context, stack).run()
        except ProducerFencedError as error:
            raise _fenced(settings, task, error) from None
        except (TransactionAbortableError, TransactionUnknownError) as error:
            raise InterruptedImportError(
                f"{task.source}: a transaction was aborted", why=str(error), do="the same command continues"
            ) from error


class _Import:
    def __init__(
        self, settings: ImportSettings, task: ImportTask, context: TaskContext, stack: ExitStack
    ) -> None:
        self._settings = settings
        self._task = task
        self._context = context
        self._stack = stack
        self._group, self._anchor = anchor_of(
            settings.job, settings.source_cluster, task.source, task.target, by_key=settings.by_key
        )
        self._failure: KcliError | None = None
        self._offsets: RestoredOffsets | None = None

    def run(self) -> dict[str, Any]:
        admin = self._stack.enter_context(
            Admin(self._settings.target.options(ClientOptions), timeout=_TIMEOUT)
        )
        producer = self._producer()
        target_id = _target_id(admin, self._task.target.topic)
        position = read_positions(admin, self._group, [self._anchor], stable=True).get(self._anchor)
        if position is not None:
            check_belongs(position, self._task)
            if position.bookmark.target_topic_id not in ("", target_id):
                position = None  # of a topic that was deleted: this one has no records of the import
        self._offsets = self._restored_offsets(admin, position)
        bookmark = self._bookmark(position, target_id)
        self._context.progress(bookmark.records, 0)
        at = self._task.start if position is None else position.offset
        if position is None or position.bookmark.run != bookmark.run:
            # Before the first record: otherwise the next run would find records of an unknown import.
            producer.begin_transaction(_TIMEOUT)
            self._commit(producer, bookmark, at)
        from kcli.pipeline.exported_records import in_units  # pyarrow: an extra

        for files in in_units(self._task.files):
            end = max(file.end for file in files)
            if end > at:
                bookmark = self._restore(producer, files, end, at, bookmark)
                at = end
                self._context.progress(0, sum(file.bytes for file in files))
        return self._item(bookmark)

    def _restored_offsets(self, admin: Admin, position: Position | None) -> RestoredOffsets | None:
        task = self._task
        if task.wanted is None:
            return None
        if position is None:
            return RestoredOffsets({}, task.wanted, task.start, is_first=True)
        known = read_offsets(admin, self._group, [self._anchor], stable=True).get(self._anchor, {})
        sent = any(file.records for file in task.files if file.start < position.offset)
        return RestoredOffsets(known, task.wanted, position.offset, is_first=task.is_first and not sent)

    def _producer(self) -> Producer:
        """A producer on the target that has fenced each earlier attempt."""
        task, settings = self._task, self._settings
        name = f"{group_of(settings.job, settings.source_cluster)}.{task.source}.{task.target.topic}"
        options = settings.target.options(
            ProducerOptions,
            transactional_id=name,
            linger_ms=0,
            acks="all",
            enable_idempotence=True,
        )
        producer = self._stack.enter_context(
            Producer(limited_by_brokers(options), on_delivery=self._delivered)
        )
        producer.connect([task.target.topic], _TIMEOUT, _CREATED_PATIENCE)
        if not settings.by_key:
            producer.wait_for_partitions(task.target.topic, task.target.partition + 1, _CREATED_PATIENCE)
        deadline, seconds = time.monotonic() + _COMMIT_PATIENCE, 1.0
        while True:
            try:
                producer.init_transactions(seconds)
                return producer
            except TimedOutError:
                self._check_stop()
                if time.monotonic() >= deadline:
                    raise
                seconds *= 2

    def _delivered(self, report: Report) -> None:
        """Called by the producer's thread."""
        if self._failure is not None or isinstance(report.error, TransactionAbortableError):
            return
        if isinstance(report.error, RecordRefusedError):
            _, offsets, rows = report.origins[0]
            self._failure = refused_by_target(report.error, self._task.source, offsets[rows[0]], report.tp)
        elif report.error is not None:
            self._failure = report.error
        elif report.log_append_time >= 0 and self._settings.keep_times:
            self._failure = ConflictError(
                f"{self._task.target.topic} replaces timestamps",
                why="its message.timestamp.type is LogAppendTime now",
                do=f"set message.timestamp.type=CreateTime on topic {self._task.target.topic}",
            )
        elif self._offsets is not None and report.base_offset < 0:
            self._failure = InterruptedImportError(
                f"{self._task.source}: the broker did not return the offset of a batch",
                why="its first response was lost",
                do="the same command continues",
            )
        elif self._offsets is not None:
            self._offsets.delivered(report.origins, report.base_offset)

    def _bookmark(self, position: Position | None, target_id: str) -> Bookmark:
        """What this run has restored so far, in an earlier attempt as well."""
        task, run_ = self._task, self._settings.run
        if position is not None and position.bookmark.run == run_:
            return msgspec.structs.replace(position.bookmark, host=socket.gethostname(), ended=False)
        return Bookmark(
            topic=task.source.topic,
            partition=task.source.partition,
            topic_id=task.topic_id,
            target_topic_id=target_id,
            partitions=task.partitions,
            run=run_,
            host=socket.gethostname(),
            start=task.start if position is None else position.offset,
        )

    def _restore(
        self, producer: Producer, files: Sequence[ExportedFile], end: int, at: int, bookmark: Bookmark
    ) -> Bookmark:
        """Sends the rest of files, whose ranges go up to ``end``, in transactions."""
        from kcli.pipeline.exported_records import read_in_order  # pyarrow: an extra

        settings, task = self._settings, self._task
        store = open_store(settings.folder)
        where: int | Literal["by-key"] = "by-key" if settings.by_key else task.target.partition
        size, began, is_open, records = 0, math.inf, False, 0
        for found in read_in_order(store, files, settings.format, at):
            if not is_open:
                self._check_stop(producer)
                producer.begin_transaction(_TIMEOUT)
                is_open, size, records, began = True, 0, 0, time.monotonic()
            table = found.table if settings.keep_times else found.table.drop_columns(["timestamp"])
            producer.send_arrow(task.target.topic, table, partition=where, origin=found.offsets)
            size += found.bytes
            records += len(found.offsets)
            self._context.progress(len(found.offsets), 0)
            if size >= _TRANSACTION_BYTES or time.monotonic() - began >= _TRANSACTION_SECONDS:
                bookmark = msgspec.structs.replace(bookmark, records=bookmark.records + records)
                self._commit(producer, bookmark, found.next_offset)
                is_open = False
        if not is_open:
            producer.begin_transaction(_TIMEOUT)
            records = 0
        bookmark = msgspec.structs.replace(
            bookmark, records=bookmark.records + records, ended=end >= task.end
        )
        self._commit(producer, bookmark, end)
        return bookmark

    def _commit(self, producer: Producer, bookmark: Bookmark, offset: int) -> None:
        """Commits the open transaction with the position after it."""
        now = msgspec.structs.replace(bookmark, at=wall_ms())
        try:
            while not producer.flush(_LOOK):
                self._check_stop(producer)
            self._check_failure()
            producer.send_offsets_to_transaction(
                {self._anchor: committed(offset, -1, now)}, self._group, _TIMEOUT
            )
            if self._offsets is not None:
                self._offsets.reached(offset, at_end=offset >= self._task.files[-1].end)
                for group, commit in commits_of(self._group, self._offsets.pairs).items():
                    producer.send_offsets_to_transaction({self._anchor: commit}, group, _TIMEOUT)
            commit_transaction(producer, Stop(), patience=_COMMIT_PATIENCE, grace=_LOOK)
        except TransactionAbortableError:
            self._check_failure()
            raise

    def _check_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _check_stop(self, producer: Producer | None = None) -> None:
        if self._context.stopped():
            if producer is not None:
                producer.close(0.0)
            raise StoppedTaskError

    def _item(self, bookmark: Bookmark) -> dict[str, Any]:
        task = self._task
        own = {} if self._settings.by_key else {"target_partition": task.target.partition}
        return {
            "topic": task.source.topic,
            "partition": task.source.partition,
            "target_topic": task.target.topic,
            **own,
            "start": bookmark.start,
            "end": task.end,
            "records": bookmark.records,
            "bytes": sum(file.bytes for file in task.files if file.end > bookmark.start),
            "files": [file.path for file in task.files if file.end > bookmark.start],
        }


def check_belongs(position: Position, task: ImportTask) -> None:
    """ConflictError where the position is that of another partition of the export, or of another topic of its name."""
    if position.bookmark.source != task.source:
        raise ConflictError(
            f"{task.target} holds {position.bookmark.source} of the export, not {task.source}",
            why="an earlier run of this import wrote it",
            do="import to another topic: --map-topic",
        )
    if task.topic_id and position.bookmark.topic_id not in ("", task.topic_id):
        raise ConflictError(
            f"{task.target} holds records of the topic {task.source.topic} that was deleted",
            why=f"its id was {position.bookmark.topic_id}; the one that the export goes on with has id {task.topic_id}",
            do="import to another topic: --map-topic",
        )


def _target_id(admin: Admin, topic: str) -> str:
    described = admin.describe_topics([topic])[topic]
    return "" if isinstance(described, KcliError) else described.topic_id


def _fenced(settings: ImportSettings, task: ImportTask, error: ProducerFencedError) -> KcliError:
    """Whether another run took over, which is final, or another attempt of this one."""
    group, anchor = anchor_of(
        settings.job, settings.source_cluster, task.source, task.target, by_key=settings.by_key
    )
    deadline = time.monotonic() + _TAKEOVER_SECONDS
    while time.monotonic() < deadline:
        with suppress(KcliError), Admin(settings.target.options(ClientOptions), timeout=_TIMEOUT) as admin:
            found = read_positions(admin, group, [anchor]).get(anchor)
            if found is not None and found.bookmark.run != settings.run:
                return ConflictError(
                    "another process runs this import",
                    why=f"it took over {task.target.topic} (host {found.bookmark.host})",
                    do="stop one of them",
                )
        time.sleep(_LOOK)
    return InterruptedImportError(
        f"{task.source}: another attempt of this task took over, or its transaction timed out",
        why=str(error),
        do="nothing is lost or stored twice: the same command continues",
    )
