"""Reads a topic as fast as it comes, and measures it: partitions of this process, or a member's share of a group's.

The time ends with the last record: what was waited for another one in vain is not part of it, unlike in Kafka's tool.
With a duration it is the duration.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from kcli.core.classes import dataclass, replace
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.consumer.ranges import bounds
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.hooks import Hooks
from kcli.core.kernels.varint import INT64_MAX
from kcli.core.options import ConsumerOptions
from kcli.core.positions import OffsetSpec, RangeSpec
from kcli.core.records.run import RUN_BYTES
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.consume.extent import Chosen, GroupShare
from kcli.flows.consume.group_commits import GroupCommits
from kcli.flows.perf.failure import Failure, failure_of
from kcli.flows.perf.load_plan import shares
from kcli.flows.perf.measurement import Interval, Measurement
from kcli.flows.perf.read_figures import ReadFigures
from kcli.flows.perf.run_context import RunContext
from kcli.flows.stop import Stop
from kcli.output.progress import counted

_LOOK = 0.1  # seconds between two looks at a request to stop
_WARM_UP_IDLE = 10.0  # seconds without a record after which a warm-up is given up in any case


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """What is read, by ``processes`` processes or by one of them. ``partitions``: without a group, from ``start`` on.

    It ends after ``records`` (the ``warmup`` is part of them), after ``seconds`` from the end of the warm-up, or after
    ``idle`` seconds without a record; without ``records`` and ``seconds`` at the ends as they are at the start.
    The plan of one process has its share of ``partitions``, ``records`` and ``warmup``.
    """

    topic: str
    partitions: tuple[int, ...] = ()
    start: OffsetSpec = OffsetSpec("earliest")
    records: int | None = None
    seconds: float | None = None
    warmup: int = 0
    idle: float | None = 10.0
    processes: int = 1


@dataclass(frozen=True, slots=True)
class ReadPart:
    """A plan, and the consumer that carries it out. ``timeout``: seconds for the first contact."""

    plan: ReadPlan
    options: ConsumerOptions
    timeout: float = 30.0

    def divided(self) -> list[ReadPart]:
        """A part for each process: equal shares of records and warm-up, and every so many-th partition."""
        plan, count = self.plan, self.plan.processes
        records, warmup = shares(plan.records, count), shares(plan.warmup, count)
        return [
            replace(
                self,
                plan=replace(
                    plan,
                    partitions=plan.partitions[number::count],
                    records=records[number],
                    warmup=warmup[number] or 0,
                ),
            )
            for number in range(count)
        ]


def measure_reading(part: ReadPart, context: RunContext) -> Measurement:
    """Reads to the end of the plan. Errors before the first record are raised, a later one is in the measurement."""
    plan = part.plan
    figures = ReadFigures(most=plan.records, warmup=plan.warmup)
    options = replace(part.options, enable_auto_commit=False)  # what was read is committed here, and no more
    with Consumer(options, hooks=context.hooks, joins=RUN_BYTES) as consumer:
        consumer.connect(part.timeout)
        reader = TopicReader(part, consumer, figures, context)
        reader.prepare()
        return reader.measure(context.begin())


def judge(
    part: ReadPart, measured: Measurement, stop: Stop, *, hooks: Hooks, warn: Callable[[str], object]
) -> None:
    """Sets the integrity, by where the partitions end now: what was written meanwhile was not read. ``part``: of all
    processes. A test that measured nothing after its warm-up has failed.

    Brokers that do not respond at the end of a duration may not have done so before, and what was measured would be the
    rate of nobody: that is an error, too.
    """
    plan, trace = part.plan, measured.trace
    marked, waited = trace is not None and trace.marked, plan.seconds is not None
    ends = dict.fromkeys(plan.partitions, INT64_MAX)  # not known: then no partition was read to its end
    if (marked or waited) and not stop and measured.failure is None:
        try:
            with Consumer(part.options, hooks=hooks) as consumer:
                consumer.connect(part.timeout)
                partitions = [TopicPartition(plan.topic, number) for number in plan.partitions]
                found = bounds(consumer, partitions, part.timeout)
                ends = {tp.partition: end for tp, end in found.ends.items()}
        except KcliError as error:
            if waited:
                measured.failure = failure_of(error)
            else:
                warn(f"the end of {plan.topic} is not known, so that fewer records can be judged: {error}")
    if trace is not None and marked:
        measured.integrity = trace.judge(ends)
    check_warmup(plan, measured, stop)


def check_warmup(plan: ReadPlan, measured: Measurement, stop: Stop) -> None:
    """A test of which nothing was left after its warm-up has failed."""
    if measured.failure is None and not measured.records and measured.warmup_records and not stop:
        measured.failure = Failure(
            ExitCode.FAILED,
            f"{plan.topic}: no record was left after the warm-up, which took "
            f"{counted(measured.warmup_records, 'record')}",
            "it ends with the fetch that brings its last record, and a fetch brings many",
            "read more records, or leave --warmup-records out",
        )


class TopicReader:
    """One process's reading: ``prepare``, then ``measure``."""

    def __init__(self, part: ReadPart, consumer: Consumer, figures: ReadFigures, context: RunContext) -> None:
        self._part, self._plan = part, part.plan
        self._consumer = consumer
        self._figures = figures
        self._context = context
        self._reading: Chosen | GroupShare
        self._progress = Interval(0)
        self._reported = 0.0
        self._waited_until: float | None = None
        self._cut = False

    def prepare(self) -> None:
        """Does everything that may fail before the test begins."""
        plan = self._plan
        settings: dict[str, Any] = {
            "until_end": plan.records is None and plan.seconds is None,
            "timeout": self._part.timeout,
            "detail": _ignore,
            "warn": self._fail,
            "failed": _raise,
        }
        spec = RangeSpec(plan.start)
        if not self._part.options.group_id:
            chosen = Chosen(self._consumer, spec, **settings)
            chosen.begin([TopicPartition(plan.topic, number) for number in plan.partitions])
            self._reading = chosen
            return
        commits = GroupCommits(
            self._consumer,
            interval=self._part.options.auto_commit_interval_ms / 1000,
            enabled=self._part.options.enable_auto_commit,
            warn=self._fail,
        )
        self._reading = GroupShare(self._consumer, spec, commits, assigned=self._assigned, **settings)
        self._consumer.find_coordinator(self._part.timeout)

    def measure(self, start: float) -> Measurement:
        """Reads until the plan, a request to stop or an error ends it."""
        figures = self._figures
        figures.start(start, _wall(start), time.process_time())
        if isinstance(self._reading, GroupShare):
            figures.unassigned(start)
            self._reading.begin([self._plan.topic])
        try:
            self._read(start)
            if not self._cut:
                for tp in self._consumer.assignment:
                    if (position := self._consumer.state(tp).position) >= 0:
                        figures.reached(tp.partition, position)
            self._reading.finish(self._context.stopped)
        except KcliError as error:
            if not figures.measured.records:
                raise
            figures.measured.failure = failure_of(error)
        self._context.report(self._progress)
        return figures.end(self._waited_until, time.process_time())

    def _read(self, start: float) -> None:
        figures, reading = self._figures, self._reading
        heard = start
        while not (self._context.stopped() or figures.full or reading.done):
            now = time.monotonic()
            left = self._seconds_left(now)
            if left <= 0:
                self._waited_until = now
                return
            reading.tick()
            batches = self._consumer.poll(min(_LOOK, left))
            reading.flushed(self._add(batches))
            now = time.monotonic()
            self._report(figures.polled(now, _wall(now), time.process_time()), now)
            if batches or reading.waiting:
                heard = now
            elif now - heard >= (idle := self._most_idle()):
                self._idle(idle)
                return

    def _most_idle(self) -> float:
        """A duration begins after the warm-up, which may never end."""
        if self._plan.idle is not None:
            return self._plan.idle
        return _WARM_UP_IDLE if self._figures.began is None else float("inf")

    def _seconds_left(self, now: float) -> float:
        seconds, began = self._plan.seconds, self._figures.began
        return float("inf") if seconds is None or began is None else began + seconds - now

    def _add(self, batches: Sequence[FetchedBatch]) -> dict[TopicPartition, OffsetAndMetadata] | None:
        """Adds the batches of a poll; returns the positions if the limit was reached before their end, else None."""
        places: dict[TopicPartition, OffsetAndMetadata] = {}
        for fetched in batches:
            if self._figures.full:
                self._cut = True
                break
            cut = self._figures.add(fetched)
            self._cut = cut is not None
            place = fetched.then if cut is None else cut
            places[fetched.tp] = OffsetAndMetadata(place, "", fetched.batch.leader_epoch)
        return places if self._cut else None

    def _report(self, interval: Interval, now: float) -> None:
        self._progress.merge(interval)
        if now - self._reported >= _LOOK:
            self._reported = now
            self._context.report(self._progress)
            self._progress = Interval(0)

    def _assigned(self, assigned: bool) -> None:
        now = time.monotonic()
        if assigned:
            self._figures.assigned(now)
        else:
            self._figures.unassigned(now)

    def _idle(self, seconds: float) -> None:
        plan = self._plan
        wanted, do = "the end of the topic had not been reached", "choose a longer --idle-timeout"
        if plan.seconds is not None:
            wanted, do = (
                f"the {plan.seconds:g} s were not over",
                "leave --idle-timeout out, or choose a longer one",
            )
        fewer = "fewer --processes, " if plan.processes > 1 else ""
        if plan.records is not None:
            wanted = self._not_reached(counted(plan.records, "record"))
            do = f"choose {fewer}fewer --num-records, or a longer --idle-timeout"
        if self._figures.began is None:
            wanted = self._not_reached(f"the warm-up of {counted(plan.warmup, 'record')}")
            do = f"choose {fewer}fewer --warmup-records, or a longer --idle-timeout"
        self._figures.measured.failure = Failure(
            ExitCode.FAILED,
            f"{plan.topic}: no record came for {seconds:g} s, and {wanted}",
            "the time that was waited is not part of the figures",
            do,
        )

    def _not_reached(self, amount: str) -> str:
        if self._plan.processes > 1:
            return f"one of {self._plan.processes} processes had not reached its share: {amount}"
        return f"{amount} had not been reached"

    def _fail(self, text: str) -> None:
        """What would be a warning elsewhere: a commit that failed."""
        found = self._figures.measured
        found.failure = found.failure or Failure(ExitCode.FAILED, f"{self._plan.topic}: {text}")


def _wall(moment: float) -> float:
    """A moment of the monotonic clock in seconds since 1970."""
    return time.time() - (time.monotonic() - moment)


def _ignore(_text: str) -> None:
    pass


def _raise(error: KcliError) -> None:
    raise error
