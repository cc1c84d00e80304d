"""What ``kcli pipeline import`` does: checks the files and the cluster, makes the plan, runs the job."""

import hashlib
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from kcli.account.survey import Missing
from kcli.core.admin.admin import Admin
from kcli.core.clock import wall_ms
from kcli.core.errors import ConfigError, KcliError
from kcli.core.options import ClientOptions, ProducerOptions, own_option_names
from kcli.core.types import TopicPartition
from kcli.flows.mirror.groups.offsets import NOTHING_SYNCED, GroupsAccount, SyncedOffset, failed
from kcli.flows.mirror.job.group_position import Position, read_positions
from kcli.flows.mirror.plan.plan import CopyPlan, PlannedPartition
from kcli.flows.mirror.plan.targets import create_targets, target_ends, unfit
from kcli.flows.mirror.topics.configs import RETENTION_MS, TIMESTAMPS, ConfigSync
from kcli.flows.mirror.topics.preflight import TopicFacts
from kcli.flows.mirror.topics.routes import parse_renames, plan_routes
from kcli.flows.mirror.topics.survey import Survey, survey_target
from kcli.flows.stop import Stop
from kcli.flows.topics.lifetime import KEEPS_ALL, Fates, Kept
from kcli.flows.topics.retention import RetentionExtension, extended_text, extensions_of
from kcli.output.progress import counted, size_text
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column
from kcli.pipeline.cluster_ref import JobCluster
from kcli.pipeline.drivers.restoring_groups import GroupRestore, RestoredPartition
from kcli.pipeline.drivers.restoring_settings import RestoredSetting, restore_settings
from kcli.pipeline.job import Job
from kcli.pipeline.kernels.check_files import CheckSettings, check_sizes
from kcli.pipeline.kernels.import_ import (
    ImportSettings,
    ImportTask,
    anchor_of,
    check_belongs,
    group_of,
)
from kcli.pipeline.kernels.record_times import TimesSettings, TimesTask
from kcli.pipeline.manifest import (
    TOPIC_ADDED,
    Documents,
    ExportedPartition,
    ExportedTopic,
    Manifest,
    left_out,
    why_no_export,
)
from kcli.pipeline.report import Report, report_of
from kcli.pipeline.restored_offsets import Pairs, read_offsets
from kcli.pipeline.runners.runner import Runner
from kcli.pipeline.running import CopyObserver, run_job, run_tasks
from kcli.pipeline.saved_state import TopicSettings, Unread
from kcli.pipeline.store.urls import open_store

COLUMNS = (
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
FIXED = dict.fromkeys(
    own_option_names(ProducerOptions) - _OF_TASKS,
    ("how an import sends follows from its flags", "leave it out"),
)
_BROKERS_DEFAULT = -1


class Import:
    """One run; ``with`` closes its clients. ``by_key``: partitions are chosen by key. ``with_groups``, ``with_config``:
    sets positions of groups and settings of topics afterwards (``groups``, ``set``). ConfigError for a folder that is no
    complete export, or has not what is asked for, and for routes that cannot be.
    """

    def __init__(
        self,
        cluster: JobCluster,
        observer: CopyObserver,
        folder: str,
        renames: Sequence[str],
        *,
        by_key: bool,
        kept: Kept,
        with_groups: bool = False,
        with_config: bool = False,
    ) -> None:
        self.observer = observer
        self.kept = kept
        self.folder = folder
        self.by_key = by_key
        whole = restorable(folder)
        known = [topic.topic for topic in whole.topics]
        rules = parse_renames(renames, [*known, *(topic.full_name for topic in whole.earlier)])
        self.manifest = whole.with_earlier({str(rule.pattern) for rule in rules})
        self.with_groups, self.with_config = with_groups, with_config
        self._check_saved()
        self.routes = plan_routes([topic.topic for topic in self.manifest.topics], rules, same_cluster=False)
        self.targets = dict(self.routes)
        self.target = cluster.ref
        self.admin = Admin(cluster.options(ClientOptions), observer.hooks, timeout=observer.timeout)
        self.settings = ImportSettings(
            self.target,
            folder,
            self.manifest.format,
            self.manifest.cluster,
            job_name(whole, by_key=self.by_key),
            secrets.token_hex(8),
            self.by_key,
            kept.keep_times,
        )
        self.cluster = ""
        self.positions: Mapping[TopicPartition, Position] = {}
        self.tasks: Sequence[ImportTask] = ()
        self.found: Survey
        self.fates = Fates({}, 0, kept)
        self.extensions: list[RetentionExtension] = []
        self.set_back: list[str] = []
        job = group_of(self.settings.job, self.manifest.cluster)
        saved = None if by_key else self.manifest.groups
        self.group_restore = None if saved is None else GroupRestore(self.admin, saved, job)
        self.wanted = {} if self.group_restore is None else self.group_restore.wanted()
        self.refusal: KcliError | None = None
        self.groups: GroupsAccount = NOTHING_SYNCED
        self.set: list[RestoredSetting] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.admin.close()

    def prepare(self) -> None:
        """Finds out what is left: ``tasks``. ConfigError for a file that is missing or was cut."""
        with self.observer.contact(self.target.servers):
            self.cluster = self.admin.cluster_id()
        positions = self._positions()
        for topic in self.manifest.earlier:
            if topic.full_name not in self.targets:
                self.observer.warn(f"{left_out(topic)}; --map-topic {topic.full_name}=NAME restores them")
        self.found = survey_target(
            self.manifest.cluster,
            self.admin,
            self.routes,
            {topic.topic: _facts(topic, self._settings_of(topic.topic)) for topic in self.manifest.topics},
            {tp.topic: self.targets[tp.topic] for tp in positions},
            by_key=self.by_key,
            sync=ConfigSync("effective" if self.with_config else "topic"),
        )
        if not self.settings.keep_times:  # then it is no loss that the target replaces them
            conflicts = self.found.findings.conflicts
            conflicts[:] = [one for one in conflicts if TIMESTAMPS not in one.what]
        self.positions = {tp: one for tp, one in positions.items() if self._continues(tp, one)}
        self.tasks = self._tasks()
        left = {task.source.topic for task in self.tasks}
        conflicts = self.found.findings.conflicts
        conflicts[:] = [one for one in conflicts if one.route.source in left or TIMESTAMPS not in one.what]
        if self.with_groups and self.group_restore is not None:
            self.refusal = self.group_restore.refusal()
        check_sizes(
            open_store(self.folder),
            [file for task in self.tasks for file in task.files],
            self.manifest.created,
        )

    def count_times(self, runner: Runner, stop: Stop) -> None:
        """Finds out what the targets would not keep of the records, by the metadata of Parquet where that says it."""
        self.fates = fates = Fates(self.found.findings.in_force, wall_ms(), self.kept)
        tasks = [
            TimesTask(task.target.topic, file, self._begin_of(task), fates.terms(task.target.topic))
            for task in self.tasks
            for file in task.files
            if fates.terms(task.target.topic) != KEEPS_ALL
        ]
        if not tasks:
            return
        job = Job("record_times", TimesSettings(self.folder, self.manifest.format), tuple(tasks))
        total = sum(task.file.records for task in tasks)
        with self.observer.progress("counted", total=total) as bar:
            results = run_tasks(runner, job, stop, bar)
        for result in results:
            if result.error is not None and not stop:
                raise result.error.error()
            if result.item is not None:
                fates.add(result.item["topic"], result.item["tally"])
        own = {name: facts.own for name, facts in self.found.targets.items()}
        self.extensions = extensions_of(fates, own, "pipeline import")
        self._extend_new()

    def restore(self, runner: Runner, stop: Stop) -> Report:
        """Creates what is missing, and restores all tasks."""
        create_targets(self.admin, self.found.findings, list(self.targets.values()))
        for extension in self.extensions:
            self.observer.warn(extension.make(self.admin, self.cluster))
        for text in self.set_back:
            self.observer.warn(text)
        total = sum(file.records for task in self.tasks for file in task.files)
        job, began = Job("import_", self.settings, tuple(self.tasks)), time.monotonic()
        with self.observer.progress("imported", total=total) as bar:
            results = run_tasks(runner, job, stop, bar)
        failed = any(result.item is None for result in results)
        places = self._places() if failed else [{}] * len(self.tasks)
        report = report_of(results, places, time.monotonic() - began)
        if stop:
            self.observer.note("stopped; the same command continues from here")
            return self._whole(report)
        return self._with_state(self._whole(report))

    def head(self) -> dict[str, Any]:
        """Of the report: what became of positions and settings."""
        found: dict[str, Any] = {}
        if self.with_groups and self.manifest.groups is not None:
            found["groups"] = list(map(_group_row, self.groups.offsets))
        if self.with_config and self.manifest.settings is not None:
            found["settings"] = [one.row() for one in self.set]
        return found

    # what is beside the records

    def _check_saved(self) -> None:
        """ConfigError for an export that has not what is asked for; reports what it could not read."""
        for asked, saved, flag, what in (
            (self.with_groups, self.manifest.groups, "--with-groups", "positions of groups"),
            (self.with_config, self.manifest.settings, "--with-config", "settings of topics"),
        ):
            if asked and saved is None:
                raise ConfigError(
                    f"{self.folder} has no {what}",
                    why=f"it was exported without {flag}",
                    do=f"leave {flag} out, or export again with it",
                )
            for part in saved.missing if asked and saved is not None else ():
                self.observer.lacks(_missing(part))

    def _settings_of(self, topic: str) -> TopicSettings | None:
        if not self.with_config or self.manifest.settings is None:
            return None
        return next((one for one in self.manifest.settings.topics if one.topic == topic), None)

    def _with_state(self, report: Report) -> Report:
        """Sets positions and settings; what is not as in the export is a failure."""
        failures = list(report.failures)
        if self.with_config and self.manifest.settings is not None:
            self.set = restore_settings(
                self.admin,
                self.manifest.settings,
                self.targets,
                before={name: facts.configs for name, facts in self.found.targets.items()},
                extended=self.fates.extended,
                by_key=self.by_key,
            )
            failures += [error for one in self.set if (error := one.error) is not None]
            for one in self.set:
                if one.error is None and one.why:
                    self.observer.warn(f"topic {one.target}: {one.setting} is {one.target_value}: {one.why}")
        if self.with_groups and self.group_restore is not None:
            self.groups = self._restored_groups(self.group_restore)
        return report._replace(failures=failures)

    def _restored_groups(self, job: GroupRestore) -> GroupsAccount:
        try:
            restored = self._restored_partitions()
        except KcliError as error:
            return GroupsAccount(
                [
                    SyncedOffset(group, tp, None, commit.offset, failed(error))
                    for group, tp, commit in job.saved.commits()
                ]
            )
        return job.restore(restored, self.observer.warn)

    def _restored_partitions(self) -> dict[TopicPartition, RestoredPartition]:
        """How far the partitions that groups read are restored, and where their records are."""
        positions = self._positions()
        names = sorted({tp.topic for tp in self.wanted if tp.topic in self.targets})
        topics = self.admin.describe_topics([self.targets[name] for name in names]) if names else {}
        ids = {name: info.topic_id for name, info in topics.items() if not isinstance(info, KcliError)}
        pairs: dict[TopicPartition, Pairs] = {}
        known = [self._target_of(tp) for tp in self.wanted if tp.topic in self.targets]
        if known:
            pairs = read_offsets(self.admin, group_of(self.settings.job, self.manifest.cluster), known)
        found = {}
        for tp, one in self.manifest.partitions():
            target = self._target_of(tp)
            position = positions.get(tp)
            is_of_this = position is not None and position.bookmark.target_topic_id in (
                "",
                ids.get(target.topic),
            )
            at = position.offset if position is not None and is_of_this else one.start
            last = one.files[-1].end if one.files else one.start
            found[tp] = RestoredPartition(
                target,
                ids.get(target.topic, ""),
                one.start,
                one.end,
                one.end if at >= last else at,
                last,
                one.records > 0,
                pairs.get(target, {}) if is_of_this else {},
            )
        return found

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

    def _continues(self, tp: TopicPartition, position: Position) -> bool:
        """Whether the topic that an earlier run wrote is still there."""
        target = self.found.targets.get(self.targets[tp.topic])
        return target is not None and position.bookmark.target_topic_id in ("", target.topic_id)

    def _tasks(self) -> list[ImportTask]:
        """What is left of each partition, the largest first."""
        tasks = []
        for topic in self.manifest.topics:
            for one in topic.partitions:
                tp = TopicPartition(topic.topic, one.partition)
                position = self.positions.get(tp)
                at = one.start if position is None else position.offset
                files = tuple(file for file in one.files if file.end > at)
                before = [file for file in one.files if file not in files]
                task = ImportTask(
                    tp,
                    topic.topic_id,
                    self._target_of(tp),
                    files,
                    one.start,
                    one.end,
                    len(topic.partitions),
                    self._wanted(tp, one) if files else (),
                    not any(file.records for file in before),
                )
                if position is not None:
                    check_belongs(position, task)
                if files:
                    tasks.append(task)
        return sorted(tasks, key=lambda task: -sum(file.bytes for file in task.files))

    def _wanted(self, tp: TopicPartition, one: ExportedPartition) -> tuple[int, ...] | None:
        """The offsets that groups are at; also without ``--with-groups``, for a later run."""
        if self.group_restore is None:
            return None
        return tuple(offset for offset in self.wanted.get(tp, ()) if one.start <= offset <= one.end)

    def may_begin(self) -> bool:
        """Has the plan shown, and returns whether the observer lets it begin."""
        files = [file for task in self.tasks for file in task.files]
        for extension in self.extensions:
            extension.plan(self.admin)
        for text in (*self.fates.warnings(), *self.fates.size_warnings(self._sizes())):
            self.observer.warn(text)
        remark = (
            f"  {counted(len(files), 'file')} with {counted(sum(file.records for file in files), 'record')}, "
            f"{size_text(sum(file.bytes for file in files))}"
        )
        return self.observer.may_begin(
            CopyPlan(
                self.settings.job,
                self.found,
                {tp.topic: self.targets[tp.topic] for tp in self.positions},
                [
                    PlannedPartition(tp, self._target_of(tp), self._begin(tp, one), one.end)
                    for tp, one in self.manifest.partitions()
                ],
                target_ends(self.admin, self.found),
                exactly_once=True,
                unfit=unfit(self.admin, self.target.inner_options(ProducerOptions, transactional_id="import"))
                or self.fates.refusal
                or self.refusal,
                title=f"Import {visible_line(self.folder)} of cluster {visible_line(self.manifest.cluster)}",
                remarks=[remark, *self._state_remarks(), *self.fates.remarks()],
                carries=["groups"] if self.with_groups else [],
            )
        )

    def _state_remarks(self) -> Iterator[str]:
        if self.with_groups and self.manifest.groups is not None and self.group_restore is not None:
            groups = self.manifest.groups
            count = counted(self.group_restore.count, "position")
            yield f"  {count} of {counted(len(groups.groups), 'group')}, as of {groups.at}"
        if self.with_config and self.manifest.settings is not None:
            settings = self.manifest.settings
            yield f"  the settings of {counted(len(settings.topics), 'topic')}, as of {settings.at}"

    def _sizes(self) -> dict[str, int]:
        """About how many bytes the largest partition of each target gets: those of files, which are compressed."""
        sizes: dict[str, list[int]] = {}
        for task in self.tasks:
            sizes.setdefault(task.target.topic, []).append(sum(file.bytes for file in task.files))
        return {
            topic: sum(parts) // len(parts) if self.by_key else max(parts) for topic, parts in sizes.items()
        }

    def _begin_of(self, task: ImportTask) -> int:
        """Where what is left of the partition of a task begins."""
        return self.positions[task.source].offset if task.source in self.positions else task.start

    def _extend_new(self) -> None:
        """Topics that are created get the longer retention at once."""
        for number, spec in enumerate(self.found.findings.create):
            if spec.name in self.fates.extended:
                configs = {**spec.configs, RETENTION_MS: str(self.fates.retention_ms)}
                self.found.findings.create[number] = spec._replace(configs=configs)
                self.set_back.append(extended_text(spec.name, self.fates.retention_ms, spec.configs))

    def _begin(self, tp: TopicPartition, one: ExportedPartition) -> int:
        """Where what is left of a partition begins."""
        return self.positions[tp].offset if tp in self.positions else one.start

    # the jobs

    def check_files(self, runner: Runner, stop: Stop) -> bool:
        """Whether all files are as the manifest says; what is not is reported."""
        files = sorted((file for task in self.tasks for file in task.files), key=lambda file: -file.bytes)
        if not files:
            return True
        job = Job("check_files", CheckSettings(self.folder), tuple(files))
        total = sum(file.records for file in files)
        report = run_job(
            self.observer,
            runner,
            job,
            [{"file": file.path} for file in files],
            stop,
            title="checked",
            total=total,
        )
        for error in report.failures:
            if error.exit_code != stop.exit_code or not stop:
                self.observer.failed(error)
        return not report.failures and not stop

    # the report

    def _places(self) -> list[dict[str, Any]]:
        """What tasks that failed or were stopped have restored, as the cluster knows it."""
        try:
            positions = self._positions()
        except KcliError:  # the errors of the tasks say what is wrong
            positions = {}
        places = []
        for task in self.tasks:
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

    def _whole(self, report: Report) -> Report:
        """The report with the partitions that needed no task."""
        begun = {task.source for task in self.tasks}
        rest = [
            self._place(tp, self._begin(tp, one), one.end) | {"files": []}
            for tp, one in self.manifest.partitions()
            if tp not in begun
        ]
        items = sorted([*report.items, *rest], key=lambda item: (item["topic"], item["partition"]))
        return report._replace(items=items, done=report.done or not self.tasks)


def restorable(folder: str) -> Manifest:
    """The manifest of an export whose records can be restored; else a ConfigError."""
    store = open_store(folder)
    found = Documents(store).manifest()
    if found is None:
        raise ConfigError(
            f"{folder} is no complete export",
            why=why_no_export(store),
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


def job_name(manifest: Manifest, *, by_key: bool) -> str:
    """The name of the import: the same as long as the export is continued, also with topics that were added or created
    again, and for each way to choose partitions.
    """
    added = {change.topic for change in manifest.changes if change.change == TOPIC_ADDED}
    first: dict[str, ExportedTopic] = {}
    for topic in (*manifest.earlier, *manifest.topics):
        first.setdefault(topic.topic, topic)
    ids = sorted(topic.topic_id or name for name, topic in first.items() if name not in added)
    words = "\n".join([manifest.cluster, manifest.created, *ids, "by-key" if by_key else "keep"])
    return hashlib.sha256(words.encode()).hexdigest()[:12]


def _facts(topic: ExportedTopic, settings: TopicSettings | None) -> TopicFacts:
    """What the manifest knows of a topic. Partitions that were not exported exist too."""
    count = max((one.partition + 1 for one in topic.partitions), default=1)
    if settings is None:
        return TopicFacts(topic.topic_id, count, _BROKERS_DEFAULT, topic.config, topic.config)
    count = max(count, settings.partitions)
    configs = {**topic.config, **settings.config}
    return TopicFacts(topic.topic_id, count, settings.replication_factor, configs, settings.config)


def _group_row(one: SyncedOffset) -> dict[str, Any]:
    assert one.source is not None
    return {
        "group": one.group,
        "topic": one.source.topic,
        "partition": one.source.partition,
        "target_topic": one.target.topic if one.target is not None else None,
        "source_offset": one.source_offset,
        "target_offset": one.verdict.offset,
        "status": str(one.status),
        "why": one.verdict.why or None,
    }


def _missing(part: Unread) -> Missing:
    """A part that the export could not read."""
    return Missing(part.what, part.where, KcliError(f"{part.what} is not in the export", why=part.why))
