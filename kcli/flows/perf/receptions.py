"""What became of records on their way from the producer to a consumer of the same process, as a measurement.

A record counts when it is received. Its latency is corrected from the time at which it was due, raw from when the request
with it left; both end at the reception. When the request left is only known with the confirmation, which may come after
the record itself: so the one that comes first waits for the other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.errors import CorruptRecordsError, KcliError
from kcli.core.producer.origins import Rows
from kcli.core.producer.report import Report
from kcli.flows.perf.deliveries import Deliveries
from kcli.flows.perf.integrity import Integrity, Trace
from kcli.flows.perf.marks import PREFIX_SIZE
from kcli.flows.perf.sequences import Sequences

_SAMPLED = 1_000  # of so many records the latency of one is kept, as in Kafka's tool but for its first


class Receptions(Deliveries):
    """``head``: what the marks of the producer begin with. ``size(number)``: bytes of the value of a record.
    ``due(number)``: when it was to be sent, on the monotonic clock; set before the first record is handed over.

    ``decided``: how many records were confirmed or have failed. ``add`` is called by the producer's thread; what is
    received and asked is for the thread that owns the consumer.
    """

    def __init__(self, head: bytes, size: Callable[[int], int], *, warmup: int = 0) -> None:
        super().__init__(lambda first, stop: sum(map(size, range(first, stop))))
        self.due: Callable[[int], float] = float
        self.decided = 0
        self._mark_head = head
        self._value_size = size
        self._warmup = warmup
        self._decision = threading.Condition(self._lock)
        self._trace = Trace()
        self._stored = Sequences()
        self._left_at: dict[int, float] = {}
        self._came_at: dict[int, float] = {}

    def add(self, report: Report) -> None:
        """See ``Deliveries``."""
        super().add(report)
        with self._decision:
            self._decision.notify_all()

    def wait_decided(self, count: int, seconds: float) -> None:
        """Waits until so many records were confirmed or have failed, or the time is over."""
        with self._decision:
            self._decision.wait_for(lambda: self.decided >= count, seconds)

    def receive(self, fetched: FetchedBatch, at: float) -> bool:
        """A batch came out of a poll that returned at ``at``. Returns whether it has records of this test."""
        partition = fetched.tp.partition
        first = self._trace.unread(partition, fetched.first)
        if first >= fetched.stop:
            return False
        try:
            _, _, runs = fetched.batch.marks(first, fetched.stop, self._mark_head, PREFIX_SIZE)
        except CorruptRecordsError as error:
            raise error.in_partition(fetched.tp) from error
        for run in runs:
            fresh = self._not_received(run[1], run[1] + run[2])
            self._trace.add(partition, first, fetched.stop, [run])
            with self._lock:
                self._receive(fresh, at)
        self._trace.add(partition, fetched.stop, fetched.stop, ())
        fetched.batch.forget_payload()
        return bool(runs)

    def was_received(self, number: int) -> bool:
        """Whether the record came."""
        return not self._not_received(number, number + 1)

    @property
    def missing(self) -> int:
        """How many records are confirmed, and were not received."""
        with self._lock:
            return self._stored.without(self._trace.found(self._mark_head))

    def integrity(self) -> Integrity:
        """Whether every confirmed record was received once and in order."""
        with self._lock:
            return self._trace.judge_sent({self._mark_head: self._stored})

    def _not_received(self, first: int, stop: int) -> Sequence[int]:
        known = self._trace.found(self._mark_head)
        numbers = range(first, stop)
        return (
            [one for one in numbers if not known.count(one, one + 1)] if known.count(first, stop) else numbers
        )

    def _receive(self, numbers: Sequence[int], at: float) -> None:
        fresh, began = self._fresh, self.began
        for number in numbers:
            if began is None or number < self._warmup:
                fresh.warmup_records += 1
                continue
            self._last = at
            interval = fresh.interval_at(at - began)
            size = self._value_size(number)
            interval.records += 1
            interval.bytes += size
            latency = _micros(at - self.due(number))
            interval.latencies.add(latency)
            if (place := number - self._warmup) and place % _SAMPLED == 0:
                interval.samples.append((place, latency))
            fresh.records += 1
            fresh.bytes += size
            left = self._left_at.pop(number, None)
            if left is None:
                self._came_at[number] = at
            else:
                fresh.raw.add(_micros(at - left))

    def _confirm(self, report: Report, at: float) -> None:  # noqa: ARG002 - the reception counts
        self.decided += report.count
        for _, origin, rows in report.origins:
            for start, stop in _ranges(rows):
                self._stored.add(origin.sequence + start, origin.sequence + stop)
                if origin.measured and report.sent_at is not None:
                    self._match(origin.sequence + start, origin.sequence + stop, report.sent_at)

    def _match(self, first: int, stop: int, left: float) -> None:
        for number in range(first, stop):
            came = self._came_at.pop(number, None)
            if came is None:
                self._left_at[number] = left
            else:
                self._fresh.raw.add(_micros(came - left))

    def _fail(self, count: int, error: KcliError, at: float) -> None:
        self.decided += count
        super()._fail(count, error, at)


def _ranges(rows: Rows) -> list[tuple[int, int]]:
    if isinstance(rows, range):
        return [(rows.start, rows.stop)]
    return [(row, row + 1) for row in rows]


def _micros(seconds: float) -> int:
    return round(seconds * 1_000_000)
