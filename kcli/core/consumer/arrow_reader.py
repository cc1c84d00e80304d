"""Reads ranges of offsets as record batches of Arrow. Runs in the thread that iterates, like the consumer that it uses.

The batches of Kafka that a poll returns become batches of Arrow of about ``batch_bytes`` or ``batch_rows``, each of one
partition: small ones are collected, a large one is not divided. The next fetch is in flight meanwhile, and one batch of
Arrow is decompressed at a time, so memory is bounded by ``fetch.buffer.bytes`` and by what is made of one batch.

Rows are never silently missing: a range that retention, ``DeleteRecords`` or a truncation ate is a DataLossError with its
offsets, damage a CorruptRecordsError (with ``on.corrupt=skip`` a warning), silence a TimedOutError. Offsets without a
record (compaction, transaction markers, aborted transactions) are no loss. Tested in ``tests/fault/test_arrow_reader.py``
and ``tests/integration/test_read_topic.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from kcli.core.arrow.fields import RECORD_COLUMNS, chosen_columns
from kcli.core.arrow.table import ArrowBatch
from kcli.core.classes import dataclass
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.consumer.subscription import Span
from kcli.core.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from kcli.core.errors import ClosedError, ConfigError, CorruptRecordsError, KcliError, TimedOutError
from kcli.core.kernels.active import arrow_columns
from kcli.core.kernels.arrow_ops import Converted
from kcli.core.records.run import BatchRun
from kcli.core.types import TopicPartition

if TYPE_CHECKING:
    from types import TracebackType

    from kcli.core.arrow.fields import Field

BATCH_ROWS = 20_000
BATCH_BYTES = 8 << 20
_TURN = 0.5  # seconds between two calls of ``on_poll``


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """Predicates on records, evaluated while they are decoded.

    ``since_ms`` and ``until_ms``: timestamps in ms, the second exclusive; a record without a timestamp passes neither.
    ``keys``: the key is one of these, where None stands for a null key. ``key_not_null``: the key is not null.
    """

    since_ms: int | None = None
    until_ms: int | None = None
    keys: Sequence[bytes | None] | None = None
    key_not_null: bool = False


class ArrowReader:
    """``with ArrowReader(consumer, {tp: Span(start, stop)}) as reader: for batch in reader: …``, once.

    The consumer, which stays the caller's to close, is assigned these partitions; ``isolation.level``, ``check.crcs``,
    ``on.corrupt`` and the sizes of fetches are its options. A span without a stop is read without end.

    ``columns``: names out of ``arrow.fields.COLUMNS``, in this order; what is not chosen costs nothing. ``timestamp`` is
    timestamp[ms, UTC], or int64 without ``utc_timestamps``. ``timeout``: seconds without any progress before a range is
    complete that are an error (default: ``default.api.timeout.ms``). ``on_poll`` is called in the thread that iterates,
    before each poll and at least every half second, also while no record passes ``where``: it may raise, and may add
    partitions to the consumer.

    ``rows`` and ``bytes_read`` count what was returned and what was fetched for it so far; ``seen`` also counts the
    records that did not pass ``where``.
    """

    def __init__(
        self,
        consumer: Consumer,
        spans: Mapping[TopicPartition, Span],
        *,
        columns: Iterable[str] = RECORD_COLUMNS,
        where: RecordFilter | None = None,
        utc_timestamps: bool = True,
        batch_rows: int = BATCH_ROWS,
        batch_bytes: int = BATCH_BYTES,
        timeout: float | None = None,
        on_poll: Callable[[], object] | None = None,
    ) -> None:
        check_batch_size(batch_rows, batch_bytes)
        for tp, span in spans.items():
            if span.start is None or span.start < 0:
                raise ConfigError(
                    f"{tp}: {span!r} has no start",
                    why="where a range begins has to be known",
                    do="Span(start, stop)",
                )
        self._consumer = consumer
        self._columns = chosen_columns(columns, utc_timestamps=utc_timestamps)
        self._where = where or RecordFilter()
        self._batch_rows = batch_rows
        self._batch_bytes = batch_bytes
        limit = consumer.options.default_api_timeout_ms / 1000
        self._timeout = limit if timeout is None else timeout
        self._on_poll = on_poll
        self._endless = any(span.stop is None for span in spans.values())
        self._batches = self._read()
        self._closed = False
        self._error: KcliError | None = None
        self.rows = self.seen = self.bytes_read = 0
        consumer.read_ranges()
        consumer.assign(
            {tp: span for tp, span in spans.items() if span.stop is None or span.stop > (span.start or 0)}
        )

    def __enter__(self) -> ArrowReader:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[ArrowBatch]:
        return self

    def __next__(self) -> ArrowBatch:
        if self._closed:
            raise ClosedError("the reader is closed")
        if self._error is not None:  # an ended generator would say that there are no more rows
            raise self._error
        try:
            return next(self._batches)
        except KcliError as error:
            self._error = error
            raise

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields of the chosen columns."""
        return self._columns.fields

    def close(self) -> None:
        """Ends the reading; batches that were returned stay valid. The consumer is left without an assignment."""
        if not self._closed:
            self._closed = True
            self._batches.close()
            with suppress(ClosedError):
                self._consumer.assign({})

    # --- reading ----------------------------------------------------------------------------------------

    def _read(self) -> Generator[ArrowBatch]:
        while fetched := self._poll():
            for group in self._groups(fetched):
                batch = self._batch_of(group)
                if batch is not None:
                    yield batch

    def _poll(self) -> list[FetchedBatch]:
        """What arrived; empty when all ranges are complete. TimedOutError if nothing moves for too long."""
        loop = self._consumer.cluster.loop
        before, since = self._positions(), loop.now()
        turn = self._timeout if self._on_poll is None else min(self._timeout, _TURN)
        while True:
            if self._on_poll is not None:
                self._on_poll()
            fetched = self._consumer.poll(turn)
            if fetched or self._consumer.done:
                return fetched
            now = self._positions()
            if now != before or self._endless:
                before, since = now, loop.now()
            elif loop.now() - since >= self._timeout:
                raise self._silence()

    def _positions(self) -> dict[TopicPartition, int]:
        return {tp: self._consumer.state(tp).position for tp in self._consumer.assignment}

    def _groups(self, fetched: list[FetchedBatch]) -> Iterator[list[FetchedBatch]]:
        """The fetched batches as those of one batch of Arrow each: of one partition, and enough of them.

        A compressed batch counts with its size when decompressed, which opens it.
        """
        for of_one in _by_partition(fetched):
            group: list[FetchedBatch] = []
            rows = size = 0
            for one in of_one:
                group.append(one)
                rows += min(one.batch.count, one.stop - one.first)
                size += self._payload_size(one)
                if rows >= self._batch_rows or size >= self._batch_bytes:
                    yield group
                    group, rows, size = [], 0, 0
            if group:
                yield group

    def _payload_size(self, one: FetchedBatch) -> int:
        try:
            return len(one.batch.payload())
        except CorruptRecordsError as error:
            raise _damage(one, error) from error

    # --- one batch --------------------------------------------------------------------------------------

    def _batch_of(self, group: list[FetchedBatch]) -> ArrowBatch | None:
        """None where no record passes."""
        tp = group[0].tp
        rows, seen, first, last, columns = self._convert(group)
        for one in group:
            self.bytes_read += one.batch.size
            one.batch.forget_payload()
        self.rows += rows
        self.seen += seen
        return ArrowBatch(tp, self._columns.fields, columns, rows, first, last) if rows else None

    def _convert(self, group: list[FetchedBatch]) -> Converted:
        tp, where = group[0].tp, self._where
        try:
            return arrow_columns(
                [one.batch.arrow_part(one.first, one.stop) for one in group],
                self._columns.codes,
                where.since_ms,
                where.until_ms,
                where.keys,
                where.key_not_null,
                tp.topic.encode(),
                tp.partition,
            )
        except CorruptRecordsError as error:
            self._find_damage(group)
            raise error.in_partition(tp) from error
        except UnicodeError as error:
            raise KcliError(
                f"{tp}: {error}",
                why="the column headers has their names as text",
                do="choose the column headers_packed in its place, which has the headers as bytes",
            ) from error
        except OverflowError as error:
            raise KcliError(
                f"{tp}: {error}",
                why=f"a batch of Arrow holds 2 GiB of a column, and these are offsets {group[0].first} to "
                f"{group[-1].stop - 1}",
                do="lower batch_bytes; choose fewer columns",
            ) from error

    def _find_damage(self, group: list[FetchedBatch]) -> None:
        """Raises the error of the first batch that cannot be decoded by itself: it has its offsets."""
        for one in group:
            batch = one.batch
            for single in batch.batches() if isinstance(batch, BatchRun) else (batch,):
                try:
                    part = single.arrow_part(one.first, one.stop)
                    arrow_columns([part], (), None, None, None, False, b"", 0)
                except CorruptRecordsError as error:
                    raise _damage(one._replace(batch=single), error) from error

    def _silence(self) -> TimedOutError:
        """What is said of ranges that do not end."""
        blocked = self._consumer.waiting()
        missing = []
        for tp in sorted(self._consumer.assignment):
            state = self._consumer.state(tp)
            if not state.reached_stop:
                missing.append((tp, state.position, state.stop, state.high_watermark))
        tp, position, stop, end = missing[0]
        others = f" (and {len(missing) - 1} more partitions)" if len(missing) > 1 else ""
        topic = self._consumer.cluster.view.topics.get(tp.topic)
        if topic is not None and topic.error == UNKNOWN_TOPIC_OR_PARTITION:
            why = f"brokers do not report topic {tp.topic} any more: it was deleted"
            do = "`kcli topics list` lists the topics"
        elif tp in blocked:
            why = f"an open transaction begins at offset {blocked[tp].last_stable_offset}"
            do = "wait until it ends; `kcli txn list` shows it"
        elif 0 <= end < (stop or 0):
            why, do = f"its log ends at offset {end}", "read a range that exists"
        else:
            why, do = "no broker returned it", "`kcli doctor` finds out why"
        return TimedOutError(
            f"{tp}: nothing arrived for {self._timeout:g} s at offset {position} of a range up to {stop}{others}",
            why=why,
            do=do,
        )


def check_batch_size(rows: int, size: int) -> None:
    """ConfigError for a size that no batch can have."""
    if rows < 1 or size < 1:
        raise ConfigError(f"batch_rows={rows}, batch_bytes={size}", why="a batch has at least one record")


def _by_partition(fetched: Iterable[FetchedBatch]) -> Iterable[list[FetchedBatch]]:
    found: dict[TopicPartition, list[FetchedBatch]] = {}
    for one in fetched:
        found.setdefault(one.tp, []).append(one)
    return found.values()


def _damage(one: FetchedBatch, error: CorruptRecordsError) -> CorruptRecordsError:
    """The error with the offsets of its batch and the partition."""
    batch = one.batch
    if "record batch" not in error.what:
        what = f"record batch at offsets {batch.base_offset} to {batch.last_offset}"
        error = CorruptRecordsError(what, why=str(error), do=error.do, next_offset=batch.next_offset)
    return error.in_partition(one.tp)
