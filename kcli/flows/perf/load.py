"""Produces the load of a test: as fast as the producer accepts it, or on a schedule.

A thread hands records over, for a producer without room blocks it; the thread of the test watches for a request to stop
and reports progress. What became of the records is in ``deliveries.py``.
"""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack

from kcli.core.errors import BufferFullError, ClosedError, KcliError
from kcli.core.producer.producer import Producer
from kcli.flows.perf.deliveries import Deliveries, HandedOver
from kcli.flows.perf.histogram import Histogram
from kcli.flows.perf.load_plan import LoadPart, LoadPlan
from kcli.flows.perf.measurement import Measurement
from kcli.flows.perf.payload import Payload
from kcli.flows.perf.run_context import RunContext
from kcli.flows.perf.schedule import Schedule

_LOOK = 0.1  # seconds between two reports of progress, and two looks at a request to stop
_STOP_PATIENCE = 4.0  # seconds for records in flight after a request to stop
PORTION = 512 << 10
"""Bytes that are handed over at once, half a batch; without a rate their records have one latency. A hand-over costs the
same for any number of records (decision 0111).
"""
_SPEED_SECONDS = 0.1  # of making values without sending them
_BLOCKED = 0.02  # seconds: a hand-over that takes longer has waited for room in the producer


def measure_load(part: LoadPart, context: RunContext) -> Measurement:
    """Sends the load; returns when every record is confirmed or has failed, or the test was stopped. Errors before the
    first record are raised, later ones counted.
    """
    payload = part.plan.payload()
    deliveries = Deliveries(payload.size, part.plan.head)
    with ExitStack() as stack:
        producer = Producer(part.options, hooks=context.hooks, on_delivery=deliveries.add)
        stack.callback(producer.close, timeout=0.0)
        producer.connect([part.plan.topic], part.timeout)
        if part.plan.transaction is not None:
            producer.init_transactions(part.timeout)
        load = Load(part.plan, payload, producer, deliveries)
        load.start(context.begin())
        _watch(load, context)
        _finish(producer, deliveries, context)
        context.report(deliveries.drain())
        return load.end()


class Load:
    """The thread that hands records over. ``deliveries`` must receive the reports of ``producer``."""

    def __init__(self, plan: LoadPlan, payload: Payload, producer: Producer, deliveries: Deliveries) -> None:
        self.deliveries = deliveries
        self.sent = 0
        self._plan = plan
        self._payload = payload
        self._producer = producer
        self._portion = max(1, PORTION // (round(payload.mean_size) + 1))
        self._schedule: Schedule | None = None
        self._until = float("inf")
        self._free_since = 0.0
        self._commit_at: float | None = None
        """When the open transaction is due; None without one."""
        self._lateness = Histogram()
        self._cpu = 0.0
        self._stopping = False
        self._defect: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="kcli-load", daemon=True)

    def start(self, start: float) -> None:
        """Begins at ``start``, on the monotonic clock."""
        plan = self._plan
        if plan.rate is not None:
            self._schedule = Schedule(start, plan.rate, plan.number % plan.processes, plan.processes)
        if plan.seconds is not None and not plan.warmup:
            # Of all processes, also of one whose first record is due later.
            self._until = start + plan.seconds
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Waits for the last record to be handed over; whether it was."""
        self._thread.join(seconds)
        if self._defect is not None:
            raise self._defect
        return not self._thread.is_alive()

    def stop(self) -> None:
        """No further record; one that waits for room in the producer is given up."""
        self._stopping = True
        self._producer.interrupt()

    def end(self) -> Measurement:
        """The measurement, when all records have been reported and the deliveries drained."""
        found = self.deliveries.end()
        found.lateness.merge(self._lateness)
        found.cpu_seconds = time.process_time() - self._cpu
        return found

    def _run(self) -> None:
        try:
            self._cpu = time.process_time()
            while count := self._next_count():
                self._renew_transaction()
                self._hand_over(count)
            self._commit()
        except BaseException as defect:  # noqa: BLE001 - raised in the thread of the test
            self._defect = defect

    def _next_count(self) -> int:
        """How many records are to be handed over now, after a pause if none is due; 0: the load is over."""
        plan, most = self._plan, self._portion
        if plan.records is not None:
            most = min(most, plan.records - self.sent)
        if self.sent < plan.warmup:
            most = min(most, plan.warmup - self.sent)
        while most > 0:
            now = time.monotonic()
            if self._stopping or self.deliveries.hopeless or now >= self._until:
                return 0
            if self._schedule is None:
                return most
            due = self._schedule.due(now) - self.sent
            if due > 0:
                return min(most, due)
            time.sleep(min(_LOOK, self._schedule.pause(self.sent, now)))
        return 0

    def _renew_transaction(self) -> None:
        """Commits a transaction that has been open for its time, and begins the next one."""
        seconds = self._plan.transaction
        if seconds is None or (self._commit_at is not None and time.monotonic() < self._commit_at):
            return
        self._commit()
        self._producer.begin_transaction()
        self._commit_at = time.monotonic() + seconds

    def _commit(self) -> None:
        """Commits what is open, after everything that was sent has been confirmed."""
        if self._commit_at is None:
            return
        self._commit_at = None
        self._producer.commit_transaction(stop=lambda: self._stopping, grace=_STOP_PATIENCE)
        self._free_since = time.monotonic()  # no record could be handed over meanwhile

    def _hand_over(self, count: int) -> None:
        plan, schedule, payload = self._plan, self._schedule, self._payload
        portion = payload.take(count)
        payload.number(portion, self.sent)
        now = time.monotonic()
        intended = now if schedule is None else schedule.intended(self.sent)
        period = 0.0 if schedule is None else schedule.period
        if self.sent == plan.warmup:
            self._begin(intended)
        measured = self.sent >= plan.warmup
        origin = HandedOver(self.sent, portion.first, intended, period, measured)
        if schedule is not None and measured and intended >= self._free_since:
            self._lateness.add(round((now - intended) * 1_000_000), portion.records)
        try:
            self._producer.send_text(
                plan.topic,
                payload.text,
                start=portion.start,
                end=portion.end,
                delimiter=payload.delimiter,
                key_delimiter=payload.key_delimiter,
                origin=origin,
            )
        except KcliError as error:
            if self._stopping and isinstance(error, ClosedError):
                return  # stopped while it waited: these records were never sent
            self.deliveries.refuse(portion.records, error, final=not isinstance(error, BufferFullError))
        self.sent += portion.records
        done = time.monotonic()
        if done - now >= _BLOCKED:
            self._free_since = done

    def _begin(self, intended: float) -> None:
        """The warm-up is over."""
        self._cpu = time.process_time()
        self.deliveries.begin(intended)
        if self._plan.seconds is not None and self._plan.warmup:
            self._until = intended + self._plan.seconds


def _watch(load: Load, context: RunContext) -> None:
    while not load.wait(_LOOK):
        context.report(load.deliveries.drain())
        if context.stopped():
            load.stop()


def _finish(producer: Producer, deliveries: Deliveries, context: RunContext) -> None:
    """Waits for the confirmation of what was sent; after a request to stop not for long."""
    deadline = None
    while not producer.flush(_LOOK):
        context.report(deliveries.drain())
        if deadline is None and context.stopped():
            deadline = time.monotonic() + _STOP_PATIENCE
        if deadline is not None and time.monotonic() >= deadline:
            break
    deliveries.close()
    producer.close(timeout=0.0)


def generator_speed(payload: Payload) -> float:
    """Records per second that one process makes where nothing is sent: whether kcli or the cluster limits the rate."""
    portion = max(1, PORTION // (round(payload.mean_size) + 1))
    sequence, began = 0, time.monotonic()
    while (seconds := time.monotonic() - began) < _SPEED_SECONDS:
        made = payload.take(portion)
        payload.number(made, sequence)
        sequence += made.records
    return sequence / seconds
