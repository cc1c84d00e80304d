"""``read_topic``: a range of a topic as a table, for all that accepts Arrow. Profiles and typed columns
are in ``kcli/frames``.

The range is resolved to offsets once, when it is opened, so each reading of the object has the same rows. A reading has
a consumer of its own and may take place in another thread than the next one, as DuckDB and polars do it.
"""

from __future__ import annotations

import operator
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kcli.core import classes, clock
from kcli.core.arrow.export import schema_capsule
from kcli.core.arrow.fields import RECORD_COLUMNS, chosen_columns, table_schema
from kcli.core.arrow.table import ArrowBatch, BatchStream, fields_for
from kcli.core.classes import dataclass
from kcli.core.consumer import ranges
from kcli.core.consumer.arrow_reader import (
    BATCH_BYTES,
    BATCH_ROWS,
    ArrowReader,
    RecordFilter,
    check_batch_size,
)
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.errors import ClosedError, ConfigError
from kcli.core.names import check_topic
from kcli.core.options import OF_MEMBERS, ConsumerOptions, given
from kcli.core.positions import OffsetSpec, RangeSpec, check_times, parse_instant, parse_range
from kcli.core.types import TopicPartition

if TYPE_CHECKING:
    from types import TracebackType


Instant = str | int | datetime
_SECONDS = (1_000_000_000, 10_000_000_000)
"""What seconds since the epoch are from 2001 to 2286: as ms, they are a time of 1970."""
Key = bytes | str | None
Watcher = Callable[[ArrowBatch | None], object]
_WITHOUT_EFFECT: Mapping[str, str] = {
    **dict.fromkeys(("group_id", *OF_MEMBERS), "it joins no group, and commits nothing"),
    "auto_offset_reset": "the range says where reading begins",
    "max_poll_records": "batch_rows and batch_bytes say how large a batch is",
    "show_control_batches": "markers of transactions are no rows",
}
"""Options of consumers, and why a range of a topic is read without them."""


def read_topic(
    topic: str,
    options: ConsumerOptions | None = None,
    *,
    since: Instant | None = None,
    until: Instant | None = None,
    exact_times: bool = False,
    offsets: str | None = None,
    partitions: int | Iterable[int] | None = None,
    columns: Iterable[str] = RECORD_COLUMNS,
    key: Key | Sequence[Key] = None,
    follow: bool = False,
    batch_rows: int = BATCH_ROWS,
    batch_bytes: int = BATCH_BYTES,
    timeout: float | None = None,
    **values: Any,
) -> TopicRecords:
    """The records of a range of ``topic``, up to what is in it now: an object for pyarrow, polars, DuckDB and others.

    ``since`` and ``until`` are times as ``kcli consume`` has them ("1h", "2026-11-21T10:00Z"), ms since the epoch, or
    datetimes; ``offsets`` is a range like "1000:2000", "-100" (the last 100 of each partition), "@10:00..@11:00". A time
    chooses the first offset with a timestamp from then on; with ``exact_times`` all records are read whose timestamps are
    within the range, wherever they are, and no others. ``partitions``: numbers (default: all). ``columns``: see
    ``docs/python.md``. ``key``: only records with this key, or with one of a list, where None is a null key. ``follow``:
    the range has no end: a reading goes on with what arrives, also in new partitions, until it is closed.

    ``options``, or keywords that name client options (``bootstrap_servers=…``, ``isolation_level=…``). ``timeout``:
    seconds without any progress that are an error. Raises what a consumer raises when the range cannot be resolved; an
    error while the rows are read is raised by whatever reads them, with its text, and is the object's ``error``.
    """
    return TopicRecords(
        asked_range(
            topic,
            options,
            since=since,
            until=until,
            exact_times=exact_times,
            offsets=offsets,
            partitions=partitions,
            columns=columns,
            key=key,
            follow=follow,
            batch_rows=batch_rows,
            batch_bytes=batch_bytes,
            timeout=timeout,
            values=values,
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRange:
    """What ``read_topic`` was asked for: checked, and not resolved to offsets yet."""

    topic: str
    options: ConsumerOptions
    range: RangeSpec
    exact_times: bool
    partitions: list[int] | None
    columns: tuple[str, ...]
    keys: tuple[bytes | None, ...] | None
    follow: bool
    batch_rows: int
    batch_bytes: int
    timeout: float | None


def asked_range(
    topic: str,
    options: ConsumerOptions | None,
    *,
    since: Instant | None,
    until: Instant | None,
    exact_times: bool,
    offsets: str | None,
    partitions: int | Iterable[int] | None,
    columns: Iterable[str],
    key: Key | Sequence[Key],
    follow: bool,
    batch_rows: int,
    batch_bytes: int,
    timeout: float | None,
    values: Mapping[str, Any],
) -> AskedRange:
    """The arguments of ``read_topic``; ``values`` are those that name client options. ConfigError for what is wrong."""
    check_topic(topic)
    check_batch_size(batch_rows, batch_bytes)
    wanted = range_given(since, until, offsets)
    if follow and wanted.stop is not None:
        raise ConfigError(
            "follow=True with an end",
            why="what is followed has no end",
            do="leave the end of the range out, or follow",
        )
    if exact_times and wanted.times == (None, None):
        raise ConfigError(
            "exact_times=True without a time",
            why="it chooses records by the times that limit the range",
            do="add since or until, or leave it out",
        )
    check_has_effect(values)
    chosen = given(ConsumerOptions, options, values)
    if follow and chosen.log_dirs:
        raise ConfigError(
            "follow=True with log_dirs",
            why="nothing arrives in the log directories of a broker that is gone",
            do="leave follow out",
        )
    return AskedRange(
        topic=topic,
        # A profile, or options that programs share, may have these for other purposes.
        options=classes.replace(chosen, group_id="", enable_auto_commit=False, show_control_batches=False),
        range=wanted,
        exact_times=exact_times,
        partitions=numbers_given(partitions),
        columns=tuple([columns] if isinstance(columns, str) else columns),
        keys=_keys(key),
        follow=follow,
        batch_rows=batch_rows,
        batch_bytes=batch_bytes,
        timeout=timeout,
    )


def check_has_effect(names: Iterable[str]) -> None:
    """ConfigError for a keyword of ``read_topic`` that names an option which counts for other consumers only."""
    for name in names:
        if name in _WITHOUT_EFFECT:
            raise ConfigError(
                f"{name} has no effect on read_topic", why=_WITHOUT_EFFECT[name], do="leave it out"
            )


class TopicRecords:
    """What ``read_topic`` returns. Each iteration and each ``__arrow_c_stream__`` reads the whole range again.

    ``spans`` is the range, resolved: the offsets of each partition. ``error`` is the last error of a reading. ``close``,
    or the end of a ``with`` block, ends all readings, from any thread: a reading that follows ends like one of a range
    that has an end, others with a ClosedError.
    """

    def __init__(self, asked: AskedRange) -> None:
        self.topic = asked.topic
        self.follow = asked.follow
        self.error: BaseException | None = None
        self._options = asked.options
        self._how: dict[str, Any] = {
            "columns": asked.columns,
            "where": RecordFilter(
                *(asked.range.times if asked.exact_times else (None, None)), keys=asked.keys
            ),
            "batch_rows": asked.batch_rows,
            "batch_bytes": asked.batch_bytes,
            "timeout": asked.timeout,
        }
        self._fields = chosen_columns(asked.columns).fields
        self._closed = False
        self._readings: list[_Reading] = []
        self._grows = asked.follow and asked.partitions is None
        with Consumer(asked.options) as consumer:
            limit = asked.options.default_api_timeout_ms / 1000 if asked.timeout is None else asked.timeout
            consumer.connect(limit)
            self.spans: Mapping[TopicPartition, Span] = self._pinned(consumer, asked, limit)

    def __repr__(self) -> str:
        partitions = f"{len(self.spans)} partition{'' if len(self.spans) == 1 else 's'}"
        most = self.most_rows
        rows = "followed" if self.follow else f"at most {most:,} record{'' if most == 1 else 's'}"
        return f"{type(self).__name__}({self.topic!r}, {partitions}, {rows})"

    def __enter__(self) -> TopicRecords:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def most_rows(self) -> int:
        """The number of offsets in the range, 0 if it has no end; there may be fewer records, or fewer wanted."""
        return sum(max(0, (span.stop or 0) - (span.start or 0)) for span in self.spans.values())

    def __iter__(self) -> Iterator[ArrowBatch]:
        """The batches of one reading, in order per partition."""
        reading = self._begin()
        try:
            yield from reading
        finally:
            reading.close()

    def __arrow_c_schema__(self) -> object:
        """The schema as a capsule; nothing is read for it."""
        return schema_capsule(table_schema(self._fields))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A stream of the whole range; a requested schema is followed where the buffers have that meaning too."""
        fields = fields_for(self._fields, requested_schema)
        reading = self._begin()
        return BatchStream(fields, reading, on_error=self._note, on_close=reading.close).capsule()

    def close(self) -> None:
        """Ends all readings; later ones are a ClosedError."""
        self._closed = True
        for reading in list(self._readings):
            reading.close()

    def _begin(self) -> _Reading:
        if self._closed:
            raise ClosedError(f"the records of {self.topic} are closed")
        reading = _Reading(self, self._options, self._how, self._watcher(), grows=self._grows)
        self._readings.append(reading)
        return reading

    def _watcher(self) -> Watcher | None:
        """What is called with each batch of a new reading, and with None at its end."""
        return None

    def _pinned(self, consumer: Consumer, asked: AskedRange, limit: float) -> Mapping[TopicPartition, Span]:
        """The range as offsets."""
        wanted = asked.range
        if asked.exact_times:  # records of the range may be anywhere behind its first one
            wanted = wanted._replace(stop=None)
        return ranges.spans(
            consumer,
            ranges.choose_partitions(consumer, [asked.topic], asked.partitions, limit),
            wanted,
            until_end=not asked.follow,
            timeout=limit,
            on_out_of_range=asked.options.on_out_of_range or "fail",
            do='choose other offsets="START:END", or on_out_of_range="earliest" or "latest"',
            from_its_start=True,
        )

    def forget(self, reading: _Reading) -> None:
        """A reading has ended."""
        if reading in self._readings:
            self._readings.remove(reading)

    def _note(self, error: BaseException) -> None:
        self.error = error


class _Reading(Iterator[ArrowBatch]):
    """One pass over the range. Made, iterated and closed in any thread; connects with the first batch.

    The consumer belongs to the thread that has ``_turn``. ``close`` of another thread while a batch is awaited only sets
    ``_closed`` and wakes that thread, which then closes the consumer itself.
    """

    def __init__(
        self,
        records: TopicRecords,
        options: ConsumerOptions,
        how: Mapping[str, Any],
        watcher: Watcher | None,
        *,
        grows: bool,
    ) -> None:
        self._records = records
        self._options = options
        self._how = how
        self._watcher = watcher
        self._grows = grows
        self._known = -1
        self._turn = threading.RLock()
        self._consumer: Consumer | None = None
        self._reader: ArrowReader | None = None
        self._closed = False
        self._ended = False
        self._process = os.getpid()

    def __next__(self) -> ArrowBatch:
        with self._turn:
            try:
                if self._ended:
                    raise StopIteration
                self._check_open()
                if self._consumer is None:
                    self._process = os.getpid()
                    self._consumer = Consumer(self._options)
                    self._consumer.connect(self._options.default_api_timeout_ms / 1000)
                    self._reader = ArrowReader(
                        self._consumer, self._records.spans, **self._how, on_poll=self._on_poll
                    )
                elif self._process != os.getpid():
                    raise ClosedError(
                        f"this reading of {self._records.topic} was begun before a fork",
                        why="its connections are those of the other process",
                        do="read from the beginning here: iterate over what read_topic returned again",
                    )
                if self._reader is None:
                    raise ClosedError("this reading could not connect")
                self._consumer.cluster.loop.adopt()
                batch = next(self._reader)
                if self._watcher is not None:
                    self._watcher(batch)
                return batch
            except StopIteration:
                self._ended = True
                self._end()
                raise
            except ClosedError:
                self._end()
                if self._closed and self._records.follow:
                    raise StopIteration from None
                raise

    def close(self) -> None:
        """Closes the connections; waits for no other thread."""
        self._closed = True
        if self._turn.acquire(blocking=False):
            try:
                self._end()
            finally:
                self._turn.release()
        elif (consumer := self._consumer) is not None:
            consumer.wakeup()

    def _on_poll(self) -> None:
        self._check_open()
        consumer = self._consumer
        if not self._grows or consumer is None or consumer.cluster.view.version == self._known:
            return
        self._known = consumer.cluster.view.version
        found = consumer.cluster.view.topics.get(self._records.topic)
        known = consumer.assignment
        new = [
            tp
            for each in (found.partitions if found is not None else ())
            if (tp := TopicPartition(self._records.topic, each.partition)) not in known
        ]
        if new:
            limit = self._options.default_api_timeout_ms / 1000
            begin = RangeSpec(OffsetSpec("earliest", 0))
            consumer.add_partitions(ranges.spans(consumer, new, begin, until_end=False, timeout=limit))

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("this reading was closed")

    def _end(self) -> None:
        """Closes the consumer; in the thread that has the turn."""
        self._records.forget(self)
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher(None)
        consumer, self._consumer, self._reader = self._consumer, None, None
        if consumer is not None and self._process != os.getpid():
            consumer.cluster.loop.forked()
        elif consumer is not None and not sys.is_finalizing():
            consumer.cluster.loop.adopt()
            consumer.close(commit=False)


# --- what the caller gives ------------------------------------------------------------------------------


def range_given(since: Instant | None, until: Instant | None, offsets: str | None) -> RangeSpec:
    """The range of these arguments; ConfigError."""
    if offsets is not None and (since is not None or until is not None):
        raise ConfigError(
            "offsets and a time were both given", why="both choose the range", do="use one of them"
        )
    if offsets is not None and not isinstance(offsets, str):
        raise ConfigError(f"offsets={offsets!r}", why="a range is text", do='offsets="1000:2000"')
    now = clock.wall_ms()
    try:
        by_time = RangeSpec(_at(since, now), _at(until, now))
        wanted = by_time if offsets is None else parse_range(offsets, now)
    except ValueError as error:
        raise ConfigError("the range cannot be understood", why=str(error)) from None
    ends = (wanted.start, wanted.stop)
    check_times(wanted, now, "the range", since=f"since={since!r}", until=f"until={until!r}")
    if any(end is not None and end.kind == "stored" for end in ends):
        raise ConfigError(f"offsets={offsets!r}", why="no group is read: it has no committed offsets")
    return wanted


def _at(instant: Instant | None, now: int) -> OffsetSpec | None:
    if instant is None:
        return None
    if isinstance(instant, datetime):
        return OffsetSpec("timestamp", max(0, round(instant.timestamp() * 1000)))
    if isinstance(instant, str):
        return OffsetSpec("timestamp", parse_instant(instant, now))
    ms = _whole(instant)
    if ms is None or ms < 0:
        raise ValueError(
            f'{instant!r} is no time: text such as "1h" (ago), a datetime, or a whole number of ms since the epoch'
        )
    if _SECONDS[0] <= ms < _SECONDS[1]:
        raise ValueError(f"{ms} ms is a time of 1970, and as many seconds are one of now: times are in ms")
    return OffsetSpec("timestamp", ms)


def _whole(value: Any) -> int | None:
    """A whole number, also one of NumPy; None for anything else."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def numbers_given(partitions: int | Iterable[int] | None) -> list[int] | None:
    """The numbers of the partitions that were asked for; None means all."""
    if partitions is None:
        return None
    several = partitions if isinstance(partitions, Iterable) else [partitions]
    numbers = [_whole(number) for number in several]
    found = [number for number in numbers if number is not None]
    if len(found) < len(numbers):
        raise ConfigError(
            f"partitions={partitions!r}", why="a partition is a number, or there is a list of several"
        )
    return found


def _keys(key: Key | Sequence[Key]) -> tuple[bytes | None, ...] | None:
    """What the key may be; None: anything."""
    if key is None:
        return None
    several = (key,) if isinstance(key, str | bytes) else key
    if not isinstance(several, Iterable) or not all(
        one is None or isinstance(one, str | bytes) for one in several
    ):
        raise ConfigError(f"key={key!r}", why="a key is text or bytes, or there is a list of several keys")
    return tuple(map(_key, several))


def _key(key: Key) -> bytes | None:
    return key.encode() if isinstance(key, str) else key
