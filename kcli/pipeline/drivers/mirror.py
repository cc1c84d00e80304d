"""``kcli pipeline mirror``: the driver of a mirror whose partitions are copied by tasks, in processes of any machine.

It is that of ``kcli mirror`` (``flows/mirror/driver.py``) up to the first record, and in how it looks for new topics.
What it cannot share is the copy: tasks run where there is no common state, each with clients and a transactional id of
its own. So the position of a partition is an offset that is committed with its records (``group_position``), and not a
record of the topic of states; and a task that is fenced is not continued by the driver, but begun again by its runner: it
reads that position again (``kernels/copy.py``).
"""

import secrets
import time
from collections.abc import Mapping, Sequence

from kcli.core.admin.admin import Admin
from kcli.core.cluster.offsets import LATEST
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import KcliError
from kcli.core.options import WHOLE_BATCHES, ClientOptions, ConsumerOptions, ProducerOptions
from kcli.core.positions import OffsetSpec, RangeSpec
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.partition_copy import PartitionCopy
from kcli.flows.mirror.driver import Driver
from kcli.flows.mirror.job.group_position import Position, end_run, group_name, read_positions
from kcli.flows.mirror.job.job import default_name
from kcli.flows.mirror.plan.plan import CopyPlan, PlannedPartition
from kcli.flows.mirror.plan.planning import survey_job
from kcli.flows.mirror.plan.targets import create_targets, offsets, target_ends, unfit
from kcli.flows.mirror.settings import MirrorSettings
from kcli.flows.mirror.topics.preflight import HIDDEN
from kcli.flows.mirror.topics.routes import Route
from kcli.flows.mirror.topics.survey import Survey
from kcli.flows.stop import Stop
from kcli.output.progress import counted
from kcli.output.tables import Column
from kcli.pipeline.cluster_ref import JobCluster
from kcli.pipeline.drivers.mirror_slices import Follower
from kcli.pipeline.drivers.planned_copy import PlannedCopy, items_of, places_of, task_of
from kcli.pipeline.job import Job
from kcli.pipeline.kernels.copy import CopySettings
from kcli.pipeline.plan import Slice, pin
from kcli.pipeline.report import Report, report_of
from kcli.pipeline.runners.runner import Runner
from kcli.pipeline.running import CopyObserver, run_tasks

_SLICE = 30.0  # seconds
_LAST_WORD = 3.0  # seconds to say that the job has ended
COLUMNS = (
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


class TaskMirror(Driver):
    """One run of a job. ``settings`` that are not ``bounded`` follow the source, slice by slice; ``seconds``: of a slice.
    ``spec``: where a new job begins, and may end.
    """

    def __init__(
        self,
        settings: MirrorSettings,
        source: JobCluster,
        target: JobCluster,
        observer: CopyObserver,
        *,
        spec: RangeSpec,
        seconds: float | None,
    ) -> None:
        super().__init__(settings, source, target, observer, hooks=observer.hooks, timeout=observer.timeout)
        self._shown = observer
        self._refs = source.ref, target.ref
        self._spec = spec
        self._seconds = seconds or _SLICE
        self.source_id = ""
        self._found: Survey
        self._copies: Sequence[PlannedCopy] = ()
        self._due: Sequence[PlannedCopy] = ()

    @property
    def needs_runner(self) -> bool:
        """Whether there is something to do for tasks."""
        return bool(self._due) or not self._settings.bounded

    # --- before the first record ---------------------------------------------------------------------

    def _default_name(self, source_id: str) -> str:
        """Of the selection: a position belongs to a partition of the target, and not to a list of topics that changes."""
        return default_name(source_id, self._settings.topics, self._settings.renames)

    def _planned(self, source_id: str) -> CopyPlan:
        settings = self._settings
        self.source_id = source_id
        positions = read_positions(self._target_admin, group_name(self._name, source_id))
        own = {position.bookmark.topic: tp.topic for tp, position in positions.items()}
        self._selection, self._found = survey_job(
            self._source_admin,
            self._target_admin,
            self._selection,
            own,
            self._jobs_on_source(self._source_admin),
            headers=settings.headers,
        )
        self._copies = copies = self._partitions(self._found, positions)
        self._due = [one for one in copies if task_of(one) is not None]
        left = sum(one.source.offsets for one in copies)
        remark = f"  {counted(left, 'offset')} to copy, in {counted(len(self._due), 'task')}"
        if not settings.bounded:
            remark += ", then what arrives"
        transactional = {"transactional_id": self._name} if settings.exactly_once else {}
        return CopyPlan(
            self._name,
            self._found,
            own,
            [
                PlannedPartition(
                    one.source.tp,
                    one.target,
                    one.source.start,
                    one.source.end if settings.bounded else None,
                    one.truncated,
                )
                for one in copies
            ],
            target_ends(self._target_admin, self._found),
            settings.exactly_once,
            unfit=unfit(self._target_admin, self._target.options(ProducerOptions, **transactional)),
            remarks=[remark],
        )

    def _partitions(self, found: Survey, positions: Mapping[TopicPartition, Position]) -> list[PlannedCopy]:
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
        spec, timeout = self._spec, self._timeout
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
        with Consumer(options, hooks=self._hooks) as consumer:
            consumer.connect(timeout)
            new = [topic for topic in targets if topic not in seen]
            warn = self._shown.warn
            found = pin(consumer, new, spec, timeout, warn=warn, out_of_order="") if new else []
            whole = RangeSpec(OffsetSpec("earliest"), spec.stop)
            for one in pin(consumer, seen, whole, timeout) if seen else ():
                begun = positions.get(TopicPartition(targets[one.topic], one.partition))
                if begun is not None:
                    found.append(one._replace(start=begun.offset))
                elif one.partition < seen[one.topic]:  # it had no time to begin
                    found += pin(consumer, [one.topic], spec, timeout, partitions=[one.partition])
                else:
                    found.append(one)
        return found

    def create(self) -> None:
        """Creates the topics that the target lacks; raises the first error."""
        found = self._found
        create_targets(self._target_admin, found.findings, [route.target for route in found.routes])

    # --- the copy ------------------------------------------------------------------------------------

    def copy(self, runner: Runner | None, stop: Stop) -> Report:
        """Copies what is there now, or until a stop. ``runner``: None where it ``needs`` none."""
        given = self._settings
        settings = CopySettings(
            *self._refs,
            self.source_id,
            self._name,
            run=secrets.token_hex(8),
            exactly_once=given.exactly_once,
            follows=not given.bounded,
            to_ms=given.timestamps == "ms",
        )
        try:
            if given.bounded:
                return self._copy(runner, settings, stop)
            assert runner is not None
            return self._follow(runner, settings, stop)
        finally:
            self._end(settings)

    def _copy(self, runner: Runner | None, settings: CopySettings, stop: Stop) -> Report:
        began = time.monotonic()
        tasks = sorted(self._due, key=lambda one: -one.source.offsets)
        results = []
        if tasks:
            assert runner is not None
            job = Job("copy", settings, tuple(task_of(one) for one in tasks))
            total = sum(one.source.offsets for one in tasks)
            with self._shown.progress("copied", total=total) as bar:
                results = run_tasks(runner, job, stop, bar)
        report = report_of(results, places_of(self._target_admin, settings, tasks, results), 0.0)
        return items_of(report, self._copies, time.monotonic() - began)

    def _follow(self, runner: Runner, settings: CopySettings, stop: Stop) -> Report:
        admins = self._source_admin, self._target_admin
        known = [
            PartitionCopy(one.source.tp, one.target, None, position=one.source.start) for one in self._copies
        ]
        discovery = self._look_for_more(*admins, self._selection, self._found, known)
        with self._shown.progress("copied") as bar:
            return Follower(self._shown, runner, settings, self._copies, stop, admins, discovery, bar).run(
                self._seconds
            )

    def _end(self, settings: CopySettings) -> None:
        """Says on the target that the job no longer runs: nobody waits long for that after Ctrl-C."""
        options = self._target.options(ClientOptions)
        try:
            with Admin(options, self._hooks, timeout=min(_LAST_WORD, self._timeout)) as admin:
                end_run(admin, settings.job, settings.source_cluster, settings.run)
        except KcliError as error:
            self._observer.detail(f"that the job has ended is not on the target, and seen later: {error}")
