"""Compares a partition of one cluster with one of another: digests of all records in order, or the last of each key."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from kcli.core.classes import NamedTuple, dataclass
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.consumer.subscription import Span
from kcli.core.errors import CorruptRecordsError
from kcli.core.options import WHOLE_BATCHES, ConsumerOptions
from kcli.core.records.run import RUN_BYTES
from kcli.flows.mirror.proof.compare import (
    Change,
    Difference,
    Extent,
    Listed,
    Pair,
    View,
    compare,
    list_differences,
)
from kcli.flows.mirror.proof.last_values import (
    KEYS_AT_ONCE,
    KeyDifference,
    LastValues,
    key_differences,
    live_keys,
)
from kcli.flows.stop import Stop
from kcli.pipeline.cluster_ref import ClusterRef
from kcli.pipeline.job import StoppedTaskError, TaskContext
from kcli.pipeline.plan import Slice
from kcli.pipeline.result_values import BASE64, bytes_text

_POLL = 0.2  # seconds
_FETCH_BYTES = 8 << 20  # a task reads one partition; with the default of 4 MiB it takes a sixth more CPU time


@dataclass(frozen=True, slots=True)
class CompareSettings:
    """``locate``: find the record that differs, not only its chunk. ``compacted``: the last record of each key counts;
    at most ``keys_at_once`` of them are kept in memory. ``times``: only records with times from the first up to, not
    including, the second count (ms since the epoch; None: no limit).
    """

    source: ClusterRef
    target: ClusterRef
    locate: bool = True
    compacted: bool = False
    keys_at_once: int = KEYS_AT_ONCE
    times: tuple[int | None, int | None] | None = None

    @property
    def within(self) -> Change | None:
        """Leaves out the rows with other times."""
        if self.times is None:
            return None
        since, until = self.times
        low, high = max(0, since or 0), 1 << 63 if until is None else until
        return lambda row: row if low <= row[3] < high else None


class CompareTask(NamedTuple):
    """The ranges of a partition on both sides."""

    source: Slice
    target: Slice

    def buckets(self, keys_at_once: int) -> int:
        """How often the partitions are read when at most so many keys are kept."""
        return max(1, -(-max(self.source.offsets, self.target.offsets) // keys_at_once))


class _Stop(Stop):
    """The request to stop of a task."""

    def __init__(self, context: TaskContext) -> None:
        super().__init__()
        self._context = context

    def __bool__(self) -> bool:
        return self._context.stopped()


def run(settings: CompareSettings, task: CompareTask, context: TaskContext) -> dict[str, Any]:
    """See ``Kernel``."""
    joins = 0 if settings.compacted else RUN_BYTES
    with ExitStack() as stack:
        source, target = (
            stack.enter_context(Consumer(cluster.inner_options(ConsumerOptions, **reading()), joins=joins))
            for cluster in (settings.source, settings.target)
        )
        found: Difference | KeyDifference | None
        listed: Listed | None = None
        if settings.compacted:
            compared, found = _last_records(source, target, settings, task, context)
        else:
            compared, found, ignored = compare_records(
                source, target, task, context, locate=settings.locate, within=settings.within
            )
            if found is not None and settings.locate:
                listed = list_differences(
                    source,
                    target,
                    _pair(task),
                    found,
                    timestamps=not ignored,
                    stop=_Stop(context),
                    view=View(settings.within, settings.within),
                )
    item = {
        "topic": task.source.topic,
        "partition": task.source.partition,
        "target_topic": task.target.topic,
        "target_partition": task.target.partition,
        "equal": found is None,
        "compared_records": compared,
        "first_difference": None if found is None else difference_row(found),
    }
    if listed is not None and listed.differences:
        rows = [difference_row(one) for one in listed.differences]
        item |= {"first_difference": rows[0], "differences": rows, "different_records": listed.records}
    return item


def difference_row(found: Difference | KeyDifference) -> dict[str, Any]:
    """The offset is the source's, where it has a record."""
    row: dict[str, Any] = {"offset": found.source_offset, "why": found.what}
    if found.source_offset is None:
        row["target_offset"] = found.target_offset
    if isinstance(found, Difference) and found.record is not None:
        key = found.record.key
        row["key"], encoded = (None, False) if key is None else bytes_text(key)
        if encoded:
            row["key_encoding"] = BASE64
    return row


def _pair(task: CompareTask) -> Pair:
    return Pair(
        Extent(task.source.tp, task.source.start, task.source.end),
        Extent(task.target.tp, task.target.start, task.target.end),
    )


def reading() -> dict[str, Any]:
    """The options of a consumer that compares, by field name."""
    return {
        "isolation_level": "read_committed",
        "max_poll_records": WHOLE_BATCHES,
        "max_partition_fetch_bytes": _FETCH_BYTES,
    }


def compare_records(
    source: Consumer,
    target: Consumer,
    task: CompareTask,
    context: TaskContext,
    *,
    locate: bool,
    within: Change | None = None,
) -> tuple[int, Difference | None, str]:
    """How many records were compared, the first difference, and why timestamps were not compared, if so."""
    done = 0

    def progress(read: Any) -> None:
        nonlocal done
        context.progress(min(read.source, read.target) - done, 0)
        done = min(read.source, read.target)

    stop = _Stop(context)
    (found,) = compare(
        source,
        target,
        [_pair(task)],
        timestamps=True,
        stop=stop,
        progress=progress,
        locate=locate,
        view=View(within, within),
    )
    if stop:
        raise StoppedTaskError("the job was stopped before this partition was compared")
    if found.error is not None:
        raise found.error
    difference = found.difference
    if (
        difference is None and not found.equal
    ):  # the records that differed are equal now: compaction ran meanwhile
        difference = Difference(
            task.source.start, task.target.start, "the records changed while they were compared"
        )
    return min(found.source_records, found.target_records), difference, found.ignored


def _last_records(
    source: Consumer, target: Consumer, settings: CompareSettings, task: CompareTask, context: TaskContext
) -> tuple[int, KeyDifference | None]:
    buckets = task.buckets(settings.keys_at_once)
    compared, first = 0, None
    for bucket in range(buckets):
        here, there = (
            read_last(consumer, of, bucket, buckets, context, settings.within)
            for consumer, of in ((source, task.source), (target, task.target))
        )
        compared += live_keys(here.by_key)
        found = min(key_differences(here.by_key, there.by_key), key=_place, default=None)
        if found is not None and (first is None or _place(found) < _place(first)):
            first = found
    return compared, first


def _place(found: KeyDifference) -> tuple[bool, int]:
    """Orders differences by the source's offsets; keys that only the target has come last."""
    if found.source_offset is not None:
        return False, found.source_offset
    return True, found.target_offset or 0


def read_last(
    consumer: Consumer,
    of: Slice,
    bucket: int,
    buckets: int,
    context: TaskContext,
    within: Change | None = None,
) -> LastValues:
    """The last records of the keys of a bucket; see ``LastValues``, whose ``change`` is ``within``."""
    values = LastValues(bucket, buckets, change=within)
    for fetched in batches(consumer, of, context):
        before = values.records
        try:
            values.update(fetched.batch, fetched.first, fetched.stop)
        except CorruptRecordsError as error:
            raise error.in_partition(of.tp) from None
        context.progress(values.records - before, 0)
    return values


def batches(consumer: Consumer, of: Slice, context: TaskContext) -> Iterator[FetchedBatch]:
    """All batches of the slice; valid until the next one is asked for."""
    if not of.offsets:
        return
    consumer.assign({of.tp: Span(of.start, of.end)})
    while not consumer.done:
        if context.stopped():
            raise StoppedTaskError(f"the job was stopped before {of.tp} was read")
        for fetched in consumer.poll(_POLL):
            if not fetched.batch.is_control:
                yield fetched
            fetched.batch.forget_payload()
