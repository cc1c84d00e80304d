"""From a share group to output: records are written and flushed, and only then acknowledged.

What is not written is released in the end. Acknowledged is what was decided, by ``--on-each`` or by a program; what
becomes of it is known when the broker answers: accepted, released, rejected, refused (its lock had expired, so it is
delivered again), or unknown.
"""

import math
import time
from collections.abc import Callable, Iterator

from kcli.core.classes import dataclass, field
from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.errors import CorruptRecordsError, KcliError, StoppedError
from kcli.core.share.acquired import Acknowledge, DecisionState
from kcli.core.share.consumer import ShareConsumer
from kcli.core.share.fetcher import Settled
from kcli.core.types import Record
from kcli.flows.consume.record_command import RecordCommand
from kcli.flows.consume.run import Sink
from kcli.flows.stop import LastWait, Stop

_UNTIL_ASSIGNED = 10.0  # seconds that --exit waits for partitions
_UNTIL_LOADED = 5.0  # seconds that it waits for a first record: brokers load the state of the group first
_STOPPED = 2.0  # seconds that a program may go on after a stop
_LEAST_LOCK = 1.0  # seconds that a lock must last for another record to be begun


@dataclass(slots=True)
class ShareResult:
    """``records`` were written; the others say what became of them. ``given_back``: acquired, and never written.

    ``redelivered`` were written with a delivery count above 1. ``refusal``: why the first one was refused.
    """

    records: int = 0
    bytes: int = 0
    seconds: float = 0.0
    redelivered: int = 0
    unreadable: int = 0
    accepted: int = 0
    released: int = 0
    rejected: int = 0
    refused: int = 0
    unknown: int = 0
    given_back: int = 0
    refusal: Settled | None = None
    ended: bool = field(default=False, repr=False)

    def add(self, settled: Settled) -> None:
        """Counts an outcome; after the end what is released was not written."""
        if settled.outcome is DecisionState.UNKNOWN:
            self.unknown += settled.size
        elif settled.outcome is DecisionState.REFUSED:
            self.refused += 0 if self.ended else settled.size
            if self.refusal is None and not self.ended:
                self.refusal = settled
        elif self.ended and settled.kind is Acknowledge.RELEASE:
            self.given_back += settled.size
        else:
            name = {Acknowledge.ACCEPT: "accepted", Acknowledge.RELEASE: "released"}.get(
                settled.kind, "rejected"
            )
            setattr(self, name, getattr(self, name) + settled.size)

    @property
    def unsettled(self) -> int:
        """Records that were written, and of which no outcome is known."""
        done = self.accepted + self.released + self.rejected + self.refused + self.unknown
        return max(0, self.records - done)


Progress = Callable[[ShareResult], None]
"""Called after each flush, with the figures so far."""
Line = Callable[[FetchedBatch], bytes]
"""A record as a line of JSON."""


def consume_shared(
    consumer: ShareConsumer,
    sink: Sink,
    result: ShareResult,
    *,
    stop: Stop,
    on_each: Acknowledge = Acknowledge.ACCEPT,
    command: RecordCommand | None = None,
    line: Line = lambda _fetched: b"",
    limit: int | None = None,
    until_end: bool = False,
    idle_timeout: float | None = None,
    within: float | None = None,
    skip_corrupt: Callable[[str], object] | None = None,
    progress: Progress = lambda _result: None,
) -> None:
    """Reads until the limit, the end or a stop, and waits for the outcomes. ``result`` receives the consumer's
    ``on_settled``. ``skip_corrupt`` is called with each batch that cannot be read, and is rejected; None: it ends it.
    """
    run = _ShareLoop(consumer, sink, result, stop, on_each, command, line, limit, skip_corrupt)
    started = heard = now = time.monotonic()
    quiet = math.inf  # since when no broker has had a record
    deadline = math.inf if within is None else started + within
    stop.wake(consumer.wakeup)
    consumer.prefetches = command is None and limit is None
    try:
        while not (stop or run.full or now >= deadline):
            if limit is not None:
                consumer.max_records = limit - result.records
            batches = consumer.poll(min(1.0, idle_timeout or 1.0, deadline - now))
            now = time.monotonic()
            if batches:
                heard = now
                run.write(batches)
                result.seconds = time.monotonic() - started
                progress(result)
                continue
            sink.check()
            quiet = min(quiet, now) if consumer.is_exhausted else math.inf
            if until_end and (
                now - quiet >= (0.0 if result.records else _UNTIL_LOADED)
                or (not consumer.assignment and now - started > _UNTIL_ASSIGNED and consumer.is_stable)
            ):
                break
            if not consumer.is_stable:
                heard = now
            elif idle_timeout is not None and now - heard >= idle_timeout:
                break
    finally:
        consumer.prefetches = False
        wait = LastWait(stop.__bool__, consumer.options.default_api_timeout_ms / 1000)
        while (left := wait.left) and not consumer.commit(left):
            pass
        result.ended = True
        result.seconds = time.monotonic() - started


class _ShareLoop:
    """Writes and acknowledges the batches of one poll."""

    def __init__(
        self,
        consumer: ShareConsumer,
        sink: Sink,
        result: ShareResult,
        stop: Stop,
        on_each: Acknowledge,
        command: RecordCommand | None,
        line: Line,
        limit: int | None,
        skip_corrupt: Callable[[str], object] | None,
    ) -> None:
        self._consumer, self._sink, self._result, self._stop = consumer, sink, result, stop
        self._on_each, self._command, self._line, self._limit = on_each, command, line, limit
        self._skip_corrupt = skip_corrupt

    @property
    def full(self) -> bool:
        """Whether the limit is reached."""
        return self._limit is not None and self._result.records >= self._limit

    def write(self, batches: list[FetchedBatch]) -> None:
        """Writes them, flushes, and acknowledges what was written."""
        if self._command is not None:
            for fetched in batches:
                self._one_by_one(fetched, self._command)
            return
        written: list[tuple[FetchedBatch, int | None]] = []
        try:
            for fetched in batches:
                if self.full:
                    break
                count, last = self._put(fetched)
                if count:
                    written.append((fetched, None if last < 0 else last))
        except StoppedError:  # while a batch was decompressed: the rest is released
            pass
        finally:
            self._sink.flush()
            for fetched, end in written:
                self._consumer.acknowledge(fetched, self._on_each, last=end)

    def _put(self, fetched: FetchedBatch) -> tuple[int, int]:
        left = None if self._limit is None else self._limit - self._result.records
        try:
            count, last = self._sink.batch(fetched, left, b"")
        except CorruptRecordsError as error:
            if self._skip_corrupt is None:
                raise error.in_partition(fetched.tp) from error
            self._skip_corrupt(f"rejected: {error.in_partition(fetched.tp)}")
            self._consumer.acknowledge(fetched, Acknowledge.REJECT)
            self._result.unreadable += 1
            return 0, -1
        fetched.batch.forget_payload()
        self._result.records += count
        self._result.bytes += fetched.batch.size
        if fetched.deliveries > 1:
            self._result.redelivered += count
        return count, last

    def _one_by_one(self, fetched: FetchedBatch, command: RecordCommand) -> None:
        for record in _records(fetched):
            if self._stop or self.full or not self._may_begin():
                return
            one = fetched._replace(first=record.offset, stop=record.offset + 1)
            self._sink.batch(one, None, b"")
            self._sink.flush()
            self._result.records += 1
            self._result.redelivered += fetched.deliveries > 1
            kind = Acknowledge.RELEASE  # unless it ends by itself
            try:
                command.start(self._line(one), record.key, record.value, self._consumer.wakeup)
                status = self._wait(command)
                if status is not None:
                    kind = command.decision(status)
            finally:
                self._consumer.acknowledge(record, kind)
        self._result.bytes += fetched.batch.size

    def _may_begin(self) -> bool:
        """Whether the lock lasts for another record. Where brokers cannot extend it, the rest is released in time."""
        return self._consumer.lock_left() > _LEAST_LOCK or self._consumer.hold(0.0)

    def _wait(self, command: RecordCommand) -> int | None:
        """The exit status; None if it did not end after a stop."""
        until = math.inf
        while (status := command.ended()) is None:
            now = time.monotonic()
            if self._stop and until == math.inf:
                until = now + _STOPPED
            if now >= until:
                command.kill()
                return None
            self._consumer.hold(min(1.0, max(0.0, until - now)))
        return status


def _records(fetched: FetchedBatch) -> Iterator[Record]:
    for record in fetched.batch.records(*fetched.tp):
        if fetched.first <= record.offset < fetched.stop:
            yield record


def share_errors(result: ShareResult, lock_seconds: float) -> list[KcliError]:
    """Why not all that was written was acknowledged."""
    errors = []
    if result.refused:
        first = result.refusal
        where = f", the first {first.tp}@{first.first}" if first is not None else ""
        errors.append(
            KcliError(
                f"{result.refused:,} of the {result.records:,} records that were written were not acknowledged{where}",
                why=first.why if first is not None else "",
                do="they are delivered again, to this member or another"
                + (
                    f"; a lock lasts {lock_seconds:g} s: the group's share.record.lock.duration.ms sets it"
                    if lock_seconds
                    else ""
                ),
            )
        )
    lost = result.unknown + result.unsettled
    if lost:
        errors.append(
            KcliError(
                f"it is unknown whether {lost:,} of the {result.records:,} records that were written were acknowledged",
                why="the broker's answer was lost, or did not come in time",
                do="those that were not are delivered again, to this member or another",
            )
        )
    return errors
