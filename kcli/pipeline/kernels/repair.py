"""Adds to a partition of the target what ``compare`` has found missing: records at its end, or last records of keys.

It compares again first, so another attempt continues after what was stored before.
"""

from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

from kcli.core.cluster.offsets import LATEST
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.options import ConsumerOptions, ProducerOptions
from kcli.core.producer.producer import Producer
from kcli.core.types import ProducerRecord, Record
from kcli.flows.mirror.proof.compare import Difference
from kcli.flows.mirror.proof.last_values import key_differences
from kcli.pipeline.job import TaskContext
from kcli.pipeline.kernels.compare import (
    CompareSettings,
    CompareTask,
    batches,
    compare_records,
    read_last,
    reading,
)
from kcli.pipeline.plan import Slice

_PATIENCE = 120.0  # seconds until all records are acknowledged


class CannotRepairError(KcliError):
    """The partitions differ in another way than by missing records."""

    exit_code = ExitCode.REFUSED


def run(settings: CompareSettings, task: CompareTask, context: TaskContext) -> dict[str, Any]:
    """See ``Kernel``."""
    with ExitStack() as stack:
        source, target = (
            stack.enter_context(Consumer(cluster.inner_options(ConsumerOptions, **reading())))
            for cluster in (settings.source, settings.target)
        )
        end = target.list_offsets({task.target.tp: LATEST}, target.options.default_api_timeout_ms / 1000)
        found = end[task.target.tp]
        if isinstance(found, KcliError):
            raise found
        task = task._replace(target=task.target._replace(end=found.offset))
        producer = stack.enter_context(Producer(settings.target.inner_options(ProducerOptions)))
        work = _Repair(source, target, producer, task, context)
        if settings.compacted:
            work.last_records(settings.keys_at_once)
        else:
            work.missing_end()
        work.finish()
    return {
        "topic": task.source.topic,
        "partition": task.source.partition,
        "target_topic": task.target.topic,
        "target_partition": task.target.partition,
        "records": work.records,
        "bytes": work.bytes,
    }


class _Repair:
    def __init__(
        self, source: Consumer, target: Consumer, producer: Producer, task: CompareTask, context: TaskContext
    ) -> None:
        self._source, self._target, self._producer = source, target, producer
        self._task, self._context = task, context
        self._futures: list[Any] = []
        self.records = self.bytes = 0

    def missing_end(self) -> None:
        """Appends the records after the last one that the target has, if all before are equal."""
        _, found, _ = compare_records(self._source, self._target, self._task, self._context, locate=True)
        if found is None:
            return
        if found.target_offset is not None or found.source_offset is None:
            raise cannot_repair(self._task, found)
        missing = self._task.source._replace(start=found.source_offset)
        for fetched in batches(self._source, missing, self._context):
            before = self.records
            for record in fetched.batch.records():
                if fetched.first <= record.offset < fetched.stop:
                    self._send(record)
            self._context.progress(self.records - before, 0)

    def last_records(self, keys_at_once: int) -> None:
        """Writes the last record of each key that differs; a tombstone for a key that the source does not have."""
        buckets = self._task.buckets(keys_at_once)
        for bucket in range(buckets):
            here, there = (
                read_last(consumer, of, bucket, buckets, self._context)
                for consumer, of in ((self._source, self._task.source), (self._target, self._task.target))
            )
            found = list(key_differences(here.by_key, there.by_key))
            copied = {one.source_offset for one in found if one.source_offset is not None}
            removed = {
                one.target_offset
                for one in found
                if one.source_offset is None and one.target_offset is not None
            }
            for record in self._at(self._source, self._task.source, copied):
                self._send(record)
            for record in self._at(self._target, self._task.target, removed):
                self._send(record._replace(value=None, headers=()))

    def finish(self) -> None:
        """Waits until everything is stored."""
        self._producer.flush(_PATIENCE)
        for future in self._futures:
            future.result(0)

    def _send(self, record: Record) -> None:
        self._futures.append(
            self._producer.send(
                ProducerRecord(
                    self._task.target.topic,
                    record.value,
                    record.key,
                    record.headers,
                    self._task.target.partition,
                    record.timestamp,
                )
            )
        )
        self.records += 1
        self.bytes += len(record.key or b"") + len(record.value or b"")
        if len(self._futures) >= 10_000:
            self.finish()
            self._futures.clear()

    def _at(self, consumer: Consumer, of: Slice, offsets: set[int]) -> Iterable[Record]:
        """The records at these offsets, in order."""
        if not offsets:
            return
        span = of._replace(start=min(offsets), end=max(offsets) + 1)
        for fetched in batches(consumer, span, self._context):
            if not any(offset in offsets for offset in range(fetched.first, fetched.stop)):
                continue
            for record in fetched.batch.records():
                if record.offset in offsets:
                    yield record


def cannot_repair(task: CompareTask, found: Difference) -> CannotRepairError:
    """The error for a difference that no added record removes."""
    return CannotRepairError(
        f"{task.target.tp} of the target cannot be repaired by adding records",
        why=f"it differs from {task.source.tp} of the source at offset "
        f"{found.source_offset if found.source_offset is not None else found.target_offset}: {found.what}",
        do=f"delete topic {task.target.topic} on the target and copy it again",
    )
