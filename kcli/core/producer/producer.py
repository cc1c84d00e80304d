"""The producer: a send blocks only on buffer memory, never on the network; a background thread sends.

Rows are encoded directly into batches, so that the bulk paths create no object per record. ``send`` returns a future;
``on_delivery`` is called for each completed batch, in the sender's thread. A call for many records raises only before
any of them is queued; records that cannot be queued after that are reported and counted as failed, immediately and in
the calling thread. So each record of a call that returned is reported exactly once.

An exception in the middle of such a call would leave the caller unable to say which rows are in a batch:
``--failed`` once lost a chunk of lines that way. Tested in ``tests/fault/test_producer.py`` and
``tests/fault/test_send_text.py``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from kcli.core import clock
from kcli.core.cluster.cluster import Cluster
from kcli.core.codecs.codec import CODEC_NAMES, check_level
from kcli.core.errors import (
    ClosedError,
    ConfigError,
    KcliError,
    TimedOutError,
    TransactionAbortableError,
    UnknownPartitionError,
)
from kcli.core.hooks import NO_HOOKS, Hooks
from kcli.core.kernels.shapes import NO_HEADERS, Row, Text
from kcli.core.options import ProducerOptions, given
from kcli.core.producer import process_hooks as forgotten
from kcli.core.producer.accumulator import Accumulator, Parked
from kcli.core.producer.batch import ProducerBatch, RecordFuture
from kcli.core.producer.metrics import ProducerMetrics
from kcli.core.producer.origins import Origin, Rows
from kcli.core.producer.partitioner import OwnPartitioner
from kcli.core.producer.placer import Placer
from kcli.core.producer.report import Report, Totals
from kcli.core.producer.sender import Sender
from kcli.core.producer.serialization import (
    Serializer,
    bytes_of,
    check_record,
    check_rows,
    check_size,
    check_timestamp,
    check_values,
    record_size,
    serialized,
)
from kcli.core.producer.text_placer import Region, TextFormat, TextPlacer
from kcli.core.records.batch import HEADER_SIZE
from kcli.core.records.builder import BatchBuilder
from kcli.core.records.passing import take_over
from kcli.core.records.text_cut import last_line_end, line_count, line_length
from kcli.core.records.view import BatchView
from kcli.core.topic_names import check_topic
from kcli.core.types import GroupMetadata, OffsetAndMetadata, ProducerRecord, TopicPartition

if TYPE_CHECKING:
    from kcli.core.producer.transactional import Transactional


T = TypeVar("T")

_LAST_PATIENCE = 2.0  # seconds a close may exceed its timeout to end a transaction or the thread
_MOST_IN_FLIGHT = 5


class Producer:
    """``Producer(bootstrap_servers="host:9092", acks="all")``; a context manager that flushes and closes."""

    def __init__(
        self,
        options: ProducerOptions | None = None,
        *,
        hooks: Hooks = NO_HOOKS,
        on_delivery: Callable[[Report], None] | None = None,
        key_serializer: Serializer | None = None,
        value_serializer: Serializer | None = None,
        partitioner: str | OwnPartitioner | None = None,
        **values: Any,
    ) -> None:
        self.options = given(ProducerOptions, options, values)
        check_options(self.options)
        self._serializers = (key_serializer, value_serializer)
        self._serializes = key_serializer is not None or value_serializer is not None
        self._on_delivery = on_delivery
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
        self._placer = Placer(
            partitioner or self.options.partitioner,
            self._accumulator,
            lambda: self._cluster.view,
            self.options.batch_size,
        )
        self._text_placer = TextPlacer(self._placer)
        self._sender = Sender(self._cluster, self.options, self._accumulator, self._batch_settled)
        self._lock = threading.Lock()
        self._completed = threading.Condition(self._lock)
        self._totals = Totals()
        self._thread: threading.Thread | None = None
        self._crash: BaseException | None = None
        self._closed = self._ended = False
        self._transactions: Transactional | None = None
        if self._sender.transactions is not None:
            from kcli.core.producer.transactional import Transactional

            self._transactions = Transactional(
                self._sender.transactions,
                self._cluster.loop,
                self._completed,
                self._wait,
                self.options.max_block_ms / 1000,
            )

    def __enter__(self) -> Producer:
        return self

    def __exit__(self, exc_type: object, *_exc: object) -> None:
        self.close(timeout=0.0 if exc_type is not None else None)

    # --- metadata ----------------------------------------------------------------------------------

    def connect(self, topics: Sequence[str], timeout: float, topic_patience: float = 0.0) -> None:
        """Connects and checks ``topics``: raises configuration, connection and topic errors before any input is read.

        Optional, and only before the first send, while the calling thread still owns the event loop. An unknown topic
        is retried for ``topic_patience`` seconds (it may be about to be created).
        """
        cluster = self._cluster
        cluster.topics.update(topics)
        deadline = cluster.deadline(timeout)
        cluster.connect(timeout)
        cluster.require_topics(topics, deadline, topic_patience)

    def known_topics(self, timeout: float) -> list[str]:
        """The names of all topics; like ``connect``, only before the first send."""
        return sorted(self._cluster.all_topics(self._cluster.deadline(timeout)).topics)

    @property
    def cluster_id(self) -> str | None:
        """The cluster id; None before the first contact."""
        return self._cluster.view.cluster_id

    def partitions_of(self, topic: str) -> int:
        """The number of partitions of the topic; 0 while unknown."""
        view = self._cluster.view.topics.get(topic)
        return len(view.partitions) if view else 0

    # --- sending ------------------------------------------------------------------------------------

    def send(
        self, record: ProducerRecord, on_completion: Callable[[RecordFuture], None] | None = None
    ) -> RecordFuture:
        """Queues one record and returns the future of its delivery.

        ``on_completion(future)`` is called in the sender's thread when the record is confirmed or has failed; it
        must not block. Serializers run there as well, and their errors are in the future.
        """
        future = RecordFuture(self._wait, self._lock, on_completion)
        stamp = clock.wall_ms() if record.timestamp is None else record.timestamp
        check_record(record, stamp, serialized=not self._serializes)
        size = record_size(record)
        check_size(record, size, self.options.max_request_size)

        def place() -> None:
            self._placer.record(record, stamp, size, future)

        def serialize_and_place() -> None:
            ready = serialized(record, *self._serializers)
            final = record_size(ready)
            check_size(ready, final, self.options.max_request_size)
            self._placer.record(ready, stamp, final, future)

        if self._serializes:
            self._submit(record.topic, 1, size, serialize_and_place, future.fail, later=True)
        else:
            self._submit(record.topic, 1, size, place, future.fail)
        return future

    def send_rows(
        self,
        topic: str,
        rows: Sequence[Row],
        *,
        partition: int | None = None,
        partitions: Sequence[int] | None = None,
        origin: Any = None,
        first_row: int = 0,
    ) -> None:
        """Queues many records, each ``(key, value, header block, timestamp in ms)``, partitioned in one pass.

        A header block is the result of ``encode_headers``, or ``NO_HEADERS``. ``partitions`` has one for each row; a
        row whose partition does not exist fails alone. Results are reported per batch to ``on_delivery`` and counted
        in ``totals``; with an ``origin`` the reports name its rows, counted from ``first_row``.
        """
        if not rows:
            return
        if partitions is not None and len(partitions) != len(rows):
            raise ConfigError(f"{len(partitions)} partitions for {len(rows)} rows", why="each row has one")
        size = check_rows(rows)
        refuse = partial(self._refuse, topic, origin)

        def place(part: slice) -> None:
            self._placer.rows(
                topic,
                rows[part],
                partition,
                partitions=None if partitions is None else partitions[part],
                token=origin,
                first_row=first_row + part.start,
                refuse=refuse,
            )

        self._submit_parts(topic, len(rows), size, place, origin, first_row)

    def send_text(
        self,
        topic: str,
        text: Text,
        *,
        start: int = 0,
        end: int | None = None,
        delimiter: bytes = b"\n",
        key_delimiter: bytes | None = None,
        key: bytes | None = None,
        headers: bytes = NO_HEADERS,
        partition: int | None = None,
        timestamp: int | None = None,
        null_marker: bytes | None = None,
        empty_is_null: bool = False,
        longest: int | None = None,
        origin: Any = None,
    ) -> int:
        """Queues the lines of ``text[start:end]``, one record each; returns the number of lines.

        ``delimiter`` ends a line; ``key_delimiter`` separates key and value at its first occurrence (a line without it
        has no key), or ``key`` is the key of all. A key or value equal to ``null_marker`` becomes null, with
        ``empty_is_null`` an empty one too. A line longer than ``longest`` bytes (default ``max.request.size``) fails
        with RecordTooLargeError; the other lines are still sent. The text may be modified after this returns.
        ``origin``: as in ``send_rows``; rows are lines counted from 0.
        """
        stop = len(text) if end is None else end
        if not 0 <= start <= stop <= len(text):
            raise ConfigError(f"text[{start}:{stop}]", why=f"there are {len(text)} bytes of it")
        if not delimiter or key_delimiter == b"":
            raise ConfigError("an empty delimiter", why="a delimiter has at least one byte")
        if key is not None and key_delimiter is not None:
            raise ConfigError("key and key_delimiter together", why="a line has one key")
        stamp = clock.wall_ms() if timestamp is None else timestamp
        check_timestamp(stamp)
        most = self.options.max_request_size if longest is None else longest
        how = TextFormat(delimiter, key_delimiter, key, headers, null_marker, empty_is_null, most)
        piece = max(self.options.batch_size, self.options.buffer_memory // 4)
        row = 0
        while start < stop:
            cut = stop
            if stop - start > piece:  # waiting for memory happens between the pieces
                cut = last_line_end(text, start, start + piece, delimiter)
                if cut == start:
                    cut = min(stop, start + line_length(text, start, stop, delimiter) + len(delimiter))
            region = Region(text, start, cut, origin, row)
            try:
                row += self._send_region(topic, region, how, partition, stamp)
            except KcliError as error:
                if not row:
                    raise
                left = line_count(text, start, stop, delimiter)
                self._refuse(topic, origin, range(row, row + left), stop - start, error)
                return row + left
            start = cut
        return row

    def _send_region(
        self, topic: str, region: Region, how: TextFormat, partition: int | None, timestamp: int
    ) -> int:
        refuse = partial(self._refuse, topic, region.token)
        if not self._must_park(topic):
            return self._place(
                lambda: self._text_placer.place(topic, region, how, partition, timestamp, refuse)
            )
        kept = bytes(memoryview(region.text)[region.start : region.end])
        count = line_count(kept, 0, len(kept), how.delimiter)
        copy = Region(kept, 0, len(kept), region.token, region.first_row)
        rows = range(region.first_row, region.first_row + count)
        self._park(
            topic,
            count,
            len(kept),
            lambda: self._text_placer.place(topic, copy, how, partition, timestamp, refuse),
            origins=_origins(region.token, rows),
        )
        return count

    def send_batch(self, tp: TopicPartition, batch: BatchView) -> RecordFuture:
        """Queues a whole batch that was read elsewhere, for one partition; the future is that of its first record.

        Its records are sent byte for byte where brokers accept that (see ``records/passing.py``), otherwise
        re-encoded. ConfigError for a transaction marker or an empty batch.
        """
        builder = take_over(batch)
        future = RecordFuture(self._wait, self._lock)

        def place() -> None:
            self._placer.batch(tp, builder, future)

        self._submit(tp.topic, builder.count, builder.size, place, future.fail)
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
        """Queues values that share key, header block and timestamp, whole batches at a time.

        ``headers`` is an encoded block (``encode_headers``). Without partition and key, one partition's batch is
        filled before the next partition's (KIP-794).
        """
        if not values:
            return
        stamp = clock.wall_ms() if timestamp is None else timestamp
        check_values("value", values)
        check_timestamp(stamp)
        lines = partial(
            self._placer.lines,
            topic,
            key=key,
            headers=headers,
            partition=partition,
            timestamp=stamp,
            refuse=partial(self._refuse, topic, None),
        )
        size = sum(map(len, values)) + 8 * len(values)
        self._submit_parts(topic, len(values), size, lambda part: lines(values[part]))

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
        """Queues records given as parallel keys and values, partitioned in one pass."""
        if not values:
            return
        stamp = clock.wall_ms() if timestamp is None else timestamp
        if len(keys) != len(values):
            raise ConfigError(f"{len(keys)} keys for {len(values)} values", why="each record has one of both")
        check_values("key", keys)
        check_values("value", values)
        check_timestamp(stamp)
        size = bytes_of(keys) + bytes_of(values) + 8 * len(values)
        keyed = partial(
            self._placer.keyed,
            topic,
            headers=headers,
            partition=partition,
            timestamp=stamp,
            refuse=partial(self._refuse, topic, None),
        )
        self._submit_parts(topic, len(values), size, lambda part: keyed(keys[part], values[part]))

    def _parts(self, count: int, size: int) -> Iterator[tuple[slice, int]]:
        """Slices of the rows that fit into memory, of about equal size: waiting for memory happens between them."""
        pieces = max(1, min(count, -(-size // max(self.options.batch_size, self.options.buffer_memory // 4))))
        step = -(-count // pieces)
        for start in range(0, count, step):
            yield slice(start, start + step), size // pieces

    # --- transactions ---------------------------------------------------------------------------------

    def init_transactions(self, timeout: float | None = None) -> None:
        """Initializes ``transactional.id``: completes or aborts the transaction of a previous producer, and fences it.

        Once, before the first transaction. Transactional calls wait at most ``timeout`` seconds (default
        ``max.block.ms``).
        """
        self._transactional().init(timeout)

    def begin_transaction(self, timeout: float | None = None) -> None:
        """Records sent from now on belong to one transaction. Waits only if the previous one's outcome is unknown."""
        self._transactional().begin(timeout)

    def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        group: GroupMetadata | str,
        timeout: float | None = None,
    ) -> None:
        """Commits a group's offsets with the transaction (KIP-447): those of the next records to read."""
        self._transactional().send_offsets(offsets, group, timeout)

    def commit_transaction(self, timeout: float | None = None) -> None:
        """Waits until all records are confirmed, then commits.

        Raises TransactionAbortableError if the transaction must be aborted instead; TimedOutError if time ran out
        before EndTxn was sent (the transaction is still open); TransactionUnknownError if there was no response:
        calling again retries, ``begin_transaction`` ends the transaction either way.
        """
        self.push()
        self._transactional().commit(timeout)

    def abort_transaction(self, timeout: float | None = None) -> None:
        """Aborts the transaction: records not sent yet fail, those sent stay invisible to read_committed consumers."""
        self._transactional().abort(timeout)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A transaction for the block: committed at its end, aborted if it raises."""
        self.begin_transaction()
        try:
            yield
        except BaseException:
            with suppress(KcliError):  # the caller must see the error of the block
                self.abort_transaction()
            raise
        try:
            self.commit_transaction()
        except (TransactionAbortableError, TimedOutError):
            with suppress(KcliError):
                self.abort_transaction()
            raise

    def _transactional(self) -> Transactional:
        if self._transactions is None:
            raise ConfigError(
                "this producer knows no transactions",
                why="it has no transactional.id",
                do="set transactional.id to a name that stays the same from run to run",
            )
        self._raise_crash()
        if self._closed:
            raise ClosedError("the producer is closed")
        self._ensure_thread()
        return self._transactions

    # --- flush and close ------------------------------------------------------------------------------

    def interrupt(self) -> None:
        """Makes threads that wait for memory raise ClosedError; for signal handlers."""
        self._accumulator.interrupt()

    def push(self) -> None:
        """Sends what is queued without lingering; does not wait."""
        self._accumulator.flush()
        self._cluster.loop.wakeup()

    def flush(self, timeout: float | None = None) -> bool:
        """Waits until everything sent so far is confirmed or has failed; False after ``timeout`` seconds."""
        self.push()
        deadline = None if timeout is None else clock.monotonic() + timeout
        parked = self._accumulator.parked()
        if not self._wait(lambda: all(one.over for one in parked), timeout):
            return False
        waiting = [batch.delivery for batch in self._accumulator.unsettled()]

        def settled() -> bool:
            while waiting and waiting[-1].accounted:
                waiting.pop()
            return not waiting

        return self._wait(settled, None if deadline is None else max(0.0, deadline - clock.monotonic()))

    @property
    def totals(self) -> Totals:
        """Counts of confirmed and failed records so far."""
        return self._totals

    def metrics(self) -> ProducerMetrics:
        """A snapshot of the producer's metrics."""
        counters, totals = self._sender.counters, self._totals
        committed, aborted = self._transactions.counts if self._transactions is not None else (0, 0)
        return ProducerMetrics(
            records_confirmed=totals.confirmed,
            records_failed=totals.failed,
            records_outstanding=self.outstanding,
            bytes_confirmed=totals.bytes,
            bytes_sent=counters.bytes_sent,
            batches_sent=counters.batches,
            batches_retried=counters.retries,
            batches_split=counters.splits,
            requests_sent=counters.requests,
            requests_in_flight=self._sender.requests_in_flight,
            request_latency_average=counters.latency_sum / max(1, counters.answers),
            request_latency_max=counters.latency_max,
            throttle_time_max=counters.throttle_max,
            buffer_used=self._accumulator.used,
            buffer_total=self.options.buffer_memory,
            threads_waiting=self._accumulator.waiters,
            producer_epochs=self._sender.producer_epochs,
            transactions_committed=committed,
            transactions_aborted=aborted,
        )

    @property
    def outstanding(self) -> int:
        """Records that are neither confirmed nor failed."""
        return self._accumulator.records

    def close(self, timeout: float | None = None) -> None:
        """Flushes for at most ``timeout`` seconds, then stops; records not confirmed by then fail.

        An open transaction is aborted; that is attempted for at least two seconds, since read_committed consumers
        cannot read past it. In a callback it does not wait.
        """
        deadline = None if timeout is None else clock.monotonic() + timeout
        in_callback = threading.current_thread() is self._thread
        if not in_callback:
            self._abort_if_open(timeout)
        self._accumulator.close(ClosedError("the producer is closed"))
        self._closed = True
        if self._thread is None:
            self._cluster.close()
            return
        self._sender.stop_when_idle = True
        self._cluster.loop.wakeup()
        if in_callback:
            self._sender.stop_now = timeout is not None
            return
        self._thread.join(None if deadline is None else max(0.0, deadline - clock.monotonic()))
        if self._thread.is_alive():
            self._sender.stop_now = True
            self._cluster.loop.wakeup()
            self._thread.join(_LAST_PATIENCE)

    def _abort_if_open(self, timeout: float | None) -> None:
        if self._transactions is not None and self._transactions.is_open:
            with suppress(KcliError):
                self.abort_transaction(None if timeout is None else max(timeout, _LAST_PATIENCE))

    # --- internal ------------------------------------------------------------------------------------

    def _submit_parts(
        self,
        topic: str,
        count: int,
        size: int,
        place: Callable[[slice], object],
        token: Any = None,
        first_row: int = 0,
    ) -> None:
        """Queues rows piece by piece. Raises if the first piece cannot be queued; later ones are reported as failed."""
        for part, share in self._parts(count, size):
            rows = range(first_row + part.start, first_row + min(part.stop, count))
            try:
                self._submit(topic, len(rows), share, partial(place, part), origins=_origins(token, rows))
            except KcliError as error:
                if not part.start:
                    raise
                left = range(rows.start, first_row + count)
                self._refuse(topic, token, left, share * len(left) // len(rows), error)
                return

    def _refuse(self, topic: str, token: Any, rows: Rows, size: int, error: KcliError) -> None:
        """Reports rows that could not be queued as failed."""
        if isinstance(error, UnknownPartitionError):  # it may have been created since
            self._cluster.loop.call_threadsafe(self._cluster.request_refresh)
        if self._sender.transactions is not None:
            self._sender.transactions.lost(error)
        self._account(Report(TopicPartition(topic, -1), len(rows), size, -1, error, _origins(token, rows)))

    def _submit(
        self,
        topic: str,
        count: int,
        size: int,
        place: Callable[[], object],
        failed: Callable[[KcliError], None] | None = None,
        *,
        later: bool = False,
        origins: Sequence[Origin] = (),
    ) -> None:
        """Queues records now, or parks them while the topic's partitions are unknown or for the sender to place."""
        if self._must_park(topic) or later:
            self._park(topic, count, size, place, failed, origins)
        else:
            self._place(place)

    def _must_park(self, topic: str) -> bool:
        """Whether records must wait for the topic's partitions. Raises if nothing can be sent; waits for memory."""
        self._raise_crash()
        if self._transactions is not None:
            self._transactions.refuse_send()
        if topic in self._sender.lost_topics:
            raise self._sender.lost_topics[topic].with_traceback(None)
        view = self._cluster.view.topics.get(topic)
        if view is None:
            check_topic(topic)
        # a callback that sends must not wait for its own thread
        if threading.current_thread() is not self._thread:
            self._accumulator.wait_for_memory()
        self._ensure_thread()
        return view is None or not view.partitions or self._accumulator.is_parked(topic)

    def _place(self, place: Callable[[], T]) -> T:
        try:
            placed = place()
        except UnknownPartitionError:  # it may have been created since
            self._cluster.loop.call_threadsafe(self._cluster.request_refresh)
            raise
        if self._accumulator.take_news():
            self._cluster.loop.wakeup()
        return placed

    def _park(
        self,
        topic: str,
        count: int,
        size: int,
        place: Callable[[], object],
        failed: Callable[[KcliError], None] | None = None,
        origins: Sequence[Origin] = (),
    ) -> None:
        def fail(error: KcliError) -> None:
            if self._sender.transactions is not None:
                self._sender.transactions.lost(error)
            if failed is not None:
                self._contain(lambda: failed(error))
            report = Report(TopicPartition(topic, -1), count, size, -1, error, origins)
            self._account(report)
            over()

        def over() -> None:
            parked.over = True
            with self._lock:
                self._completed.notify_all()

        def place_or_fail() -> None:
            try:
                place()
            except KcliError as error:
                fail(error)
            except Exception as error:  # noqa: BLE001 - a partitioner of the application's may raise anything
                why = f"{type(error).__name__}: {error}"
                fail(ConfigError(f"a record for {topic} cannot be encoded", why=why))
            else:
                over()

        deadline = self._cluster.loop.now() + self.options.delivery_timeout_ms / 1000
        parked = Parked(count, size, deadline, place_or_fail, fail, topic)
        self._accumulator.park(topic, parked)
        self._cluster.loop.wakeup()

    def _batch_settled(self, batch: ProducerBatch) -> None:
        delivery = batch.delivery
        self._account(
            Report(
                batch.tp,
                batch.count,
                batch.size - HEADER_SIZE,
                delivery.base_offset,
                delivery.error,
                batch.origins,
            )
        )
        with self._lock:  # last: a flush must find the batch counted and reported
            delivery.told = True
            self._completed.notify_all()
        if delivery.watchers:
            with self._lock:
                watchers, delivery.watchers = delivery.watchers, []
            for watcher in watchers:
                self._contain(watcher)

    def _contain(self, callback: Callable[[], None]) -> None:
        """Runs an application callback; its errors must not end the sender."""
        try:
            callback()
        except BaseException as error:  # noqa: BLE001 - any error of the application is logged
            self._cluster.hooks.log("warning", "proto", f"a callback raised {error!r}")

    def _account(self, report: Report) -> None:
        with self._lock:
            self._totals.add(report)
        on_delivery = self._on_delivery
        if on_delivery is not None:
            self._contain(lambda: on_delivery(report))

    def _wait(self, done: Callable[[], bool], timeout: float | None) -> bool:
        if threading.current_thread() is self._thread and not done():
            raise KcliError(
                "a callback cannot wait for the producer",
                why="it runs in the sender's thread, which would wait for itself",
            )
        with self._lock:
            self._completed.wait_for(lambda: done() or self._ended, timeout)
        if not done() and self._ended:
            self._raise_crash()
            raise ClosedError("the producer is closed")
        return done()

    def _raise_crash(self) -> None:
        if isinstance(self._crash, KcliError):
            raise self._crash.with_traceback(None)
        if self._crash is not None:
            raise KcliError("the sender thread has died", why=repr(self._crash)) from self._crash

    def forked(self) -> None:
        """Called in the child after a fork: the sender thread exists only in the parent, and its locks may be held."""
        self._lock = threading.Lock()
        self._completed = threading.Condition(self._lock)
        self._crash = KcliError(
            "this producer belongs to the process that made it",
            why="a fork has no sender thread",
            do="make a producer after the fork",
        )
        self._closed = self._ended = True
        self._thread = None

    def _ensure_thread(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="kcli-sender", daemon=True)
                self._thread.start()
                forgotten.watch(self)

    def _run(self) -> None:
        try:
            self._sender.run()
        except BaseException as crash:  # noqa: BLE001 - raised in every caller, see _raise_crash
            self._crash = crash
            self._accumulator.close(KcliError("the sender thread has died", why=repr(crash)))
        finally:
            self._ended = True
            with self._lock:
                self._completed.notify_all()


def _origins(token: Any, rows: Rows) -> list[Origin]:
    """The origins of rows that are in no batch."""
    return [] if token is None else [Origin(0, token, rows)]


def check_options(options: ProducerOptions) -> None:
    """Rejects contradictory options."""
    if options.transactional_id and (options.acks not in ("all", "-1") or not options.enable_idempotence):
        raise ConfigError(
            "transactional.id needs acks=all and enable.idempotence=true",
            why=f"acks={options.acks}, enable.idempotence={str(options.enable_idempotence).lower()}",
            do="leave both as they are by default",
        )
    in_flight = options.max_in_flight_requests_per_connection
    if options.enable_idempotence and options.acks in ("all", "-1") and in_flight > _MOST_IN_FLIGHT:
        raise ConfigError(
            f"max.in.flight.requests.per.connection={in_flight} needs enable.idempotence=false",
            why=f"brokers remember {_MOST_IN_FLIGHT} batches of a producer: an older one would be stored again",
            do=f"at most {_MOST_IN_FLIGHT} keep every record single and in order",
        )
    codec, level = CODEC_NAMES.index(options.compression_type), options.compression_level
    if level is not None:
        check_level(codec, level)
