"""What ``kcli pipeline replay`` does: chooses records, counts what would go where, asks, sends, and reports."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from hashlib import sha256
from typing import Any

from kcli.commands.pipeline._job_run import cluster_of, print_report, run_job, runner_of, with_runner
from kcli.commands.pipeline._ranges import wanted_range
from kcli.commands.pipeline._replay_plan import plan_text, sum_up
from kcli.commands.shared.confirm import confirm, show_plan
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.params import check_topic_name
from kcli.commands.shared.topic_choice import Topics
from kcli.commands.shared.usage import usage
from kcli.core.admin.admin import Admin
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.exit_codes import ExitCode
from kcli.core.names import REPLAYS
from kcli.core.options import ClientOptions, ConsumerOptions
from kcli.core.positions import RangeSpec
from kcli.flows.stop import Stop
from kcli.output.progress import counted
from kcli.output.tables import Column
from kcli.pipeline.job import Job, Progress
from kcli.pipeline.kernels.replay import (
    ReplaySettings,
    ReplayTask,
    item_before,
    position,
    read_committed,
)
from kcli.pipeline.plan import Slice, pin
from kcli.pipeline.redrive import Routing, packed, parse_target
from kcli.pipeline.report import report_of
from kcli.pipeline.runners.runner import Runner
from kcli.pipeline.sql_text import rewrite

_KERNEL = "replay"
_COLUMNS = (
    Column("topic"),
    Column("partition", "id"),
    Column("target_topic"),
    Column("start", "id"),
    Column("end", "id"),
    Column("records", "number"),
    Column("skipped_records", "number"),
    Column("bytes", "size"),
)


class SameTopicError(KcliError):
    """Records would be sent to the topic they are read from, again and again."""

    exit_code = ExitCode.USAGE


def run(inv: Invocation, topic: str, target: str, flags: Mapping[str, Any]) -> int:
    """Runs the replay; returns the exit status."""
    _check(topic, target, flags)
    without_spark = None if flags["where"] is None else "choose the records by --since and --until"
    flags = with_runner(inv, flags, "replay", without_spark=without_spark)
    spec = wanted_range("replay", since=flags["since"], until=flags["until"])
    with ExitStack() as stack:
        return _Run(inv, topic, target, flags, spec, stack).run()


def _check(topic: str, target: str, flags: Mapping[str, Any]) -> None:
    to_topic, header = parse_target(target)
    if not to_topic and not header:
        raise usage(
            "kcli pipeline replay: --to names nothing",
            why="it is empty",
            do="--to TOPIC, or --to header:NAME",
        )
    if to_topic:
        check_topic_name(to_topic, "pipeline replay")
    if topic.startswith("^"):
        raise usage(
            "kcli pipeline replay: TOPIC is a pattern",
            why="a job belongs to one topic",
            do="run it for each topic",
        )
    if flags["where"] is not None and flags["runner"] not in (None, "spark"):
        raise usage(
            f"kcli pipeline replay: --where with --runner {flags['runner']}",
            why="the condition is SQL, which Spark evaluates",
            do="leave --runner out",
        )
    if flags["where"] is not None:
        _condition(flags["where"])
    if to_topic == topic and flags["until"] is None:
        raise _same_topic(topic)


def _same_topic(topic: str) -> SameTopicError:
    return SameTopicError(
        f"records of {topic} would be sent to {topic} itself",
        why="what is appended would be replayed by the next run, without end",
        do="give --until TIME, after which nothing is replayed; --max-replays limits the rounds of each record",
    )


def _condition(text: str) -> Any:
    return rewrite(f"select partition, offset from source where ({text}\n)", (), ())  # noqa: S608 - it is the user's


class _Run:
    def __init__(
        self,
        inv: Invocation,
        topic: str,
        target: str,
        flags: Mapping[str, Any],
        spec: RangeSpec,
        stack: ExitStack,
    ) -> None:
        self.inv = inv
        self.topic = topic
        self.spec = spec
        self.flags = flags
        self.stack = stack
        to_topic, header = parse_target(target)
        self.target = target
        self.routing = Routing(to_topic, header, flags["max_replays"], flags["timestamps"] == "keep")
        self.job = flags["job"] or _default_name(topic, target, flags)
        self.cluster = cluster_of(inv, inv.configuration)

    def run(self) -> int:
        """See ``run``."""
        slices, continued = self._slices()
        admin = self.stack.enter_context(Admin(self.inv.inner_options(ClientOptions), hooks=self.inv.hooks))
        if self.routing.topic:
            self._check_exist(admin, [self.routing.topic])
        stop = self.stack.enter_context(Stop())
        runner = self.stack.enter_context(runner_of(self.inv, self.flags))
        tasks = [ReplayTask(each) for each in slices if each.offsets]
        if self.flags["where"] is not None and tasks:
            tasks = self._selected(runner, tasks, stop)
        surveyed = self._counted(runner, tasks, stop)
        if stop:
            return stop.exit_code
        found = sum_up(surveyed, dedupe=bool(self.flags["dedupe"]))
        if self.topic in found.targets and self.flags["until"] is None:
            raise _same_topic(self.topic)
        self._check_exist(admin, sorted(found.targets))
        if found.chosen is not None:
            tasks = [
                ReplayTask(task.slice, packed(chosen))
                for task, chosen in zip(tasks, found.chosen, strict=True)
            ]
        plan = plan_text(
            self.topic, self.target, self.job, slices, found, continued=continued, flags=self.flags
        )
        question = f"Send {counted(found.records, 'record')}?"
        if not found.records:
            show_plan(self.inv, plan)
        elif not confirm(self.inv, plan, question, subject=self.topic):
            return 0
        if self.inv.dry_run:
            return 0
        left_out = {
            item["partition"]: item["records"] + item["skipped_records"] - len(chosen)
            for item, chosen in zip(surveyed, found.chosen or (), strict=False)
        }
        return self._send(runner, tasks, slices, stop, left_out, without_target=found.without_target)

    # --- planning ----------------------------------------------------------------------------------------

    def _slices(self) -> tuple[list[Slice], int]:
        """What is left of the range, and how many offsets of it were replayed before."""
        inv = self.inv
        with Consumer(
            inv.client_options(ConsumerOptions, isolation_level="read_committed"), hooks=inv.hooks
        ) as consumer:
            with inv.first_contact(self.cluster.servers):
                consumer.connect(inv.timeout)
            names = Topics([self.topic]).existing(consumer, inv.timeout, inv.failed)
            slices = pin(consumer, names, self.spec, inv.timeout)
            inv.cluster_id = consumer.cluster.view.cluster_id
        with Admin(inv.inner_options(ClientOptions), hooks=inv.hooks) as admin:
            done = read_committed(admin, REPLAYS + self.job, [each.tp for each in slices], stable=False)
        left = [each._replace(start=min(each.end, position(done[each.tp], each))) for each in slices]
        return left, sum(one.start - each.start for one, each in zip(left, slices, strict=True))

    def _check_exist(self, admin: Admin, topics: Sequence[str]) -> None:
        for name, found in admin.describe_topics(topics).items() if topics else ():
            if isinstance(found, NotFoundError) and name != self.routing.topic:
                raise NotFoundError(
                    f"topic {name} does not exist",
                    why=f"the header {self.routing.header} of some records names it; nothing was sent",
                    do=f"`kcli topics create {name}`, or leave these records out: --where",
                )
            if isinstance(found, KcliError):
                raise found

    def _selected(self, runner: Runner, tasks: Sequence[ReplayTask], stop: Stop) -> list[ReplayTask]:
        from kcli.commands.pipeline._replay_where import select  # pyspark: an extra

        query = _condition(self.flags["where"])
        chosen = select(self.inv, runner, self.cluster, [task.slice for task in tasks], query, stop)
        return [ReplayTask(task.slice, packed(chosen.get(task.slice.partition, ()))) for task in tasks]

    def _counted(self, runner: Runner, tasks: Sequence[ReplayTask], stop: Stop) -> list[dict[str, Any]]:
        settings = ReplaySettings(
            self.cluster, self.job, self.routing, send=False, keys=self.flags["dedupe"] is not None
        )
        total = sum(task.slice.offsets for task in tasks)
        with self.inv.progress("counted", total=total) as bar:

            def show(done: Progress) -> None:
                bar.update(done.records, done.bytes, tasks=done.tasks, tasks_done=done.tasks_done)

            results = runner.run(Job(_KERNEL, settings, tuple(tasks)), on_progress=show, stop=stop)
        for result in results:
            if result.error is not None and not stop:
                raise result.error.error()
        return [result.item for result in results if result.item is not None]

    # --- sending -----------------------------------------------------------------------------------------

    def _send(
        self,
        runner: Runner,
        tasks: Sequence[ReplayTask],
        slices: Sequence[Slice],
        stop: Stop,
        left_out: Mapping[int, int],
        *,
        without_target: int,
    ) -> int:
        """``slices``: of all partitions, also of those without a task. ``left_out``: what --dedupe took out of each
        partition before.
        """
        inv = self.inv
        job = Job(_KERNEL, ReplaySettings(self.cluster, self.job, self.routing), tuple(tasks))
        places = [{"topic": task.slice.topic, "partition": task.slice.partition} for task in tasks]
        if tasks:
            report = run_job(
                inv, runner, job, places, stop, title="replayed", total=sum(t.slice.offsets for t in tasks)
            )
        else:
            report = report_of([], [], 0.0)
        for item in report.items:
            item["skipped_records"] = item.get("skipped_records", 0) + left_out.get(item["partition"], 0)
        done = report.items + [item_before(self.routing, each) for each in slices if not each.offsets]
        report = report._replace(items=sorted(done, key=lambda item: item["partition"]))
        if without_target:
            report.failures.append(
                NotFoundError(
                    f"{counted(without_target, 'record')} not replayed",
                    why=f"they have no header {self.routing.header} that names a topic",
                    do="--where chooses them, and --to TOPIC sends them to one topic: as another job",
                )
            )
        return print_report(
            inv,
            report._replace(done=report.done or not tasks),
            _COLUMNS,
            stop,
            command="replay",
            runner=runner.name,
            cluster=inv.cluster_id,
            title="replayed",
        )


def _default_name(topic: str, target: str, flags: Mapping[str, Any]) -> str:
    """The same for the same command."""
    made = "\0".join([topic, target, flags["where"] or "", flags["dedupe"] or ""])
    return f"{topic}.{sha256(made.encode()).hexdigest()[:8]}"
