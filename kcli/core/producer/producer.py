"""The producer: never blocks on the network, only on memory; a background thread sends (client proposal).

Rows go straight into batches, so that there is no object per record on the bulk paths. ``send`` returns a
future; ``on_delivery`` is told of each settled batch, in the sender's thread.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kcli.core import clock
from kcli.core.cluster.cluster import Cluster
from kcli.core.errors import ClosedError, ConfigError, KcliError, NotFoundError
from kcli.core.hooks import NO_HOOKS, Hooks
from kcli.core.options import ProducerOptions, build
from kcli.core.producer.accumulator import Accumulator, Parked
from kcli.core.producer.batch import ProducerBatch, RecordFuture
from kcli.core.producer.partitioner import ANYWHERE, SPREADS_NULLS, partitioner
from kcli.core.producer.sender import Sender
from kcli.core.records.builder import BatchBuilder
from kcli.core.records.codec import CODEC_NAMES
from kcli.core.records.kernels import NO_HEADERS
from kcli.core.types import ProducerRecord, TopicPartition


@dataclass(frozen=True, slots=True)
class Report:
    """A settled batch, or records that never found one. ``base_offset`` −1: not known."""

    where: TopicPartition
    count: int
    size: int
    base_offset: int
    error: KcliError | None


class RecordTooLargeError(KcliError):
    """A record above ``max.request.size``: it was not sent."""


def record_size(record: ProducerRecord) -> int:
    """About how many bytes a record takes in a batch."""
    headers = sum(len(name) + len(value or b"") + 4 for name, value in record.headers)
    return len(record.value or b"") + len(record.key or b"") + headers + 32


@dataclass(slots=True)
class Totals:
    """What became of all records so far; ``bytes`` before compression, of confirmed records."""

    confirmed: int = 0
    failed: int = 0
    bytes: int = 0
    first_error: KcliError | None = None


class Producer:
    """``Producer(bootstrap_servers="host:9092", acks="all")``; a context manager that flushes and closes."""

    def __init__(
        self,
        options: ProducerOptions | None = None,
        *,
        hooks: Hooks = NO_HOOKS,
        on_delivery: Callable[[Report], None] | None = None,
        **values: Any,
    ) -> None:
        self.options = options or build(ProducerOptions, values)
        self._on_delivery = on_delivery
        self._by_key = partitioner(self.options.partitioner)
        self._spreads_nulls = self.options.partitioner in SPREADS_NULLS
        self._sticky: dict[str, int] = {}
        self._cluster = Cluster(self.options, hooks=hooks)
        codec, level = CODEC_NAMES.index(self.options.compression_type), self.options.compression_level
        self._accumulator = Accumulator(
            batch_size=self.options.batch_size,
            linger=self.options.linger_ms / 1000,
            memory=self.options.buffer_memory,
            max_block=self.options.max_block_ms / 1000,
            delivery_timeout=self.options.delivery_timeout_ms / 1000,
            new_builder=lambda room: BatchBuilder(room=room, codec=codec, level=level),
            now=self._cluster.loop.now,
        )
        self._sender = Sender(self._cluster, self.options, self._accumulator, self._batch_settled)
        self._completed = threading.Condition()
        self._totals = Totals()
        self._outstanding = 0
        self._thread: threading.Thread | None = None
        self._crash: BaseException | None = None

    def __enter__(self) -> Producer:
        return self

    def __exit__(self, exc_type: object, *_exc: object) -> None:
        self.close(timeout=0.0 if exc_type is not None else None)

    # --- before the first record -------------------------------------------------------------------

    def connect(self, topics: Sequence[str], timeout: float, topic_patience: float = 0.0) -> None:
        """First contact and a look at ``topics``: raises what a user should hear before any input is read.

        Optional, and only before the first send: the calling thread still owns the loop then. A topic that is
        unknown is asked for again for ``topic_patience`` seconds (it may be about to be created).
        """
        cluster = self._cluster
        cluster.topics.update(topics)
        deadline = cluster.deadline(timeout)
        cluster.connect(timeout)
        cluster.ensure_topics(topics, deadline)
        give_up = cluster.loop.now() + topic_patience
        while missing := [t for t in topics if not cluster.view.topics[t].partitions]:
            if cluster.loop.now() >= give_up:
                from kcli.core.producer.sender import topic_error

                raise topic_error(cluster.view.topics[missing[0]])
            cluster.request_refresh()
            cluster.sleep(self.options.retry_backoff_ms / 1000)

    def known_topics(self, timeout: float) -> list[str]:
        """Names of all topics; like ``connect``, only before the first send."""
        return sorted(self._cluster.all_topics(self._cluster.deadline(timeout)).topics)

    def partitions_of(self, topic: str) -> int:
        """How many partitions the topic has, 0 while that is not known."""
        view = self._cluster.view.topics.get(topic)
        return len(view.partitions) if view else 0

    # --- sending ------------------------------------------------------------------------------------

    def send(self, record: ProducerRecord) -> RecordFuture:
        """Queues one record and returns the future of its delivery."""
        future = RecordFuture(self._wait)
        stamp = clock.wall_ms() if record.timestamp is None else record.timestamp
        size = record_size(record)
        if size > self.options.max_request_size:
            raise RecordTooLargeError(
                f"a record of {size:,} bytes for {record.topic} is too large",
                why=f"max.request.size is {self.options.max_request_size:,}",
                do="raise max.request.size, and the topic's max.message.bytes with it",
            )

        def fill(batch: ProducerBatch) -> int:
            index = batch.count
            if not batch.builder.append(record.key, record.value, record.headers, stamp):
                return 0
            future.bind(batch.where, batch.delivery, index, stamp)
            return 1

        def place() -> None:
            partition = record.partition
            if partition is None:
                partition = self._partitions(record.topic, [record.key])[0]
            self._append(TopicPartition(record.topic, partition), fill)

        self._submit(record.topic, 1, size, place, future.fail)
        return future

    def send_lines(
        self,
        topic: str,
        values: Sequence[bytes],
        *,
        key: bytes | None = None,
        headers: bytes = NO_HEADERS,
        partition: int | None = None,
        timestamp: int | None = None,
    ) -> None:
        """Queues values that share key, header block and time, whole batches at a time.

        ``headers`` is an encoded block (``encode_headers``). Without partition and key they fill one partition's
        batch before the next one's (KIP-794).
        """
        if not values:
            return
        stamp = clock.wall_ms() if timestamp is None else timestamp

        def place() -> None:
            start = 0
            fixed = partition
            if fixed is None and (key is not None or self._spreads_nulls):
                if self._spreads_nulls:
                    self._place_rows(topic, [key] * len(values), values, headers, stamp)
                    return
                fixed = self._partitions(topic, [key])[0]

            def fill(batch: ProducerBatch) -> int:
                return batch.builder.append_lines(values, start, stamp, key=key, headers=headers)

            while start < len(values):
                to = self._sticky_partition(topic) if fixed is None else fixed
                taken = self._append(TopicPartition(topic, to), fill)
                start += taken
                if fixed is None and start < len(values):
                    self._sticky.pop(topic, None)

        self._submit(topic, len(values), sum(map(len, values)) + 8 * len(values), place)

    def send_keyed(
        self,
        topic: str,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        *,
        headers: bytes = NO_HEADERS,
        partition: int | None = None,
        timestamp: int | None = None,
    ) -> None:
        """Queues records given as parallel keys and values, partitioned in one go."""
        if not values:
            return
        stamp = clock.wall_ms() if timestamp is None else timestamp
        size = sum(len(k or b"") + len(v or b"") + 8 for k, v in zip(keys, values, strict=True))

        def place() -> None:
            if partition is not None:
                self._place_group(TopicPartition(topic, partition), keys, values, headers, stamp)
            else:
                self._place_rows(topic, keys, values, headers, stamp)

        self._submit(topic, len(values), size, place)

    def interrupt(self) -> None:
        """Ends the wait of a thread that waits for memory, with ClosedError; for signal handlers."""
        self._accumulator.interrupt()

    def push(self) -> None:
        """Sends what is queued without lingering; does not wait."""
        self._accumulator.flush()
        self._cluster.loop.wakeup()

    def flush(self, timeout: float | None = None) -> bool:
        """Waits until everything sent so far is settled; False when ``timeout`` seconds were not enough."""
        self.push()
        done = self._wait(lambda: self._outstanding == 0, timeout)
        self._raise_crash()
        return done

    @property
    def totals(self) -> Totals:
        """Counts of confirmed and failed records so far."""
        return self._totals

    @property
    def outstanding(self) -> int:
        """Records that are neither confirmed nor failed."""
        return self._outstanding

    def close(self, timeout: float | None = None) -> None:
        """Flushes for at most ``timeout`` seconds, then stops; what is not confirmed by then has failed."""
        self._accumulator.close(ClosedError("the producer is closed"))
        if self._thread is None:
            self._cluster.close()
            return
        self._sender.stop_when_idle = True
        self._cluster.loop.wakeup()
        self._thread.join(timeout)
        if self._thread.is_alive():
            self._sender.stop_now = True
            self._cluster.loop.wakeup()
            self._thread.join()

    # --- inside --------------------------------------------------------------------------------------

    def _submit(
        self,
        topic: str,
        count: int,
        size: int,
        place: Callable[[], None],
        failed: Callable[[KcliError], None] | None = None,
    ) -> None:
        """Places records now, or parks them while the topic's partitions are unknown."""
        self._raise_crash()
        self._accumulator.wait_for_memory()
        self._ensure_thread()
        with self._completed:
            self._outstanding += count
        view = self._cluster.view.topics.get(topic)
        try:
            if view is None or not view.partitions or self._accumulator.is_parked(topic):
                self._park(topic, count, size, place, failed)
            else:
                place()
        except BaseException:
            with self._completed:
                self._outstanding -= count  # refused before anything was placed
            raise
        self._cluster.loop.wakeup()

    def _park(
        self,
        topic: str,
        count: int,
        size: int,
        place: Callable[[], None],
        failed: Callable[[KcliError], None] | None,
    ) -> None:
        def fail(error: KcliError) -> None:
            if failed is not None:
                failed(error)
            self._account(Report(TopicPartition(topic, -1), count, size, -1, error))

        def place_or_fail() -> None:
            try:
                place()
            except KcliError as error:
                fail(error)
            except (TypeError, ValueError, AttributeError) as error:
                fail(ConfigError(f"a record for {topic} cannot be encoded", why=str(error)))

        deadline = self._cluster.loop.now() + self.options.max_block_ms / 1000
        self._accumulator.park(topic, Parked(count, size, deadline, place_or_fail, fail))

    def _append(self, where: TopicPartition, fill: Callable[[ProducerBatch], int]) -> int:
        view = self._cluster.view.topics.get(where.topic)
        if view is not None and view.partition(where.partition) is None:
            raise NotFoundError(
                f"topic {where.topic} has no partition {where.partition}",
                why=f"it has {len(view.partitions)}, numbered from 0",
            )
        return self._accumulator.append(where, fill)

    def _place_rows(
        self,
        topic: str,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        headers: bytes,
        stamp: int,
    ) -> None:
        groups: dict[int, list[int]] = {}
        for index, partition in enumerate(self._partitions(topic, keys)):
            groups.setdefault(partition, []).append(index)
        for partition, rows in groups.items():
            self._place_group(
                TopicPartition(topic, partition),
                [keys[i] for i in rows],
                [values[i] for i in rows],
                headers,
                stamp,
            )

    def _place_group(
        self,
        where: TopicPartition,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        headers: bytes,
        stamp: int,
    ) -> None:
        start = 0

        def fill(batch: ProducerBatch) -> int:
            return batch.builder.append_keyed(keys, values, start, stamp, headers=headers)

        while start < len(values):
            start += self._append(where, fill)

    def _partitions(self, topic: str, keys: Sequence[bytes | None]) -> list[int]:
        chosen = self._by_key(keys, self.partitions_of(topic))
        if ANYWHERE in chosen:
            sticky = self._sticky_partition(topic)
            chosen = [sticky if p == ANYWHERE else p for p in chosen]
        return chosen

    def _sticky_partition(self, topic: str) -> int:
        """Where records without a key go at the moment: a partition with a leader, if there is one."""
        known = self._sticky.get(topic)
        if known is None:
            view = self._cluster.view.topics[topic]
            led = [p.partition for p in view.partitions if p.leader >= 0]
            known = random.choice(led or [p.partition for p in view.partitions])
            self._sticky[topic] = known
        return known

    def _batch_settled(self, batch: ProducerBatch) -> None:
        delivery = batch.delivery
        self._account(Report(batch.where, batch.count, batch.size, delivery.base_offset, delivery.error))

    def _account(self, report: Report) -> None:
        with self._completed:
            self._outstanding -= report.count
            if report.error is None:
                self._totals.confirmed += report.count
                self._totals.bytes += report.size
            else:
                self._totals.failed += report.count
                self._totals.first_error = self._totals.first_error or report.error
            self._completed.notify_all()
        if self._on_delivery is not None:
            self._on_delivery(report)

    def _wait(self, done: Callable[[], bool], timeout: float | None) -> bool:
        with self._completed:
            return self._completed.wait_for(lambda: done() or self._crash is not None, timeout) and done()

    def _raise_crash(self) -> None:
        if self._crash is not None:
            raise KcliError("the sender thread has died", why=repr(self._crash)) from self._crash

    def _ensure_thread(self) -> None:
        with self._completed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="kcli-sender", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        try:
            self._sender.run()
        except BaseException as crash:
            self._crash = crash
            self._accumulator.close(KcliError("the sender thread has died", why=repr(crash)))
            with self._completed:
                self._completed.notify_all()
            raise
