"""Where the state of a mirror job is kept: a compacted topic on the target, or a file.

In the topic, positions are written in transactions of the job's id, so that an instance that lost the lease cannot
write any: in those of the records (``TopicStore``), or, at least once, in small ones of their own, behind the records
they stand for (``FencedStore``). All jobs that write to a cluster share the topic; it has one partition.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import Self

import msgspec

from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple
from kcli.core.clock import wall_ms
from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.errors import (
    ConfigError,
    KcliError,
    TimedOutError,
    TransactionAbortableError,
    TransactionUnknownError,
)
from kcli.core.hooks import Hooks
from kcli.core.kernels.shapes import NO_HEADERS
from kcli.core.names import STATE_TOPIC
from kcli.core.options import WHOLE_BATCHES, ConsumerOptions, ProducerOptions
from kcli.core.producer.producer import Producer
from kcli.core.producer.report import Report
from kcli.core.types import TopicPartition, TopicSpec
from kcli.files.atomic import replace_file
from kcli.flows.mirror.copy.offset_map import OffsetMap
from kcli.flows.mirror.copy.partition_copy import PartitionCopy
from kcli.flows.mirror.job.state import (
    JobId,
    JobState,
    PartitionProgress,
    SavedGap,
    SavedJob,
    StateRecord,
    gaps_of,
    job_record,
    load_jobs,
    partition_records,
    progress_record,
)
from kcli.flows.mirror.settings import Cluster
from kcli.flows.mirror.topics.routes import Route
from kcli.flows.stop import Stop
from kcli.flows.transactions.ends import commit_transaction

STATE = TopicPartition(STATE_TOPIC, 0)
_REPLICAS = 3
_UPDATE_MS = 60_000
_PATIENCE = 5.0  # seconds for the end of a transaction with positions, while nothing is copied
_FIRST_PATIENCE = 1.0  # the same of the first try: where the target is away, nobody is told until it is over
_GRACE = 0.5  # the same after a stop
_CONFIGS = {"cleanup.policy": "compact", "segment.bytes": "16777216", "min.cleanable.dirty.ratio": "0.1"}


class Progress:
    """Turns confirmed positions and states into records; only of partitions of which one has changed since the last call.

    A partition that could not begin is left as it was saved, but for its state: its position belongs to other topics than
    those of now.
    ``saved``: what earlier runs of the job saved; their records and bytes are counted as well. ``polled_ms``: see
    ``JobState``.
    """

    def __init__(
        self,
        state: JobState,
        saved: SavedJob | None = None,
        polled_ms: Callable[[], int] = lambda: -1,
    ) -> None:
        self._state = state
        self._polled_ms = polled_ms
        self._before = {} if saved is None else {tp: one.progress for tp, one in saved.partitions.items()}
        self._segments = {tp: one.segments for tp, one in self._before.items()}
        self._saved: dict[TopicPartition, _Saved] = {}
        self._gap_times: dict[tuple[TopicPartition, str, int], int] = {}
        self.commit()

    def commit(self) -> None:
        """What was written is stored: ``rollback`` returns to here."""
        self._committed = self._state, dict(self._segments), dict(self._saved)

    def rollback(self) -> None:
        """The transaction of what was written since the last ``commit`` was aborted."""
        self._state, segments, saved = self._committed
        self._segments, self._saved = dict(segments), dict(saved)

    def add_topics(self, routes: Iterable[Route]) -> None:
        """Topics that the job copies from now on."""
        state, new = self._state, {route.source: route.target for route in routes}
        begin = next(
            iter(state.begun.values()), "earliest"
        )  # of this command: it is the same when it is started again
        self._state = msgspec.structs.replace(
            state,
            topics={**state.topics, **new},
            selected=list(dict.fromkeys([*(state.selected or state.topics), *new])),
            begun={**dict.fromkeys(new, begin), **state.begun},
        )
        self._committed = self._state, *self._committed[1:]

    def is_pending(self, copies: Iterable[PartitionCopy]) -> bool:
        """Whether a position has moved since the last call of ``records``, or the job was not updated for long."""
        return wall_ms() - self._state.updated_ms >= _UPDATE_MS or any(
            self._has_changed(copy) for copy in copies
        )

    def records(self, copies: Iterable[PartitionCopy], *, ended: bool = False) -> list[StateRecord]:
        """The records to be written now; empty if there is nothing new. ``ended``: the job ends in order."""
        now = wall_ms()
        found: list[StateRecord] = []
        for copy in copies:
            if self._has_changed(copy):
                found += self._partition(copy, now)
        if found or ended or now - self._state.updated_ms >= _UPDATE_MS:
            polled = self._polled_ms()
            self._state = msgspec.structs.replace(self._state, updated_ms=now, ended=ended, polled_ms=polled)
            found.append(job_record(self._state))
        return found

    def _has_changed(self, copy: PartitionCopy) -> bool:
        if _could_not_begin(copy) and copy.source not in self._before:
            return False
        return self._saved.get(copy.source) != _saved_of(copy)

    def _partition(self, copy: PartitionCopy, now: int) -> list[StateRecord]:
        if _could_not_begin(copy):
            return self._not_begun(copy, now)
        offsets = OffsetMap(copy.started_at, 0) if copy.offsets is None else copy.offsets
        before = self._before.get(copy.source)
        progress = PartitionProgress(
            target=copy.target.topic,
            target_partition=copy.target.partition,
            topic_id=copy.topic_ids.source,
            target_topic_id=copy.topic_ids.target,
            start=offsets.start,
            target_start=offsets.target_start,
            position=copy.position,
            leader_epoch=copy.leader_epoch,
            source_end=copy.source_end,
            records=copy.records + (before.records if before else 0),
            bytes=copy.bytes + (before.bytes if before else 0),
            segments=min(self._segments.get(copy.source, 0), offsets.last_segment),
            runs="",
            updated_ms=now,
            state=copy.state.state,
            state_since_ms=copy.state.since_ms,
            why=copy.state.why,
            end_seen=copy.end_seen,
            end_seen_ms=copy.end_seen_ms,
            gaps=[*gaps_of(before, copy.topic_ids.source), *self._gaps(copy, now)],
        )
        self._segments[copy.source] = offsets.last_segment
        self._saved[copy.source] = _saved_of(copy)
        return partition_records(self._state.id, copy.source, progress, offsets)

    def _gaps(self, copy: PartitionCopy, now: int) -> list[SavedGap]:
        """Those of this run, each with the time at which it was saved first."""
        times, topic_id = self._gap_times, copy.topic_ids.source
        return [
            SavedGap(gap.first, gap.stop - 1, gap.why, times.setdefault((gap.tp, topic_id, gap.first), now))
            for gap in copy.own_gaps
        ]

    def _not_begun(self, copy: PartitionCopy, now: int) -> list[StateRecord]:
        """What was saved before, with the state of now."""
        progress = msgspec.structs.replace(
            self._before[copy.source],
            updated_ms=now,
            source_end=-1,
            state=copy.state.state,
            state_since_ms=copy.state.since_ms,
            why=copy.state.why,
        )
        self._saved[copy.source] = _saved_of(copy)
        return [progress_record(self._state.id, copy.source, progress)]


def _could_not_begin(copy: PartitionCopy) -> bool:
    return copy.error is not None and not copy.begun


class _Saved(NamedTuple):
    """A record is written where one of these has changed: a partition that does not move has an end that does."""

    position: int
    topic_id: str
    state: str
    why: str
    source_end: int


def _saved_of(copy: PartitionCopy) -> _Saved:
    return _Saved(copy.position, copy.topic_ids.source, copy.state.state, copy.state.why, copy.source_end)


class TopicStore:
    """Checkpoints in the state topic, sent by the producer of the copy in the transaction of the records."""

    def __init__(self, producer: Producer, progress: Progress) -> None:
        self._producer = producer
        self._progress = progress
        self._error: KcliError | None = None
        self.unconfirmed = 0

    def is_pending(self, copies: Iterable[PartitionCopy]) -> bool:
        """See Checkpoints."""
        return self._progress.is_pending(copies)

    def save(self, copies: Iterable[PartitionCopy], *, ended: bool = False) -> bool:
        """See Checkpoints. Nothing is added to what a target that is away has not taken yet: that would grow for as long
        as it is away.
        """
        if self.unconfirmed and not ended and self._error is None:
            return False
        self.write(self._progress.records(copies, ended=ended))
        return True

    def write(self, records: Iterable[StateRecord]) -> None:
        """Sends records of the state; raises if earlier ones could not be stored."""
        if self._error is not None:
            raise self._error
        now = wall_ms()
        rows = [(key, value, NO_HEADERS, now) for key, value in records]
        self.unconfirmed += len(rows)
        self._producer.send_rows(STATE.topic, rows, partition=STATE.partition, origin=self)

    def stored(self, count: int) -> None:
        """See Checkpoints."""
        self.unconfirmed -= count

    def commit(self) -> None:
        """The transaction with what was saved is committed."""
        self._progress.commit()

    def rollback(self) -> None:
        """It was aborted, and with it what could not be stored."""
        self._progress.rollback()
        self._error = None
        self.unconfirmed = 0

    def failed(self, error: KcliError) -> None:
        """See Checkpoints."""
        self._error = self._error or KcliError(
            f"the position of the mirror cannot be saved in {STATE_TOPIC}", why=str(error), do=error.do
        )


class StateWriter:
    """Writes to the state topic at once, by a producer of its own: what has no part in the transactions of a copy.

    ``patience``: seconds until what is written has to be stored. Connects at the first record; ``with`` closes it.
    """

    def __init__(self, target: Cluster, hooks: Hooks, patience: float) -> None:
        self._target, self._hooks, self._patience = target, hooks, patience
        self._reports: list[Report] = []
        self._stack = ExitStack()
        self._producer: Producer | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stack.close()

    def write(self, records: Iterable[StateRecord]) -> None:
        """Returns when the records are stored; KcliError if that fails, or takes too long."""
        now = wall_ms()
        try:
            producer = self._connected()
            self._reports.clear()
            rows = [(key, value, NO_HEADERS, now) for key, value in records]
            producer.send_rows(STATE.topic, rows, partition=STATE.partition)
            if not producer.flush(self._patience):
                raise TimedOutError(
                    f"writing {STATE} was not confirmed within {self._patience:.0f} s",
                    why="its leader, or enough of its replicas, did not respond in time",
                    do="see whether all brokers of the target are up",
                )
            for report in self._reports:
                if report.error is not None:
                    raise report.error
        except KcliError as error:
            raise KcliError(
                f"the offsets of groups cannot be saved in {STATE_TOPIC}", why=str(error), do=error.do
            ) from None

    def _connected(self) -> Producer:
        if self._producer is None:
            # Stored twice is as good as once, so no further permission is needed; the order matters.
            options = self._target.options(
                ProducerOptions,
                linger_ms=0,
                acks="all",
                enable_idempotence=False,
                max_in_flight_requests_per_connection=1,
                max_block_ms=int(1000 * self._patience),
            )
            made = Producer(options, hooks=self._hooks, on_delivery=self._reports.append)
            self._producer = self._stack.enter_context(made)
            made.connect([STATE_TOPIC], self._patience)
        return self._producer


class FencedStore:
    """Checkpoints in the state topic, in transactions of a producer of their own: ProducerFencedError where another
    instance of the job took over. What is not stored for now, because the target is away, is written again later.
    ``limit``: seconds that a partition may wait, None for ever.
    """

    def __init__(
        self, producer: Producer, progress: Progress, stop: Stop, limit: float | None = None
    ) -> None:
        self._producer = producer
        self._progress = progress
        self._stop = stop
        self._most = _PATIENCE if limit is None else min(_PATIENCE, limit)
        self._patience = min(_FIRST_PATIENCE, self._most)  # of the next commit
        self._unfinished = False  # a commit was requested, and its answer has not come

    def is_pending(self, copies: Iterable[PartitionCopy]) -> bool:
        """See Checkpoints."""
        return self._progress.is_pending(copies)

    @property
    def unconfirmed(self) -> int:
        """See Checkpoints."""
        return int(self._unfinished)

    def stored(self, count: int) -> None:
        """See Checkpoints; nothing of it is written by the producer of the copy."""

    def save(self, copies: Iterable[PartitionCopy], *, ended: bool = False) -> bool:
        """See Checkpoints. After a stop there is no later: then it raises why nothing was stored. The end of the job is
        waited for.
        """
        try:
            if self._unfinished:
                self._commit(ended=ended)
            records = self._progress.records(copies, ended=ended)
            if records:
                self._store(records, ended=ended)
            return True
        except TransactionAbortableError:
            self._abort()
            if self._stop or ended:
                raise
        except (TimedOutError, TransactionUnknownError):
            if self._stop or ended:
                raise
            if not self._unfinished:
                self._progress.rollback()
        return False

    def write(self, records: Iterable[StateRecord]) -> None:
        """Stores records of the state, together."""
        self._store(records, ended=True)

    def _store(self, records: Iterable[StateRecord], *, ended: bool) -> None:
        self._producer.begin_transaction(_GRACE if self._stop else None if ended else self._most)
        now = wall_ms()
        rows = [(key, value, NO_HEADERS, now) for key, value in records]
        self._producer.send_rows(STATE.topic, rows, partition=STATE.partition, origin=self)
        self._unfinished = True
        self._commit(ended=ended)

    def _commit(self, *, ended: bool) -> None:
        """One try, which is longer each time that it fails; at the end of the job until it succeeds."""
        first, self._patience = self._patience, min(2 * self._patience, self._most)
        commit_transaction(
            self._producer, self._stop, patience=math.inf if ended else 0.0, grace=_GRACE, first=first
        )
        self._unfinished = False
        self._patience = min(_FIRST_PATIENCE, self._most)
        self._progress.commit()

    def _abort(self) -> None:
        """Waits for a coordinator that does not respond, as long as there is no stop."""
        self._unfinished = False
        self._progress.rollback()
        while True:
            try:
                self._producer.abort_transaction(_GRACE if self._stop else _PATIENCE)
                return
            except (TimedOutError, TransactionUnknownError):
                if self._stop:
                    return  # the next run aborts it

    def commit(self) -> None:
        """See Checkpoints."""
        self._progress.commit()

    def rollback(self) -> None:
        """See Checkpoints."""
        self._progress.rollback()

    def failed(self, error: KcliError) -> None:
        """See Checkpoints; nothing of it is written by the producer of the copy."""
        raise error


class FileStore:
    """Checkpoints in a file of JSON lines: the records of the state, replaced as a whole."""

    def __init__(self, path: str, progress: Progress, records: Iterable[StateRecord]) -> None:
        self._path = path
        self._progress = progress
        self._records = dict(records)

    def is_pending(self, copies: Iterable[PartitionCopy]) -> bool:
        """See Checkpoints."""
        return self._progress.is_pending(copies)

    def save(self, copies: Iterable[PartitionCopy], *, ended: bool = False) -> bool:
        """See Checkpoints; FileError if the file cannot be written, and the old one stays."""
        self.write(self._progress.records(copies, ended=ended))
        return True

    def write(self, records: Iterable[StateRecord]) -> None:
        """Writes the file anew, with these records."""
        new = dict(records)
        if new:
            self._records = {key: value for key, value in (self._records | new).items() if value is not None}
            lines = [msgspec.json.encode(_Line(key.decode(), value)) for key, value in self._records.items()]
            replace_file(self._path, b"\n".join(lines) + b"\n")

    def commit(self) -> None:
        """See Checkpoints; a file has no part in a transaction."""

    def rollback(self) -> None:
        """See Checkpoints; a file has no part in a transaction."""

    @property
    def unconfirmed(self) -> int:
        """See Checkpoints; a file is written at once."""
        return 0

    def stored(self, count: int) -> None:
        """See Checkpoints."""

    def failed(self, error: KcliError) -> None:
        """See Checkpoints; what is in the file was written."""
        raise error


class _Line(msgspec.Struct):
    key: str
    value: bytes | None  # base64 in the file


def read_file_records(path: str) -> list[StateRecord]:
    """The records in a checkpoint file, none if it does not exist. ConfigError if it is something else."""
    try:
        with open(path, "rb") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ConfigError(
            f"cannot read {path}",
            why=(error.strerror or str(error)).lower(),
            do="make it readable, or name another file with --checkpoint",
        ) from None
    try:
        found = [msgspec.json.decode(line, type=_Line) for line in lines if line]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} is no checkpoint of a mirror", why=str(error).lower(), do="name another file"
        ) from None
    return [StateRecord(line.key.encode(), line.value) for line in found]


def saved_jobs(cluster: Cluster, admin: Admin, hooks: Hooks, *, wait: bool = True) -> dict[JobId, SavedJob]:
    """All jobs that ``kcli mirror`` runs with this cluster as their target. ``wait``: see ``StateReader.jobs``."""
    return StateReader(cluster, admin, hooks).jobs(wait=wait)


class StateReader:
    """Reads the state topic of a target, again only what was added. ``admin``: of that cluster."""

    def __init__(self, cluster: Cluster, admin: Admin, hooks: Hooks) -> None:
        self._cluster, self._admin, self._hooks = cluster, admin, hooks
        self._log: _Log | None = None
        self._end = 0
        self._records: list[tuple[bytes | None, bytes | None]] = []

    def jobs(self, *, wait: bool = True) -> dict[JobId, SavedJob]:
        """All jobs in the state topic; none if it does not exist.

        Waits for the end of transactions that have written to the topic, which a mirror that was killed leaves open until
        they time out. ``wait=False`` reads up to the first of them: later commits of any job may be missing.
        """
        self._read(wait=wait)
        return load_jobs(self._records)

    def _read(self, *, wait: bool) -> None:
        admin = self._admin
        topic = admin.describe_topics([STATE_TOPIC])[STATE_TOPIC]
        if isinstance(topic, KcliError):
            self._log, self._records = None, []
            return
        start = _offset(admin.list_offsets({STATE: EARLIEST}))
        end = _offset(admin.list_offsets({STATE: LATEST}, committed_only=not wait))
        log = _Log(topic.topic_id, start.offset, end.leader_epoch)
        if log != self._log or end.offset < self._end:  # another topic, or the log may have been truncated
            self._log, self._end, self._records = log, start.offset, []
        if self._end == end.offset:
            return
        options = self._cluster.options(
            ConsumerOptions, isolation_level="read_committed", max_poll_records=WHOLE_BATCHES
        )
        with Consumer(options, hooks=self._hooks) as reader:
            reader.assign({STATE: Span(self._end, end.offset)})
            added = [(record.key, record.value) for record in reader]
        self._records += added
        self._end = end.offset


class _Log(NamedTuple):
    """What stays the same while records are only added."""

    topic_id: str
    start: int
    leader_epoch: int


def _offset(found: Mapping[TopicPartition, OffsetInfo | KcliError]) -> OffsetInfo:
    one = found[STATE]
    if not isinstance(one, OffsetInfo):
        raise one
    return one


def state_topic_spec(brokers: int) -> TopicSpec:
    """The state topic as it is created: one partition, compacted soon, since each start of a job reads all of it."""
    return TopicSpec(STATE_TOPIC, 1, min(_REPLICAS, brokers), _CONFIGS)
