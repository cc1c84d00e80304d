"""What ``kcli pipeline replay`` does: chooses records, counts what would go where, and sends them."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any, Self

from kcli.core.admin.admin import Admin
from kcli.core.classes import replace
from kcli.core.clock import wall_ms
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.exit_codes import ExitCode
from kcli.core.names import REPLAYS
from kcli.core.options import ClientOptions, ConsumerOptions
from kcli.core.positions import RangeSpec
from kcli.flows.stop import Stop
from kcli.flows.topics.lifetime import Fates, Kept
from kcli.flows.topics.retention import RetentionExtension, extensions_of, values_of
from kcli.output.progress import counted
from kcli.output.tables import Column
from kcli.pipeline.cluster_ref import JobCluster
from kcli.pipeline.drivers.replay_plan import Found, plan_text, sum_up
from kcli.pipeline.job import Job
from kcli.pipeline.kernels.replay import (
    ReplaySettings,
    ReplayTask,
    Times,
    item_before,
    position,
    read_committed,
)
from kcli.pipeline.plan import Slice, pin
from kcli.pipeline.redrive import Routing, packed
from kcli.pipeline.report import Report, report_of
from kcli.pipeline.runners.runner import Runner
from kcli.pipeline.running import Observer, run_job, run_tasks
from kcli.pipeline.sql_text import Rewritten, rewrite

_KERNEL = "replay"
COLUMNS = (
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


def check(topic: str, target: str, where: str | None, *, ends: bool) -> None:
    """ConfigError for an SQL that is no condition; SameTopicError for a replay that would never end. ``ends``: it has an
    end in time.
    """
    if where is not None:
        _condition(where)
    if target == topic and not ends:
        raise _same_topic(topic)


def _same_topic(topic: str) -> SameTopicError:
    return SameTopicError(
        f"records of {topic} would be sent to {topic} itself",
        why="what is appended would be replayed by the next run, without end",
        do="give --until TIME, after which nothing is replayed, without --exact-times or with --timestamps now; "
        "--max-replays limits the rounds of each record",
    )


def _condition(text: str) -> Rewritten:
    return rewrite(f"select partition, offset from source where ({text}\n)", (), ())  # noqa: S608 - it is the user's


class Replay:
    """One run; ``with`` closes its clients. ``existing``: see ``export.Export``. ``target``: as it was given, for the
    ``routing``. ``dedupe``: of the records of a key only the last one is sent.
    """

    def __init__(
        self,
        cluster: JobCluster,
        observer: Observer,
        existing: Callable[[Consumer, float, Callable[[KcliError], object]], Sequence[str]],
        routing: Routing,
        *,
        topic: str,
        target: str,
        spec: RangeSpec,
        where: str | None,
        dedupe: bool,
        job: str | None,
        exact_times: bool,
        kept: Kept,
    ) -> None:
        self.observer = observer
        self.existing = existing
        self.routing = routing
        self.topic = topic
        self.target = target
        self.spec = spec
        self.where = where
        self.dedupe = dedupe
        self.times = Times(*spec.times) if exact_times else None
        made_of = [topic, target, where or "", "key" if dedupe else ""]
        self.job = job or _default_name(made_of, self.times)
        self.cluster = cluster
        self.cluster_id: str | None = None
        self.found: Found
        self._slices: list[Slice] = []
        self._tasks: list[ReplayTask] = []
        self._surveyed: list[dict[str, Any]] = []
        self._continued = 0
        self._partitions: dict[str, int] = {}
        self._settings = ReplaySettings(
            cluster.ref, self.job, routing, times=self.times, kept=kept, now_ms=wall_ms()
        )
        self.fates = Fates({}, self._settings.now_ms, kept)
        self._extensions: list[RetentionExtension] = []
        self._admin = Admin(cluster.options(ClientOptions), hooks=observer.hooks)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._admin.close()

    # --- planning ----------------------------------------------------------------------------------------

    def pin(self, options: ConsumerOptions) -> None:
        """Fixes what is left of the range. ``options``: of a consumer; ``cluster_id`` is known then."""
        observer = self.observer
        with Consumer(options, hooks=observer.hooks) as consumer:
            with observer.contact(self.cluster.servers):
                consumer.connect(observer.timeout)
            names = self.existing(consumer, observer.timeout, observer.failed)
            slices = pin(
                consumer,
                names,
                self.spec,
                observer.timeout,
                warn=observer.warn,
                exact_times=self.times is not None,
            )
            self.cluster_id = consumer.cluster.view.cluster_id
        done = read_committed(self._admin, REPLAYS + self.job, [each.tp for each in slices], stable=False)
        left = [
            each._replace(start=min(each.end, position(done[each.tp], each, self.times))) for each in slices
        ]
        self._slices = left
        self._continued = sum(one.start - each.start for one, each in zip(left, slices, strict=True))
        if self.routing.topic:
            self._check_exist([self.routing.topic])

    def survey(self, runner: Runner, stop: Stop) -> None:
        """Chooses and counts the records: ``found``, unless it was stopped. NotFoundError if a target is missing."""
        tasks = [ReplayTask(each) for each in self._slices if each.offsets]
        if self.where is not None and tasks:
            tasks = self._selected(runner, tasks, stop)
        self._surveyed = self._counted(runner, tasks, stop)
        if stop:
            return
        self.found = found = sum_up(self._surveyed, dedupe=self.dedupe)
        endless = self.spec.stop is None or (self.times is not None and self.routing.keep_timestamps)
        if self.topic in found.targets and endless:
            raise _same_topic(self.topic)
        self._check_exist(sorted(found.targets))
        self._judge()
        if found.chosen is not None:
            tasks = [
                ReplayTask(task.slice, packed(chosen))
                for task, chosen in zip(tasks, found.chosen, strict=True)
            ]
        self._tasks = tasks

    def text(self) -> str:
        """The plan for people."""
        text = plan_text(
            self.topic,
            self.target,
            self.job,
            self._slices,
            self.found,
            continued=self._continued,
            where=self.where,
            max_replays=self.routing.max_replays,
        )
        return "\n".join([text, *self.fates.remarks()])

    def _judge(self) -> None:
        """What the targets would do with the records, and what has to be extended; raises what stands against that."""
        values = values_of(self._admin, list(self.found.tallies))
        in_force = {name: one.in_force for name, one in values.items()}
        self.fates = Fates(in_force, self._settings.now_ms, self._settings.kept)
        for topic, tally in self.found.tallies.items():
            self.fates.add(topic, tally)
        own = {name: one.own for name, one in values.items()}
        self._extensions = extensions_of(self.fates, own, "pipeline replay")
        for extension in self._extensions:
            extension.plan(self._admin)
        sizes = {
            topic: size // self._partitions[topic]  # by key
            for topic, size in self.found.sizes.items()
            if self._partitions.get(topic)
        }
        for text in (*self.fates.warnings(), *self.fates.size_warnings(sizes)):
            self.observer.warn(text)

    def _check_exist(self, topics: Sequence[str]) -> None:
        for name, found in self._admin.describe_topics(topics).items() if topics else ():
            if isinstance(found, NotFoundError) and name != self.routing.topic:
                raise NotFoundError(
                    f"topic {name} does not exist",
                    why=f"the header {self.routing.header} of some records names it; nothing was sent",
                    do=f"`kcli topics create {name}`, or leave these records out: --where",
                )
            if isinstance(found, KcliError):
                raise found
            self._partitions[name] = len(found.partitions)

    def _selected(self, runner: Runner, tasks: Sequence[ReplayTask], stop: Stop) -> list[ReplayTask]:
        from kcli.pipeline.drivers.sql import select  # pyspark: an extra

        query = _condition(self.where or "")
        slices = [task.slice for task in tasks]
        chosen = select(self.observer, runner, self.cluster.ref, slices, query, stop)
        return [ReplayTask(task.slice, packed(chosen.get(task.slice.partition, ()))) for task in tasks]

    def _counted(self, runner: Runner, tasks: Sequence[ReplayTask], stop: Stop) -> list[dict[str, Any]]:
        settings = replace(self._settings, send=False, keys=self.dedupe)
        total = sum(task.slice.offsets for task in tasks)
        with self.observer.progress("counted", total=total) as bar:
            results = run_tasks(runner, Job(_KERNEL, settings, tuple(tasks)), stop, bar)
        for result in results:
            if result.error is not None and not stop:
                raise result.error.error()
        return [result.item for result in results if result.item is not None]

    # --- sending -----------------------------------------------------------------------------------------

    def send(self, runner: Runner, stop: Stop) -> Report:
        """Sends what was found."""
        for extension in self._extensions:
            self.observer.warn(extension.make(self._admin, self.cluster_id or ""))
        tasks, found = self._tasks, self.found
        left_out = {
            item["partition"]: item["records"] + item["skipped_records"] - len(chosen)
            for item, chosen in zip(self._surveyed, found.chosen or (), strict=False)
        }
        job = Job(_KERNEL, self._settings, tuple(tasks))
        places = [{"topic": task.slice.topic, "partition": task.slice.partition} for task in tasks]
        if tasks:
            report = run_job(
                self.observer,
                runner,
                job,
                places,
                stop,
                title="replayed",
                total=sum(t.slice.offsets for t in tasks),
            )
        else:
            report = report_of([], [], 0.0)
        for item in report.items:
            item["skipped_records"] = item.get("skipped_records", 0) + left_out.get(item["partition"], 0)
        done = report.items + [item_before(self.routing, each) for each in self._slices if not each.offsets]
        report = report._replace(items=sorted(done, key=lambda item: item["partition"]))
        if found.without_target:
            report.failures.append(
                NotFoundError(
                    f"{counted(found.without_target, 'record')} not replayed",
                    why=f"they have no header {self.routing.header} that names a topic",
                    do="--where chooses them, and --to TOPIC sends them to one topic: as another job",
                )
            )
        return report._replace(done=report.done or not tasks)


def _default_name(made_of: Sequence[str], times: Times | None) -> str:
    """The same for the same command; ``--exact-times`` makes jobs of different times different ones."""
    made = "\0".join([*made_of, *([times.text] if times is not None else [])])
    return f"{made_of[0]}.{sha256(made.encode()).hexdigest()[:8]}"
