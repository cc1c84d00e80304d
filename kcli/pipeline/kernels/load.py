"""Loads a topic with made records, as fast as it can or at a rate, and measures rate and latency: ``flows/perf/load.py``.

A task that is run again sends its records again: those of an earlier attempt are in the topic and not in the report. So
an error after the first record does not end an attempt: it is in the item, with what was confirmed.
"""

import time
from typing import Any

from kcli.core.classes import NamedTuple, dataclass
from kcli.core.hooks import NO_HOOKS
from kcli.core.options import ProducerOptions
from kcli.flows.perf.load import measure_load
from kcli.flows.perf.load_plan import LoadPart, LoadPlan
from kcli.flows.perf.measurement import Interval
from kcli.flows.perf.payload import Values
from kcli.flows.perf.result import figures
from kcli.pipeline.cluster_ref import ClusterRef
from kcli.pipeline.job import StoppedTaskError, TaskContext


@dataclass(frozen=True, slots=True)
class LoadSettings:
    """Values have from ``low`` to ``high`` bytes. ``throughput``: records per second of the ``at_once`` tasks that run
    at a time, None: no limit. A task ends after ``duration`` seconds, None: never.
    """

    cluster: ClusterRef
    topic: str
    low: int
    high: int
    throughput: float | None = None
    at_once: int = 1
    duration: float | None = None


class LoadTask(NamedTuple):
    """``number`` is also the seed of its values; ``records``: how many, None: no limit."""

    number: int
    records: int | None = None


def run(settings: LoadSettings, task: LoadTask, context: TaskContext) -> dict[str, Any]:
    """See ``Kernel``. ``measured`` of the item is for the totals; it has the first error of a record."""
    plan = LoadPlan(
        settings.topic,
        Values(settings.low, settings.high),
        records=task.records,
        seconds=settings.duration,
        rate=settings.throughput,
        number=task.number,
        processes=settings.at_once,
    )
    options = settings.cluster.options(ProducerOptions, transactional_id="")
    measured = measure_load(LoadPart(plan, options), _LoadContext(task.number, context))
    if context.stopped() and not (measured.records or measured.unconfirmed or measured.errors):
        raise StoppedTaskError
    return {
        "topic": settings.topic,
        "task": task.number,
        **figures(measured),
        "errors": measured.errors.total(),
        "unconfirmed": measured.unconfirmed,
        "measured": measured,
    }


class _LoadContext:
    """See ``RunContext``: tasks begin when there is a slot for them, each at a time of its own."""

    hooks = NO_HOOKS

    def __init__(self, number: int, context: TaskContext) -> None:
        self.number = number
        self.stopped = context.stopped
        self._context = context

    def begin(self) -> float:
        """See ``RunContext``."""
        return time.monotonic()

    def report(self, progress: Interval) -> None:
        """See ``RunContext``."""
        if progress.records:
            self._context.progress(progress.records, progress.bytes)
