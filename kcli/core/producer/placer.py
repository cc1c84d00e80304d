"""Adds records to the open batches of their partitions, in whole runs.

A call for many records raises before it has queued any of them; records that cannot be queued after that are passed to
``refuse``, so that each record is either in a batch or refused. Runs in the caller's thread, or in the sender's for
parked records. The partitions come from the cluster's view; the partitioner chooses among them.
"""

from _random import Random  # what `random` is made of; that computes tables when it is imported
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from kcli.core.cluster.metadata import ClusterView, TopicView, no_partition
from kcli.core.errors import KcliError
from kcli.core.kernels.shapes import Row
from kcli.core.producer.accumulator import Accumulator, Fill
from kcli.core.producer.batch import ProducerBatch, RecordFuture
from kcli.core.producer.origins import OriginRows, Refuse, Rows, listed_rows, shifted
from kcli.core.producer.partitioner import (
    ANYWHERE,
    SPREADS_NULLS,
    OwnPartitioner,
    chooser,
    no_partition_named,
)
from kcli.core.producer.serialization import bytes_of
from kcli.core.records.builder import BatchBuilder
from kcli.core.types import ProducerRecord, TopicPartition

_CHANCE = Random()

Nullable = Sequence[bytes | None]


class Placer:
    """``view()`` returns the current view of the cluster; the topic's partitions must be in it."""

    def __init__(
        self,
        chosen: str | OwnPartitioner,
        accumulator: Accumulator,
        view: Callable[[], ClusterView],
        sticky_bytes: int,
    ) -> None:
        self._choose = chooser(chosen)
        self.is_murmur2 = chosen == "murmur2"
        self.spreads_nulls = not isinstance(chosen, str) or chosen in SPREADS_NULLS
        self.accumulator = accumulator
        self._view = view
        self._sticky_bytes = sticky_bytes
        self._sticky: dict[str, tuple[TopicPartition, int]] = {}
        self._choices: dict[str, tuple[TopicView, list[TopicPartition]]] = {}

    def add_record(self, record: ProducerRecord, timestamp: int, size: int, future: RecordFuture) -> None:
        """Adds one record; ``future`` is bound to its batch."""

        def fill(batch: ProducerBatch) -> int:
            index = batch.count
            if not batch.builder.append(record.key, record.value, record.headers, timestamp):
                return 0
            future.bind(batch.tp, batch.delivery, index, timestamp)
            return 1

        partition = record.partition
        if partition is None:
            partition = self.partitions(record.topic, [record.key], size)[0]
        self.append(TopicPartition(record.topic, partition), fill)

    def add_rows(
        self,
        topic: str,
        rows: Sequence[Row],
        partition: int | None,
        *,
        partitions: Sequence[int] | None = None,
        origin: Any = None,
        first_row: int = 0,
        refuse: Refuse,
    ) -> None:
        """Adds rows, each with its own key, value, header block and timestamp, in order within each partition.

        ``partitions`` are those of the rows where already chosen; a row with −1 is refused. ``origin``: see
        ``origins.py``; ``first_row`` is the number of the first row there, and row numbers passed to ``refuse`` are
        counted from it, too.
        """
        groups: defaultdict[int, list[int]] = defaultdict(list)
        if partition is not None:
            self.check(TopicPartition(topic, partition))
        elif not partitions:
            keys, values, *_ = zip(*rows, strict=True)
            if keys.count(None) == len(keys) and not self.spreads_nulls:
                partition = self.sticky_partition(topic, bytes_of(values))
            else:
                partitions = self.partitions(topic, keys, bytes_of(values))
        if partitions and partition is None and len(set(partitions)) == 1:
            partition = partitions[0]
        if partition is not None:
            groups[partition] = list(range(len(rows)))
        else:
            for index, number in enumerate(partitions or ()):
                groups[number].append(index)
        for number, indexes in groups.items():
            own = rows if len(indexes) == len(rows) else [rows[index] for index in indexes]
            numbers = shifted(listed_rows(indexes), first_row)
            if number == ANYWHERE:
                refuse(numbers, bytes_of(row[1] for row in own), no_partition_named())
                continue
            self._add_to_partition(TopicPartition(topic, number), own, origin, numbers, refuse)

    def _add_to_partition(
        self, tp: TopicPartition, rows: Sequence[Row], origin: Any, numbers: Rows, refuse: Refuse
    ) -> None:
        start = 0

        def fill(batch: ProducerBatch) -> int:
            first = batch.count
            taken = batch.builder.append_rows(rows, start)
            if origin is not None and taken:
                batch.origins.append(OriginRows(first, origin, numbers[start : start + taken]))
            return taken

        try:
            while start < len(rows):
                start += self.append(tp, fill)
        except KcliError as error:
            size = bytes_of(row[0] for row in rows[start:]) + bytes_of(row[1] for row in rows[start:])
            refuse(numbers[start:], size, error)

    def add_batch(
        self, tp: TopicPartition, builder: BatchBuilder, future: RecordFuture, origins: list[OriginRows]
    ) -> None:
        """Adds a complete batch; ``future`` is that of its first record."""
        self.check(tp)

        def bind(batch: ProducerBatch) -> None:
            batch.origins = origins
            future.bind(tp, batch.delivery, 0, builder.base_timestamp)

        self.accumulator.append_sealed(tp, builder, bind)

    def append(self, tp: TopicPartition, fill: Fill) -> int:
        """Lets ``fill`` put records into the partition's open batch; returns how many."""
        self.check(tp)
        return self.accumulator.append(tp, fill)

    def check(self, tp: TopicPartition) -> None:
        """Raises UnknownPartitionError if the topic does not have the partition."""
        topic = self._view().topics.get(tp.topic)
        if topic is not None and topic.partition(tp.partition) is None:
            raise no_partition(tp, len(topic.partitions))

    def partition_count(self, topic: str) -> int:
        """The number of partitions of the topic."""
        return len(self._view().topics[topic].partitions)

    def partitions(self, topic: str, keys: Nullable, size: int) -> list[int]:
        """The partition of each key; ``size`` bytes are counted for the partition of records without a key."""
        chosen = self._choose(topic, keys, len(self._view().topics[topic].partitions))
        if ANYWHERE in chosen:
            sticky = self.sticky_partition(topic, size)
            chosen = [sticky if number == ANYWHERE else number for number in chosen]
        return chosen

    def sticky_partition(self, topic: str, size: int) -> int:
        """The partition for records without a key until it has received a batch's worth of bytes; it has a leader."""
        return self.sticky(topic, size).partition

    def sticky(self, topic: str, size: int) -> TopicPartition:
        """Like ``sticky_partition``, with the topic."""
        tp, sent = self._sticky.get(topic, (None, 0))
        if tp is None or sent >= self._sticky_bytes:
            view = self._view().topics[topic]
            if topic not in self._choices or self._choices[topic][0] is not view:
                self._choices[topic] = (view, _with_leader(topic, view))
            some = self._choices[topic][1]
            tp, sent = some[int(_CHANCE.random() * len(some))], 0
        self._sticky[topic] = (tp, sent + size)
        return tp

    def count(self, topic: str, size: int) -> None:
        """So many bytes were added to the partition of ``sticky``: for a caller who knows their number only then.

        Without it a slow load, whose batches are sent before they are full, would stay in one partition for ever.
        """
        tp, sent = self._sticky[topic]
        self._sticky[topic] = (tp, sent + size)

    def unstick(self, topic: str) -> None:
        """Moves records without a key to another partition."""
        self._sticky.pop(topic, None)


def _with_leader(topic: str, view: TopicView) -> list[TopicPartition]:
    """The partitions that have a leader, or all if none has."""
    led = [p for p in view.partitions if p.leader >= 0]
    return [TopicPartition(topic, p.partition) for p in led or view.partitions]
