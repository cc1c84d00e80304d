"""The producer: a send blocks only on buffer memory, never on the network; a background thread sends.

Rows are encoded directly into batches, so that the bulk paths create no object per record. ``send`` returns a future;
``on_delivery`` is called for each completed batch, in the sender's thread. A call for many records raises only before
any of them is queued; records that cannot be queued after that are reported and counted as failed, immediately and in
the calling thread. So each record of a call that returned is reported exactly once (``submission.py``).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from kcli.core import clock, records
from kcli.core import producer as parts
from kcli.core.cluster.cluster import Cluster
from kcli.core.codecs.codec import check_level, codec_by_name
from kcli.core.errors import (
    ClosedError,
    ConfigError,
    KcliError,
    TimedOutError,
    TransactionAbortableError,
)
from kcli.core.hooks import NO_HOOKS, Hooks
from kcli.core.kernels.shapes import NO_HEADERS, Row, Text
from kcli.core.options import ProducerOptions, given
from kcli.core.producer.accumulator import Accumulator
from kcli.core.producer.batch import RecordFuture
from kcli.core.producer.completions import Completions
from kcli.core.producer.origins import OriginRows
from kcli.core.producer.parked import Parked
from kcli.core.producer.partitioner import OwnPartitioner
from kcli.core.producer.placer import Placer
from kcli.core.producer.report import ProducerMetrics, Report, Totals
from kcli.core.producer.requests import check_offer, full_batch
from kcli.core.producer.sender import Sender
from kcli.core.producer.sender_thread import SenderThread, watch
from kcli.core.producer.serialization import (
    Serializer,
    check_record,
    check_rows,
    check_size,
    check_timestamp,
    record_size,
    serialized,
)
from kcli.core.producer.submission import Submission
from kcli.core.producer.text_placer import TextFormat
from kcli.core.protocol.schema import NO_UUID
from kcli.core.records.builder import BatchBuilder
from kcli.core.records.view import BatchView
from kcli.core.types import Codec, GroupMetadata, OffsetAndMetadata, ProducerRecord, TopicPartition

if TYPE_CHECKING:
    from kcli.core.producer import column_submission, transactional  # noqa: F401 - imported on use
    from kcli.core.producer.transactional import Transactional


_LAST_PATIENCE = 2.0  # seconds a close may exceed its timeout to end a transaction or the thread
_METADATA_PAUSE = 0.02  # seconds between two looks at the metadata
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
        sealers: int = 0,
        **values: Any,
    ) -> None:
        """``sealers``: so many threads compress batches that are full, beside the one that sends."""
        self.options = given(ProducerOptions, options, values)
        check_options(self.options)
        self._serializers = (key_serializer, value_serializer)
        self._serializes = key_serializer is not None or value_serializer is not None
        self._cluster = Cluster(self.options, hooks=hooks)
        codec, level = codec_by_name(self.options.compression_type), self.options.compression_level
        self._accumulator = Accumulator(
            batch_size=full_batch(self.options),
            linger=self.options.linger_ms / 1000,
            memory=self.options.buffer_memory,
            max_block=self.options.max_block_ms / 1000,
            delivery_timeout=self.options.delivery_timeout_ms / 1000,
            new_builder=partial(BatchBuilder, codec=codec, level=level),
            now=self._cluster.loop.now,
            sealing=parts.sealing.Sealing(sealers) if sealers and codec else None,
        )
        self._placer = Placer(
            partitioner or self.options.partitioner,
            self._accumulator,
            lambda: self._cluster.view,
            full_batch(self.options),
        )
        self._thread = SenderThread(
            lambda: self._sender.run(),  # noqa: PLW0108 - the sender is made below
            lambda: watch(self),  # refers to the producer, so it lives as long as its thread
            self._accumulator.close,
        )
        self._completions = Completions(self._thread, hooks, on_delivery)
        self._sender = Sender(
            self._cluster, self.options, self._accumulator, self._completions.complete_batch
        )
        self._transactions: Transactional | None = None
        if self._sender.transactions is not None:
            self._transactions = parts.transactional.Transactional(
                self._sender.transactions, self._cluster.loop, self._thread, self.options.max_block_ms / 1000
            )
        self._submission = Submission(
            self._cluster,
            self.options,
            self._accumulator,
            self._placer,
            self._sender,
            self._thread,
            self._completions,
            None if self._transactions is None else self._transactions.refuse_send,
        )
        self._text_format = TextFormat()
        self._closed = False

    def __enter__(self) -> Producer:
        return self

    def __exit__(self, exc_type: object, *_exc: object) -> None:
        self.close(timeout=0.0 if exc_type is not None else None)

    # --- metadata ----------------------------------------------------------------------------------

    def foresee(self, topics: Sequence[str]) -> None:
        """These topics will be written: what that needs is asked for with the first contact."""
        self._cluster.topics.update(topics)
        self._sender.foresee()
        if self.options.transactional_id:
            # Few runs need it.
            from kcli.core.cluster.coordinators import Coordinators, KeyType

            Coordinators(self._cluster).foresee(KeyType.TRANSACTION, [self.options.transactional_id])

    def connect(self, topics: Sequence[str], timeout: float, topic_patience: float = 0.0) -> None:
        """Connects and checks ``topics``: raises configuration, connection and topic errors before any input is read, and
        UnsupportedError for an option whose feature the broker lacks.

        Optional, and only before the first send, while the calling thread still owns the event loop. An unknown topic
        is retried for ``topic_patience`` seconds (it may be about to be created).
        """
        cluster = self._cluster
        cluster.topics.update(topics)
        deadline = cluster.deadline(timeout)
        cluster.connect(timeout)
        for node, offer in cluster.offers():
            check_offer(self.options, offer.apis, node)
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

    def leaderless(self, topic: str) -> list[TopicPartition]:
        """The partitions of the topic that had no leader in the last metadata: their records wait for one."""
        view = self._cluster.view.topics.get(topic)
        parts = view.partitions if view else ()
        return [TopicPartition(topic, part.partition) for part in parts if part.leader < 0]

    def topic_id(self, topic: str) -> bytes:
        """The id of the topic in the last metadata; all zeros while unknown, and from brokers before 2.8."""
        view = self._cluster.view.topics.get(topic)
        return view.id if view else NO_UUID

    def wait_for_partitions(self, topic: str, count: int, timeout: float) -> bool:
        """Waits until the topic is known to have so many partitions, after they were added; False after ``timeout`` s."""
        self._thread.ensure_started()
        cluster = self._cluster

        def refresh() -> None:
            cluster.topics.add(topic)
            cluster.request_refresh()

        deadline = clock.monotonic() + timeout
        while self.partitions_of(topic) < count:
            if clock.monotonic() >= deadline:
                return False
            cluster.loop.call_threadsafe(refresh)
            time.sleep(_METADATA_PAUSE)
        return True

    # --- sending ------------------------------------------------------------------------------------

    def send(
        self, record: ProducerRecord, on_completion: Callable[[RecordFuture], None] | None = None
    ) -> RecordFuture:
        """Queues one record and returns the future of its delivery.

        ``on_completion(future)`` is called in the sender's thread when the record is confirmed or has failed; it
        must not block. Serializers run there as well, and their errors are in the future.
        """
        future = RecordFuture(self._thread.wait, self._thread.lock, on_completion)
        stamp = clock.wall_ms() if record.timestamp is None else record.timestamp
        check_record(record, stamp, serialized=not self._serializes)
        size = record_size(record)
        check_size(record, size, self.options.max_request_size)

        def place() -> None:
            self._placer.add_record(record, stamp, size, future)

        def serialize_and_place() -> None:
            ready = serialized(record, *self._serializers)
            final = record_size(ready)
            check_size(ready, final, self.options.max_request_size)
            self._placer.add_record(ready, stamp, final, future)

        if self._serializes:
            self._submission.submit(record.topic, 1, size, serialize_and_place, future.fail, later=True)
        else:
            self._submission.submit(record.topic, 1, size, place, future.fail)
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
        self._submission.submit_rows(topic, rows, size, partition, partitions, origin, first_row)

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
        push: bool = False,
    ) -> int:
        """Queues the lines of ``text[start:end]``, one record each; returns the number of lines.

        ``delimiter`` ends a line; ``key_delimiter`` separates key and value at its first occurrence (a line without it
        has no key), or ``key`` is the key of all. A key or value equal to ``null_marker`` becomes null, with
        ``empty_is_null`` an empty one too. A line longer than ``longest`` bytes (default ``max.request.size``) fails
        with RecordTooLargeError; the other lines are still sent. The text may be modified after this returns.
        ``origin``: as in ``send_rows``; rows are lines counted from 0. ``push``: then does what ``push`` does; the sender
        is woken once for both.
        """
        stop = len(text) if end is None else end
        if not 0 <= start <= stop <= len(text):
            raise ConfigError(f"text[{start}:{stop}]", why=f"there are {len(text)} bytes of it")
        if not delimiter or key_delimiter == b"":
            raise ConfigError("an empty delimiter", why="a delimiter has at least one byte")
        if key is not None and key_delimiter is not None:
            raise ConfigError("key and key_delimiter together", why="a line has one key")
        if timestamp is None:
            timestamp = clock.wall_ms()
        else:
            check_timestamp(timestamp)
        most = self.options.max_request_size if longest is None else longest
        fields = (delimiter, key_delimiter, key, headers, null_marker, empty_is_null, most)
        how = self._text_format
        if how != fields:  # usually the same in every call
            how = self._text_format = TextFormat(*fields)
        quietly = push and stop - start <= self._submission.piece_size
        sent = self._submission.submit_text(
            topic, text, start, stop, how, partition, timestamp, origin, quietly=quietly
        )
        if push:
            self._accumulator.must_wake_sender()  # it is woken now
            self.push()
        return sent

    def send_arrow(
        self,
        topic: str | None,
        data: Any,
        *,
        partition: int | Literal["keep", "by-key"] | None = None,
        origin: Any = None,
    ) -> int:
        """Queues the rows of Arrow data, one record each; returns the number of rows.

        ``data`` offers ``__arrow_c_array__`` or ``__arrow_c_stream__``: a pyarrow RecordBatch or Table, a polars or
        pandas DataFrame, a DuckDB relation and others; no library of Arrow is needed here. Columns, in any order:

        - ``value``, and if there is one ``key``: binary or utf8 (also large ones and views). Null is not empty.
        - ``headers``: list<struct<key, value>> or map; or ``headers_packed``: blocks (``encode_headers``). Null: none.
        - ``timestamp``: timestamp of any unit, or int64 in milliseconds, where −1 is "no timestamp"; null for now.
        - ``partition``: int32 or int64; null or −1 for the partition of the key.
        - ``topic``: needed if ``topic`` is None, otherwise ignored.
        - ``offset``, ``timestamp_type`` and ``leader_epoch`` of records that were read are ignored.

        ``partition``: a number for all rows; "keep" needs the column, "by-key" ignores it; by default the column counts
        if there is one. ConfigError for other columns and types and for a row that cannot be a record, by its number;
        then no row is queued. A row larger than ``max.request.size`` fails with RecordTooLargeError, one that names a
        missing partition with UnknownPartitionError; the others are still sent.

        The tables of a stream are checked and queued one after the other. If one fails after others were queued, the call
        raises PartlyQueuedError, whose ``rows`` were queued, and an open transaction can no longer be committed. The data
        may be dropped after this returns, but must not be modified until the records are sent, as Arrow demands.
        ``origin``: as in ``send_rows``; rows are counted from 0 over all tables.
        """
        return parts.column_submission.ColumnSubmission(
            self._submission,
            self._placer,
            parts.column_submission.Destination(topic, partition),
            longest=self.options.max_request_size,
            origin=origin,
        ).submit(data)

    def send_batch(
        self,
        tp: TopicPartition,
        batch: BatchView,
        *,
        first: int | None = None,
        stop: int | None = None,
        rows: Sequence[Row] | None = None,
        origin: Any = None,
        lent: bool = False,
    ) -> RecordFuture:
        """Queues a batch that was read elsewhere, for one partition; the future is that of its first record.

        Its records are sent byte for byte where brokers accept that (see ``records/passing.py``), otherwise
        re-encoded; with ``first`` and ``stop`` only those at offsets from ``first`` up to, not including, ``stop``.
        ``rows`` are sent instead of them, with the compression of the batch. ConfigError if there are none.
        ``origin``: as in ``send_rows``; rows count the records sent, from 0. ``lent``: the bytes of the batch do not
        change as long as there is a view of them (``Consumer.lend``), so they need not be copied.
        """
        passing = records.passing
        builder = (
            passing.take_over(batch, first, stop, lent=lent)
            if not rows
            else passing.batch_of_rows(rows, batch.codec)
        )
        future = RecordFuture(self._thread.wait, self._thread.lock)
        origins = [] if origin is None else [OriginRows(0, origin, range(builder.count))]
        self._submission.submit(
            tp.topic,
            builder.count,
            builder.size,
            lambda: self._placer.add_batch(tp, builder, future, origins),
            future.fail,
            origins=origins,
        )
        return future

    # --- transactions ---------------------------------------------------------------------------------

    def init_transactions(self, timeout: float | None = None) -> None:
        """Initializes ``transactional.id``: completes or aborts the transaction of a previous producer, and fences it.

        Once, before the first transaction. Transactional calls wait at most ``timeout`` seconds (default
        ``max.block.ms``).
        """
        self._transactional().init(timeout)

    def begin_transaction(self, timeout: float | None = None) -> None:
        """Records sent from now on belong to one transaction. Waits only if the previous one's outcome is unknown."""
        self._transactional().begin_transaction(timeout)

    def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        group: GroupMetadata | str,
        timeout: float | None = None,
    ) -> None:
        """Commits a group's offsets with the transaction (KIP-447): those of the next records to read.

        An offset with a ``topic_id``, as ``consumer.state(partition).to_commit`` has one, is not committed for another
        topic of that name: TransactionAbortableError. That costs a request for metadata.
        """
        self._transactional().send_offsets(offsets, group, timeout)

    def commit_transaction(
        self, timeout: float | None = None, *, stop: Callable[[], bool] | None = None, grace: float = 0.0
    ) -> None:
        """Waits until all records are confirmed, then commits; for ``grace`` seconds at most once ``stop()`` is true.

        Raises TransactionAbortableError if the transaction must be aborted instead; TimedOutError if time ran out
        before EndTxn was sent (the transaction is still open); TransactionUnknownError if there was no response:
        calling again retries, ``begin_transaction`` ends the transaction either way.
        """
        self.push()
        self._transactional().commit(timeout, stop, grace)

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
                "this producer is not transactional",
                why="it has no transactional.id",
                do="set transactional.id to a name that stays the same from run to run",
            )
        self._thread.raise_crash()
        if self._closed:
            raise ClosedError("the producer is closed")
        self._thread.ensure_started()
        return self._transactions

    # --- flush and close ------------------------------------------------------------------------------

    def interrupt(self) -> None:
        """Makes threads that wait for memory raise ClosedError; for signal handlers."""
        self._accumulator.memory.interrupt()

    def push(self) -> None:
        """Sends what is queued without lingering; does not wait."""
        self._begin_flush()

    def flush(self, timeout: float | None = None) -> bool:
        """Waits until everything sent so far is confirmed or has failed; False after ``timeout`` seconds."""
        before, waits = self._begin_flush()
        deadline = None if timeout is None else clock.monotonic() + timeout
        parked = [one for queue in waits.values() for one in queue]

        def all_placed() -> bool:  # it is called for each: the last of a topic is placed last
            while parked and parked[-1].over:
                parked.pop()
            return not parked

        if not self._thread.wait(all_placed, timeout):
            return False
        waiting = [batch.delivery for batch in self._accumulator.incomplete(before, waits)]

        def all_reported() -> bool:
            while waiting and waiting[-1].all_reported:
                waiting.pop()
            return not waiting

        return self._thread.wait(
            all_reported, None if deadline is None else max(0.0, deadline - clock.monotonic())
        )

    def _begin_flush(self) -> tuple[float, dict[str, list[Parked]]]:
        """As ``Accumulator.flush``; the sender notices."""
        begun = self._accumulator.flush()
        self._cluster.loop.wakeup()
        return begun

    @property
    def totals(self) -> Totals:
        """Counts of confirmed and failed records so far."""
        return self._completions.totals

    def metrics(self) -> ProducerMetrics:
        """A snapshot of the producer's metrics."""
        counters, totals = self._sender.counters, self._completions.totals
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
            buffer_used=self._accumulator.memory.used,
            buffer_total=self.options.buffer_memory,
            threads_waiting=self._accumulator.memory.waiters,
            producer_epochs=self._sender.producer_epochs,
            transactions_committed=committed,
            transactions_aborted=aborted,
        )

    def stalled(self) -> dict[TopicPartition, str]:
        """The partitions that do not accept records at present, and why; their records are sent again."""
        return {tp: str(error) for tp, error in self._sender.stalls.errors.copy().items()}

    @property
    def memory_left(self) -> int:
        """Bytes of ``buffer.memory`` that are free; sending waits when there are none."""
        return self.options.buffer_memory - self._accumulator.memory.used

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
        thread, in_callback = self._thread.thread, self._thread.is_current
        if not in_callback:
            self._abort_if_open(timeout)
        self._accumulator.close(ClosedError("the producer is closed"))
        self._closed = True
        if thread is None:
            self._cluster.close()
            return
        self._sender.stop_when_idle = True
        self._cluster.loop.wakeup()
        if in_callback:
            self._sender.stop_now = timeout is not None
            return
        seconds = None if deadline is None else max(0.0, deadline - clock.monotonic())
        thread.join(seconds if seconds is None or seconds < threading.TIMEOUT_MAX else None)
        if thread.is_alive():
            self._sender.stop_now = True
            self._cluster.loop.wakeup()
            thread.join(_LAST_PATIENCE)

    def forked(self) -> None:
        """Called in the child after a fork: every further call fails."""
        self._thread.forked()
        self._cluster.loop.forked()
        self._closed = True

    def _abort_if_open(self, timeout: float | None) -> None:
        if self._transactions is not None and self._transactions.is_open:
            with suppress(KcliError):
                self.abort_transaction(None if timeout is None else max(timeout, _LAST_PATIENCE))


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
    codec, level = codec_by_name(options.compression_type), options.compression_level
    if codec != Codec.NONE:
        from kcli.core.codecs.compression import check_available  # libraries: not without compression

        check_available(codec)
    if level is not None:
        check_level(codec, level)
