"""Reads as a member of a share group, and measures it: every record that is read is accepted.

The time includes the acknowledgements but the last ones, whose outcome is waited for after the last record.
"""

from __future__ import annotations

import math
import time

from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.options import ShareConsumerOptions
from kcli.core.records.run import RUN_BYTES
from kcli.core.share.consumer import ShareConsumer
from kcli.flows.perf.consume import ReadPart, check_warmup
from kcli.flows.perf.failure import Failure, failure_of
from kcli.flows.perf.measurement import Interval, Measurement
from kcli.flows.perf.read_figures import ReadFigures
from kcli.flows.perf.run_context import RunContext
from kcli.flows.stop import Stop
from kcli.output.progress import counted

_LOOK = 0.1  # seconds between two looks at a request to stop
_UNTIL_LOADED = 5.0  # seconds to wait for a first record: brokers load the state of the group first
_PATIENCE = 5.0  # seconds for the outcome of the last acknowledgements


def measure_shared_reading(part: ReadPart, context: RunContext) -> Measurement:
    """Reads to the end of the plan. Errors before the first record are raised, a later one is in the measurement."""
    plan, options = part.plan, part.options
    assert isinstance(options, ShareConsumerOptions)
    figures = ReadFigures(most=plan.records, warmup=plan.warmup)
    with ShareConsumer(options, hooks=context.hooks, joins=RUN_BYTES) as consumer:
        consumer.connect(part.timeout)
        start = context.begin()
        figures.start(start, _wall(start), time.process_time())
        figures.unassigned(start)
        consumer.subscribe(plan.topic)
        reader = _ShareReader(part, consumer, figures, context)
        try:
            reader.read(start)
            consumer.commit(_PATIENCE)
        except KcliError as error:
            if not figures.measured.records:
                raise
            figures.measured.failure = failure_of(error)
        reader.report_rest()
        metrics = consumer.metrics()
    lost = metrics.refused + metrics.unknown
    if lost and figures.measured.failure is None:
        figures.measured.failure = Failure(
            ExitCode.PARTLY,
            f"{plan.topic}: {counted(lost, 'record')} of {metrics.records:,} were read and not accepted",
            "their locks had expired, or no answer came",
            "a longer share.record.lock.duration.ms of the group gives more time",
        )
    return figures.end(reader.waited_until, time.process_time())


def judge_shared(part: ReadPart, measured: Measurement, stop: Stop) -> None:
    """Members share partitions, and records may be delivered again: their numbers say nothing."""
    measured.trace = None
    check_warmup(part.plan, measured, stop)


class _ShareReader:
    def __init__(
        self, part: ReadPart, consumer: ShareConsumer, figures: ReadFigures, context: RunContext
    ) -> None:
        self._plan = part.plan
        self._consumer, self._figures, self._context = consumer, figures, context
        self._progress = Interval(0)
        self._reported = 0.0
        self.waited_until: float | None = None

    def read(self, start: float) -> None:
        """Until the plan, a request to stop or an error ends it."""
        figures, consumer, plan = self._figures, self._consumer, self._plan
        bounded = plan.records is not None or plan.seconds is not None
        heard, quiet = start, math.inf
        while not (self._context.stopped() or figures.full):
            now = time.monotonic()
            if self._is_over(now):
                self.waited_until = now
                return
            batches = consumer.poll(_LOOK)
            now = time.monotonic()
            if consumer.is_stable and consumer.assignment:
                figures.assigned(now)
            else:
                figures.unassigned(now)
                heard = now
            for fetched in batches:
                cut = figures.add(fetched)
                consumer.acknowledge(fetched, last=None if cut is None else cut - 1)
            if batches:
                heard = now
            self._report(figures.polled(now, _wall(now), time.process_time()), now)
            quiet = min(quiet, now) if consumer.is_exhausted else math.inf
            if not bounded and now - quiet >= (0.0 if figures.measured.records else _UNTIL_LOADED):
                return
            if plan.idle is not None and not batches and now - heard >= plan.idle:
                self._idle(plan.idle)
                return

    def _is_over(self, now: float) -> bool:
        """Whether the time is over, which begins after the warm-up."""
        seconds, began = self._plan.seconds, self._figures.began
        return seconds is not None and began is not None and now >= began + seconds

    def report_rest(self) -> None:
        """What was not reported yet."""
        self._context.report(self._progress)

    def _report(self, interval: Interval, now: float) -> None:
        self._progress.merge(interval)
        if now - self._reported >= _LOOK:
            self._reported = now
            self._context.report(self._progress)
            self._progress = Interval(0)

    def _idle(self, seconds: float) -> None:
        plan = self._plan
        if plan.records is None and plan.seconds is None:
            return
        self._figures.measured.failure = Failure(
            ExitCode.FAILED,
            f"{plan.topic}: no record came for {seconds:g} s, and the test was not over",
            "the brokers had none for this group: others have acquired them, or it begins at the end of the topic",
            "choose fewer --num-records or a longer --idle-timeout; share.auto.offset.reset is where the group begins",
        )


def _wall(moment: float) -> float:
    """A moment of the monotonic clock in seconds since 1970."""
    return time.time() - (time.monotonic() - moment)
