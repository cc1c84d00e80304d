"""What ``kcli pipeline export`` does: finds out what its folder lacks, writes a plan of it, runs the job, and commits."""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from kcli.commands.pipeline._export_flags import FIXED, export_range, export_request
from kcli.commands.pipeline._export_report import COLUMNS, NOTHING_DONE, of_manifest, with_empty
from kcli.commands.pipeline._job_run import (
    cluster_of,
    print_report,
    run_tasks,
    runner_of,
    with_runner,
    without,
)
from kcli.commands.shared.confirm import show_plan
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.topic_choice import Topics
from kcli.commands.shared.usage import usage
from kcli.core.admin.admin import Admin
from kcli.core.clock import wall_ms
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import ConfigError, KcliError
from kcli.core.options import ClientOptions, ConsumerOptions
from kcli.core.positions import OffsetSpec, RangeSpec
from kcli.core.types import TopicPartition
from kcli.files.lock import file_lock
from kcli.flows.rate import wait
from kcli.flows.stop import Stop
from kcli.output.progress import Progress, counted
from kcli.output.sanitise import visible_line
from kcli.output.template import rfc3339
from kcli.pipeline import plan as ranges
from kcli.pipeline.arrow_library import check_pyarrow
from kcli.pipeline.export_plan import (
    OtherExportError,
    check_same,
    finished,
    missing_files,
    next_slices,
    planned_again,
    planned_slices,
    planned_topics,
    slice_of,
    written,
)
from kcli.pipeline.job import Job, TaskResult, may_pass
from kcli.pipeline.kernels.export import ExportSettings
from kcli.pipeline.manifest import (
    MANIFEST,
    PLAN,
    ExportPlan,
    Manifest,
    load_manifest,
    load_plan,
    new_plan,
    save,
)
from kcli.pipeline.new_file import remove_temporary_files
from kcli.pipeline.report import Report, report_of
from kcli.pipeline.runners.runner import Runner

_INTERVAL = 30.0
_LOCK = "_kcli_export.lock"
ALWAYS_KEPT = ("cleanup.policy", "max.message.bytes")
"""Settings that the manifest has even where they are defaults: with others, a copy may lose records."""


def run(inv: Invocation, topics: Sequence[str], folder: str, flags: Mapping[str, Any]) -> int:
    """Runs the export; returns the exit status."""
    spec = export_range(flags)
    if flags["form"] == "parquet":
        check_pyarrow("writes Parquet", otherwise="--format ndjson")
    flags = with_runner(inv, flags, "export")
    with ExitStack() as stack:
        return _Export(inv, topics, folder, flags, spec, stack).run()


class _Export:
    """One run."""

    def __init__(
        self,
        inv: Invocation,
        topics: Sequence[str],
        folder: str,
        flags: Mapping[str, Any],
        spec: RangeSpec,
        stack: ExitStack,
    ) -> None:
        self.inv = inv
        self.flags = flags
        self.spec = spec
        self.stack = stack
        self.folder = os.path.abspath(folder)
        self.topics = Topics(topics, "pipeline export")
        self.request = export_request(topics, flags)
        inv.client_options(ConsumerOptions, unused=FIXED)
        inv.configuration.check_no_registry()
        self.source = without(cluster_of(inv, inv.configuration), FIXED)
        self.settings = ExportSettings(self.source, self.folder, flags["form"])
        self.admin = stack.enter_context(
            Admin(inv.inner_options(ClientOptions), inv.hooks, timeout=inv.timeout)
        )
        options = inv.inner_options(ConsumerOptions, isolation_level="read_committed")
        self.consumer = stack.enter_context(Consumer(options, hooks=inv.hooks))
        self.cluster = ""
        self.interval: float = flags["interval"] or _INTERVAL
        self.results: list[TaskResult] = []
        self.places: list[Mapping[str, Any]] = []

    def run(self) -> int:
        """See ``run``."""
        inv = self.inv
        with inv.first_contact(self.source.servers):
            self.cluster = inv.cluster_id = self.admin.cluster_id()
            self.consumer.connect(inv.timeout)
        check_folder(self.folder)
        if not os.path.isdir(self.folder):  # a mistyped topic leaves no folder
            self.topics.existing(self.consumer, inv.timeout, lambda _error: None)
        if not inv.dry_run:
            os.makedirs(self.folder, exist_ok=True)
            lock = Path(self.folder, _LOCK)
            self.stack.callback(lock.unlink, missing_ok=True)
            self.stack.enter_context(file_lock(lock, timeout=0, doing=f"writing {self.folder}"))
            remove_temporary_files(self.folder)
        manifest, plan = self._found()
        if plan is None and (manifest is None or self.flags["continuous"]):
            plan = self._planned(manifest)
        if inv.dry_run:
            show_plan(inv, self._text(manifest, plan))
            return 0
        if plan is None:
            assert manifest is not None
            inv.talk.note(f"{self.folder} is complete, as an earlier run has reported: nothing is read again")
            report = of_manifest(NOTHING_DONE, manifest)
            return self._print(report, Stop(), "exported", self.flags["runner"])
        with runner_of(inv, self.flags) as runner, Stop() as stop:
            stop.wake(self.consumer.wakeup)
            return self._rounds(manifest, plan, runner, stop)

    # what there is

    def _found(self) -> tuple[Manifest | None, ExportPlan | None]:
        """The manifest, and the plan of what is not in it; OtherExportError for another export."""
        try:
            manifest, plan = load_manifest(self.folder), load_plan(self.folder)
        except ConfigError as error:
            raise OtherExportError(error.what, why=error.why, do="name another folder") from None
        ids = {topic.name: topic.topic_id for topic in self.admin.list_topics()}
        for one in (manifest, plan):
            if one is not None:
                check_same(one, self.folder, self.cluster, self.flags["form"], self.request, ids)
        if plan is not None and written(plan, manifest):
            plan = None
            if not self.inv.dry_run:
                os.unlink(os.path.join(self.folder, PLAN))
        if manifest is None and plan is None:
            _check_empty(self.folder)
        if manifest is not None and plan is None and (missing := missing_files(manifest, self.folder)):
            self.inv.talk.note(f"{counted(len(missing), 'file')} of {self.folder} removed: written again")
            plan = planned_again(manifest, missing)
        return manifest, plan

    def _planned(self, manifest: Manifest | None) -> ExportPlan:
        """The plan up to the current ends."""
        inv = self.inv
        names = self.topics.existing(self.consumer, inv.timeout, inv.failed)
        partitions = None if self.flags["partitions"] is None else self.flags["partitions"].value
        spec = self.spec if manifest is None else RangeSpec(OffsetSpec("earliest"))
        slices = ranges.pin(self.consumer, names, spec, inv.timeout, partitions=partitions)
        slices = [each._replace(end=max(each.start, each.end)) for each in slices]
        topics = planned_topics(slices, self._configs(names), manifest)
        return new_plan(
            self.cluster,
            self.flags["form"],
            str(rfc3339(wall_ms())) if manifest is None else manifest.created,
            self.request,
            topics,
            planned_slices(next_slices(slices, manifest)),
        )

    def _configs(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {name: {} for name in names}
        for name, entries in self.admin.describe_topic_configs(names).items():
            if isinstance(entries, KcliError):
                self.inv.talk.warn(f"the configuration of topic {name} is not in the manifest: {entries}")
                continue
            found[name] = {
                entry.name: entry.value
                for entry in entries
                if entry.value is not None and (not entry.is_default or entry.name in ALWAYS_KEPT)
            }
        return found

    # the job

    def _rounds(self, manifest: Manifest | None, plan: ExportPlan, runner: Runner, stop: Stop) -> int:
        """One round, or with ``--continuous`` one after the other until a stop or a failure."""
        started = time.monotonic()
        total = None if self.flags["continuous"] else sum(one.end - one.start for one in plan.slices)
        if load_plan(self.folder) is None:
            plan = _divided(plan, runner.slots)
        with self.inv.progress("exported", total=total) as bar:
            while True:
                begun, known = time.monotonic(), len(self.results)
                after = self._round(manifest, plan, runner, stop, bar)
                if not self.flags["continuous"] or stop or not (after or self._may_repeat(known)):
                    break
                manifest = after or manifest
                wait(max(0.0, begun + self.interval - time.monotonic()), stop)
                following = self._next_plan(manifest, stop) if after else plan
                if stop or following is None:
                    break
                plan = _divided(following, runner.slots) if after else plan
        report = report_of(self.results, self.places, time.monotonic() - started)
        if after is not None and not self.flags["continuous"]:
            report = of_manifest(report, after)
        else:
            report = with_empty(report, plan)
        return self._print(report, stop, "exported", runner.name)

    def _may_repeat(self, known: int) -> bool:
        """Whether what failed in this round may succeed later: then its results are forgotten, and it is repeated."""
        failed = [result.error for result in self.results[known:] if result.error is not None]
        if not all(error.may_pass for error in failed):
            return False
        self.inv.talk.note(f"{failed[0].error()}; trying again")
        del self.results[known:], self.places[known:]
        return True

    def _next_plan(self, manifest: Manifest | None, stop: Stop) -> ExportPlan | None:
        """The plan up to the current ends, however long the brokers are away; None after a stop."""
        while not stop:
            try:
                return self._planned(manifest)
            except KcliError as error:
                if not may_pass(error):
                    raise
                self.inv.talk.note(f"{error}; trying again")
                wait(self.interval, stop)
        return None

    def _round(
        self, manifest: Manifest | None, plan: ExportPlan, runner: Runner, stop: Stop, bar: Progress
    ) -> Manifest | None:
        """Writes what is planned and commits it; None if something of it was not written."""
        if (
            manifest is not None
            and not plan.slices
            and _partitions(plan) == dict(manifest.partitions()).keys()
        ):
            return manifest
        save(self.folder, plan)
        items = [result.item for result in self.results if result.item is not None]
        before = sum(item["records"] for item in items), sum(item["bytes"] for item in items)
        results = run_tasks(runner, Job("export", self.settings, tuple(plan.slices)), stop, bar, before)
        files = [result.item.pop("exported") for result in results if result.item is not None]
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
        if len(files) < len(plan.slices):
            return None
        after = finished(plan, manifest, files)
        save(self.folder, after)
        os.unlink(os.path.join(self.folder, PLAN))
        remove_temporary_files(self.folder)  # of attempts that were killed
        return after

    # what is printed

    def _text(self, manifest: Manifest | None, plan: ExportPlan | None) -> str:
        if plan is None:
            return f"{self.folder} is complete: nothing would be read"
        lines = [f"Export to {self.folder}, as {self.flags['form']}"]
        for topic in plan.topics:
            parts = [one for one in plan.slices if one.topic == topic.topic]
            offsets = sum(one.end - one.start for one in parts)
            lines.append(
                f"  {visible_line(topic.topic)}: {counted(len(topic.partitions), 'partition')}, "
                f"at most {counted(offsets, 'record')}" + (" more" if manifest is not None else "")
            )
        return "\n".join(lines)

    def _print(self, report: Report, stop: Stop, title: str, runner: str) -> int:
        return print_report(
            self.inv,
            report,
            COLUMNS,
            stop,
            command="export",
            runner=runner,
            cluster=self.cluster,
            title=title,
        )


def check_folder(folder: str) -> None:
    """A usage error for a path that is no folder."""
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise usage(
            f"kcli pipeline export: {folder} is not a folder",
            why="an export is a folder of files",
            do="name a folder; it need not exist",
        )


def _check_empty(folder: str) -> None:
    """OtherExportError for a folder with files of something else: also of an export whose plan is lost."""
    found = [name for name in os.listdir(folder) if name != _LOCK] if os.path.isdir(folder) else []
    if found:
        raise OtherExportError(
            f"{folder} is not empty",
            why=f"it has {visible_line(sorted(found)[0])}, and neither {MANIFEST} nor {PLAN}",
            do="name another folder, or empty this one",
        )


def _divided(plan: ExportPlan, slots: int) -> ExportPlan:
    """The plan with a file for each slice that a task writes."""
    return msgspec.structs.replace(
        plan, slices=planned_slices(ranges.split(list(map(slice_of, plan.slices)), slots))
    )


def _partitions(plan: ExportPlan) -> set[TopicPartition]:
    return {TopicPartition(topic.topic, one.partition) for topic in plan.topics for one in topic.partitions}
