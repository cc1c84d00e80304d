"""Reads topics without end for a followed query: batches of Arrow, and how far each partition is, through one queue.

A thread of its own (``kcli-scan``) owns the consumer. The queue is bounded, so a query that is slower than the topic
slows the reading down. A standing follows the batches before its position: who takes both in order knows at a standing
that all records before it were taken.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from kcli.core import clock
from kcli.core.arrow.table import ArrowBatch
from kcli.core.classes import NamedTuple
from kcli.core.consumer import ranges
from kcli.core.consumer.arrow_reader import ArrowReader
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.errors import ClosedError
from kcli.core.positions import OffsetSpec, RangeSpec
from kcli.core.types import TopicPartition
from kcli.pipeline.decoding import Undecoded
from kcli.pipeline.duckdb.scan import Reading, RowColumns, ScanColumns

if TYPE_CHECKING:
    from types import TracebackType

_AHEAD = 4  # items that wait
_TURN = 0.1  # seconds
_PATIENCE = 1.0  # seconds for the thread to end
_STANDINGS = 0.5  # seconds between two looks at the positions


class Arrived(NamedTuple):
    """Records of a partition. ``times``: the oldest and the newest, in ms; None if no record has one. ``bytes``: all that
    was read so far.
    """

    batch: ArrowBatch
    times: tuple[int, int] | None
    bytes: int


class Standing(NamedTuple):
    """Where the reading of a partition is. ``waits``: why it is not read on at present, although there may be more."""

    position: int
    at_end: bool
    waits: str


class Standings(NamedTuple):
    """Those of all partitions, at a time in ms."""

    at_ms: int
    partitions: Mapping[TopicPartition, Standing]


Item = Arrived | Standings | None


class FollowReading:
    """``with FollowReading(…) as reading: reading.next()``. ``spans``: where reading begins, and may end; ``wanted``:
    what is to be read of partitions that are added later.
    """

    def __init__(
        self,
        columns: ScanColumns,
        spans: Mapping[TopicPartition, Span],
        topics: Sequence[str],
        wanted: Callable[[Mapping[TopicPartition, Span]], Mapping[TopicPartition, Span]],
        reading: Reading,
    ) -> None:
        self._columns, self._spans, self._topics, self._how = columns, spans, topics, reading
        self._wanted = wanted
        self._queue: queue.Queue[Item | BaseException] = queue.Queue(_AHEAD)
        self._closed = threading.Event()
        self._known = -1
        self._looked = 0.0
        self.undecoded: dict[tuple[str, TopicPartition], Undecoded] = {}
        """Counts by part and partition; those of the thread, complete when it has ended."""
        self._thread = threading.Thread(target=self._run, name="kcli-scan", daemon=True)

    def __enter__(self) -> FollowReading:
        self._thread.start()
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._closed.set()
        self._thread.join(_PATIENCE)

    def next(self) -> Item:
        """What has come next; None at the end of all spans, queue.Empty where nothing came within a moment. Raises what
        has ended the reading.
        """
        found = self._queue.get(timeout=_TURN)
        if isinstance(found, BaseException):
            raise found
        return found

    # --- the thread -------------------------------------------------------------------------------------

    def _run(self) -> None:
        end: BaseException | None = None
        try:
            self._read()
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits
            end = error
        self._put(end)

    def _put(self, found: Item | BaseException) -> None:
        while not self._closed.is_set():
            with suppress(queue.Full):
                self._queue.put(found, timeout=_TURN)
                return

    def _read(self) -> None:
        with ExitStack() as stack:
            serdes = stack.enter_context(self._how.open_serdes())
            consumer = stack.enter_context(Consumer(self._how.options))
            consumer.connect(self._how.options.default_api_timeout_ms / 1000)
            rows = RowColumns(self._columns, serdes)
            self.undecoded = rows.undecoded
            reader = stack.enter_context(
                ArrowReader(
                    consumer, self._spans, columns=rows.needed, on_poll=lambda: self._on_poll(consumer)
                )
            )
            time = rows.needed.index("timestamp")
            for batch in reader:
                times = _times(batch, time)
                self._put(Arrived(rows.batch(batch), times, reader.bytes_read))
                self._check_open()
            self._put(self._standings(consumer))

    def _on_poll(self, consumer: Consumer) -> None:
        self._check_open()
        if consumer.cluster.view.version != self._known:
            self._known = consumer.cluster.view.version
            self._add_partitions(consumer)
        now = consumer.cluster.loop.now()
        if now - self._looked >= _STANDINGS:
            self._looked = now
            self._put(self._standings(consumer))

    def _standings(self, consumer: Consumer) -> Standings:
        at_ms = clock.wall_ms()
        stalled = consumer.stalled()
        blocked = consumer.waiting()
        found = {}
        for tp in consumer.assignment:
            state = consumer.state(tp)
            waits = stalled.get(tp, "")
            if tp in blocked:
                waits = f"an open transaction begins at offset {blocked[tp].last_stable_offset}"
            at_end = state.reached_stop or (not waits and 0 <= state.high_watermark <= state.position)
            found[tp] = Standing(state.position, at_end, waits)
        return Standings(at_ms, found)

    def _add_partitions(self, consumer: Consumer) -> None:
        known = consumer.assignment | self._spans.keys()
        new = [
            tp
            for topic in self._topics
            if (view := consumer.cluster.view.topics.get(topic)) is not None
            for each in view.partitions
            if (tp := TopicPartition(topic, each.partition)) not in known
        ]
        if new:
            limit = self._how.options.default_api_timeout_ms / 1000
            begin = RangeSpec(OffsetSpec("earliest", 0))
            spans = ranges.spans(consumer, new, begin, until_end=False, timeout=limit)
            consumer.add_partitions(self._wanted(spans))

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise ClosedError("the reading was closed")


def _times(batch: ArrowBatch, column: int) -> tuple[int, int] | None:
    """The oldest and the newest time of the records that have one."""
    _, _, buffers, _ = batch.columns[column]
    times = memoryview(buffers[1] or b"").cast("B").cast("q")[: batch.count]
    valid = buffers[0]
    found: Sequence[int] = times
    if valid is not None:
        bits = memoryview(valid).cast("B")
        found = [time for row, time in enumerate(times) if bits[row >> 3] >> (row & 7) & 1]
    return (min(found), max(found)) if len(found) > 0 else None
