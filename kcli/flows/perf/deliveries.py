"""What became of the records that were handed to a producer, as a measurement. ``add`` is called by the sender's thread
or the one that sends, the other methods by the thread of the test: ``_lock`` guards what was measured since ``drain``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError, RecordRefusedError
from kcli.core.producer.origins import Rows
from kcli.core.producer.report import Report
from kcli.flows.perf.failure import failure_of, kind_of
from kcli.flows.perf.histogram import Histogram
from kcli.flows.perf.measurement import Interval, Measurement
from kcli.flows.perf.schedule import SLOT
from kcli.flows.perf.sequences import Sequences

_HOPELESS = 1_000  # records that brokers refuse one by one, before any is stored


class HandedOver(NamedTuple):
    """Records that were handed over together, as the origin of their reports. ``sequence``: of the first; ``line``: its
    line in the payload; ``intended``: when it was due, on the monotonic clock; ``period``: seconds from one to the next,
    0 if all were due at once. ``measured``: not part of the warm-up.
    """

    sequence: int
    line: int
    intended: float
    period: float
    measured: bool


class Deliveries:
    """``size(first, stop)``: bytes of lines of the payload. ``began``: when the measured part did, once it did.

    ``hopeless``: the first ones of all records have failed, or the producer accepts no more.
    With ``head``, that of the records' marks, the numbers of those that are confirmed are kept.
    """

    def __init__(
        self,
        size: Callable[[int, int], int],
        head: bytes | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.measured = Measurement()
        self._head = head
        self._clock = clock
        self.began: float | None = None
        self._size = size
        self._lock = threading.Lock()
        self._fresh = Measurement()
        self._last = self._used = 0.0
        self._confirmed = self._closing = False
        self._failed = 0
        self.hopeless = False

    def begin(self, now: float) -> None:
        """The measured part begins."""
        self._used = time.process_time()
        self.began = now
        self.measured.began = time.time() - (self._clock() - now)

    def close(self) -> None:
        """From now on the producer is being closed: records that fail are unconfirmed, not refused."""
        self._closing = True

    def add(self, report: Report) -> None:
        """Records were confirmed or have failed."""
        at = self._clock()
        with self._lock:
            self._last = at
            if report.error is None:
                self._confirmed = True
                self._confirm(report, at)
            else:
                self._fail(report.count, report.error, at)

    def refuse(self, count: int, error: KcliError, *, final: bool = False) -> None:
        """Records could not be handed over; ``final``: nor can any later one."""
        with self._lock:
            self._last = self._clock()
            self._fail(count, error, self._last)
            self.hopeless = self.hopeless or final

    def drain(self) -> Interval:
        """Adds to ``measured`` what came in since the last call, and the CPU time, and returns the sum of it."""
        empty = Measurement(interval_seconds=self.measured.interval_seconds)
        used = time.process_time()
        with self._lock:
            if self.began is not None and self._last >= self.began:
                self._fresh.interval_at(self._last - self.began).cpu_seconds += used - self._used
                self._used = used
            fresh, self._fresh = self._fresh, empty
        found = Interval(0)
        for interval in fresh.intervals.values():
            found.merge(interval)
        fresh.corrected.merge(found.latencies)
        self.measured.merge(fresh)
        return found

    def end(self) -> Measurement:
        """The measurement, after the last ``drain``."""
        if self.began is not None:
            self.measured.ended = self.measured.began + max(0.0, self._last - self.began)
        return self.measured

    def _confirm(self, report: Report, at: float) -> None:
        fresh, began = self._fresh, self.began
        interval = None if began is None else fresh.interval_at(at - began)
        count = 0
        for entry in report.origins:
            origin: HandedOver = entry.origin
            if self._head is not None:
                _add_numbers(fresh.confirmed.setdefault(self._head, Sequences()), origin, entry.rows)
            if interval is None or not origin.measured:
                fresh.warmup_records += len(entry.rows)
                continue
            size = self._bytes(origin, entry.rows)
            count += len(entry.rows)
            interval.records += len(entry.rows)
            interval.bytes += size
            fresh.bytes += size
            _add_latencies(interval.latencies, origin, entry.rows, at)
        fresh.records += count
        if report.sent_at is not None:
            fresh.raw.add(_micros(at - report.sent_at), count)

    def _bytes(self, origin: HandedOver, rows: Rows) -> int:
        if isinstance(rows, range):
            return self._size(origin.line + rows.start, origin.line + rows.stop)
        return sum(self._size(origin.line + row, origin.line + row + 1) for row in rows)

    def _fail(self, count: int, error: KcliError, at: float) -> None:
        fresh = self._fresh
        if self._closing:
            fresh.unconfirmed += count
            return
        fresh.errors[kind_of(error)] += count
        fresh.failure = fresh.failure or failure_of(error)
        fresh.interval_at(0.0 if self.began is None else at - self.began).errors += count
        self._failed += count
        # The rest of the batch of a refused record may be stored yet.
        enough = not isinstance(error, RecordRefusedError) or self._failed >= _HOPELESS
        self.hopeless = self.hopeless or (enough and not self._confirmed)


def _add_numbers(numbers: Sequences, origin: HandedOver, rows: Rows) -> None:
    first = origin.sequence
    if isinstance(rows, range):
        numbers.add(first + rows.start, first + rows.stop)
        return
    for row in rows:
        numbers.add(first + row, first + row + 1)


def _add_latencies(histogram: Histogram, origin: HandedOver, rows: Rows, at: float) -> None:
    """From the intended times. Records that are due within the same slot count as its first one."""
    period = origin.period
    step = len(rows) if not period else max(1, int(SLOT / period)) if isinstance(rows, range) else 1
    for index in range(0, len(rows), step):
        waited = at - origin.intended - rows[index] * period
        histogram.add(_micros(waited), min(step, len(rows) - index))


def _micros(seconds: float) -> int:
    return round(seconds * 1_000_000)
