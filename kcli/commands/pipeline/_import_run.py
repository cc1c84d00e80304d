"""What ``kcli pipeline import`` does: checks the files and the cluster, shows the plan, creates topics, runs the job."""

import hashlib
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from kcli.commands.pipeline._job_run import (
    cluster_of,
    print_report,
    run_job,
    run_tasks,
    runner_of,
    with_runner,
    without,
)
from kcli.commands.shared.context import ClusterName, Invocation, cluster_text
from kcli.commands.shared.copy_plan import Names, may_begin
from kcli.core.admin.admin import Admin
from kcli.core.errors import ConfigError, KcliError
from kcli.core.options import ClientOptions, ProducerOptions, own_option_names
from kcli.core.types import TopicPartition
from kcli.flows.mirror.group_position import Position, read_positions
from kcli.flows.mirror.plan import CopyPlan
from kcli.flows.mirror.preflight import TopicFacts
from kcli.flows.mirror.routes import parse_renames, plan_routes
from kcli.flows.mirror.survey import Survey, survey_target
from kcli.flows.mirror.targets import create_targets, target_ends, unfit
from kcli.flows.stop import Stop
from kcli.output.progress import counted, size_text
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column
from kcli.pipeline.arrow_library import check_pyarrow
from kcli.pipeline.job import Job
from kcli.pipeline.kernels.check_files import CheckSettings, check_size
from kcli.pipeline.kernels.import_ import (
    ImportSettings,
    ImportTask,
    anchor_of,
    check_belongs,
)
from kcli.pipeline.manifest import MANIFEST, ExportedTopic, Manifest, load_manifest
from kcli.pipeline.report import Report, report_of
from kcli.pipeline.runners.runner import Runner

_COLUMNS = (
    Column("topic"),
    Column("partition", "number"),
    Column("target_topic", spare=2),
    Column("target_partition", "number", wide=True),
    Column("start", "id"),
    Column("end", "id"),
    Column("records", "number"),
    Column("bytes", "size"),
    Column("error", "prose"),
)
_OF_TASKS = frozenset({"batch_size", "buffer_memory", "compression_level", "compression_type"})
_FIXED = dict.fromkeys(
    own_option_names(ProducerOptions) - _OF_TASKS,
    ("how an import sends follows from its flags", "leave it out"),
)
_BROKERS_DEFAULT = -1


def run(inv: Invocation, folder: str, flags: Mapping[str, Any]) -> int:
    """Runs the import; returns the exit status."""
    check_pyarrow("reads Parquet and prepares records")
    flags = with_runner(inv, flags, "import")
    with ExitStack() as stack:
        return _Import(inv, os.path.abspath(folder), flags, stack).run()


class _Import:
    """One run."""

    def __init__(self, inv: Invocation, folder: str, flags: Mapping[str, Any], stack: ExitStack) -> None:
        self.inv = inv
        self.folder = folder
        self.flags = flags
        self.by_key = flags["partitions"] == "by-key"
        # Before files are read: it refuses what the profile forbids.
        inv.client_options(ProducerOptions, unused=_FIXED)
        inv.configuration.check_no_registry()
        self.manifest = restorable(folder)
        topics = [topic.topic for topic in self.manifest.topics]
        self.routes = plan_routes(topics, parse_renames(flags["renames"], topics), same_cluster=False)
        self.targets = dict(self.routes)
        self.target = without(cluster_of(inv, inv.configuration), _FIXED)
        self.admin = stack.enter_context(
            Admin(inv.inner_options(ClientOptions), inv.hooks, timeout=inv.timeout)
        )
        self.settings = ImportSettings(
            self.target,
            folder,
            self.manifest.format,
            self.manifest.cluster,
            job_name(self.manifest, by_key=self.by_key),
            secrets.token_hex(8),
            self.by_key,
        )

    def run(self) -> int:
        """See ``run``."""
        inv = self.inv
        with inv.first_contact(self.target.servers):
            inv.cluster_id = self.admin.cluster_id()
        positions = self._positions()
        found = survey_target(
            self.manifest.cluster,
            self.admin,
            self.routes,
            {topic.topic: _facts(topic) for topic in self.manifest.topics},
            {tp.topic: self.targets[tp.topic] for tp in positions},
            by_key=self.by_key,
        )
        positions = {tp: one for tp, one in positions.items() if self._continues(tp, one, found)}
        tasks = self._tasks(positions)
        check_sizes(self.folder, tasks)
        if not inv.dry_run and not self._may_begin(found, positions, tasks):
            return 0
        with runner_of(inv, self.flags) as runner, Stop() as stop:
            if not self._check_files(tasks, runner, stop):
                return inv.finish(done=False, also=[stop.exit_code])
            if inv.dry_run:
                self._may_begin(found, positions, tasks)
                return 0
            create_targets(self.admin, found.findings, list(self.targets.values()))
            report = self._restore(tasks, runner, stop)
            return print_report(
                inv,
                self._whole(report, tasks, positions),
                _COLUMNS,
                stop,
                command="import",
                runner=runner.name,
                cluster=inv.cluster_id,
                title="imported",
            )

    # what there is

    def _positions(self) -> dict[TopicPartition, Position]:
        """How far earlier runs of this import came, by partition of the export."""
        by_group: dict[str, dict[TopicPartition, Position]] = {}
        positions = {}
        for tp, _one in self.manifest.partitions():
            group, anchor = self._anchor(tp)
            if group not in by_group:
                by_group[group] = read_positions(self.admin, group)
            if anchor in by_group[group]:
                positions[tp] = by_group[group][anchor]
        return positions

    def _anchor(self, tp: TopicPartition) -> tuple[str, TopicPartition]:
        settings = self.settings
        return anchor_of(
            settings.job, settings.source_cluster, tp, self._target_of(tp), by_key=settings.by_key
        )

    def _target_of(self, tp: TopicPartition) -> TopicPartition:
        return TopicPartition(self.targets[tp.topic], tp.partition)

    def _continues(self, tp: TopicPartition, position: Position, found: Survey) -> bool:
        """Whether the topic that an earlier run wrote is still there."""
        target = found.targets.get(self.targets[tp.topic])
        return target is not None and position.bookmark.target_topic_id in ("", target.topic_id)

    def _tasks(self, positions: Mapping[TopicPartition, Position]) -> list[ImportTask]:
        """What is left of each partition, the largest first."""
        tasks = []
        for topic in self.manifest.topics:
            for one in topic.partitions:
                tp = TopicPartition(topic.topic, one.partition)
                position = positions.get(tp)
                at = one.start if position is None else position.offset
                files = tuple(file for file in one.files if file.end > at)
                if files:
                    count = len(topic.partitions)
                    task = ImportTask(
                        tp, topic.topic_id, self._target_of(tp), files, one.start, one.end, count
                    )
                    if position is not None:
                        check_belongs(position, task)
                    tasks.append(task)
        return sorted(tasks, key=lambda task: -sum(file.bytes for file in task.files))

    def _may_begin(
        self, found: Survey, positions: Mapping[TopicPartition, Position], tasks: Sequence[ImportTask]
    ) -> bool:
        files = [file for task in tasks for file in task.files]
        remark = (
            f"  {counted(len(files), 'file')} with {counted(sum(file.records for file in files), 'record')}, "
            f"{size_text(sum(file.bytes for file in files))}"
        )
        profile = self.inv.profile
        option = f"--profile {profile.name}" if profile is not None else f"-b {self.target.servers}"
        return may_begin(
            self.inv,
            Names(ClusterName(self.folder, ""), self.inv.cluster_name, "", option),
            CopyPlan(
                self.settings.job,
                found,
                {tp.topic: self.targets[tp.topic] for tp in positions},
                {topic.topic: len(topic.partitions) for topic in self.manifest.topics},
                target_ends(self.admin, found),
                exactly_once=True,
                unfit=unfit(
                    self.admin, self.target.inner_options(ProducerOptions, transactional_id="import")
                ),
                title=f"Import {visible_line(self.folder)} of cluster {visible_line(self.manifest.cluster)} "
                f"to {cluster_text(self.inv.cluster_name, found.target_cluster)}, exactly once",
                remarks=[remark],
            ),
        )

    # the jobs

    def _check_files(self, tasks: Sequence[ImportTask], runner: Runner, stop: Stop) -> bool:
        """Whether all files are as the manifest says; what is not is reported."""
        files = sorted((file for task in tasks for file in task.files), key=lambda file: -file.bytes)
        if not files:
            return True
        job = Job("check_files", CheckSettings(self.folder), tuple(files))
        total = sum(file.records for file in files)
        report = run_job(
            self.inv, runner, job, [{"file": file.path} for file in files], stop, title="checked", total=total
        )
        for error in report.failures:
            if error.exit_code != stop.exit_code or not stop:
                self.inv.failed(error)
        return not report.failures and not stop

    def _restore(self, tasks: Sequence[ImportTask], runner: Runner, stop: Stop) -> Report:
        total = sum(file.records for task in tasks for file in task.files)
        job, began = Job("import_", self.settings, tuple(tasks)), time.monotonic()
        with self.inv.progress("imported", total=total) as bar:
            results = run_tasks(runner, job, stop, bar)
        places = self._places(tasks) if any(result.item is None for result in results) else [{}] * len(tasks)
        report = report_of(results, places, time.monotonic() - began)
        if stop:
            self.inv.talk.note("stopped; the same command continues from here")
        return report

    # the report

    def _places(self, tasks: Sequence[ImportTask]) -> list[dict[str, Any]]:
        """What tasks that failed or were stopped have restored, as the cluster knows it."""
        try:
            positions = self._positions()
        except KcliError:  # the errors of the tasks say what is wrong
            positions = {}
        places = []
        for task in tasks:
            place, position = self._place(task.source, task.start, task.start), positions.get(task.source)
            if position is not None and position.bookmark.run == self.settings.run:
                place |= {
                    "start": position.bookmark.start,
                    "end": position.offset,
                    "records": position.bookmark.records,
                }
            places.append(place)
        return places

    def _place(self, tp: TopicPartition, start: int, end: int) -> dict[str, Any]:
        target = self._target_of(tp)
        own = {} if self.by_key else {"target_partition": target.partition}
        return {
            "topic": tp.topic,
            "partition": tp.partition,
            "target_topic": target.topic,
            **own,
            "start": start,
            "end": end,
            "records": 0,
            "bytes": 0,
        }

    def _whole(
        self, report: Report, tasks: Sequence[ImportTask], positions: Mapping[TopicPartition, Position]
    ) -> Report:
        """The report with the partitions that needed no task."""
        begun = {task.source for task in tasks}
        rest = [
            self._place(tp, positions[tp].offset if tp in positions else one.start, one.end) | {"files": []}
            for tp, one in self.manifest.partitions()
            if tp not in begun
        ]
        items = sorted([*report.items, *rest], key=lambda item: (item["topic"], item["partition"]))
        return report._replace(items=items, done=report.done or not tasks)


def restorable(folder: str) -> Manifest:
    """The manifest of an export whose records can be restored; else a ConfigError."""
    found = load_manifest(folder)
    if found is None:
        raise ConfigError(
            f"{folder} is no complete export",
            why=f"it has no {MANIFEST}, which an export writes at last",
            do="name the folder DIR of a `kcli pipeline export TOPIC DIR`, or run that again to its end",
        )
    if found.format == "raw":
        raise ConfigError(
            f"{folder} cannot be restored",
            why="its format is raw, which has values only: no keys, headers, timestamps or partitions",
            do="`cat FILE… | kcli produce TOPIC -i raw` makes records of the values; "
            "export as parquet, ndjson or csv to restore",
        )
    return found


def check_sizes(folder: str, tasks: Sequence[ImportTask]) -> None:
    """ConfigError for the first file that is missing or was cut, before anything is shown or read."""
    for task in tasks:
        for file in task.files:
            check_size(os.path.join(folder, file.path), file)


def job_name(manifest: Manifest, *, by_key: bool) -> str:
    """The name of the import: the same as long as the export is continued, and for each way to choose partitions."""
    ids = sorted(topic.topic_id or topic.topic for topic in manifest.topics)
    words = "\n".join([manifest.cluster, manifest.created, *ids, "by-key" if by_key else "keep"])
    return hashlib.sha256(words.encode()).hexdigest()[:12]


def _facts(topic: ExportedTopic) -> TopicFacts:
    """What the manifest knows of a topic. Partitions that were not exported exist too."""
    count = max((one.partition + 1 for one in topic.partitions), default=1)
    return TopicFacts(topic.topic_id, count, _BROKERS_DEFAULT, topic.config, topic.config)
