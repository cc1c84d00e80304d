"""Sends records of one partition to the topics where they belong, exactly once; or only counts what would be sent.

A task has a transactional id of its own. It initializes that id, which ends what an earlier attempt left open and fences
it, and only then reads its position: an offset of the group of the job, committed in the transaction of the records. So
however often the task is begun, each record is sent once. A partition has one task, so order is kept.
"""

import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple, dataclass, replace
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.errors import KcliError, RecordRefusedError, TimedOutError, TransactionAbortableError
from kcli.core.exit_codes import ExitCode
from kcli.core.names import REPLAYS
from kcli.core.options import ClientOptions, ConsumerOptions, ProducerOptions
from kcli.core.producer.batch import RecordFuture
from kcli.core.producer.producer import Producer
from kcli.core.types import OffsetAndMetadata, Record, TopicPartition
from kcli.flows.mirror.proof.last_values import key_digest
from kcli.flows.topics.lifetime import KEEP, Fates, Kept, Tally, Terms
from kcli.flows.topics.retention import values_of
from kcli.pipeline.cluster_ref import ClusterRef
from kcli.pipeline.job import PartlyDoneError, StoppedTaskError, TaskContext
from kcli.pipeline.plan import Slice
from kcli.pipeline.redrive import Routing, decide, hour, reason, replayed, unpacked

_IN_TRANSACTION = 1000  # records
_SECONDS = 2.0  # the length of a transaction
_SILENCE = 30.0  # seconds without a record that are an error
_PATIENCE = 60.0  # seconds for a call of a transaction: one of a killed attempt may have to end first
_MOST_REASONS = 200  # rows of the histogram of a task


class ReplayTask(NamedTuple):
    """``chosen`` are offsets (``redrive.packed``), None for all."""

    slice: Slice
    chosen: bytes | None = None


class Times(NamedTuple):
    """From ``since`` up to, not including, ``until``, in ms since the epoch; None: without a limit."""

    since: int | None
    until: int | None

    @property
    def text(self) -> str:
        """In the metadata of a position, which says nothing of records with other times."""
        return "..".join("" if ms is None else str(ms) for ms in self)

    def has(self, time: int) -> bool:
        """Whether a record of this time is among them; one without a time (−1) is not."""
        return max(0, self.since or 0) <= time and (self.until is None or time < self.until)


class OtherTimesError(KcliError):
    """The position of the job is one among records with other times."""

    exit_code = ExitCode.REFUSED


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """``send``: False counts only. ``keys``: the last record of each key is found as well. ``times``: only records with
    such times are chosen. ``kept`` and ``now_ms``: how it is judged what the targets keep.
    """

    cluster: ClusterRef
    job: str
    routing: Routing
    send: bool = True
    keys: bool = False
    times: Times | None = None
    kept: Kept = KEEP
    now_ms: int = 0

    @property
    def group(self) -> str:
        """The group that the positions are committed for."""
        return REPLAYS + self.job


def run(settings: ReplaySettings, task: ReplayTask, context: TaskContext) -> dict[str, Any]:
    """See ``Kernel``."""
    return _send(settings, task, context) if settings.send else _count(settings, task, context)


def position(committed: OffsetAndMetadata | None, slice_: Slice, times: Times | None = None) -> int:
    """Where a job continues: at its position, unless that is one of a topic that was deleted since. OtherTimesError for a
    position of records with other ``times``: those with these times before it were not sent.
    """
    topic_id, _, own = (committed.metadata if committed is not None else "").partition("@")
    if committed is None or topic_id != slice_.topic_id.hex():
        return slice_.start
    if own != (times.text if times is not None else ""):
        raise OtherTimesError(
            f"the job has a position in {slice_.tp}, at offset {committed.offset}, for other times",
            why="with --exact-times it passes records with other times, which it would not find any more",
            do="name another job: --job NAME",
        )
    return max(slice_.start, committed.offset)


def _metadata(settings: ReplaySettings, slice_: Slice) -> str:
    """That of a position."""
    return slice_.topic_id.hex() + (f"@{settings.times.text}" if settings.times is not None else "")


# --- counting ---------------------------------------------------------------------------------------------


def _count(settings: ReplaySettings, task: ReplayTask, context: TaskContext) -> dict[str, Any]:
    """``histogram``: how many records by target (empty: skipped), reason and hour; ``keys``: digest of a key → its last
    record that would be sent (``LastOfKey``); ``tallies``: by target, what it would do with the records; ``sizes``: by
    target, their bytes.
    """
    targets = _Targets(settings)
    tallies: dict[str, Tally] = {}
    sizes: Counter[str] = Counter()
    item = item_before(settings.routing, task.slice)
    histogram: Counter[tuple[str, str, str]] = Counter()
    keys: dict[bytes, LastOfKey] = {}
    with Consumer(_options(settings)) as consumer:
        for record in _records(consumer, task, task.slice.start, context, settings.times):
            decision = decide(record, settings.routing)
            row = (decision.target, decision.why or reason(record), hour(record.timestamp))
            histogram[row if row in histogram or len(histogram) < _MOST_REASONS else (row[0], "…", "…")] += 1
            size = _size(record)
            context.progress(1, size)
            if not decision.target:
                item["skipped_records"] += 1
                continue
            item["records"] += 1
            item["bytes"] += size
            fate = targets.terms(decision.target).fate(record.timestamp, has_key=record.key is not None)
            if settings.keys:  # without a key each is its own
                name = b"%d" % record.offset if record.key is None else key_digest(record.key)
                keys[name] = LastOfKey(record.timestamp, record.offset, decision.target, fate, size)
            else:
                tally_one(tallies, decision.target, fate, record.timestamp)
                sizes[decision.target] += size
    return {**item, "histogram": dict(histogram), "keys": keys, "tallies": tallies, "sizes": dict(sizes)}


class LastOfKey(NamedTuple):
    """The last record of a key: its time and offset, where it would be sent to, what becomes of it there; its bytes."""

    timestamp: int
    offset: int
    target: str
    fate: str
    size: int


def tally_one(tallies: dict[str, Tally], target: str, fate: str, timestamp: int) -> None:
    """Counts a record."""
    one = Tally(**{fate: 1}, oldest=timestamp, read=True)
    tallies[target] = tallies.get(target, Tally()).joined(one)


class _Targets:
    """The terms of the topics that records are sent to, each asked for once: which they are only records may say."""

    def __init__(self, settings: ReplaySettings) -> None:
        self._settings = settings
        self._found: dict[str, Terms] = {}

    def terms(self, topic: str) -> Terms:
        """Those of a topic; of one that cannot be described, as of one that keeps everything."""
        if topic not in self._found:
            with Admin(self._settings.cluster.options(ClientOptions)) as admin:
                values = values_of(admin, [topic])[topic].in_force
            self._found[topic] = Fates({topic: values}, self._settings.now_ms, self._settings.kept).terms(
                topic
            )
        return self._found[topic]


# --- sending ----------------------------------------------------------------------------------------------


def _send(settings: ReplaySettings, task: ReplayTask, context: TaskContext) -> dict[str, Any]:
    item = item_before(settings.routing, task.slice)
    tp = task.slice.tp
    options = settings.cluster.options(
        ProducerOptions,
        transactional_id=f"{settings.group}.{tp.topic}.{tp.partition}",
        acks="all",
        enable_idempotence=True,
    )
    with Producer(options) as producer, Consumer(_options(settings)) as consumer:
        producer.init_transactions(_PATIENCE)
        start = position(committed_offset(settings, tp), task.slice, settings.times)
        item["start"] = min(start, task.slice.end)
        sending = _Sending(settings, task.slice, producer, item)
        try:
            for record in _records(consumer, task, start, context, settings.times):
                sending.add(record)
                context.progress(1, 0)
            sending.commit(task.slice.end)
        except BaseException as error:
            sending.abort()
            if sending.refused is not None and isinstance(error, TransactionAbortableError):
                error = sending.refused
            if isinstance(error, Exception) and (item["records"] or item["skipped_records"]):
                raise PartlyDoneError(item, error) from None
            raise error from None
    return item


class _Sending:
    """Transactions, each with the position after its records."""

    def __init__(
        self, settings: ReplaySettings, slice_: Slice, producer: Producer, item: dict[str, Any]
    ) -> None:
        self._settings = settings
        self._slice = slice_
        self._producer = producer
        self._item = item
        self._open = False
        self._began = 0.0
        self._sums = [0, 0, 0]
        self._done = slice_.start
        self.refused: KcliError | None = None

    def add(self, record: Record) -> None:
        """Sends or skips a record."""
        if not self._open:
            self._producer.begin_transaction(_PATIENCE)
            self._open, self._began, self._sums = True, time.monotonic(), [0, 0, 0]
        decision = decide(record, self._settings.routing)
        if decision.target:
            self._producer.send(
                replayed(record, decision, self._settings.routing), partial(self._completed, record.offset)
            )
            self._sums[0] += 1
            self._sums[2] += _size(record)
        else:
            self._sums[1] += 1
        self._done = record.offset + 1
        if sum(self._sums[:2]) >= _IN_TRANSACTION or time.monotonic() - self._began > _SECONDS:
            self.commit(self._done)

    def _completed(self, offset: int, future: RecordFuture) -> None:
        """Called by the producer's thread."""
        error = future.error
        if self.refused is None and isinstance(error, RecordRefusedError):
            self.refused = KcliError(
                f"the record of {self._slice.tp} at offset {offset} was refused", why=str(error), do=error.do
            )

    def commit(self, offset: int) -> None:
        """Commits what is open with the position; at the end of the range also where no record was left."""
        if not self._open:
            if offset <= self._done:
                return
            self._producer.begin_transaction(_PATIENCE)
            self._open, self._sums = True, [0, 0, 0]
        where = OffsetAndMetadata(offset, _metadata(self._settings, self._slice))
        self._producer.send_offsets_to_transaction({self._slice.tp: where}, self._settings.group, _PATIENCE)
        self._producer.commit_transaction(_PATIENCE)
        self._open, self._done = False, offset
        for name, part in zip(("records", "skipped_records", "bytes"), self._sums, strict=True):
            self._item[name] += part

    def abort(self) -> None:
        """Aborts the open transaction; an error is ignored, because the one that led here is raised."""
        if self._open:
            self._open = False
            try:
                self._producer.abort_transaction(_PATIENCE)
            except KcliError:
                return


def committed_offset(settings: ReplaySettings, tp: TopicPartition) -> OffsetAndMetadata | None:
    """The position of the job, when no transaction that may change it is open any more."""
    with Admin(settings.cluster.options(ClientOptions)) as admin:
        return read_committed(admin, settings.group, [tp], stable=True)[tp]


def read_committed(
    admin: Admin, group: str, partitions: list[TopicPartition], *, stable: bool
) -> dict[TopicPartition, OffsetAndMetadata | None]:
    """The positions of a job; raises the first error."""
    found = admin.fetch_offsets({group: partitions}, require_stable=stable)[group]
    if isinstance(found, KcliError):
        raise found
    for committed in found.values():
        if isinstance(committed, KcliError):
            raise committed
    return {tp: found.get(tp) for tp in partitions}  # type: ignore[misc]


# --- reading ----------------------------------------------------------------------------------------------


def _records(
    consumer: Consumer, task: ReplayTask, start: int, context: TaskContext, times: Times | None
) -> Iterator[Record]:
    """The chosen records of the range from ``start`` on; StoppedTaskError after a request to stop."""
    if start >= task.slice.end:
        return
    chosen = None if task.chosen is None else unpacked(task.chosen)
    consumer.assign({task.slice.tp: Span(start, task.slice.end)})
    since = time.monotonic()
    while not consumer.done:
        before = consumer.state(task.slice.tp).position
        for record in consumer.records(1.0):
            if (chosen is None or record.offset in chosen) and (times is None or times.has(record.timestamp)):
                yield record
        if context.stopped():
            raise StoppedTaskError("the replay was stopped; running it again continues")
        if consumer.state(task.slice.tp).position != before:
            since = time.monotonic()
        elif time.monotonic() - since > _SILENCE:
            raise TimedOutError(
                f"{task.slice.tp}: nothing arrived for {_SILENCE:g} s",
                why="no broker returned its records",
                do=f"check its leader: `kcli topics describe {task.slice.tp.topic}` shows it",
            )


def _options(settings: ReplaySettings) -> ConsumerOptions:
    found = settings.cluster.options(ConsumerOptions, isolation_level="read_committed")
    return replace(found, group_id="", enable_auto_commit=False, on_out_of_range="fail")


def item_before(routing: Routing, slice_: Slice) -> dict[str, Any]:
    """The item of a partition of which nothing was sent yet."""
    found: dict[str, Any] = {"topic": slice_.topic, "partition": slice_.partition}
    if routing.topic:
        found["target_topic"] = routing.topic
    return {**found, "start": slice_.start, "end": slice_.end, "records": 0, "skipped_records": 0, "bytes": 0}


def _size(record: Record) -> int:
    return len(record.key or b"") + len(record.value or b"")
