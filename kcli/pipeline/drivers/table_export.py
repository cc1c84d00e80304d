"""What ``kcli pipeline export --format delta|iceberg`` does: goes on from the position of each table to the ends of now.

A plan is in the folder of its table while its files are being written. A run that was killed is so continued with the
files that are there; a plan that another run has overtaken is removed with its files, by their names: no listing is
trusted. A table is committed when all files of its plan are there; several tables are committed one by one.
"""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Self

import msgspec

from kcli.account.survey import Missing
from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple, replace
from kcli.core.clock import wall_ms
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.ranges import offsets_in
from kcli.core.errors import KcliError
from kcli.core.options import ClientOptions, ConsumerOptions
from kcli.core.positions import OffsetSpec, RangeSpec
from kcli.flows.rate import wait
from kcli.flows.stop import Stop
from kcli.output.progress import Progress, counted
from kcli.output.sanitise import visible_line
from kcli.output.template import rfc3339
from kcli.pipeline import plan as ranges
from kcli.pipeline.cluster_ref import JobCluster
from kcli.pipeline.export_plan import (
    changes_of,
    check_same,
    gaps_of,
    next_slices,
    part_topics,
    planned_slices,
    removed,
    slice_of,
    without_removed,
)
from kcli.pipeline.job import Job, TaskResult, may_pass
from kcli.pipeline.kernels.table import TableSettings, TableSlice
from kcli.pipeline.manifest import PLAN, Documents, ExportPlan, PlannedSlice, Request, new_plan
from kcli.pipeline.report import Report
from kcli.pipeline.runners.runner import Runner
from kcli.pipeline.running import Observer, run_tasks
from kcli.pipeline.store.lease import LEASE, Lease
from kcli.pipeline.store.store import Store
from kcli.pipeline.store.urls import open_store
from kcli.pipeline.tables.columns import table_schema
from kcli.pipeline.tables.table import (
    Identity,
    Lake,
    OtherTableError,
    OvertakenError,
    Table,
    TableFile,
    TableState,
    path_of,
)

_INTERVAL = 30.0
_EARLIEST = -2
_COMMITS = 5
"""Attempts, while others commit something else."""


class TableExport:
    """One run; ``with`` closes its clients and ends its locks. The arguments are those of ``export.Export``; each run
    appends. ``tables``, ``version`` included, are for the document.
    """

    def __init__(
        self,
        cluster: JobCluster,
        observer: Observer,
        lake: Lake,
        existing: Callable[[Consumer, float, Callable[[KcliError], object]], Sequence[str]],
        *,
        words: Mapping[str, Any],
        spec: RangeSpec,
        partitions: Sequence[int] | None,
        continuous: bool,
        interval: float | None,
        record_gaps: bool,
    ) -> None:
        self.observer = observer
        self.lake = lake
        self.existing = existing
        self.words = words
        self.spec = spec
        self.partitions = partitions
        self.continuous = continuous
        self.interval = interval or _INTERVAL
        self.record_gaps = record_gaps
        self.source = cluster.ref
        self.cluster = ""
        self.targets: dict[str, _Target] = {}
        self.failures: list[KcliError] = []
        self.results: list[TaskResult] = []
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
        """Finds out what the tables lack. A dry run writes nothing."""
        names = self.existing(
            self.consumer, self.observer.timeout, lambda error: self.observer.lacks(Missing.of(error))
        )
        ids = {topic.name: topic.topic_id for topic in self.admin.list_topics()}
        for name in names:
            self._add(name, ids.get(name, ""))
        self._plan([one for one in self.targets.values() if one.plan is None])

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to do."""
        return not self.continuous and all(one.plan is None for one in self.targets.values())

    # what there is

    def _add(self, name: str, topic_id: str) -> None:
        numbers = self.consumer.partitions([name], self.observer.timeout)[name]
        target = _Target(self.lake.table(name, numbers), Request([name], **self.words), topic_id)
        self.targets[name] = target
        any(target.store.names())  # what is wrong with a store, kcli says better than other libraries
        target.load()  # where its folder is
        if not self.observer.dry_run:
            self.stack.enter_context(target.store.writing())
            if not target.store.locks:
                target.lease = self.stack.enter_context(Lease(target.store, self.observer.note))
            target.store.remove_leftovers()
        target.load()
        target.begin = dict(target.ends)
        if target.state is None:
            target.check_empty()
        else:
            found = target.state.manifest(self.lake.form)
            check_same(
                found, target.table.name, self.cluster, self.lake.form, target.request, {name: topic_id}
            )
        self._find_plan(target)

    def _find_plan(self, target: "_Target") -> None:
        """The plan of a run that was killed, unless its files are in the table, or another run has overtaken it."""
        plan = target.documents.plan()
        if plan is None:
            return
        state = target.state
        if state is not None and state.plan == plan.id:
            self._forget(target)
        elif not target.goes_on(plan, self.cluster):
            self.observer.note(f"{target.table.name}: a plan that was not carried out is removed")
            self._drop(target, plan)
        else:
            target.plan = self._typed(self._without_removed(target, plan), target)
            target.planned_before = True

    def _drop(self, target: "_Target", plan: ExportPlan) -> None:
        """Removes a plan that can never be committed, with its files."""
        if not self.observer.dry_run:
            for one in plan.slices:
                target.store.delete(_path(plan, one))
        self._forget(target)

    def _forget(self, target: "_Target") -> None:
        if not self.observer.dry_run:
            target.documents.remove(PLAN)

    def _without_removed(self, target: "_Target", plan: ExportPlan) -> ExportPlan:
        """The plan without what retention has removed since it was made."""
        if not self.record_gaps or not plan.slices:
            return plan
        tps = dict.fromkeys([one.tp for one in plan.slices], _EARLIEST)
        starts = offsets_in(self.consumer.list_offsets(tps, self.observer.timeout))
        found = without_removed(plan, starts, lambda one: target.store.size(_path(plan, one)) is not None)
        self._report_gaps(found)
        return found

    def _typed(self, plan: ExportPlan, target: "_Target") -> ExportPlan:
        """The plan with the typed columns as the schemas are now."""
        if not plan.request.typed:
            return plan
        from kcli.pipeline.typed.export_columns import with_typed_columns  # serdes: only where they are used

        before = target.state.manifest(self.lake.form) if target.state is not None else None
        found = with_typed_columns(plan, before, self.source.registry_options())
        table_schema(found.topics[0].typed, self.lake.form)  # refuses names that the format does not have
        return found

    def _plan(self, targets: Iterable["_Target"]) -> None:
        """Plans up to the current ends."""
        own = {one.table.topic: one for one in targets}
        slices: list[ranges.Slice] = []
        for is_new, spec in ((True, self.spec), (False, RangeSpec(OffsetSpec("earliest")))):
            names = [name for name, one in own.items() if (not one.ends) == is_new]
            if names:
                slices += ranges.pin(
                    self.consumer,
                    names,
                    spec,
                    self.observer.timeout,
                    partitions=self.partitions,
                    warn=self.observer.warn,
                )
        for name, target in own.items():
            try:
                self._plan_one(target, [each for each in slices if each.topic == name])
            except KcliError as error:
                target.error = error
                raise

    def _plan_one(self, target: "_Target", slices: list[ranges.Slice]) -> None:
        slices = [each._replace(end=max(each.start, each.end)) for each in slices]
        before = target.state.manifest(self.lake.form) if target.state is not None else None
        gaps = gaps_of(slices, before)
        for tp, gap in gaps.items():
            if not self.record_gaps:
                raise removed(tp, [gap])
        following = next_slices(slices, before, gaps)
        topics = part_topics(following, {target.table.topic: {}}, before, gaps)
        if not any(one.partitions for one in topics):
            return
        now = str(rfc3339(wall_ms()))
        known = before if target.ends else None
        plan = new_plan(
            self.cluster,
            self.lake.form,
            now,
            target.request,
            topics,
            planned_slices(following),
            changes=changes_of(topics, [target.table.topic], known, now),
            appended=now,
        )
        plan = self._typed(plan, target)
        target.plan, target.planned_before = (
            msgspec.structs.replace(plan, id=_new_id(), after=target.state.plan if target.state else 0),
            False,
        )
        for change in plan.changes:
            self.observer.warn(str(change))
        self._report_gaps(plan)

    def _report_gaps(self, plan: ExportPlan) -> None:
        for tp, one in plan.partitions():
            if one.gaps:
                self.observer.lacks(Missing.of(removed(tp, one.gaps, recorded=True), str(tp)))

    # the job

    def run(self, runner: Runner, stop: Stop) -> Report:
        """Writes and commits what is planned; if continuous one round after the other until a stop or a failure."""
        stop.wake(self.consumer.wakeup)
        started = time.monotonic()
        rounds_left = 1 + any(one.planned_before for one in self.targets.values())
        with self.observer.progress("exported", total=None) as bar:
            while True:
                begun = time.monotonic()
                try:
                    failures = self._tried(runner, stop, bar)
                    rounds_left -= 1
                    if stop or (failures and not (self.continuous and all(one.may_pass for one in failures))):
                        self.failures += [one.error for one in failures]
                        break
                    for one in failures:
                        self.observer.note(f"{one.error}; trying again")
                    if not self.continuous and not rounds_left:
                        break
                    if self.continuous:
                        wait(max(0.0, begun + self.interval - time.monotonic()), stop)
                    if stop:
                        break
                    self._plan_again()
                except KcliError as error:
                    if not self.results:
                        raise
                    self.failures.append(error)  # beside what the rounds before have added
                    break
        return self.report(time.monotonic() - started)

    def _plan_again(self) -> None:
        """After what an earlier run has left, or in the next round."""
        idle = [one for one in self.targets.values() if one.plan is None]
        if self._planned(idle) or len(idle) == 1:
            return
        for one in idle:  # a topic that is away does not hold up the others
            self._planned([one])

    def _planned(self, targets: "list[_Target]") -> bool:
        """Whether these could be planned; False only if that may succeed in the next round."""
        try:
            self._plan(targets)
        except KcliError as error:
            if not self.continuous or not may_pass(error):
                raise
            self.observer.note(f"{error}; trying again")
            return False
        return True

    def _tried(self, runner: Runner, stop: Stop, bar: Progress) -> "list[_Failure]":
        try:
            return self._round(runner, stop, bar)
        except KcliError as error:
            if not self.continuous or not may_pass(error):
                raise
            return [_Failure(error, may_pass=True)]

    def _round(self, runner: Runner, stop: Stop, bar: Progress) -> "list[_Failure]":
        """Writes what is planned, and commits each table whose files are all there."""
        planned = [one for one in self.targets.values() if one.plan is not None]
        if not planned:
            return []
        self._divide(planned, runner.slots)
        tasks = []
        for target in planned:
            plan = target.started(self.cluster)
            tasks += [(target, TableSlice(one, target.table.url, _path(plan, one))) for one in plan.slices]
        done = [result.item for result in self.results if result.item is not None]
        before = sum(item["records"] for item in done), sum(item["bytes"] for item in done)
        job = Job("table", self._settings(planned), tuple(task for _target, task in tasks))
        results = run_tasks(runner, job, stop, bar, before) if tasks else []
        self.results += results
        failures = []
        files: dict[str, list[TableFile]] = {one.table.topic: [] for one in planned}
        broken: dict[str, KcliError] = {}
        for (target, _task), result in zip(tasks, results, strict=True):
            if result.error is not None:
                error = result.error.error()
                broken.setdefault(target.table.topic, error)
                failures.append(_Failure(error, may_pass=result.error.may_pass))
            elif result.item is not None and (file := result.item.pop("added")) is not None:
                files[target.table.topic].append(file)
        for target in planned:
            target.error = broken.get(target.table.topic)
            if target.error is None:
                try:
                    self._commit(target, files[target.table.topic])
                except KcliError as error:
                    target.error = error
                    failures.append(_Failure(error, may_pass=may_pass(error)))
        return failures

    def _settings(self, planned: Sequence["_Target"]) -> TableSettings:
        settings = TableSettings(self.source, self.lake.form)
        if not self.words["typed"]:
            return settings
        from kcli.pipeline.typed.export_columns import typed_topics  # serdes: only where they are used

        typed = {name: own for one in planned if one.plan for name, own in typed_topics(one.plan).items()}
        return replace(settings, typed=typed)

    def _divide(self, planned: Sequence["_Target"], slots: int) -> None:
        """A file for each slice that a task writes."""
        new = [one for one in planned if not one.planned_before]
        slices = [slice_of(each) for one in new if one.plan is not None for each in one.plan.slices]
        divided = planned_slices(ranges.split(slices, slots))
        for target in new:
            if target.plan is not None:
                own = [each for each in divided if each.topic == target.table.topic]
                target.plan = msgspec.structs.replace(target.plan, slices=own)
                target.planned_before = True

    def _commit(self, target: "_Target", files: Sequence[TableFile]) -> None:
        """Adds the files to the table. Whether a commit whose answer was lost is there, the table says."""
        plan = target.plan
        assert plan is not None
        for attempt in range(_COMMITS):
            if target.lease is not None:
                target.lease.check()
            try:
                target.table.commit(plan, files)
            except KcliError as error:
                target.load()
                if target.state is not None and target.state.plan == plan.id:
                    break
                if not target.goes_on(plan, self.cluster):
                    self._drop(target, plan)
                    target.plan, target.planned_before = None, False
                    raise
                if not isinstance(error, OvertakenError) or attempt + 1 == _COMMITS:
                    raise
            else:
                break
        target.committed(files)
        self._forget(target)
        target.store.remove_leftovers()  # of attempts that were killed

    # what is said

    def report(self, seconds: float = 0.0) -> Report:
        """What this run has added, and where the tables are."""
        if self.is_idle and not self.results:
            self.observer.note("the tables have all up to the ends of now: nothing is appended")
        items = [item for one in self.targets.values() for item in one.items()]
        totals = {
            "records": sum(item["records"] for item in items),
            "bytes": sum(item["bytes"] for item in items),
            "seconds": round(seconds, 3),
            "tasks": len(self.results),
            "task_retries": sum(max(0, result.attempts - 1) for result in self.results),
        }
        done = any(one.error is None or one.has_added for one in self.targets.values())
        return Report(items, totals, self.failures, done)

    def complete(self) -> Report:
        """The report where nothing is to be done."""
        return self.report()

    def head(self) -> dict[str, Any]:
        """Of the report: where the tables are."""
        found = [
            {
                "topic": one.table.topic,
                "table": one.table.name,
                "format": self.lake.form,
                "location": one.table.url,
                "version": one.state.version if one.state is not None else "",
            }
            for one in self.targets.values()
        ]
        return {"tables": found}

    def text(self) -> str:
        """The plan for people."""
        lines = []
        for target in self.targets.values():
            name, plan = visible_line(target.table.name), target.plan
            if plan is None:
                lines.append(f"{name} has all up to the ends of now: nothing would be appended")
                continue
            offsets = sum(one.end - one.start for one in plan.slices)
            what = f"at most {counted(offsets, 'record')}" + (" more" if target.ends else "")
            lines.append(
                f"Export of {visible_line(target.table.topic)} to {self.lake.form} table {name}: {what}"
            )
            lines += [
                f"  {tp}: from offset {one.start} to {one.end - 1}"
                for tp, one in plan.partitions()
                if one.end > one.start
            ]
            own = plan.topics[0].typed
            if own is not None:
                columns = list(table_schema(own, self.lake.form))[len(table_schema(None, self.lake.form)) :]
                typed = ", ".join(f"{column.name} {column.type}" for column in columns)
                lines.append(f"  typed columns: {visible_line(typed)}")
        return "\n".join(lines)


class _Failure(NamedTuple):
    """An error of a round."""

    error: KcliError
    may_pass: bool


class _Target:
    """A table of a run. ``begin``: the position that the run has found; ``planned_before``: the files of the plan are
    decided, by this run or the one that was killed.
    """

    def __init__(self, table: Table, request: Request, topic_id: str) -> None:
        self.table = table
        self.request = request
        self.topic_id = topic_id
        self.state: TableState | None = None
        self.begin: dict[int, int] = {}
        self.plan: ExportPlan | None = None
        self.planned_before = False
        self.lease: Lease | None = None
        self.error: KcliError | None = None
        self._added: dict[int, dict[str, Any]] = {}
        self.store: Store = open_store(table.url)
        self.documents = Documents(self.store)

    @property
    def has_added(self) -> bool:
        """Whether this run has added records."""
        return any(item["records"] for item in self._added.values())

    @property
    def ends(self) -> Mapping[int, int]:
        """The position of the table."""
        return self.state.ends if self.state is not None else {}

    def load(self) -> None:
        """Reads the table."""
        url, self.state = self.table.url, self.table.state()
        if self.table.url != url:
            self.store = open_store(self.table.url)
            self.documents = Documents(self.store)

    def check_empty(self) -> None:
        """OtherTableError for a folder with something that is no table."""
        own = {LEASE, PLAN, "_delta_log", "metadata"}  # of a run that was killed before the table was there
        found = sorted(name for name in self.store.names() if name not in own)
        if found:
            raise OtherTableError(
                f"{self.table.url} is not empty",
                why=f"it has {visible_line(found[0])}, and there is no table",
                do="name another folder, or empty this one",
            )

    def goes_on(self, plan: ExportPlan, cluster: str) -> bool:
        """Whether the plan is of this table, and begins where it is: there is none before the table."""
        of_this = (plan.cluster, plan.request) == (cluster, self.request)
        ids = {topic.topic_id for topic in plan.topics}
        return self.state is not None and of_this and ids == {self.topic_id} and self.state.is_before(plan)

    def started(self, cluster: str) -> ExportPlan:
        """The plan, which is written down, as the table is made that it needs."""
        assert self.plan is not None
        if self.state is None:
            identity = Identity(cluster, self.table.topic, self.topic_id, self.request)
            self.table.create(identity, self.plan.topics[0].typed)
            self.load()
        self.documents.save(self.plan)
        return self.plan

    def committed(self, files: Sequence[TableFile]) -> None:
        """The plan is in the table."""
        assert self.plan is not None
        for tp, one in self.plan.partitions():
            item = self._added.setdefault(tp.partition, {"records": 0, "bytes": 0, "missing": 0, "files": []})
            own = [file for file in files if file.partition == tp.partition]
            item["records"] += sum(file.records for file in own)
            item["bytes"] += sum(file.bytes for file in own)
            item["missing"] += one.missing
            item["files"] += sorted(file.path for file in own)
            self.begin.setdefault(tp.partition, one.start)
        self.plan, self.planned_before = None, False
        self.load()

    def items(self) -> list[dict[str, Any]]:
        """What was added, by partition; of one that failed, the error."""
        planned = {} if self.plan is None else {tp.partition: one.start for tp, one in self.plan.partitions()}
        found = []
        for number in sorted(self.ends.keys() | planned.keys()):
            end = self.ends.get(number, planned.get(number, 0))
            start = self.begin.get(number, end)
            own = self._added.get(number, {"records": 0, "bytes": 0, "missing": 0, "files": []})
            found.append(
                {
                    "topic": self.table.topic,
                    "partition": number,
                    "start": start,
                    "end": end,
                    "records": own["records"],
                    "skipped_records": end - start - own["records"] - own["missing"],
                    **({"missing_records": own["missing"]} if own["missing"] else {}),
                    "bytes": own["bytes"],
                    "files": own["files"],
                    **({"error": str(self.error)} if self.error is not None else {}),
                }
            )
        return found


def _path(plan: ExportPlan, one: PlannedSlice) -> str:
    return path_of(plan, one.partition, one.start, one.end)


def _new_id() -> int:
    """Rises with time, and differs between two runs; positive with 63 bits, as the version of a ``txn`` is."""
    return wall_ms() << 20 | int.from_bytes(os.urandom(3)) >> 4
