"""From partitions to output: whole batches are filtered, formatted and written before the next poll.

Ends when everything was read, the limit is reached, nothing arrived within the idle timeout, the time is over, or on a
stop. What is counted has been written and flushed, and only what was flushed is reported to the reading, which may
commit it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from kcli.core.classes import dataclass, field
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.consumer.partition_recovery import TopicRecreatedError
from kcli.core.error_codes import TOPIC_AUTHORIZATION_FAILED
from kcli.core.errors import BrokerError, CorruptRecordsError, KcliError, StoppedError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.consume.extent import Reading
from kcli.flows.filters.selection import Selection
from kcli.flows.stop import Stop

if TYPE_CHECKING:
    from kcli.flows.consume.ahead import Ahead
    from kcli.flows.consume.time_order import Merger
    from kcli.output.records import RecordSink


class Sink(Protocol):
    """The destination of the batches."""

    def batch(self, fetched: FetchedBatch, limit: int | None, selected: bytes | bytearray) -> tuple[int, int]:
        """Writes at most ``limit`` of the selected records; returns how many, and the offset of the last (−1: all of
        it).
        """

    def flush(self) -> None:
        """Flushes the output."""

    def check(self) -> None:
        """Raises an error when the output is closed; called while there is nothing to write."""


@dataclass(slots=True)
class ConsumeResult:
    """``records`` were written of ``scanned`` that were checked; ``bytes`` were received for them.

    ``unreadable`` batches were skipped because their records are inconsistent. ``positions`` are the next offsets after
    what was last written and flushed.
    """

    records: int = 0
    scanned: int = 0
    bytes: int = 0
    seconds: float = 0.0
    unreadable: int = 0
    positions: dict[TopicPartition, int] = field(default_factory=dict)


Progress = Callable[[ConsumeResult], None]
"""Called after each flush, with the figures so far."""


def consume(
    consumer: Consumer,
    reading: Reading,
    sink: Sink,
    *,
    stop: Stop,
    limit: int | None = None,
    idle_timeout: float | None = None,
    within: float | None = None,
    selection: Selection | None = None,
    merger: Merger | None = None,
    skip_corrupt: Callable[[str], object] | None = None,
    progress: Progress = lambda _result: None,
    ahead: tuple[Ahead, RecordSink] | None = None,
) -> ConsumeResult:
    """Reads to the end of ``reading``, at most ``within`` seconds long. ``skip_corrupt`` is called with each skipped
    batch; None: a corrupt batch ends it. ``ahead``: what other processes make of the batches, and ``sink``.
    """
    run = _ReadLoop(sink, Selection() if selection is None else selection, limit, merger, skip_corrupt, ahead)
    started = heard = now = time.monotonic()
    deadline = math.inf if within is None else started + within
    stop.wake(consumer.wakeup)
    while not (stop or run.full() or reading.done or now >= deadline):
        reading.tick()
        wait = min(1.0, idle_timeout or 1.0, merger.wait if merger is not None else 1.0, deadline - now)
        try:
            batches = consumer.poll(wait)
        except TopicRecreatedError as error:
            reading.recreated(error)
            continue
        except BrokerError as error:
            if error.code != TOPIC_AUTHORIZATION_FAILED:
                raise
            reading.refused(error)
            continue
        now = time.monotonic()
        if batches or reading.waiting:
            heard = now
        elif idle_timeout is not None and now - heard >= idle_timeout:
            break
        if batches or merger is not None:
            _write(run, batches, reading)
            run.result.seconds = now - started
            progress(run.result)
        else:
            reading.flushed(None)
            sink.check()
    if merger is not None:
        run.drain(merger)
    elif not run.full():
        reading.flushed(None)
    reading.finish(stop.__bool__)
    run.result.seconds = time.monotonic() - started
    return run.result


def _write(run: _ReadLoop, batches: list[FetchedBatch], reading: Reading) -> None:
    """Writes, flushes and reports it to the reading. After an error, what came before it is flushed and counted."""
    try:
        whole = run.write_batches(batches)
    except KcliError:
        run.flush()
        reading.flushed(run.written)
        raise
    run.flush()
    reading.flushed(None if whole else run.written)


class _ReadLoop:
    """Passes the batches of one run to the sink. ``written`` are the next offsets after what was written of one poll."""

    def __init__(
        self,
        sink: Sink,
        selection: Selection,
        limit: int | None,
        merger: Merger | None,
        skip_corrupt: Callable[[str], object] | None,
        ahead: tuple[Ahead, RecordSink] | None,
    ) -> None:
        self.sink = sink
        self.result = ConsumeResult()
        self.written: dict[TopicPartition, OffsetAndMetadata] = {}
        self._selection = selection
        self._limit = limit
        self._merger = merger
        self._skip_corrupt = skip_corrupt
        self._ahead = ahead

    def full(self) -> bool:
        """Whether the limit is reached."""
        return self._limit is not None and self.result.records >= self._limit

    def write_batches(self, batches: Sequence[FetchedBatch]) -> bool:
        """Writes the batches of one poll; returns False when the limit or a stop has cut them short."""
        self.written = {}
        if self._ahead is None:
            return self._write_each(batches)
        ahead, _sink = self._ahead
        ahead.begin(batches)
        try:
            return self._write_each(batches)
        finally:
            ahead.end()

    def _write_each(self, batches: Iterable[FetchedBatch]) -> bool:
        for fetched in batches:
            if self.full():
                return False
            try:
                last = self._one(fetched)
            except StoppedError:
                return False
            fetched.batch.forget_payload()
            self.result.bytes += fetched.batch.size
            if last >= 0 and self.full():
                place = OffsetAndMetadata(last + 1, "", fetched.batch.leader_epoch)
            else:
                place = OffsetAndMetadata(fetched.then, "", fetched.then_epoch)
            self.written[fetched.tp] = place
        if self._merger is not None:
            self._put(self._merger.take_ready())
        return not self.full()

    def flush(self) -> None:
        """Flushes everything that was written."""
        self.sink.flush()
        for tp, place in self.written.items():
            self.result.positions[tp] = place.offset

    def drain(self, merger: Merger) -> None:
        """Writes what the merger still holds, up to the limit."""
        self._put(merger.drain())
        self.sink.flush()

    def _one(self, fetched: FetchedBatch) -> int:
        """Writes the selected records of a batch; returns the offset of the last record, −1 for all of it."""
        try:
            if self._ahead is not None and self._put_rendered(fetched, *self._ahead):
                return -1
            selected = self._selection.select(fetched)
            self.result.scanned = self._selection.scanned
            if selected is None:
                return -1
            if self._merger is not None:
                self._merger.add_batch(fetched, selected)
                return -1
            return self._write(fetched, selected)
        except CorruptRecordsError as error:
            if self._skip_corrupt is None:
                raise error.in_partition(fetched.tp) from error
            self._skip_corrupt(f"skipped: {error.in_partition(fetched.tp)}")
            self.result.unreadable += 1
            return -1

    def _put_rendered(self, fetched: FetchedBatch, ahead: Ahead, sink: RecordSink) -> bool:
        """Writes all of a batch that another process has formatted; False where that is to be done here."""
        rendered = ahead.next(self._left())
        if rendered is None:
            return False
        self._selection.pass_over(fetched)
        self.result.scanned = self._selection.scanned
        sink.put_rendered(fetched, rendered, lambda: self._selection.select(fetched) or b"")
        if not fetched.batch.is_control:
            self.result.records += rendered.count
        return True

    def _left(self) -> int | None:
        return None if self._limit is None else self._limit - self.result.records

    def _put(self, records: Iterable[FetchedBatch]) -> None:
        for fetched in records:
            if self.full():
                return
            self._write(fetched, b"")

    def _write(self, fetched: FetchedBatch, selected: bytes | bytearray) -> int:
        count, last = self.sink.batch(fetched, self._left(), selected)
        if not fetched.batch.is_control:  # a marker is shown, but is no record
            self.result.records += count
        return last
