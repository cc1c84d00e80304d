"""From input to confirmed records: reads, sends, waits for the outcomes, and reports in the end what became of each
line.

Nothing is lost silently: every line that was read is confirmed, failed with a reason, or counted as unknown. Lines that
were unsent at a stop count as not read.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from types import MappingProxyType
from typing import TYPE_CHECKING

from kcli.core.classes import NamedTuple
from kcli.core.clock import wall_ms
from kcli.core.errors import ClosedError, KcliError
from kcli.core.producer.partitioner import ANYWHERE
from kcli.core.producer.producer import Producer
from kcli.core.records.text_cut import line_count
from kcli.flows.inputs.feed import Portion
from kcli.flows.inputs.item import BadInput, Chunk, InputError, InputPosition, InputRow, RowChunk, TextChunk
from kcli.flows.inputs.lines import LineFormat
from kcli.flows.produce.ack_tracker import AckTracker
from kcli.flows.produce.line_outcomes import Outcomes, bad_input_error
from kcli.flows.stop import Stop

if TYPE_CHECKING:
    from kcli.core.types import TopicPartition
    from kcli.flows.produce.checkpoint import Checkpoint
    from kcli.flows.produce.dry_run import DryProducer

STOP_PATIENCE = 4.5
"""Seconds that a stopped produce waits for outstanding confirmations."""
CHECKPOINT_INTERVAL = 1.0
HOUR_MS = 3_600_000
_TICK = 0.1
_STOPPED = (
    "correct it; without --on-bad-input fail such lines do not end the run, and --failed FILE collects them"
)
_MOST_FILES = 3  # --failed and --checkpoint may fail once each


class Sending(NamedTuple):
    """How records are sent. ``by_hand``: to the partition that each record names.

    ``records_per_second`` and ``bytes_per_second`` (of input) limit the rate. ``stop_at_bad``: bad input ends the run.
    ``lingers``: batches wait for ``linger.ms`` even where the input pauses.
    """

    topic: str
    how: LineFormat = LineFormat()
    partition: int | None = None
    by_hand: bool = False
    longest: int = 1 << 30
    records_per_second: float | None = None
    bytes_per_second: float | None = None
    stop_at_bad: bool = False
    lingers: bool = False


class ProduceResult(NamedTuple):
    """``lines`` were read: the sum of those ``confirmed``, ``failed`` and ``unknown``. Of the failed lines ``bad`` were
    not valid records, the others were rejected or never sent; lines of unknown outcome may be stored.

    ``transactions`` were committed. ``error`` is the first failure of a record (of line ``error_line`` of
    ``error_input``), ``input_error`` is what ended the reading, ``output_error`` a failed write to an output.
    ``unread``: the reading ended before the input did. ``hours``: how many records with a time of their own there were,
    by hours since the epoch. ``stored``: the first batches, as of ``Outcomes``.
    """

    lines: int
    confirmed: int
    failed: int
    unknown: int
    bytes: int
    seconds: float
    error: KcliError | None
    input_error: KcliError | None = None
    bad: int = 0
    error_line: int = 0
    error_input: str = ""
    first_bad: InputError | None = None
    output_error: OSError | None = None
    transactions: int = 0
    unread: bool = False
    hours: Mapping[int, int] = MappingProxyType({})
    stored: Sequence[tuple[TopicPartition, int, int]] = ()


Progress = Callable[[int, int, int], None]
"""Called with bytes read, records confirmed and records failed so far."""


class ProduceRun:
    """One run over all input. ``outcomes`` must be the producer's delivery callback."""

    def __init__(
        self,
        producer: Producer | DryProducer,
        sending: Sending,
        *,
        stop: Stop,
        progress: Progress,
        tracker: AckTracker,
        outcomes: Outcomes,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self._producer = producer
        self._sending = sending
        self._stop = stop
        self._progress = progress
        self._tracker = tracker
        self._outcomes = outcomes
        self._checkpoint = checkpoint
        self._lines = self._read = self._passed = self.transactions = 0
        self._save_at = time.monotonic() + CHECKPOINT_INTERVAL
        self._at_end = False
        self._hours = Counter[int]()
        self._input_error: KcliError | None = None
        self._output_error: OSError | None = None
        self._bucket: TokenBucket | None = None
        if rate := sending.records_per_second or sending.bytes_per_second:
            from kcli.flows.rate import TokenBucket  # few runs need it

            self._bucket = TokenBucket(rate, time.monotonic())

    def run(self, portions: Iterable[Portion]) -> ProduceResult:
        """Sends everything and waits for its confirmation; a stop ends the reading, then the wait.

        Input errors end the reading too: what was read before is confirmed first, then they are reported.
        """
        started = time.monotonic()
        self._stop.wake(self._outcomes.stop)
        self._stop.wake(self._producer.interrupt)
        self._reading(portions)
        finished = not (self._stop or self._input_error or self._output_error)
        for _ in range(_MOST_FILES):  # a file that cannot be written does not end the wait for confirmations
            try:
                wait_for_confirmations(self._producer, self._stop, self._tick)
                break
            except KcliError as error:
                self._input_error = self._input_error or error
        if self._stop and self._producer.outstanding:
            self._outcomes.give_up()
            self._producer.close(timeout=0.0)
        self._finish_outputs(finished)
        outcomes, confirmed = self._outcomes, self._confirmed_count()
        lines = self._lines - outcomes.unsent
        failed = outcomes.failed + outcomes.bad
        return ProduceResult(
            lines,
            confirmed,
            failed,
            lines - confirmed - failed,  # includes what a producer that did not finish has not reported
            self._producer.totals.bytes,
            time.monotonic() - started,
            outcomes.first_error,
            self._input_error,
            outcomes.bad,
            outcomes.first_line,
            outcomes.first_name,
            outcomes.first_bad,
            self._output_error,
            self.transactions,
            not self._at_end,
            self._hours,
            self._outcomes.stored,
        )

    def _confirmed_count(self) -> int:
        """Records that are confirmed so far."""
        return self._outcomes.confirmed

    def _reading(self, portions: Iterable[Portion]) -> None:
        try:
            for portion in portions:
                self._read += portion.size
                if portion.chunk is not None:
                    self._send(portion)
                self._tick()
                if self._stop:
                    break
            self._at_end = not self._stop
        except ClosedError as error:
            if not self._stop:
                self._input_error = error
        except KcliError as error:
            self._input_error = error
        except OSError as error:  # of a tap: the copy of the input on stdout
            self._output_error = error

    def _send(self, portion: Portion) -> None:
        chunk = portion.chunk
        pauses = not (portion.more or self._sending.lingers)
        if isinstance(chunk, TextChunk) and portion.region is not None:
            self._send_text(chunk, portion, push=pauses)
        elif isinstance(chunk, RowChunk):
            self._send_chunk(chunk, portion)
            if pauses:
                self._push()

    def _push(self) -> None:
        """The input pauses: sends what was read."""
        if not self._sending.lingers:
            self._producer.push()

    def _send_text(self, chunk: TextChunk, portion: Portion, *, push: bool) -> None:
        sending, region = self._sending, portion.region
        assert region is not None
        how = sending.how
        try:
            chunk.units = self._producer.send_text(
                sending.topic,
                region.text,
                start=region.start,
                end=region.end,
                delimiter=how.delimiter,
                key_delimiter=how.key_delimiter,
                key=how.key,
                headers=how.headers,
                partition=sending.partition,
                null_marker=how.null_marker,
                empty_is_null=how.empty_is_null,
                longest=sending.longest,
                origin=chunk,
                push=push,
            )
        except KcliError as error:
            chunk.units = line_count(region.text, region.start, region.end, how.delimiter)
            self._not_passed(chunk, 0, error)
            raise
        finally:
            self._lines += chunk.units
            self._tracker.add_chunk(chunk)

    def _send_chunk(self, chunk: RowChunk, portion: Portion) -> None:
        stop_at: BadInput | None = None
        for unit, bad in portion.bad:
            if self._sending.stop_at_bad:
                stop_at = bad
                _cut(chunk, unit, bad)
                break
            self._outcomes.add_bad_input(chunk, unit, bad)
            self._lines += 1
        self._lines += chunk.rows
        self._passed = 0
        try:
            for start, stop in self._paced(chunk.records):
                self._pass_rows(chunk, start, stop)
        except KcliError as error:
            self._not_passed(chunk, self._passed, error)
            raise
        finally:
            self._tracker.add_chunk(chunk)
        if stop_at is not None:
            raise bad_input_error(chunk.name, stop_at, _STOPPED)

    def _not_passed(self, chunk: Chunk, first: int, error: KcliError) -> None:
        """The producer did not accept the rows from ``first`` on: they failed, or were not read before the stop."""
        from kcli.files.atomic import FileError  # few runs need it

        if isinstance(error, FileError):  # nothing can be recorded any more: a later run reads them again
            self._lines -= chunk.rows - first
        else:
            self._outcomes.add_unstored_rows(chunk, range(first, chunk.rows), error)

    def _pass_rows(self, chunk: RowChunk, start: int, stop: int) -> None:
        """Passes rows to the producer; ``_handed`` is the index after the last row that it accepted."""
        self._send_span(chunk, start, stop)
        self._passed = stop

    def _send_span(self, chunk: RowChunk, start: int, stop: int) -> None:
        some = chunk.records[start:stop]
        now = wall_ms()
        _, keys, values, headers, times, partitions, _ = zip(*some, strict=True)  # never none: see `_paced`
        stamps: Iterable[int] = repeat(now)
        if times.count(None) < len(times):
            self._count_hours([time for time in times if time is not None and time >= 0])
            stamps = [now if time is None else time for time in times]
        self._producer.send_rows(
            self._sending.topic,
            list(zip(keys, values, headers, stamps, strict=False)),
            partition=self._sending.partition,
            partitions=[ANYWHERE if number is None else number for number in partitions]
            if self._sending.by_hand
            else None,
            origin=chunk,
            first_row=start,
        )

    def _count_hours(self, times: Sequence[int]) -> None:
        if times and min(times) // HOUR_MS == max(times) // HOUR_MS:
            self._hours[times[0] // HOUR_MS] += len(times)
        else:
            self._hours.update(time // HOUR_MS for time in times)

    def _paced(self, rows: Sequence[InputRow]) -> Iterator[tuple[int, int]]:
        """Spans of rows, each when it may be sent."""
        bucket = self._bucket
        if bucket is None:
            if rows:
                yield 0, len(rows)
            return
        start = 0
        while start < len(rows):
            stop, cost = start, 0.0
            while stop < len(rows) and (stop == start or cost < bucket.most):
                raw = rows[stop].raw
                cost += 1 if self._sending.records_per_second else len(raw or b"") + 1
                stop += 1
            delay = bucket.take_tokens(cost, time.monotonic())
            if delay:
                self._push()
                self._wait(delay)
            if self._stop:
                raise ClosedError("stopped")
            yield start, stop
            start = stop

    def _wait(self, seconds: float) -> None:
        from kcli.flows.rate import wait  # few runs need it

        end = time.monotonic() + seconds
        while not self._stop and (left := end - time.monotonic()) > 0:
            self._tick()
            wait(min(left, CHECKPOINT_INTERVAL), self._stop)

    def _process_outcomes(self) -> None:
        self._outcomes.process_reports()

    def _tick(self) -> None:
        self._process_outcomes()
        self._progress(self._read, self._confirmed_count(), self._outcomes.failed + self._outcomes.bad)
        if self._checkpoint is not None and time.monotonic() >= self._save_at:
            self._save_at = time.monotonic() + CHECKPOINT_INTERVAL
            checkpoint, self._checkpoint = self._checkpoint, None
            self._save(checkpoint, finished=False)
            self._checkpoint = checkpoint

    def _save(self, checkpoint: Checkpoint, *, finished: bool) -> None:
        position = self._position()
        self._outcomes.sync()
        checkpoint.save(position, finished=finished)

    def _position(self) -> InputPosition:
        """Where a later run has to begin."""
        return self._tracker.position()

    def _finish_outputs(self, finished: bool) -> None:
        try:
            self._tick()
            if self._checkpoint is not None:
                self._save(self._checkpoint, finished=finished and not self._producer.outstanding)
        except KcliError as error:
            self._input_error = self._input_error or error


def _cut(chunk: RowChunk, unit: int, bad: BadInput) -> None:
    """Keeps in the chunk what precedes a bad unit. That will be corrected: the checksum ends where the chunk starts."""
    chunk.records = [row for row in chunk.records if row.line < bad.line]
    chunk.units, chunk.numbers = unit - chunk.start.unit, None
    chunk.read = chunk.start.offset, chunk.start.crc


def wait_for_confirmations(producer: Producer | DryProducer, stop: Stop, tick: Callable[[], None]) -> None:
    """Waits until everything is confirmed or has failed; after a stop only for a few seconds."""
    patience: float | None = None
    while not producer.flush(_TICK):
        tick()
        if stop:
            patience = patience or time.monotonic() + STOP_PATIENCE
            if time.monotonic() >= patience:
                return
