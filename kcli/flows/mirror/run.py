"""A mirror from its start to its result, in this process: the driver of ``kcli mirror`` and of the demo. It runs in the
thread of its caller; the producer has one of its own.

The steps 1 and 2 of ``driver`` are here the plan with what earlier runs have saved, and the topics that the target lacks,
with that of the state. Step 3, ``copy``: one attempt, and after a fence another one, until everything is copied or a stop
is requested; then the proof and the groups. (``compare`` is the proof alone.)

Before it, the job is this instance's (``lease``): others are stand-bys until it ends. An attempt has a producer of its
own, and an order that no step may leave:

a. fence: ``init_transactions`` with the id of the job ends every transaction of an earlier run, and none of them writes
   a position any more. Until this moment such a run could, so what ``prepare`` read may be old.
b. follow: the state is read again, and the copy begins where that run ended.
c. claim: the job is written, with what it takes over from version 1, before its first record: no records are of a job
   that the next run does not know.
d. copy: records and the positions after them, in one transaction (see ``exactly_once``), or the positions behind what
   is confirmed, in transactions of their own (see ``copy``). Between two polls: new topics, groups.

A fence has two meanings, and the broker does not say which: another instance took over, or the transaction took longer
than the coordinator waits. The lease tells them apart: ``_recover`` goes on with a new plan when it has it, at once or
after a time as a stand-by.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from kcli.core.admin.admin import Admin
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import KcliError, ProducerFencedError, TransactionUnknownError, UnsupportedError
from kcli.core.hooks import Hooks
from kcli.core.names import DEFAULT_JOB
from kcli.core.options import WHOLE_BATCHES, ConsumerOptions, ProducerOptions
from kcli.core.producer.producer import Producer
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy import JOINED_BYTES, Copy, Deliveries
from kcli.flows.mirror.discovery import Discovery
from kcli.flows.mirror.driver import Driver
from kcli.flows.mirror.exactly_once import ExactlyOnceCopy
from kcli.flows.mirror.job import (
    EXACTLY_ONCE,
    NOTHING_TAKEN,
    Attempt,
    add_attempts,
    begin_text,
    finish_attempt,
    job_state,
    taken_over,
)
from kcli.flows.mirror.lease import JobLease, LeaseLostError, held, read_instances, transactional_id
from kcli.flows.mirror.partition_copy import PartitionCopy
from kcli.flows.mirror.plan import CopyPlan, PlannedPartition
from kcli.flows.mirror.planning import Plan, Planner
from kcli.flows.mirror.progress import MirrorProgress
from kcli.flows.mirror.proof import compare_copies
from kcli.flows.mirror.result import Result
from kcli.flows.mirror.routes import STATE_TOPIC
from kcli.flows.mirror.settings import Cluster, MirrorSettings, Observer
from kcli.flows.mirror.state import JobId, JobState, SavedJob, StateRecord, job_record, load_jobs
from kcli.flows.mirror.store import (
    FencedStore,
    FileStore,
    Progress,
    TopicStore,
    read_file_records,
    saved_jobs,
)
from kcli.flows.mirror.sync_groups import Translated
from kcli.flows.mirror.targets import create_state_topic, create_targets, identify, unfit, without_options
from kcli.flows.mirror.tasks import discovery_task, sync_copies, sync_task
from kcli.flows.mirror.verify import Comparison
from kcli.flows.produce.checkpoint import check_lockable, locked
from kcli.flows.rate import Periodic
from kcli.flows.stop import Stop

_FOREVER = 0x7FFF_FFFF  # ms: a target that is away for long costs nothing but time
_INIT_PATIENCE = 60.0  # seconds until the transactional id is ours
_CREATED_PATIENCE = 30.0  # seconds until a new topic is in the metadata of all brokers
_STATE_TIMEOUT_MS = 10_000  # a transaction of positions alone, which a kill may leave open
_TASK_INTERVAL = 30.0  # seconds between two looks for new topics, and two syncs of groups
_TASK_PATIENCE = 5.0  # seconds for one of them: nothing is copied meanwhile


class Mirror(Driver):
    """One run of a job in this process; ``with`` closes its clients."""

    def __init__(
        self,
        settings: MirrorSettings,
        source: Cluster,
        target: Cluster,
        observer: Observer,
        *,
        hooks: Hooks,
        timeout: float,
    ) -> None:
        super().__init__(settings, source, target, observer, hooks=hooks, timeout=timeout)
        self._file_records: list[StateRecord] = []  # of the checkpoint file, as it was read last
        self._taken = NOTHING_TAKEN  # of version 1, as it was read last
        self._lease: JobLease | None = None
        self._id: JobId
        self._task_admins: tuple[Admin, Admin] | None = None
        self._discovery: Discovery | None = None
        self._consumer: Consumer
        self._planner: Planner
        self._plan: Plan

    # --- 1: before anything is created ---------------------------------------------------------------

    def _default_name(self, source_id: str) -> str:  # noqa: ARG002 - the identity has the source beside the name
        return DEFAULT_JOB

    def _planned(self, source_id: str) -> CopyPlan:
        settings, observer = self._settings, self._observer
        self._id = JobId(source_id or self._source.servers, self._name)
        if settings.checkpoint is not None and observer.dry_run:
            check_lockable(settings.checkpoint)
        elif settings.checkpoint is not None:
            self._stack.enter_context(locked(settings.checkpoint))
        elif not settings.stand_by and not settings.verify_only:
            holder = read_instances(self._target_admin, [self._id])[self._id].holder
            if holder is not None:
                raise held(self._id, holder)
        self._consumer = self._reader(self._source, show_control_batches=True)
        with observer.contact(self._source.servers):
            self._consumer.connect(self._timeout)
        jobs = self._jobs_on_source(self._source_admin)
        self._planner = Planner(
            settings, self._selection, self._source_admin, self._target_admin, self._consumer, self._timeout
        )
        self._plan = plan = self._planner.plan(self._id, self._saved_before_plan(), jobs)
        return CopyPlan(
            self._name,
            plan.found,
            plan.own,
            [
                PlannedPartition(copy.source, copy.target, copy.position, copy.stop, copy.error)
                for copy in plan.copies
            ],
            plan.ends,
            settings.exactly_once,
            unfit=None if settings.verify_only else unfit(self._target_admin, self._producer_options()),
            compares=settings.verify_only,
            remarks=self._remarks(plan),
        )

    def _remarks(self, plan: Plan) -> list[str]:
        """What the plan says beside its topics."""
        found = [
            f"  {name} → {copy}: not selected, keeps its position" for name, copy in plan.not_selected.items()
        ]
        for name, one in self._taken.jobs.items():
            found.append(
                f"  takes over job {name} of an earlier version of kcli, last seen on {one.state.host}"
            )
        return found

    def _saved_before_plan(self) -> SavedJob | None:
        """What is saved, without waiting for a transaction of this job that a kill left open: it ends when the copy
        initializes its transactional id, and then the state is read again.
        """
        if not self._settings.verify_only:
            found = self._saved(wait=False)
            if found is not None:
                return found
        return self._saved()

    def _saved(self, *, wait: bool = True) -> SavedJob | None:
        """What runs of this job have saved until now, and what it takes over. ``wait``: see ``load_topic``."""
        settings = self._settings
        if settings.checkpoint is not None:
            self._file_records = read_file_records(settings.checkpoint)
            jobs = load_jobs(self._file_records)
        else:
            jobs = saved_jobs(self._target, self._target_admin, self._hooks, wait=wait)
        source = self._source_admin.cluster_id()
        saved, self._taken = taken_over(jobs, self._id, self._selection, settings.renames, source)
        return saved

    # --- 2 and 3: what the target lacks, the copy and its proof --------------------------------------

    def copy(self, stop: Stop) -> Result:
        """Waits until the job is this instance's, creates what the target lacks, and copies until the end or a stop; then
        compares and syncs groups. Errors of partitions are in the copies.
        """
        settings = self._settings
        began = time.monotonic()
        stop.wake(self._consumer.wakeup)
        comparisons, synced = [], []
        attempts: list[Attempt] = []
        try:
            if self._take(stop):
                self._create()
                with self._observer.progress("copied") as bar:
                    runs = True
                    while runs:
                        identify(self._target_admin, self._plan.copies)
                        try:
                            self._attempt(stop, MirrorProgress(bar, self._plan.copies, self._consumer))
                            runs = False
                        except (ProducerFencedError, TransactionUnknownError, LeaseLostError) as error:
                            runs = self._recover(error, stop, attempts)
                    copies = self._plan.copies
                    add_attempts(copies, attempts)
                    seconds = time.monotonic() - began
                    comparisons = self._compare(stop) if settings.verify and not stop else []
                    synced = self._sync_groups(copies) if settings.groups else []
            else:
                seconds = time.monotonic() - began
        finally:
            if self._lease is not None:
                self._lease.close()
        copies = self._plan.copies
        ends = {copy.source: self._source_end(copy.source) for copy in copies}
        return Result(self._name, self._plan.found, copies, comparisons, synced, seconds, ends)

    def compare(self, stop: Stop) -> Result:
        """The proof alone: what the job has copied, or all of both topics where there is no such job."""
        comparisons = self._compare(stop, whole=self._plan.saved is None)
        return Result(self._name, self._plan.found, self._plan.copies, comparisons, [], 0.0, {})

    def _compare(self, stop: Stop, *, whole: bool = False) -> list[Comparison]:
        span = self._settings.span
        return compare_copies(
            self._observer,
            self._source,
            self._target,
            self._reader,
            self._plan.copies,
            stop,
            self._timeout,
            whole=whole,
            to_end=self._settings.verify_only,
            limited=span is not None and span.stop is not None,
        )

    def _sync_groups(self, copies: Sequence[PartitionCopy]) -> list[Translated]:
        """The last translation of committed offsets; what failed of it is reported, and the copy counts."""
        observer, groups = self._observer, self._settings.groups
        try:
            rows, errors = sync_copies(self._source_admin, self._target_admin, groups, copies)
        except KcliError as failure:
            observer.failed(failure)
            return []
        for error in errors.values():
            observer.failed(error)
        for group in dict.fromkeys(groups):
            if group not in errors and not any(row.group == group for row in rows):
                observer.warn(f"group {group} has no committed offset of a mirrored partition on the source")
        return rows

    # --- the lease -----------------------------------------------------------------------------------

    def _take(self, stop: Stop) -> bool:
        """Returns True when the job is this instance's, which is its own with a checkpoint file; False after a stop."""
        if self._settings.checkpoint is not None:
            return True
        if self._lease is None:
            self._lease = self._stack.enter_context(
                JobLease(self._target, self._target_admin, self._id, self._hooks)
            )
        return self._lease.take(stop, stand_by=self._settings.stand_by, note=self._observer.note)

    def _create(self) -> None:
        """Creates the topics that the target lacks, which an instance that has ended meanwhile may have created; raises
        the first error.
        """
        if self._lease is not None and self._lease.has_waited:
            self._follow(self._saved())
        create_targets(self._target_admin, self._plan.found.findings, self._plan.targets)
        if self._settings.checkpoint is None:
            create_state_topic(self._target_admin, self._plan.found.brokers)

    # --- an attempt ----------------------------------------------------------------------------------

    def _attempt(self, stop: Stop, progress: Callable[[], None]) -> None:
        """Copies with a producer of its own, until the job is fenced or its lease is lost."""
        settings = self._settings
        deliveries = Deliveries(transactional=settings.exactly_once)
        with ExitStack() as stack:
            producer = stack.enter_context(
                Producer(self._producer_options(), hooks=self._hooks, on_delivery=deliveries)
            )
            writer = producer
            if settings.checkpoint is None and not settings.exactly_once:
                writer = stack.enter_context(Producer(self._state_options(), hooks=self._hooks))
                self._connect(writer, [STATE_TOPIC])
            self._connect(producer, self._plan.targets)
            if settings.checkpoint is None:
                self._fence_earlier_runs(writer)
                self._follow_earlier_run()
            stop.wake(producer.interrupt)
            stop.wake(writer.interrupt)
            state = self._state()
            saving = Progress(state, self._source_end, self._plan.saved)
            store = self._claim(writer, state, saving, stop)
            copy = self._copy_of(producer, deliveries, store, stop, progress)
            copy.run(self._tasks(producer, saving, copy))
            if stop:
                for one in (producer, writer):
                    one.close(0.0)  # what is not confirmed by now is not waited for

    def _state(self) -> JobState:
        settings, saved = self._settings, self._plan.saved
        known = {} if saved is None else saved.state.topics
        begin = begin_text(settings.span) or "earliest"
        begun = {route.source: begin for route in self._plan.found.routes if route.source not in known}
        return job_state(
            self._name,
            self._plan.found,
            self._source.servers,
            saved,
            exactly_once=settings.exactly_once,
            by_key=settings.by_key,
            headers=settings.headers,
            selectors=settings.topics,
            begun={**({} if saved is None else saved.state.begun), **begun},
        )

    def _connect(self, producer: Producer, topics: Sequence[str]) -> None:
        with_state = self._settings.exactly_once and STATE_TOPIC not in topics
        needed = [*topics, STATE_TOPIC] if with_state else topics
        try:
            with self._observer.contact(self._target.servers):
                producer.connect(needed, self._timeout, _CREATED_PATIENCE)
        except UnsupportedError as error:  # this broker is older than those that the plan has seen
            raise without_options(error) from None

    def _fence_earlier_runs(self, writer: Producer) -> None:
        """Step a: from here on no earlier run can write a position. A transaction that it left open is aborted (KIP-98),
        or committed, if its coordinator had decided that; ``init_transactions`` returns after its end. Runs of version 1
        had an id without the source.
        """
        writer.init_transactions(max(_INIT_PATIENCE, self._timeout))
        old = [name for name, one in self._taken.jobs.items() if one.state.delivery == EXACTLY_ONCE]
        if old:
            fenced = self._target_admin.fence_producers({f"kcli-mirror-{name}": 60_000 for name in old})
            for error in fenced.values():
                if error is not None:
                    raise error

    def _follow_earlier_run(self) -> None:
        """Step b: an earlier run of the job could save until now, when it is fenced: the copy begins where it ended.

        1. This run reads position 100, and shows its plan.
        2. The earlier one, which still runs, commits up to 150.
        3. It is fenced. Copied from 100 on, 100 to 149 would be stored twice.

        Reading waits for no transaction of this job any more. Where the state is the one that the plan is made of, the
        plan stands.
        """
        saved, known = self._saved(), self._plan.saved
        if saved is None or (known is not None and known.state == saved.state):
            return
        self._follow(saved)

    def _follow(self, saved: SavedJob | None) -> None:
        new = self._planner.plan_again(saved, self._plan.copies)
        identify(self._target_admin, new.copies)
        self._plan.become(new)

    def _claim(
        self, writer: Producer, state: JobState, saving: Progress, stop: Stop
    ) -> FileStore | FencedStore | TopicStore:
        """Step c: the job is written, and what it takes over."""
        records = [*self._taken.records(self._id), job_record(state)]
        if self._settings.exactly_once:
            store = TopicStore(writer, saving)
            with writer.transaction():
                store.write(records)
            return store
        own: FileStore | FencedStore = (
            FencedStore(writer, saving, stop)
            if self._settings.checkpoint is None
            else FileStore(self._settings.checkpoint, saving, self._file_records)
        )
        own.write(records)
        return own

    def _copy_of(
        self,
        producer: Producer,
        deliveries: Deliveries,
        store: FileStore | FencedStore | TopicStore,
        stop: Stop,
        progress: Callable[[], None],
    ) -> Copy:
        settings, found = self._settings, self._plan.found
        return (ExactlyOnceCopy if settings.exactly_once else Copy)(
            self._consumer,
            producer,
            deliveries,
            self._plan.copies,
            store,
            stop=stop,
            pace=settings.pace,
            by_key=settings.by_key,
            clusters=(found.source_cluster, found.target_cluster) if settings.headers else None,
            on_gap=settings.on_gap,
            on_recreate=settings.on_recreate,
            progress=progress,
            warn=self._observer.warn,
            may_send=lambda: self._lease.check(stop) if self._lease is not None else None,
        )

    def _tasks(self, producer: Producer, saving: Progress, copy: Copy) -> list[Periodic]:
        """What is done from time to time while the source is followed; a run with an end has none of it.

        The admins and the discovery stay after a fence, the latter with what it has refused.
        """
        plan, settings, observer = self._plan, self._settings, self._observer
        if any(one.stop is not None for one in plan.copies):
            return []
        if self._task_admins is None:
            self._task_admins = (
                self._admin(self._source, _TASK_PATIENCE),
                self._admin(self._target, _TASK_PATIENCE),
            )
        source, target = self._task_admins
        if self._discovery is None:
            self._discovery = self._look_for_more(
                source, target, self._planner.selection, plan.found, plan.copies
            )

        def add(copies: Sequence[PartitionCopy]) -> None:
            plan.copies.extend(copies)
            copy.add(copies)

        look = discovery_task(observer, self._discovery, producer, saving, add, by_key=settings.by_key)
        interval = min(_TASK_INTERVAL, self._consumer.options.metadata_max_age_ms / 1000)
        tasks = [Periodic(interval, look)]
        if settings.groups:
            tasks.append(
                Periodic(interval, sync_task(observer, source, target, settings.groups, plan.copies))
            )
        return tasks

    # --- recovery after a fence ----------------------------------------------------------------------

    def _recover(self, error: KcliError, stop: Stop, attempts: list[Attempt]) -> bool:
        """Whether there is another attempt: when the job is this instance's again. Adds to ``attempts`` what the one that
        ended has copied.

        The last transaction may be committed or not (its answer was lost with the fence). The new plan begins at what is
        saved, which was in the same transaction as the records: so exactly once nothing is copied twice, and nothing is
        ever left out.
        """
        if stop:
            if isinstance(error, LeaseLostError):
                return False
            raise error
        lost = isinstance(error, LeaseLostError)
        if lost:
            self._observer.note(f"{error}: another instance may have taken over")
        if not self._take(stop):
            return False
        if not lost and self._lease is not None and not self._lease.has_waited:
            self._observer.note(
                f"{error}; the transaction timed out, continuing from the last one that was committed"
            )
        begun = self._plan.copies
        self._plan = self._planner.plan_again(self._saved(), begun)
        new = {copy.source: copy for copy in self._plan.copies}
        attempts += [
            finish_attempt(copy, new[copy.source]) for copy in begun if copy not in self._plan.copies
        ]
        return True

    # --- clients -------------------------------------------------------------------------------------

    def _reader(self, cluster: Cluster, **own: Any) -> Consumer:
        """Of committed records, in whole batches; joined, so that small ones are sent on as larger ones."""
        options = cluster.options(
            ConsumerOptions,
            isolation_level="read_committed",
            max_poll_records=WHOLE_BATCHES,
            on_out_of_range="fail",
            **own,
        )
        return self._stack.enter_context(Consumer(options, hooks=self._hooks, joins=JOINED_BYTES))

    def _producer_options(self) -> ProducerOptions:
        """With transactions, all runs of the job have the same id: a new one fences the others."""
        own: dict[str, Any] = (
            {"transactional_id": transactional_id(self._id)} if self._settings.exactly_once else {}
        )
        return self._target.options(
            ProducerOptions, delivery_timeout_ms=_FOREVER, max_block_ms=_FOREVER, linger_ms=0, **own
        )

    def _state_options(self) -> ProducerOptions:
        """Of positions alone: their transactions last for milliseconds."""
        return self._target.options(
            ProducerOptions,
            delivery_timeout_ms=_FOREVER,
            max_block_ms=_FOREVER,
            linger_ms=0,
            transactional_id=transactional_id(self._id),
            transaction_timeout_ms=_STATE_TIMEOUT_MS,
        )

    def _source_end(self, tp: TopicPartition) -> int:
        """Where the readable records of a partition end, as far as it is known; −1 where it is not read."""
        if tp not in self._consumer.assignment:
            return -1
        state = self._consumer.state(tp)
        return max(state.last_stable, state.position)
