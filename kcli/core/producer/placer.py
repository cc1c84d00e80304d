"""Puts records into the open batches of their partitions, whole runs at a time.

Runs in the caller's thread, or in the sender's for records that were parked. Knows the partitions from the
cluster's view; which partition a key belongs to is the partitioner's decision.
"""

import random
from collections.abc import Callable, Sequence
from functools import partial
from operator import is_, is_not
from typing import cast

from kcli.core.cluster.metadata import ClusterView, no_partition
from kcli.core.producer.accumulator import Accumulator, Fill
from kcli.core.producer.batch import ProducerBatch, RecordFuture
from kcli.core.producer.partitioner import ANYWHERE, SPREADS_NULLS, OwnPartitioner, chooser
from kcli.core.records.builder import BatchBuilder
from kcli.core.records.kernels import Row
from kcli.core.types import ProducerRecord, TopicPartition

Nullable = Sequence[bytes | None]

_PRESENT = partial(is_not, None)
_ABSENT = partial(is_, None)


class Placer:
    """``view()`` gives the cluster as it is known now; the topic's partitions must be in it."""

    def __init__(
        self,
        chosen: str | OwnPartitioner,
        accumulator: Accumulator,
        view: Callable[[], ClusterView],
        sticky_bytes: int,
    ) -> None:
        self._choose = chooser(chosen)
        self._spreads_nulls = not isinstance(chosen, str) or chosen in SPREADS_NULLS
        self._accumulator = accumulator
        self._view = view
        self._sticky_bytes = sticky_bytes
        self._sticky: dict[str, tuple[int, int]] = {}

    def record(self, record: ProducerRecord, timestamp: int, size: int, future: RecordFuture) -> None:
        """One record; ``future`` learns where it went."""

        def fill(batch: ProducerBatch) -> int:
            index = batch.count
            if not batch.builder.append(record.key, record.value, record.headers, timestamp):
                return 0
            future.bind(batch.where, batch.delivery, index, timestamp)
            return 1

        partition = record.partition
        if partition is None:
            partition = self._partitions(record.topic, [record.key], size)[0]
        self._append(TopicPartition(record.topic, partition), fill)

    def lines(
        self,
        topic: str,
        values: Sequence[bytes],
        *,
        key: bytes | None,
        headers: bytes,
        partition: int | None,
        timestamp: int,
    ) -> None:
        """Values with one key; without key and partition they fill one partition's batch before the next's."""
        if partition is None and self._spreads_nulls:
            self.keyed(
                topic, [key] * len(values), values, headers=headers, partition=None, timestamp=timestamp
            )
            return
        if partition is None and key is not None:
            partition = self._partitions(topic, [key], 0)[0]
        start = 0

        def fill(batch: ProducerBatch) -> int:
            return batch.builder.append_lines(values, start, timestamp, key=key, headers=headers)

        while start < len(values):
            to = self._sticky_partition(topic, 0) if partition is None else partition
            start += self._append(TopicPartition(topic, to), fill)
            if partition is None and start < len(values):
                self._sticky.pop(topic, None)  # its batch is full: on to another partition (KIP-794)

    def keyed(
        self,
        topic: str,
        keys: Nullable,
        values: Nullable,
        *,
        headers: bytes,
        partition: int | None,
        timestamp: int,
    ) -> None:
        """Parallel keys and values, partitioned in one go, in order within each partition."""
        if not (self._spreads_nulls or any(map(_PRESENT, keys)) or any(map(_ABSENT, values))):
            lines = cast("Sequence[bytes]", values)
            self.lines(topic, lines, key=None, headers=headers, partition=partition, timestamp=timestamp)
            return
        groups: dict[int, list[int]] = {}
        if partition is None:
            size = sum(len(value or b"") for value in values)
            for index, number in enumerate(self._partitions(topic, keys, size)):
                groups.setdefault(number, []).append(index)
        else:
            groups[partition] = list(range(len(values)))
        for number, rows in groups.items():
            own_keys, own_values = [keys[i] for i in rows], [values[i] for i in rows]
            self._group(TopicPartition(topic, number), own_keys, own_values, headers, timestamp)

    def rows(self, topic: str, rows: Sequence[Row], partition: int | None) -> None:
        """Rows with key, value, header block and time of their own, in order within each partition."""
        keys, values, blocks, times = zip(*rows, strict=True)
        if len(set(times)) == 1 and len(set(blocks)) == 1:  # then a faster kernel will do
            self.keyed(topic, keys, values, headers=blocks[0], partition=partition, timestamp=times[0])
            return
        groups: dict[int, list[Row]] = {}
        if partition is None:
            size = sum(len(value or b"") for value in values)
            numbers = self._partitions(topic, keys, size)
            for number, row in zip(numbers, rows, strict=True):
                groups.setdefault(number, []).append(row)
        else:
            groups[partition] = list(rows)
        for number, group in groups.items():
            self._rows(TopicPartition(topic, number), group)

    def _rows(self, where: TopicPartition, rows: list[Row]) -> None:
        start = 0

        def fill(batch: ProducerBatch) -> int:
            return batch.builder.append_rows(rows, start)

        while start < len(rows):
            start += self._append(where, fill)

    def batch(self, where: TopicPartition, builder: BatchBuilder, future: RecordFuture) -> None:
        """A batch that is complete as it is; ``future`` is of its first record."""
        self._check(where)

        def place(batch: ProducerBatch) -> None:
            future.bind(where, batch.delivery, 0, builder.base_timestamp)

        self._accumulator.append_sealed(where, builder, place)

    def _group(
        self, where: TopicPartition, keys: Nullable, values: Nullable, headers: bytes, timestamp: int
    ) -> None:
        start = 0

        def fill(batch: ProducerBatch) -> int:
            return batch.builder.append_keyed(keys, values, start, timestamp, headers=headers)

        while start < len(values):
            start += self._append(where, fill)

    def _append(self, where: TopicPartition, fill: Fill) -> int:
        self._check(where)
        return self._accumulator.append(where, fill)

    def _check(self, where: TopicPartition) -> None:
        topic = self._view().topics.get(where.topic)
        if topic is not None and topic.partition(where.partition) is None:
            raise no_partition(where, len(topic.partitions))

    def _partitions(self, topic: str, keys: Nullable, size: int) -> list[int]:
        chosen = self._choose(topic, keys, len(self._view().topics[topic].partitions))
        if ANYWHERE in chosen:
            sticky = self._sticky_partition(topic, size)
            chosen = [sticky if number == ANYWHERE else number for number in chosen]
        return chosen

    def _sticky_partition(self, topic: str, size: int) -> int:
        """Where records without a key go until a batch's worth of bytes went there: one that has a leader."""
        partition, sent = self._sticky.get(topic, (-1, 0))
        if partition < 0 or sent >= self._sticky_bytes:
            partitions = self._view().topics[topic].partitions
            led = [p.partition for p in partitions if p.leader >= 0]
            partition, sent = random.choice(led or [p.partition for p in partitions]), 0
        self._sticky[topic] = (partition, sent + size)
        return partition
