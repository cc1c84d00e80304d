"""What ``kcli pipeline mirror`` does: checks both clusters, pins what is to be copied, shows the plan, runs the job."""

import secrets
import shlex
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from kcli.commands.pipeline._job_run import cluster_of, print_report, runner_of, with_runner
from kcli.commands.pipeline._mirror_continuous import follow
from kcli.commands.pipeline._mirror_tasks import PlannedCopy, items_of, places_of, task_of
from kcli.commands.pipeline._ranges import check_slices, wanted_range
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.copy_plan import may_begin, names_of
from kcli.commands.shared.sides import Side
from kcli.core.admin.admin import Admin
from kcli.core.cluster.offsets import LATEST
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import KcliError
from kcli.core.options import WHOLE_BATCHES, ClientOptions, ConsumerOptions, ProducerOptions
from kcli.core.positions import OffsetSpec, RangeSpec
from kcli.core.types import TopicPartition
from kcli.flows.mirror.group_position import Position, end_run, group_name, read_positions
from kcli.flows.mirror.job import EXACTLY_ONCE, default_name
from kcli.flows.mirror.loops import jobs_that_write
from kcli.flows.mirror.plan import CopyPlan
from kcli.flows.mirror.planning import survey_job
from kcli.flows.mirror.preflight import HIDDEN
from kcli.flows.mirror.routes import Route, parse_rename
from kcli.flows.mirror.state import JobState
from kcli.flows.mirror.survey import Selection, Survey
from kcli.flows.mirror.targets import create_targets, offsets, target_ends, unfit
from kcli.flows.stop import Stop
from kcli.output.progress import counted
from kcli.output.tables import Column
from kcli.pipeline.job import Job, Progress
from kcli.pipeline.kernels.copy import CopySettings
from kcli.pipeline.plan import Slice, pin
from kcli.pipeline.report import Report, report_of
from kcli.pipeline.runners.inline import InlineRunner
from kcli.pipeline.runners.runner import Runner

_KERNEL = "copy"
_SLICE_MS = 30_000
_LAST_WORD = 3.0  # seconds to say that the job has ended
_COLUMNS = (
    Column("topic"),
    Column("partition", "number"),
    Column("target_topic", spare=2),
    Column("target_partition", "number", wide=True),
    Column("start", "number"),
    Column("end", "number"),
    Column("records", "number"),
    Column("skipped_records", "number", wide=True),
    Column("bytes", "size", spare=1),
    Column("error", "prose"),
)


def run(inv: Invocation, source: str, target: str, flags: Mapping[str, Any]) -> int:
    """Runs the mirror; returns the exit status."""
    flags = with_runner(inv, flags, "mirror")
    spec = wanted_range("mirror", offset=flags["span"], since=flags["since"], until=flags["until"])
    check_slices("mirror", spec, continuous=flags["continuous"], sliced=flags["slice_ms"] is not None)
    sides = Side(inv, "--from", source, changes=False), Side(inv, "--to", target, changes=True)
    with ExitStack() as stack:
        return _Mirror(inv, *sides, flags, spec, stack).run()


class _Mirror:
    """One run of a job; ``flags`` are those of the command by name."""

    def __init__(
        self,
        inv: Invocation,
        source: Side,
        target: Side,
        flags: Mapping[str, Any],
        spec: RangeSpec,
        stack: ExitStack,
    ) -> None:
        self._inv, self._flags, self._spec, self._stack = inv, flags, spec, stack
        self._source, self._target = source, target
        self._refs = cluster_of(inv, source.configuration), cluster_of(inv, target.configuration)
        self._source_admin, self._target_admin = self._admin(source), self._admin(target)
        renames = [parse_rename(text) for text in flags["renames"]]
        self._selection = Selection(flags["topics"], renames)

    def _admin(self, side: Side) -> Admin:
        options = side.options(ClientOptions)
        return self._stack.enter_context(Admin(options, self._inv.hooks, timeout=self._inv.timeout))

    def run(self) -> int:
        """See ``run``."""
        flags, inv = self._flags, self._inv
        for side, admin in ((self._source, self._source_admin), (self._target, self._target_admin)):
            with inv.first_contact(side.servers):
                admin.connect()
        source_id = self._source_admin.cluster_id()
        job = flags["job"] or default_name(source_id, flags["topics"], flags["renames"])
        positions = read_positions(self._target_admin, group_name(job, source_id))
        found = self._survey(positions)
        planned = self._planned(found, positions)
        if not self._may_begin(job, found, positions, planned):
            return 0
        due = [one for one in planned if task_of(one) is not None]
        runner: Runner = InlineRunner()
        if due or flags["continuous"]:  # before topics are created: Spark may not come up
            runner = self._stack.enter_context(runner_of(inv, flags))
        create_targets(self._target_admin, found.findings, [route.target for route in found.routes])
        settings = CopySettings(
            *self._refs,
            source_id,
            job,
            run=secrets.token_hex(8),
            exactly_once=flags["delivery"] == EXACTLY_ONCE,
            follows=flags["continuous"],
        )
        with Stop() as stop:
            try:
                report = (
                    follow(
                        inv,
                        runner,
                        settings,
                        planned,
                        stop,
                        admins=(self._source_admin, self._target_admin),
                        selection=self._selection,
                        found=found,
                        jobs=lambda: self._jobs(again=True),
                        seconds=(flags["slice_ms"] or _SLICE_MS) / 1000,
                    )
                    if flags["continuous"]
                    else self._copy(runner, settings, planned, due, stop)
                )
            finally:
                self._end(settings)
            code = print_report(
                inv,
                report,
                _COLUMNS,
                stop,
                command="mirror",
                runner=flags["runner"],
                cluster=source_id,
                title="copied",
            )
        self._hint(stop, report)
        return code

    # before the first record

    def _survey(self, positions: Mapping[TopicPartition, Position]) -> Survey:
        """What both clusters have, and what stands in the way."""
        self._selection, found = survey_job(
            self._source_admin,
            self._target_admin,
            self._selection,
            _own(positions),
            self._jobs(),
            headers=False,
        )
        return found

    def _jobs(self, *, again: bool = False) -> list[JobState]:
        return jobs_that_write(
            self._source,
            self._source_admin,
            self._target_admin.cluster_id(),
            self._inv.hooks,
            detail=self._inv.talk.detail,
            again=again,
        )

    def _planned(self, found: Survey, positions: Mapping[TopicPartition, Position]) -> list[PlannedCopy]:
        """What is to be copied of each partition, its end pinned now."""
        targets = dict(found.routes)
        readable = [route for route in found.routes if found.sources[route.source] is not HIDDEN]
        slices = self._pinned(readable, positions)
        ends = offsets(self._source_admin, [one.tp for one in slices], LATEST)
        planned = []
        for one in slices:
            target = TopicPartition(targets[one.topic], one.partition)
            count = found.sources[one.topic].partitions
            planned.append(PlannedCopy(one, target, count, positions.get(target), ends[one.tp]))
        return planned

    def _pinned(self, routes: Sequence[Route], positions: Mapping[TopicPartition, Position]) -> list[Slice]:
        """``--offset`` says where a new job begins; partitions that were added since begin at their first record."""
        inv, spec = self._inv, self._spec
        options = self._source.options(
            ConsumerOptions, isolation_level="read_committed", max_poll_records=WHOLE_BATCHES
        )
        seen: dict[str, int] = {}
        for tp, position in positions.items():
            if (position.bookmark.topic, tp.topic) in routes:
                seen[position.bookmark.topic] = max(
                    seen.get(position.bookmark.topic, 0), position.bookmark.partitions
                )
        targets = dict(routes)
        with Consumer(options, hooks=inv.hooks) as consumer:
            consumer.connect(inv.timeout)
            new = [topic for topic in targets if topic not in seen]
            found = pin(consumer, new, spec, inv.timeout) if new else []
            whole = RangeSpec(OffsetSpec("earliest"), spec.stop)
            for one in pin(consumer, seen, whole, inv.timeout) if seen else ():
                begun = positions.get(TopicPartition(targets[one.topic], one.partition))
                if begun is not None:
                    found.append(one._replace(start=begun.offset))
                elif one.partition < seen[one.topic]:  # it had no time to begin
                    found += pin(consumer, [one.topic], spec, inv.timeout, partitions=[one.partition])
                else:
                    found.append(one)
        return found

    def _may_begin(
        self,
        job: str,
        found: Survey,
        positions: Mapping[TopicPartition, Position],
        planned: Sequence[PlannedCopy],
    ) -> bool:
        left = sum(one.source.offsets for one in planned)
        tasks = sum(task_of(one) is not None for one in planned)
        remark = f"  {counted(left, 'offset')} to copy, in {counted(tasks, 'task')}"
        if self._flags["continuous"]:
            remark += ", then what arrives"
        exactly_once = self._flags["delivery"] == EXACTLY_ONCE
        own = {"transactional_id": job} if exactly_once else {}
        plan = CopyPlan(
            job,
            found,
            _own(positions),
            {route.source: found.sources[route.source].partitions for route in found.routes},
            target_ends(self._target_admin, found),
            exactly_once,
            unfit=unfit(self._target_admin, self._target.options(ProducerOptions, **own)),
            remarks=[remark],
        )
        return may_begin(self._inv, names_of(self._source, self._target), plan)

    # the copy

    def _copy(
        self,
        runner: Runner,
        settings: CopySettings,
        planned: Sequence[PlannedCopy],
        due: Sequence[PlannedCopy],
        stop: Stop,
    ) -> Report:
        """Copies what is there now: of ``planned``, those that are ``due``."""
        inv, began = self._inv, time.monotonic()
        tasks = sorted(due, key=lambda one: -one.source.offsets)
        results = []
        if tasks:
            job = Job(_KERNEL, settings, tuple(task_of(one) for one in tasks))
            total = sum(one.source.offsets for one in tasks)
            with inv.progress("copied", total=total) as bar:

                def show(done: Progress) -> None:
                    bar.update(done.records, done.bytes, tasks=done.tasks, tasks_done=done.tasks_done)

                results = runner.run(job, on_progress=show, stop=stop)
        report = report_of(results, places_of(self._target_admin, settings, tasks, results), 0.0)
        return items_of(report, planned, time.monotonic() - began)

    def _end(self, settings: CopySettings) -> None:
        """Says on the target that the job no longer runs: nobody waits long for that after Ctrl-C."""
        options = self._target.options(ClientOptions)
        try:
            with Admin(options, self._inv.hooks, timeout=min(_LAST_WORD, self._inv.timeout)) as admin:
                end_run(admin, settings.job, settings.source_cluster, settings.run)
        except KcliError as error:
            self._inv.talk.detail(f"that the job has ended is not on the target, and seen later: {error}")

    def _hint(self, stop: Stop, report: Report) -> None:
        inv, flags = self._inv, self._flags
        if stop:
            inv.talk.note("stopped; the same command continues from here")
        elif (
            report.totals["records"]
            and not report.failures
            and all(flags[name] is None for name in ("span", "since", "until"))
        ):
            words = [
                "kcli",
                "pipeline",
                "verify",
                "--from",
                self._source.named,
                "--to",
                self._target.named,
            ]
            for option, values in (("-t", flags["topics"]), ("--map-topic", flags["renames"])):
                words += [word for value in values for word in (option, value)]
            inv.talk.note(f"to compare both sides: {shlex.join(words)}")


def _own(positions: Mapping[TopicPartition, Position]) -> dict[str, str]:
    """The topics that the job copies already, from source to target."""
    return {position.bookmark.topic: tp.topic for tp, position in positions.items()}
