"""Loads a topic with made records, as fast as it can or at a rate, and measures rate and latency.

A task that is run again sends its records again: those of an earlier attempt are in the topic and not in the report. So
an error after the first record does not end an attempt: it is in the item, with what was confirmed before it.
"""

import time
from collections import deque
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any, NamedTuple

from kcli.core.clock import wall_ms
from kcli.core.errors import KcliError
from kcli.core.options import ProducerOptions
from kcli.core.producer.producer import Producer
from kcli.core.producer.report import Report
from kcli.flows.rate import TokenBucket
from kcli.pipeline.cluster_ref import ClusterRef
from kcli.pipeline.job import StoppedTaskError, TaskContext, TaskError, task_error
from kcli.pipeline.latencies import Latencies
from kcli.pipeline.payload import Payload

_CONNECT_TIMEOUT = 30.0
_LOOK = 0.1  # seconds between two looks at a request to stop
_STOP_PATIENCE = 4.0  # seconds for records in flight after a request to stop: Spark waits 5
_PORTION = 128 << 10  # bytes that are handed over at once: their records have one latency


@dataclass(frozen=True, slots=True)
class LoadSettings:
    """Values have from ``low`` to ``high`` bytes. ``throughput``: records per second of each task, None: no limit.
    A task ends after ``duration`` seconds, None: never.
    """

    cluster: ClusterRef
    topic: str
    low: int
    high: int
    throughput: float | None = None
    duration: float | None = None


class LoadTask(NamedTuple):
    """``number`` is also the seed of its values; ``records``: how many, None: no limit."""

    number: int
    records: int | None = None


def run(settings: LoadSettings, task: LoadTask, context: TaskContext) -> dict[str, Any]:
    """See ``Kernel``. ``latencies``, ``began`` and ``ended`` (ms since 1970) of the item are for the totals; ``failure``
    is a TaskError.
    """
    with ExitStack() as stack:
        load = _Load(settings, task, context)
        load.connect(stack)
        return load.run()


class _Load:
    def __init__(self, settings: LoadSettings, task: LoadTask, context: TaskContext) -> None:
        self._settings = settings
        self._task = task
        self._context = context
        self._payload = Payload(settings.low, settings.high, task.number)
        self._delivered: deque[tuple[float, Report]] = deque()
        self._latencies = Latencies()
        self._records = self._bytes = self._unconfirmed = self._sent = 0
        self._failure: KcliError | None = None

    def connect(self, stack: ExitStack) -> None:
        """Errors here are those of the attempt: nothing was sent."""
        self._producer = Producer(
            self._settings.cluster.options(ProducerOptions, transactional_id=""), on_delivery=self._deliver
        )
        stack.callback(self._producer.close, timeout=0.0)
        self._producer.connect([self._settings.topic], _CONNECT_TIMEOUT)
        over = Event()
        stack.callback(over.set)
        Thread(target=self._interrupt_at_stop, args=(over,), daemon=True).start()

    def _interrupt_at_stop(self, over: Event) -> None:
        """Ends the wait for room in the buffer when the job is stopped."""
        while not over.wait(_LOOK):
            if self._context.stopped():
                self._producer.interrupt()
                return

    def _deliver(self, report: Report) -> None:
        """Called by the producer's thread."""
        self._delivered.append((time.monotonic(), report))

    def run(self) -> dict[str, Any]:
        began, clock = time.monotonic(), wall_ms()
        try:
            self._send(began)
        except KcliError as error:
            if not self._context.stopped():
                self._failure = error
        self._wait()
        seconds = time.monotonic() - began
        if not self._sent and self._context.stopped():
            raise StoppedTaskError("the job was stopped before this task was done")
        return self._item(seconds, clock)

    def _send(self, began: float) -> None:
        settings = self._settings
        left = self._task.records
        mean = (settings.low + settings.high) // 2 + 1
        bucket = TokenBucket(settings.throughput, began) if settings.throughput is not None else None
        portion = max(1, _PORTION // mean)
        if bucket is not None:
            portion = max(1, min(portion, int(bucket.most)))
        until = None if settings.duration is None else began + settings.duration
        while (left is None or left > 0) and self._continues(until):
            start, end, count = self._payload.take(portion if left is None else min(portion, left))
            if bucket is not None and not self._pause(bucket.take_tokens(count, time.monotonic()), until):
                return
            handed_over = time.monotonic()
            self._producer.send_text(
                settings.topic, self._payload.text, start=start, end=end, origin=handed_over
            )
            self._sent += count
            left = None if left is None else left - count
            self._count()

    def _continues(self, until: float | None) -> bool:
        ended = until is not None and time.monotonic() >= until
        return not (ended or self._failure is not None or self._context.stopped())

    def _pause(self, seconds: float, until: float | None) -> bool:
        """Waits for the rate; whether to continue."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not self._continues(until):
                return False
            time.sleep(min(left, _LOOK))
            self._count()
        return self._continues(until)

    def _count(self) -> None:
        """Counts what the brokers confirmed since the last time."""
        records = size = 0
        while self._delivered:
            at, report = self._delivered.popleft()
            if report.error is not None:
                self._unconfirmed += report.count
                if not self._context.stopped():
                    self._failure = self._failure or report.error
                continue
            records += report.count
            size += report.size
            for _, handed_over, rows in report.origins:
                self._latencies.add(at - handed_over, len(rows))
        if records:
            self._records += records
            self._bytes += size
            self._context.progress(records, size)

    def _wait(self) -> None:
        """For the confirmation of what was sent; at a stop not for long."""
        deadline = None
        while not self._producer.flush(_LOOK):
            self._count()
            if deadline is None and self._context.stopped():
                deadline = time.monotonic() + _STOP_PATIENCE
            if deadline is not None and time.monotonic() >= deadline:
                self._producer.close(timeout=0.0)
                break
        self._count()

    def _item(self, seconds: float, began: int) -> dict[str, Any]:
        failure: TaskError | None = None if self._failure is None else task_error(self._failure)
        return {
            "topic": self._settings.topic,
            "task": self._task.number,
            "records": self._records,
            "bytes": self._bytes,
            **({"unconfirmed_records": self._unconfirmed} if self._unconfirmed else {}),
            "seconds": round(seconds, 3),
            "records_per_second": round(self._records / seconds, 1),
            "bytes_per_second": round(self._bytes / seconds),
            "latency_ms": self._latencies.milliseconds,
            "latencies": self._latencies,
            "began": began,
            "ended": began + round(seconds * 1000),
            "failure": failure,
        }
