"""What ``kcli pipeline export`` does: finds out what its folder lacks, writes a plan of it, runs the job, and commits."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Self

import msgspec

from kcli.account.survey import Missing
from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import id_text
from kcli.core.classes import replace
from kcli.core.clock import wall_ms
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.ranges import offsets_in
from kcli.core.errors import ConfigError, KcliError, NotFoundError
from kcli.core.options import ClientOptions, ConsumerOptions, own_option_names
from kcli.core.positions import OffsetSpec, RangeSpec
from kcli.core.types import TopicPartition
from kcli.flows.rate import wait
from kcli.flows.stop import Stop
from kcli.output.progress import Progress, counted
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column
from kcli.output.template import rfc3339
from kcli.pipeline import plan as ranges
from kcli.pipeline.cluster_ref import JobCluster
from kcli.pipeline.compaction import Merge, compacted, merges_of
from kcli.pipeline.drivers.saving_state import read_groups, read_settings
from kcli.pipeline.export_plan import (
    OtherExportError,
    changes_of,
    check_same,
    finished,
    gaps_of,
    gone_for_good,
    lost_with,
    missing_files,
    never_there,
    next_slices,
    part_topics,
    planned_again,
    planned_slices,
    planned_topics,
    recreated_topics,
    removed,
    slice_of,
    with_folders,
    without_removed,
    without_topics,
    written,
)
from kcli.pipeline.job import Job, TaskResult, may_pass
from kcli.pipeline.kernels.compact import CompactSettings
from kcli.pipeline.kernels.export import ExportSettings
from kcli.pipeline.manifest import (
    COMPACTION,
    MANIFEST,
    PLAN,
    TOPIC_RECREATED,
    Compaction,
    Documents,
    ExactTimes,
    ExportedFile,
    ExportedPartition,
    ExportedTopic,
    ExportPlan,
    Manifest,
    PlannedSlice,
    Request,
    merged,
    new_compaction,
    new_plan,
)
from kcli.pipeline.partition_by import parse_partition_by
from kcli.pipeline.report import Report, report_of
from kcli.pipeline.runners.runner import Runner
from kcli.pipeline.running import Observer, run_tasks
from kcli.pipeline.saved_state import Saved, is_whole
from kcli.pipeline.store.lease import LEASE, Lease
from kcli.pipeline.store.store import Store
from kcli.pipeline.store.urls import open_store
from kcli.pipeline.written_range import files_written, forget_written

_INTERVAL = 30.0
_EARLIEST = -2
_ANEW = "--on-recreate record exports the new topic beside the old one; or name another folder"
ALWAYS_KEPT = ("cleanup.policy", "max.message.bytes")
"""Settings that the manifest has even where they are defaults: with others, a copy may lose records."""


COLUMNS = (
    Column("topic"),
    Column("partition", "number"),
    Column("start", "id"),
    Column("end", "id"),
    Column("records", "number"),
    Column("skipped_records", "number", wide=True),
    Column("missing_records", "number", spare=2),
    Column("bytes", "size"),
    Column("error", "prose"),
)


NOTHING_DONE = Report([], {"records": 0, "bytes": 0, "seconds": 0.0, "tasks": 0, "task_retries": 0}, [], True)
"""Of a run that finds everything done."""
_OF_TASKS = frozenset(
    {
        "check_crcs",
        "client_rack",
        "fetch_buffer_bytes",
        "fetch_max_bytes",
        "fetch_max_wait_ms",
        "fetch_min_bytes",
        "max_decompressed_batch_bytes",
        "max_partition_fetch_bytes",
    }
)
"""The options of a consumer that a job leaves to its user: how fetching is done, and not what is read."""
FIXED = dict.fromkeys(
    own_option_names(ConsumerOptions) - _OF_TASKS, ("what a job reads follows from its flags", "leave it out")
)


class Export:
    """One run; ``with`` closes its clients and ends its lock. ``existing``: the topics that exist now, of those that were
    asked for: called with the consumer, the timeout, and what is told of the others. ``topics`` and ``words`` are the
    request as it was typed; ``interval``: seconds between two rounds of a ``continuous`` export. ``append``: goes on to
    the ends of now; ``record_gaps``: over what was removed meanwhile; ``record_recreated``: with topics that were deleted
    and created again. ``compact``: merges small files afterwards. ``with_groups``, ``with_config``: keeps positions of
    groups, and settings of topics.
    """

    def __init__(
        self,
        cluster: JobCluster,
        observer: Observer,
        folder: str,
        existing: Callable[[Consumer, float, Callable[[KcliError], object]], Sequence[str]],
        *,
        topics: Sequence[str],
        words: Mapping[str, Any],
        form: str,
        spec: RangeSpec,
        partitions: Sequence[int] | None,
        continuous: bool,
        interval: float | None,
        append: bool,
        compact: bool,
        record_gaps: bool,
        record_recreated: bool,
        with_groups: bool = False,
        with_config: bool = False,
    ) -> None:
        self.observer = observer
        self.folder = folder
        self.store = open_store(folder)
        self.documents = Documents(self.store)
        self.request = Request(sorted(set(topics)), **words)
        self.existing = existing
        self.form = form
        self.spec = spec
        self.partitions = partitions
        self.continuous = continuous
        self.interval = interval or _INTERVAL
        self.append = append
        self.compact = compact
        self.record_gaps = record_gaps
        self.record_recreated = record_recreated
        self.with_groups = with_groups
        self.with_config = with_config
        self.lease: Lease | None = None
        self.source = cluster.ref
        self.by = None if self.request.partition_by is None else parse_partition_by(self.request.partition_by)
        self.settings = ExportSettings(self.source, self.folder, form, by=self.by)
        self.cluster = ""
        self.ids: dict[str, str] = {}
        self.manifest: Manifest | None = None
        self.plan: ExportPlan | None = None
        self.planned_before = False
        self.results: list[TaskResult] = []
        self.places: list[Mapping[str, Any]] = []
        self.stack = ExitStack()
        self.admin = self.stack.enter_context(
            Admin(cluster.options(ClientOptions), observer.hooks, timeout=observer.timeout)
        )
        options = cluster.options(ConsumerOptions, isolation_level="read_committed")
        self.consumer = self.stack.enter_context(Consumer(options, hooks=observer.hooks))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.stack.close()

    def contact(self) -> None:
        """The first contact; ``cluster`` is known then."""
        with self.observer.contact(self.source.servers):
            self.cluster = self.admin.cluster_id()
            self.consumer.connect(self.observer.timeout)

    def prepare(self) -> None:
        """Finds out what the folder lacks: ``plan``; None where it is complete. A dry run writes nothing."""
        if not any(self.store.names()):  # a mistyped topic leaves no folder
            self.existing(self.consumer, self.observer.timeout, self._refuse_unknown)
        if not self.observer.dry_run:
            self.stack.enter_context(self.store.writing())
            if (self.append or self.compact) and not self.store.locks:
                self.lease = self.stack.enter_context(Lease(self.store, self.observer.note))
            self.store.remove_leftovers()
        self.manifest, self.plan = self._found()
        if self.plan is not None or not (self.append or self.continuous):
            # The ends are those of an earlier run, and so is what that run has not found.
            known = [one for one in (self.manifest, self.plan) if one is not None]
            for error in never_there(known, self.partitions, self.folder):
                self._lacks(error)
        if self.plan is not None:
            self.plan = self._typed(self.plan, self.manifest)
        if self.plan is None and (self.manifest is None or self.continuous or self.append):
            self.plan = self._planned(self.manifest)
            if _is_empty(self.plan, self.manifest) and not self.continuous:
                self.plan = None
        elif not (self.append or self.continuous):
            self.plan = self._completed_state(self.plan)
        if self.plan is not None:
            self._report_new(self.plan, self.manifest)

    def _refuse_unknown(self, error: KcliError) -> None:
        """Of the run that begins an export: a name that it does not find is mistyped."""
        if isinstance(error, NotFoundError):
            raise error
        self._lacks(error)

    def _lacks(self, error: KcliError) -> None:
        self.observer.lacks(Missing.of(error))

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to do."""
        return self.plan is None and not self._merges(self.manifest)

    def complete(self) -> Report:
        """The report of a folder in which nothing is missing."""
        assert self.manifest is not None
        if self.append:
            self.observer.note(f"{self.folder} has all up to the ends of now: nothing is appended")
            return _appended(NOTHING_DONE, None, self.manifest)
        there = {topic.topic for topic in self.manifest.topics}
        for name in self.request.topics:
            if not name.startswith("^") and name not in there:
                self._lacks(_never_seen(name, self.folder))
        self.observer.note(
            f"{self.folder} is complete, as an earlier run has reported: nothing is read again"
        )
        return of_manifest(NOTHING_DONE, self.manifest)

    # what there is

    def _found(self) -> tuple[Manifest | None, ExportPlan | None]:
        """The manifest, and the plan of what is not in it; OtherExportError for another export."""
        try:
            manifest, plan = self.documents.manifest(), self.documents.plan()
            merging = self.documents.compaction()
        except ConfigError as error:
            raise OtherExportError(error.what, why=error.why, do="name another folder") from None
        self.ids = {topic.name: topic.topic_id for topic in self.admin.list_topics()}
        ids = {} if self.record_recreated else self.ids
        for one in (manifest, plan):
            if one is not None:
                do = _ANEW if self.append else ""
                check_same(one, self.folder, self.cluster, self.form, self.request, ids, do)
        if plan is not None and written(plan, manifest):
            if not self.observer.dry_run:
                self._forget(plan)
            plan = None
        if (self.append or self.compact) and not self.observer.dry_run:
            self._tidy(manifest, merging)
        if manifest is None and plan is None:
            _check_empty(self.store)
        if manifest is not None and plan is None and (missing := missing_files(manifest, self.store)):
            if self.by is not None:
                raise _is_missing(self.store, missing)
            gone_for_good(manifest, missing, self.ids, self.store)
            self.observer.note(f"{counted(len(missing), 'file')} of {self.folder} removed: written again")
            plan = planned_again(manifest, missing)
        self.planned_before = plan is not None
        if plan is not None and plan.appended and (self.record_gaps or self.record_recreated):
            plan = self._without_removed(plan)
        return manifest, plan

    def _without_removed(self, plan: ExportPlan) -> ExportPlan:
        """The plan without what retention has removed since it was made, or was deleted with its topic."""
        there = [one.tp for one in plan.slices if self.ids.get(one.topic) == one.topic_id]
        asked = dict.fromkeys(there, _EARLIEST) if self.record_gaps else {}
        kept = (
            there
            if self.record_gaps
            else [*there, *(one.tp for one in plan.slices if one.topic not in self.ids)]
        )
        starts = dict.fromkeys(kept, 0)
        if asked:
            starts |= offsets_in(self.consumer.list_offsets(asked, self.observer.timeout))
        return without_removed(plan, starts, self._is_written)

    def _is_written(self, one: PlannedSlice) -> bool:
        if self.by is not None:
            return files_written(self.store, one) is not None
        return self.store.size(one.path(self.form)) is not None

    def _typed(self, plan: ExportPlan, manifest: Manifest | None) -> ExportPlan:
        """The plan with the typed columns as the schemas are now, of topics that have anything new."""
        if not self.request.typed:
            return plan
        from kcli.pipeline.typed.export_columns import with_typed_columns  # serdes and pyarrow: extras

        return with_typed_columns(plan, manifest, self.source.registry_options())

    def _forget(self, plan: ExportPlan) -> None:
        """Removes a plan that the manifest has, with what its tasks have noted."""
        if self.by is not None:
            forget_written(self.store, plan.slices)
        self.documents.remove(PLAN)

    def _planned(self, manifest: Manifest | None) -> ExportPlan:
        """The plan up to the current ends."""
        timeout = self.observer.timeout
        names = self.existing(self.consumer, timeout, self._lacks)
        state = self._state(names, groups=self.with_groups, settings=self.with_config)  # before the ends
        spec = self.spec if manifest is None else RangeSpec(OffsetSpec("earliest"))
        exact = self.request.exact_times
        slices = ranges.pin(
            self.consumer,
            names,
            spec,
            timeout,
            partitions=self.partitions,
            warn=self.observer.warn,
            exact_times=exact,
        )
        slices = [each._replace(end=max(each.start, each.end)) for each in slices]
        configs, now = self._configs(names), str(rfc3339(wall_ms()))
        recreated: list[str] = []
        base = manifest
        if manifest is not None and self.record_recreated:
            self.ids = self.ids | {each.topic: id_text(each.topic_id) for each in slices}
            recreated = [topic.topic for topic in recreated_topics(manifest, self.ids)]
            base = without_topics(manifest, recreated)
        gaps = gaps_of(slices, base) if self.append else {}
        if not self.record_gaps:
            for tp, gap in gaps.items():
                raise removed(tp, [gap])
        following = next_slices(slices, base, gaps)
        topics = with_folders(
            part_topics(following, configs, base, gaps)
            if self.append
            else planned_topics(slices, configs, base),
            manifest,
            recreated,
        )
        plan = new_plan(
            self.cluster,
            self.form,
            now if manifest is None else manifest.created,
            self.request,
            topics,
            planned_slices(following, topics),
            manifest.times if manifest is not None else ExactTimes(*spec.times) if exact else None,
            changes_of(topics, names, manifest, now, recreated),
            now if self.append else "",
        )
        return msgspec.structs.replace(self._typed(plan, manifest), **state)

    def _completed_state(self, plan: ExportPlan | None) -> ExportPlan | None:
        """The plan with what an earlier run did not read of groups and settings, or not all of it."""
        known = [one for one in (plan, self.manifest) if one is not None]
        groups = self.with_groups and not any(is_whole(one.groups) for one in known)
        settings = self.with_config and not any(is_whole(one.settings) for one in known)
        if not known or not (groups or settings):
            return plan
        names = [topic.topic for topic in known[0].topics]
        state = self._state(names, groups=groups, settings=settings)
        if plan is None and self.manifest is not None:
            plan = planned_again(self.manifest, [])
        return None if plan is None else msgspec.structs.replace(plan, **state)

    def _state(self, names: Sequence[str], *, groups: bool, settings: bool) -> dict[str, Saved]:
        """What is kept of groups and settings now; what cannot be read is reported."""
        found: dict[str, Saved] = {}
        if groups:
            found["groups"] = read_groups(self.admin, self.cluster, names, self.observer.lacks)
        if settings:
            found["settings"] = read_settings(self.admin, names, self.observer.lacks)
        return found

    def _report_new(self, plan: ExportPlan, manifest: Manifest | None) -> None:
        """Changes and gaps, which the manifest is to have."""
        before = {topic.topic: topic for topic in manifest.topics} if manifest is not None else {}
        for change in plan.changes:
            self.observer.warn(str(change))
            if change.change == TOPIC_RECREATED:
                self.observer.lacks(Missing.of(lost_with(before[change.topic]), change.topic))
        for tp, one in plan.partitions():
            if plan.appended and one.gaps:
                self.observer.lacks(Missing.of(removed(tp, one.gaps, recorded=True), str(tp)))

    def _configs(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {name: {} for name in names}
        for name, entries in self.admin.describe_topic_configs(names).items():
            if isinstance(entries, KcliError):
                self.observer.warn(f"the configuration of topic {name} is not in the manifest: {entries}")
                continue
            found[name] = {
                entry.name: entry.value
                for entry in entries
                if entry.value is not None and (not entry.is_default or entry.name in ALWAYS_KEPT)
            }
        return found

    # the job

    def run(self, runner: Runner, stop: Stop) -> Report:
        """Writes what is planned: one round, or if continuous one after the other until a stop or a failure."""
        stop.wake(self.consumer.wakeup)
        started = time.monotonic()
        report = self.complete() if self.plan is None else self._export(self.plan, runner, stop)
        if self.compact and report.done and not report.failures and not stop:
            try:
                report = self._compact(report, runner, stop)
            except KcliError as error:
                if not self.results:
                    raise
                report.failures.append(error)  # the export is complete, in its small files
        return report._replace(totals={**report.totals, "seconds": round(time.monotonic() - started, 3)})

    def _export(self, plan: ExportPlan, runner: Runner, stop: Stop) -> Report:
        manifest, begin = self.manifest, self.manifest
        total = None if self.continuous else sum(one.end - one.start for one in plan.slices)
        is_last = not self.continuous and not (self.append and self.planned_before)
        if not self.planned_before:
            plan = _divided(plan, runner.slots)
        lasting: list[KcliError] = []
        committed = 0  # results of rounds that are whole
        with self.observer.progress("exported", total=total) as bar:
            while True:
                begun, known = time.monotonic(), len(self.results)
                after: Manifest | None = None
                try:
                    after = self._tried(manifest, plan, runner, stop, bar)
                    committed = len(self.results)
                    if is_last or stop or not (after or (self.continuous and self._may_repeat(known))):
                        break
                    manifest = after or manifest
                    if self.continuous:
                        wait(max(0.0, begun + self.interval - time.monotonic()), stop)
                    following = self._next_plan(manifest, stop) if after else plan
                except KcliError as error:
                    del self.results[committed:], self.places[committed:]
                    if not self.results:
                        raise
                    lasting.append(error)  # beside what the rounds before have written
                    break
                if stop or following is None:
                    break
                if after:
                    self._report_new(following, manifest)
                plan = _divided(following, runner.slots) if after else plan
                is_last = not self.continuous
        report = report_of(self.results, self.places, 0.0)
        report.failures.extend(lasting)
        if after is not None or (
            not self.results and not stop
        ):  # of changes, gaps, positions or settings only
            report = report._replace(done=True)
        self.manifest = after or manifest
        if self.append and self.manifest is not None:
            return _appended(report, _ends(begin, self.manifest), self.manifest)
        if after is not None and not self.continuous:
            return of_manifest(report, after)
        return with_empty(report, plan)

    def _may_repeat(self, known: int) -> bool:
        """Whether what failed in this round may succeed later: then its results are forgotten, and it is repeated."""
        failed = [result.error for result in self.results[known:] if result.error is not None]
        if not all(error.may_pass for error in failed):
            return False
        if failed:
            self.observer.note(f"{failed[0].error()}; trying again")
        del self.results[known:], self.places[known:]
        return True

    def _next_plan(self, manifest: Manifest | None, stop: Stop) -> ExportPlan | None:
        """The plan up to the current ends, however long the brokers are away; None after a stop."""
        while not stop:
            try:
                return self._planned(manifest)
            except KcliError as error:
                if not self.continuous or not may_pass(error):
                    raise
                self.observer.note(f"{error}; trying again")
                wait(self.interval, stop)
        return None

    def _tried(
        self, manifest: Manifest | None, plan: ExportPlan, runner: Runner, stop: Stop, bar: Progress
    ) -> Manifest | None:
        """A round; None also if a continuous export finds its store away before or after the tasks."""
        try:
            return self._round(manifest, plan, runner, stop, bar)
        except KcliError as error:
            if not self.continuous or not may_pass(error):
                raise
            self.observer.note(f"{error}; trying again")
            return None

    def _round(
        self, manifest: Manifest | None, plan: ExportPlan, runner: Runner, stop: Stop, bar: Progress
    ) -> Manifest | None:
        """Writes what is planned and commits it; None if something of it was not written."""
        if _is_empty(plan, manifest):
            return manifest
        self.documents.save(plan)
        items = [result.item for result in self.results if result.item is not None]
        before = sum(item["records"] for item in items), sum(item["bytes"] for item in items)
        settings = replace(self.settings, times=plan.times)
        if self.request.typed:
            from kcli.pipeline.typed.export_columns import typed_topics  # serdes and pyarrow: extras

            settings = replace(settings, typed=typed_topics(plan))
        results = run_tasks(runner, Job("export", settings, tuple(plan.slices)), stop, bar, before)
        done = {result.task: result.item.pop("exported") for result in results if result.item is not None}
        files = [file for made in done.values() for file in made]
        empty = [plan.slices[task] for task, made in done.items() if not made]
        self.results += results
        self.places += [
            {
                "topic": one.topic,
                "partition": one.partition,
                "start": one.start,
                "end": one.end,
                "records": 0,
                "bytes": 0,
            }
            for one in plan.slices
        ]
        if len(done) < len(plan.slices):
            return None
        if self.lease is not None:
            self.lease.check()
        if plan.appended:
            part = finished(plan, None, files, empty)
            self.documents.append(part, manifest)
            after = part if manifest is None else merged([manifest, part])
        else:
            after = finished(plan, manifest, files, empty)
            self.documents.save(after)
        self._forget(plan)
        if self.append or self.compact:
            self.documents.remove_old_parts()
        self.store.remove_leftovers()  # of attempts that were killed
        return after

    # small files

    def _merges(self, manifest: Manifest | None) -> list[Merge]:
        return merges_of(manifest) if self.compact and manifest is not None else []

    def _compact(self, report: Report, runner: Runner, stop: Stop) -> Report:
        """Merges files: the manifest names the old ones until all new ones are there."""
        manifest, merges = self.manifest, self._merges(self.manifest)
        if manifest is None or not merges:
            return report
        paths = [merge.path(self.form) for merge in merges]
        old = [file.path for merge in merges for file in merge.files]
        merging = new_compaction(paths, old)
        self.documents.save(merging)
        job = Job("compact", CompactSettings(self.folder, self.form), tuple(merges))
        total = sum(file.records for merge in merges for file in merge.files)
        with self.observer.progress("merged", total=total) as bar:
            results = run_tasks(runner, job, stop, bar)
        made = [result.item["exported"] for result in results if result.item is not None]
        failures = [result.error.error() for result in results if result.error is not None]
        if len(made) < len(merges):
            return report._replace(failures=[*report.failures, *failures])
        if self.lease is not None:
            self.lease.check()
        self.manifest = manifest = compacted(manifest, zip(merges, made, strict=True))
        self.documents.save(manifest)
        self._tidy(manifest, merging)
        self.store.remove_leftovers()
        self.observer.note(f"{counted(len(old), 'file')} merged into {len(made)}")
        items = _with_paths(report.items, manifest)
        size = sum(item["bytes"] for item in items) if not self.append else report.totals["bytes"]
        tasks = report.totals["tasks"] + len(merges)
        return report._replace(items=items, totals={**report.totals, "tasks": tasks, "bytes": size})

    def _tidy(self, manifest: Manifest | None, merging: Compaction | None) -> None:
        """Removes the files that were merged, or of a run that was killed before its manifest, those it had made; and
        parts that are no more of the chain.
        """
        if merging is not None:
            named = {file.path for file in manifest.files} if manifest is not None else set()
            for path in (*merging.new, *merging.old):
                if path not in named:
                    self.store.delete(path)
            self.documents.remove(COMPACTION)
        self.documents.remove_old_parts()

    def head(self) -> dict[str, Any]:
        """Of the report: what is kept of groups and settings."""
        found: dict[str, Any] = {}
        if self.manifest is None:
            return found
        if self.with_groups and self.manifest.groups is not None:
            found["groups"] = [
                {
                    "group": group,
                    "topic": tp.topic,
                    "partition": tp.partition,
                    "source_offset": commit.offset,
                }
                for group, tp, commit in self.manifest.groups.commits()
            ]
            self.observer.note(
                f"{counted(len(found['groups']), 'position')} of "
                f"{counted(len(self.manifest.groups.groups), 'group')} kept, as of {self.manifest.groups.at}"
            )
        if self.with_config and self.manifest.settings is not None:
            found["settings"] = [
                {"topic": one.topic, "setting": name, "value": value}
                for one in self.manifest.settings.topics
                for name, value in one.rows()
            ]
        return found

    def text(self) -> str:
        """The plan for people."""
        plan, merges = self.plan, self._merges(self.manifest)
        remark = [
            f"  {counted(sum(len(one.files) for one in merges), 'file')} would be merged into {len(merges)}"
        ]
        if plan is None:
            text = f"{self.folder} is complete: nothing would be read"
            return "\n".join([text, *(remark if merges else [])])
        lines = [
            f"Export to {self.folder}, as {self.form}"
            + (f", in folders of {self.by}" if self.by is not None else "")
        ]
        for topic in plan.topics:
            parts = [one for one in plan.slices if one.topic == topic.topic]
            offsets = sum(one.end - one.start for one in parts)
            lines.append(
                f"  {visible_line(topic.topic)}: {counted(len(topic.partitions), 'partition')}, "
                f"at most {counted(offsets, 'record')}" + (" more" if self.manifest is not None else "")
            )
            if topic.typed is not None:
                columns = ", ".join(f"{column.name} {column.type}" for column in topic.typed.columns)
                lines.append(f"    typed columns: {visible_line(columns)}")
        if plan.groups is not None:
            positions = counted(len(list(plan.groups.commits())), "position")
            lines.append(f"  {positions} of {counted(len(plan.groups.groups), 'group')}")
        if plan.settings is not None:
            lines.append(f"  the settings of {counted(len(plan.settings.topics), 'topic')}")
        return "\n".join([*lines, *(remark if merges else [])])


def _is_missing(store: Store, missing: Sequence[ExportedFile]) -> OtherExportError:
    return OtherExportError(
        f"{counted(len(missing), 'file')} of {store.url} removed, of a partitioned export: {missing[0].path}",
        why="which files a range has is known when it is read to its end: single ones are not written again",
        do="restore them from a copy, or export to another folder",
    )


def _never_seen(topic: str, folder: str) -> NotFoundError:
    return NotFoundError(
        f"topic {topic} is not in {folder}",
        why="the run that began the export was not allowed to see it",
        do="--append adds it, when it is allowed",
    )


def _check_empty(store: Store) -> None:
    """OtherExportError for a folder with files of something else: also of an export whose plan is lost."""
    found = [name for name in store.names() if LEASE not in name]  # also what a renewal is just writing
    if found:
        raise OtherExportError(
            f"{store.url} is not empty",
            why=f"it has {visible_line(sorted(found)[0])}, and neither {MANIFEST} nor {PLAN}",
            do="name another folder, or empty this one",
        )


def _divided(plan: ExportPlan, slots: int) -> ExportPlan:
    """The plan with a file for each slice that a task writes."""
    return msgspec.structs.replace(
        plan, slices=planned_slices(ranges.split(list(map(slice_of, plan.slices)), slots), plan.topics)
    )


def _is_empty(plan: ExportPlan, manifest: Manifest | None) -> bool:
    """Whether the manifest has all of the plan."""
    if manifest is None or plan.slices or plan.changes or plan.groups or plan.settings:
        return False
    if plan.appended:
        return not plan.topics
    return {tp for tp, _one in plan.partitions()} == dict(manifest.partitions()).keys()


def with_empty(report: Report, plan: ExportPlan) -> Report:
    """The report with the partitions of which nothing was written."""
    known = {(item["topic"], item["partition"]) for item in report.items}
    empty = [
        item_of(topic, msgspec.structs.replace(one, start=one.end))
        for topic in plan.topics
        for one in topic.partitions
        if (topic.topic, one.partition) not in known
    ]
    return report._replace(
        items=sorted([*report.items, *empty], key=lambda item: (item["topic"], item["partition"]))
    )


def _appended(report: Report, ends: Mapping[TopicPartition, int] | None, manifest: Manifest) -> Report:
    """The report with what was added to partitions that ended at ``ends``; those without anything new are in it. None:
    nothing was added.
    """
    failed = {(item["topic"], item["partition"]): item for item in report.items if "error" in item}
    items = []
    for topic in manifest.topics:
        for one in topic.partitions:
            start = (
                one.end if ends is None else ends.get(TopicPartition(topic.topic, one.partition), one.start)
            )
            item = item_of(topic, _since(one, start))
            known = failed.pop((topic.topic, one.partition), None)
            items.append(item if known is None else {**item, "error": known["error"]})
    items = sorted([*items, *failed.values()], key=lambda item: (item["topic"], item["partition"]))
    sums = {name: sum(item[name] for item in items) for name in ("records", "bytes")}
    return report._replace(items=items, totals={**report.totals, **sums})


def _ends(begin: Manifest | None, after: Manifest) -> dict[TopicPartition, int]:
    """Where partitions ended when the run began; not of topics that were created again meanwhile."""
    if begin is None:
        return {}
    ids = {topic.topic: topic.topic_id for topic in after.topics}
    anew = [topic.topic for topic in recreated_topics(begin, ids)]
    return {tp: one.end for tp, one in without_topics(begin, anew).partitions()}


def _since(one: ExportedPartition, start: int) -> ExportedPartition:
    files = [file for file in one.files if file.start >= start]
    gaps = [gap for gap in one.gaps if gap.start >= start]
    return ExportedPartition(one.partition, start, one.end, sum(file.records for file in files), files, gaps)


def _with_paths(items: Sequence[Mapping[str, Any]], manifest: Manifest) -> list[dict[str, Any]]:
    """The items with the files that have their records now."""
    files = {(tp.topic, tp.partition): one.files for tp, one in manifest.partitions()}
    found = []
    for item in items:
        own = [
            file
            for file in files[item["topic"], item["partition"]]
            if file.start < item["end"] and item["start"] < file.end
        ]
        found.append({**item, "bytes": sum(file.bytes for file in own), "files": [file.path for file in own]})
    return found


def of_manifest(report: Report, manifest: Manifest) -> Report:
    """The report with all that a complete export has, whichever run wrote it."""
    items = [item_of(topic, one) for topic in manifest.topics for one in topic.partitions]
    sums = {name: sum(item[name] for item in items) for name in ("records", "bytes")}
    return report._replace(items=items, totals={**report.totals, **sums}, done=True)


def item_of(topic: ExportedTopic, one: ExportedPartition) -> dict[str, Any]:
    return {
        "topic": topic.topic,
        "partition": one.partition,
        "start": one.start,
        "end": one.end,
        "records": one.records,
        "skipped_records": one.end - one.start - one.records - one.missing,
        **({"missing_records": one.missing} if one.gaps else {}),
        "bytes": sum(file.bytes for file in one.files),
        "files": [file.path for file in one.files],
    }
