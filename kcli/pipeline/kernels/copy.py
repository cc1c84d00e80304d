"""Copies a range of one partition to a partition of another cluster, batch by batch as they are stored.

Exactly once: the task has a transactional id of its own. It initializes that id, which fences an earlier attempt that
may still run, and only then reads the position, which each transaction commits with its records. So however often the
task is begun, and wherever it was killed, each record is stored once. At least once: the position is committed after
the records are confirmed. Runs in the thread of the task; the producer has its own.
"""

import math
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import msgspec

from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import id_text
from kcli.core.classes import NamedTuple, dataclass
from kcli.core.clock import wall_ms
from kcli.core.codecs.decompress import stop_requested
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import DataLossError, KcliError, ProducerFencedError, TimedOutError
from kcli.core.exit_codes import ExitCode
from kcli.core.options import WHOLE_BATCHES, ClientOptions, ConsumerOptions, ProducerOptions
from kcli.core.producer.producer import Producer
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.mirror.copy.exactly_once import ExactlyOnceCopy
from kcli.flows.mirror.copy.last_offset import LastOffset
from kcli.flows.mirror.copy.loop import JOINED_BYTES, Copy, Deliveries
from kcli.flows.mirror.copy.partition_copy import PartitionCopy, TopicIds
from kcli.flows.mirror.job.group_position import (
    AGAIN,
    Bookmark,
    GroupPosition,
    Position,
    check_belongs,
    check_same_topics,
    committed,
    group_name,
    read_positions,
    transactional_id,
)
from kcli.flows.mirror.settings import Pace
from kcli.flows.mirror.topics.preflight import ConflictError
from kcli.flows.stop import Stop
from kcli.pipeline.cluster_ref import ClusterRef
from kcli.pipeline.job import StoppedTaskError, TaskContext
from kcli.pipeline.plan import Slice

_TIMEOUT = 60.0  # seconds for one call: a transaction of an attempt that was killed may have to end first
_CREATED_PATIENCE = 30.0  # seconds until a new topic is in the metadata of all brokers
_FIRST_WAIT = (
    1.0  # seconds until a request to stop is noticed; longer and longer, for coordinators that are slow
)
_LOOK = 0.2  # seconds between two looks at a request to stop
_TAKEOVER_SECONDS = 2.0  # a task that took over has committed its name by then
_LONG = 0x7FFF_FFFF  # ms: a send waits for room as long as the delivery of what is sent


class CopyTask(NamedTuple):
    """``source`` is copied to ``target`` from the position of the job on, or from its start if there is none.

    ``partitions``: how many the source topic has. ``refresh``: the position is committed again even if nothing is left to
    copy, because brokers forget old ones.
    """

    source: Slice
    target: TopicPartition
    partitions: int
    refresh: bool = False


@dataclass(frozen=True, slots=True)
class CopySettings:
    """``source_cluster`` is an id. ``run`` identifies the command, ``part`` its slice. ``seconds``: a task that lasts
    longer ends where it is. ``interval``: seconds between two positions, or the length of a transaction; ``patience``:
    seconds without progress until a task fails. ``follows``: the job has no end. ``to_ms``: see ``Copy``.
    """

    source: ClusterRef
    target: ClusterRef
    source_cluster: str
    job: str
    run: str
    exactly_once: bool
    part: int = 0
    seconds: float | None = None
    interval: float = 1.0
    patience: float = 120.0
    follows: bool = False
    to_ms: bool = False

    @property
    def group(self) -> str:
        """The group that the positions are committed for."""
        return group_name(self.job, self.source_cluster)


class SupersededError(TimedOutError):
    """Another attempt of the task took over, or its transaction timed out; a further attempt continues."""

    exit_code = ExitCode.REFUSED


def run(settings: CopySettings, task: CopyTask, context: TaskContext) -> dict[str, Any]:
    """See ``Kernel``. ``end`` of the item is the offset up to which the partition is copied."""
    with ExitStack() as stack:
        stop = stack.enter_context(_stop_of(context, settings.seconds))
        try:
            return _Task(settings, task, context, stop, stack).run()
        except ProducerFencedError as error:
            raise _fenced(settings, task, error) from None


class _Task:
    def __init__(
        self, settings: CopySettings, task: CopyTask, context: TaskContext, stop: Stop, stack: ExitStack
    ) -> None:
        self._settings = settings
        self._task = task
        self._context = context
        self._stop = stop
        self._stack = stack
        self._deliveries = Deliveries(transactional=settings.exactly_once)

    def run(self) -> dict[str, Any]:
        settings, task = self._settings, self._task
        admin = self._stack.enter_context(_admin(settings))
        position = read_positions(admin, settings.group, [task.target]).get(task.target)
        if position is not None and position.offset >= task.source.end and not task.refresh:
            check_belongs(position, task.source.tp, task.target)
            check_same_topics(position, id_text(task.source.topic_id), task.target, "")
            return self._item(self._bookmark(position, ""), position.offset)
        return self._copy(admin)

    def _copy(self, admin: Admin) -> dict[str, Any]:
        settings, task = self._settings, self._task
        consumer = self._consumer()
        producer = self._producer()
        target_id = _target_id(admin, task.target.topic)
        position = read_positions(admin, settings.group, [task.target], stable=settings.exactly_once).get(
            task.target
        )
        if position is not None:
            check_belongs(position, task.source.tp, task.target)
            check_same_topics(position, id_text(task.source.topic_id), task.target, target_id)
        bookmark = self._bookmark(position, target_id)
        copy = self._partition_copy(position, bookmark)
        commit_offset = self._commit_offset(admin, producer)
        self._claim(producer, commit_offset, copy, bookmark)
        self._context.progress(bookmark.records, bookmark.bytes)
        if copy.position < task.source.end:
            store = GroupPosition(commit_offset, bookmark, copy.position, follows=settings.follows)
            kind = ExactlyOnceCopy if settings.exactly_once else Copy
            kind(
                consumer,
                producer,
                self._deliveries,
                [copy],
                store,
                stop=self._stop,
                pace=Pace(settings.interval),
                progress=self._progress(copy),
                to_ms=settings.to_ms,
            ).run()
            if self._stop:
                producer.close(0.0)  # what is not confirmed by now is not waited for
        if copy.error is not None:
            raise _explained(copy.error)
        done = msgspec.structs.replace(
            bookmark, records=bookmark.records + copy.records, bytes=bookmark.bytes + copy.bytes
        )
        return self._item(done, copy.position)

    def _consumer(self) -> Consumer:
        """A consumer of the source, which has the topic that was planned."""
        settings, source = self._settings, self._task.source
        consumer = self._stack.enter_context(
            Consumer(
                settings.source.inner_options(
                    ConsumerOptions,
                    isolation_level="read_committed",
                    max_poll_records=WHOLE_BATCHES,
                    on_out_of_range="fail",
                    show_control_batches=True,
                ),
                joins=JOINED_BYTES,
            )
        )
        consumer.partitions([source.topic], _TIMEOUT)
        found = consumer.cluster.view.topics[source.topic].id
        if any(found) and any(source.topic_id) and found != source.topic_id:
            raise DataLossError(
                f"topic {source.topic} of the source was deleted and created again",
                why=f"its id is {id_text(found)}, and was {id_text(source.topic_id)} when the job was planned",
                do=AGAIN,
            )
        return consumer

    def _producer(self) -> Producer:
        """A producer on the target; with transactions it has fenced each earlier attempt."""
        settings, target = self._settings, self._task.target
        own: dict[str, Any] = {}
        if settings.exactly_once:
            own["transactional_id"] = transactional_id(settings.job, settings.source_cluster, target)
        options = settings.target.inner_options(
            ProducerOptions,
            delivery_timeout_ms=round(settings.patience * 1000),
            max_block_ms=_LONG,
            linger_ms=0,
            **own,
        )
        producer = self._stack.enter_context(Producer(options, on_delivery=self._deliveries))
        producer.connect([target.topic], _TIMEOUT, _CREATED_PATIENCE)
        producer.wait_for_partitions(target.topic, target.partition + 1, _CREATED_PATIENCE)
        if settings.exactly_once:
            self._initialize(producer)
        self._stop.wake(producer.interrupt)
        return producer

    def _initialize(self, producer: Producer) -> None:
        """Waits for the end of what an earlier attempt has left open, but not after a request to stop."""
        deadline = time.monotonic() + max(_TIMEOUT, self._settings.patience)
        seconds = _FIRST_WAIT
        while True:
            try:
                producer.init_transactions(seconds)
                return
            except TimedOutError:
                if self._stop:
                    raise StoppedTaskError("the task was stopped before its first record") from None
                if time.monotonic() >= deadline:
                    raise
                seconds *= 2

    def _bookmark(self, position: Position | None, target_id: str) -> Bookmark:
        """What this run has copied so far, in an earlier attempt as well."""
        settings, source = self._settings, self._task.source
        run = f"{settings.run}.{settings.part}"
        if position is not None and position.bookmark.run == run:
            return msgspec.structs.replace(
                position.bookmark,
                host=socket.gethostname(),
                ended=False,
                target_topic_id=target_id or position.bookmark.target_topic_id,
            )
        return Bookmark(
            topic=source.topic,
            partition=source.partition,
            topic_id=id_text(source.topic_id),
            target_topic_id=target_id,
            partitions=self._task.partitions,
            run=run,
            host=socket.gethostname(),
            start=source.start if position is None else position.offset,
        )

    def _partition_copy(self, position: Position | None, bookmark: Bookmark) -> PartitionCopy:
        source = self._task.source
        return PartitionCopy(
            source.tp,
            self._task.target,
            LastOffset(),
            position=source.start if position is None else position.offset,
            leader_epoch=-1 if position is None else position.leader_epoch,
            stop=source.end,
            topic_ids=TopicIds(bookmark.topic_id, bookmark.target_topic_id),
        )

    def _commit_offset(self, admin: Admin, producer: Producer) -> Callable[[OffsetAndMetadata], None]:
        group, target = self._settings.group, self._task.target

        def in_transaction(offset: OffsetAndMetadata) -> None:
            producer.send_offsets_to_transaction({target: offset}, group, _TIMEOUT)

        def at_once(offset: OffsetAndMetadata) -> None:
            error = admin.commit_offsets({group: {target: offset}})[group][target]
            if error is not None:
                raise error

        return in_transaction if self._settings.exactly_once else at_once

    def _claim(
        self,
        producer: Producer,
        commit_offset: Callable[[OffsetAndMetadata], None],
        copy: PartitionCopy,
        bookmark: Bookmark,
    ) -> None:
        """Commits the position with the name of this run before the first record.

        Otherwise the next run would find records of an unknown job; and a run that was fenced finds out who took over.
        """
        now = msgspec.structs.replace(bookmark, at=wall_ms())
        offset = committed(copy.position, copy.leader_epoch, now)
        if self._settings.exactly_once:
            with producer.transaction():
                commit_offset(offset)
        else:
            commit_offset(offset)

    def _progress(self, copy: PartitionCopy) -> Callable[[], None]:
        """Reports what is stored since the last call; TimedOutError when nothing has moved for long."""
        reported = [0, 0]
        moved, since = (-1, -1, -1), time.monotonic()

        def progress() -> None:
            nonlocal moved, since
            records, size = copy.records, copy.bytes
            if [records, size] != reported:
                self._context.progress(records - reported[0], size - reported[1])
                reported[:] = records, size
            now = copy.position, copy.sent_to, self._deliveries.count
            if now != moved:
                moved, since = now, time.monotonic()
            elif time.monotonic() - since >= self._settings.patience and not self._stop:
                raise TimedOutError(
                    f"{copy.source}: no progress for {self._settings.patience:g} s",
                    why=f"it is copied up to offset {copy.position}, and read up to offset {copy.sent_to}",
                    do="check the brokers of both clusters; the same command continues",
                )

        return progress

    def _item(self, bookmark: Bookmark, end: int) -> dict[str, Any]:
        source, target = self._task.source, self._task.target
        return {
            "topic": source.topic,
            "partition": source.partition,
            "target_topic": target.topic,
            "target_partition": target.partition,
            "start": bookmark.start,
            "end": end,
            "records": bookmark.records,
            "skipped_records": end - bookmark.start - bookmark.records,
            "bytes": bookmark.bytes,
        }


@contextmanager
def _stop_of(context: TaskContext, seconds: float | None) -> Iterator[Stop]:
    """A Stop that is requested when the task is stopped, or has lasted long enough."""
    stop, ended = Stop(), threading.Event()
    deadline = time.monotonic() + (math.inf if seconds is None else seconds)

    def watch() -> None:
        while not ended.wait(_LOOK):
            if context.stopped() or time.monotonic() >= deadline:
                stop.request()
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    token = stop_requested.set(stop.__bool__)
    try:
        yield stop
    finally:
        stop_requested.reset(token)
        ended.set()
        watcher.join()


def _admin(settings: CopySettings) -> Admin:
    return Admin(settings.target.inner_options(ClientOptions), timeout=_TIMEOUT)


def _target_id(admin: Admin, topic: str) -> str:
    described = admin.describe_topics([topic])[topic]
    return "" if isinstance(described, KcliError) else described.topic_id


def _fenced(settings: CopySettings, task: CopyTask, error: ProducerFencedError) -> KcliError:
    """Whether another run took over, which is final, or another attempt of this one."""
    deadline = time.monotonic() + _TAKEOVER_SECONDS
    while time.monotonic() < deadline:
        with suppress(KcliError), _admin(settings) as admin:
            found = read_positions(admin, settings.group, [task.target]).get(task.target)
            if found is not None and found.bookmark.command != settings.run:
                return ConflictError(
                    f"mirror job {settings.job} is run by another process",
                    why=f"it took over {task.target} (host {found.bookmark.host})",
                    do="stop one of them; --job NAME gives a second mirror a name of its own",
                )
        time.sleep(_LOOK)
    return SupersededError(
        f"{task.source.tp}: another attempt of this task took over, or its transaction timed out",
        why=str(error),
        do="nothing is lost or stored twice: the same command continues",
    )


def _explained(error: KcliError) -> KcliError:
    """The error of a copy with what can be done about it here."""
    if isinstance(error, DataLossError):
        return DataLossError(error.what, why=error.why, do=AGAIN)
    return error
