"""A mirror from its start to its result, in this process: the driver of ``kcli mirror`` and of the demo. It runs in the
thread of its caller; the producer has one of its own.

The steps 1 and 2 of ``driver`` are here the plan with what earlier runs have saved, and the topics that the target lacks,
with that of the state. Step 3, ``copy``: one attempt, and after a fence another one, until everything is copied or a stop
is requested; then the proof and the groups.

Before it, the job is this instance's (``lease``): others are stand-bys until it ends. An attempt has a producer of its
own, and an order that no step may leave:

a. fence: ``init_transactions`` with the id of the job ends every transaction of an earlier run, and none of them writes
   a position any more. Until this moment such a run could, so what ``prepare`` read may be old.
b. follow: the state is read again, and the copy begins where that run ended.
c. claim: the job is written, with what it takes over from version 1, before its first record: no records are of a job
   that the next run does not know.
d. copy: records and the positions after them, in one transaction (see ``copy.exactly_once``), or the positions behind
   what is confirmed, in transactions of their own (see ``copy.loop``). Between two polls: new topics, groups.

A fence has two meanings, and the broker does not say which: another instance took over, or the transaction took longer
than the coordinator waits. The lease tells them apart: ``_recover`` goes on with a new plan when it has it, at once or
after a time as a stand-by.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from kcli.core.admin.admin import Admin
from kcli.core.clock import wall_ms
from kcli.core.cluster.retry import Backoff
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.open_transactions import OpenTransaction
from kcli.core.consumer.ranges import absent_from_dirs
from kcli.core.errors import (
    KcliError,
    ProducerFencedError,
    TimedOutError,
    TransactionUnknownError,
    UnsupportedError,
)
from kcli.core.hooks import Hooks
from kcli.core.names import DEFAULT_JOB
from kcli.core.options import (
    WHOLE_BATCHES,
    ClientOptions,
    ConsumerOptions,
    ProducerOptions,
    limited_by_brokers,
)
from kcli.core.producer.producer import Producer
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.errors import is_outage
from kcli.flows.mirror.copy.loop import JOINED_BYTES, Copy, Deliveries
from kcli.flows.mirror.copy.partition_copy import PartitionCopy
from kcli.flows.mirror.copy.state_watch import StateWatch
from kcli.flows.mirror.driver import Driver
from kcli.flows.mirror.groups.offsets import NOTHING_SYNCED, GroupsAccount, Mapped
from kcli.flows.mirror.groups.selection import group_selectors
from kcli.flows.mirror.job.earlier_runs import EarlierRuns
from kcli.flows.mirror.job.job import (
    Attempt,
    add_attempts,
    begin_text,
    finish_attempt,
    job_state,
)
from kcli.flows.mirror.job.lease import (
    SESSION_MS,
    JobLease,
    LeaseLostError,
    held,
    read_instances,
    transactional_id,
)
from kcli.flows.mirror.job.state import (
    NO_GROUPS,
    GroupProgress,
    GroupTopic,
    HowCopied,
    JobId,
    JobState,
    SavedJob,
    gaps_of,
)
from kcli.flows.mirror.job.store import (
    FencedStore,
    FileStore,
    Progress,
    StateWriter,
    TopicStore,
)
from kcli.flows.mirror.plan.plan import CopyPlan, PlannedPartition
from kcli.flows.mirror.plan.planning import Plan, Planner
from kcli.flows.mirror.plan.targets import (
    create_state_topic,
    identify,
    made_targets,
    refused_targets,
    unfit,
    without_options,
)
from kcli.flows.mirror.progress import MirrorProgress
from kcli.flows.mirror.result import Result, not_synced
from kcli.flows.mirror.settings import Cluster, MirrorSettings, Observer
from kcli.flows.mirror.topics.routes import STATE_TOPIC
from kcli.flows.rate import Periodic, wait
from kcli.flows.stop import Stop
from kcli.output.progress import Progress as ProgressBar

if TYPE_CHECKING:
    from kcli.flows.mirror.acls.changes import AclSync
    from kcli.flows.mirror.acls.plan import AclPlan
    from kcli.flows.mirror.figures import Figures, Handover
    from kcli.flows.mirror.follow.configs import FollowedConfigs
    from kcli.flows.mirror.follow.discovery import Discovery
    from kcli.flows.mirror.groups.memory import GroupMemory
    from kcli.flows.mirror.proof.compare import Comparison

T = TypeVar("T")

_OVER = (ProducerFencedError, TransactionUnknownError, LeaseLostError)
"""Another instance may have taken over; or a transaction took longer than its coordinator waits."""

_FOREVER = 0x7FFF_FFFF  # ms: a target that is away for long costs nothing but time
_INIT_PATIENCE = 60.0  # seconds until the transactional id is ours, at the start
_AGAIN = 10.0  # the same for a later attempt, which is repeated
_LONGEST_PAUSE = 30.0  # seconds between two tries to reach a cluster that is away
_FLUSH_SLICE = 0.2
_CREATED_PATIENCE = 30.0  # seconds until a new topic is in the metadata of all brokers
_STATE_TIMEOUT_MS = 10_000  # a transaction of positions alone, which a kill may leave open
_TASK_INTERVAL = 30.0  # seconds between two looks for new topics, and two syncs of groups
_TASK_PATIENCE = 5.0  # seconds for one of them: nothing is copied meanwhile
_WRITE_PATIENCE = 5.0  # seconds until what is known of groups is stored


class Mirror(Driver):
    """One run of a job in this process; ``with`` closes its clients. ``handover``: who asks for its figures."""

    def __init__(
        self,
        settings: MirrorSettings,
        source: Cluster,
        target: Cluster,
        observer: Observer,
        *,
        hooks: Hooks,
        timeout: float,
        handover: Handover | None = None,
    ) -> None:
        super().__init__(settings, source, target, observer, hooks=hooks, timeout=timeout)
        self._handover = handover
        self._lease: JobLease | None = None
        self._id: JobId
        self._earlier: EarlierRuns
        self._task_admins: tuple[Admin, Admin] | None = None
        self._discovery: Discovery | None = None
        self._groups = group_selectors(settings.groups, settings.groups_excluded)
        self._acls = self._acl_sync() if settings.sync_acls else None
        self._configs: FollowedConfigs | None = None
        self._store: FileStore | FencedStore | TopicStore
        self._created = False  # topics of the target: a report says so, whatever follows
        self._begun = False  # something may have been copied
        self._began_ms: int | None = None  # when the last attempt began to copy
        self._consumer: Consumer
        self._watch: StateWatch
        self._planner: Planner
        self._plan: Plan

    # --- 1: before anything is created ---------------------------------------------------------------

    def _default_name(self, source_id: str) -> str:  # noqa: ARG002 - the identity has the source beside the name
        return DEFAULT_JOB

    def _planned(self, source_id: str) -> CopyPlan:
        settings, observer = self._settings, self._observer
        self._id = JobId(source_id or self._source.servers, self._name)
        self._earlier = EarlierRuns(
            self._id,
            settings,
            self._selection,
            self._source_admin,
            self._target,
            self._target_admin,
            self._hooks,
        )
        if settings.checkpoint is not None:
            self._lock(settings.checkpoint)
        elif not settings.stand_by:
            holder = read_instances(self._target_admin, [self._id])[self._id].holder
            if holder is not None and not holder.is_dead:
                raise held(
                    self._id,
                    holder,
                    "leave --no-standby out, and this instance takes over when that one ends",
                )
        self._consumer = self._reader(
            self._source, show_control_batches=True, default_api_timeout_ms=_FOREVER
        )
        self._watch = StateWatch(
            self._consumer,
            limit=settings.patience,
            transactional=self._settings.exactly_once,
            pinned=settings.bounded,
            note=observer.note,
            warn=observer.warn,
            holders=self._open_writers,
        )
        with observer.contact(self._source.servers):
            self._consumer.connect(self._timeout)
        jobs = self._jobs_on_source(self._source_admin)
        self._planner = Planner(
            settings,
            self._selection,
            self._source_admin,
            self._target_admin,
            self._consumer,
            self._timeout,
            self._absent,
        )
        self._plan = plan = self._first_plan(jobs)
        findings = plan.found.findings
        unable = unfit(self._target_admin, self._producer_options())
        if not (findings.denied or findings.conflicts or unable):
            plan.fail(refused_targets(self._target_admin, findings, plan.targets))
        acls = None if self._acls is None else self._planned_acls(self._acls)
        if observer.dry_run and settings.groups:
            self._look_for_groups()
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
            unfit=unable,
            acls=acls,
            carries=[*(["groups"] if settings.groups else []), *(["acls"] if acls else [])],
            deletes=settings.on_delete == "delete",
            remarks=self._remarks(plan),
        )

    def _lock(self, checkpoint: str) -> None:
        from kcli.flows.produce.checkpoint import check_lockable, locked  # most jobs have no file

        if self._observer.dry_run:
            check_lockable(checkpoint)
        else:
            self._stack.enter_context(locked(checkpoint))

    def _open_writers(self, waits: Mapping[TopicPartition, OpenTransaction]) -> dict[TopicPartition, str]:
        from kcli.flows.mirror.copy.open_writers import open_writers  # only where a transaction holds records

        return open_writers(self._admins_of_tasks[0], waits)

    def _absent(self, tp: TopicPartition) -> KcliError | None:
        """Why nobody can read a partition that a topic of the source has: log directories may lack it."""
        if self._consumer.cluster.directories is None:
            return None
        self._consumer.partitions([tp.topic], self._timeout)  # what is known of it
        return absent_from_dirs(self._consumer, tp)

    def _remarks(self, plan: Plan) -> list[str]:
        """What the plan says beside its topics."""
        left = [
            f"  {name} → {copy}: not selected, keeps its position" for name, copy in plan.not_selected.items()
        ]
        return [*left, *self._earlier.remarks]

    def _acl_sync(self) -> AclSync:
        """The user of the target's options is the mirror's own there; with TLS alone, it is not known."""
        from kcli.flows.mirror.acls.changes import AclSync  # with journals: only where ACLs are synced
        from kcli.flows.mirror.acls.rules import parse_principal_rule

        settings, user = self._settings, self._target.options(ClientOptions).sasl_username
        return AclSync(
            [parse_principal_rule(text) for text in settings.principals],
            self._group_names,
            prunes=settings.prune_acls,
            own={f"User:{user}"} if user else (),
        )

    def _planned_acls(self, acls: AclSync) -> AclPlan:
        """Of the topics that are copied; missing permissions are among those of the plan."""
        bounded = any(copy.stop is not None for copy in self._plan.copies)
        found = acls.plan(
            self._source_admin,
            self._target_admin,
            self._planner.selection,
            self._routes(),
            follows=not bounded,
        )
        self._plan.found.findings.denied.extend(found.denied)
        return found

    def _routes(self) -> dict[str, str]:
        return {one.source.topic: one.target.topic for one in self._plan.copies if one.error is None}

    def _group_names(self) -> list[str]:
        """The groups whose offsets are synced, as far as coordinators list them now; the account of groups says what is
        missing.
        """
        groups = self._groups
        listed = [one.group_id for one in self._admins[0].list_groups().groups] if groups.patterns else ()
        return sorted(
            {*groups.names, *(name for one in groups.patterns for name in groups.selected(one, listed))}
        )

    def _look_for_groups(self) -> None:
        """Of a dry run: the groups that are not there, or cannot be read; the rest depends on what is copied."""
        from kcli.flows.mirror.groups.memory import GroupMemory  # only where groups are synced
        from kcli.flows.mirror.groups.source_commits import SourceCommits
        from kcli.flows.mirror.groups.sync import maps_of_copies

        memory = GroupMemory(self._id, self._saved_groups())
        found = SourceCommits(self._groups, maps_of_copies(self._plan.copies), memory)
        found.read(self._source_admin)
        errors = [*(part.error for part in found.missing), *(one.error for one in not_synced(found.absent))]
        for error in errors:
            self._observer.failed(error, partly=True)

    def _saved_groups(self) -> Mapping[GroupTopic, GroupProgress]:
        return NO_GROUPS if self._plan.saved is None else self._plan.saved.groups

    def _first_plan(self, jobs: Sequence[JobState]) -> Plan:
        """The plan at the start. Where a target has records of somebody else, it is made again from what is saved now:
        another instance of the job may have begun between the two looks.
        """
        saved = self._earlier.saved_before_plan()
        plan = self._planner.plan(self._id, saved, jobs)
        routes = plan.found.routes
        if any(route.source not in plan.own and plan.ends.has_records(route.target) for route in routes):
            now = self._earlier.saved_before_plan()
            if now is not None and (saved is None or now.state != saved.state):
                return self._planner.plan(self._id, now, jobs)
        return plan

    # --- 2 and 3: what the target lacks, the copy and its proof --------------------------------------

    def copy(self, stop: Stop) -> Result:
        """Waits until the job is this instance's, creates what the target lacks, and copies until the end or a stop; then
        compares and syncs groups. Errors of partitions are in the copies.
        """
        settings = self._settings
        began = time.monotonic()
        stop.wake(self._consumer.wakeup)
        comparisons: list[Comparison] = []
        synced = NOTHING_SYNCED
        attempts: list[Attempt] = []
        try:
            takes = self._take(stop)
            if takes:
                try:
                    self._create()
                    with self._observer.progress("copied") as bar:
                        self._attempt_again_and_again(bar, stop, attempts)
                except KcliError as error:
                    if stop or not self._created:
                        raise
                    self._end_copies(error, stop)
                add_attempts(self._plan.copies, attempts)
                seconds = time.monotonic() - began
                if self._handover is not None:
                    self._handover.rest("the copy has ended")
                if settings.verify and not stop:
                    comparisons = self._proof(stop)
                if settings.groups:
                    synced = self.sync_groups()
            else:
                seconds = time.monotonic() - began
        finally:
            if self._lease is not None:
                self._lease.close()
        acls = None if self._acls is None else self._acls.account
        return Result(self._name, self._plan.found, self._plan.copies, comparisons, synced, seconds, acls)

    def _attempt_again_and_again(self, bar: ProgressBar, stop: Stop, attempts: list[Attempt]) -> None:
        """Attempts until everything is copied, a stop is requested, or nothing more can be copied."""
        runs = True
        while runs:
            try:
                progress = MirrorProgress(bar, self._plan.copies, attempts)
                self._attempt(stop, self._shown(progress))
                progress.show(time.monotonic())  # the last line has the end
                runs = False
            except KcliError as error:
                if not (self._begun or stop or isinstance(error, _OVER)):
                    raise
                try:
                    runs = self._recover(error, stop, attempts)
                except KcliError as failure:
                    self._end_copies(failure, stop)
                    return

    def _end_copies(self, error: KcliError, stop: Stop) -> None:
        """Nothing more can be copied. What was not committed does not count: it is in the state, or not."""
        if isinstance(error, (TimedOutError, TransactionUnknownError)) and self._settings.exactly_once:
            error.do = "run the same command again: it finds out what was committed, and continues there"
        going_on = [copy for copy in self._plan.copies if copy.error is None]
        for copy in self._plan.copies:
            if self._settings.exactly_once:
                copy.rollback()
            if not (stop or copy.done):
                copy.fail(error)
        if not stop and all(copy.error is None for copy in going_on):
            self._observer.failed(error)

    def _proof(self, stop: Stop) -> list[Comparison]:
        """The comparison of what is copied; that it cannot be made is reported, and the copy counts."""
        if all(copy.error is not None for copy in self._plan.copies):
            return []
        try:
            return self._compare(stop)
        except KcliError as error:
            self._observer.failed(error)
            return []

    def _compare(self, stop: Stop) -> list[Comparison]:
        # Only with --verify.
        from kcli.flows.mirror.proof.proof import Clusters, Proof, compacted_topics, compare_copies, view_of

        settings, found = self._settings, self._plan.found
        return compare_copies(
            self._observer,
            Clusters(
                self._source, self._target, self._source_admin, self._target_admin, self._reader_of_proof
            ),
            self._plan.copies,
            Proof(
                limited=settings.span is not None and settings.span.stop is not None,
                view=view_of(found, headers=settings.headers),
            ),
            compacted_topics(found),
            stop,
            self._timeout,
        )

    def sync_groups(self) -> GroupsAccount:
        """Commits the offsets of the groups that are selected, as far as is copied. Between two polls, and at the end."""
        from kcli.flows.mirror.groups.sync import sync_groups  # only where groups are synced

        return sync_groups(*self._admins, self._groups, self._group_maps(), self.memory)

    def _group_maps(self) -> dict[TopicPartition, Mapped]:
        from kcli.flows.mirror.groups.sync import maps_of_copies  # only where groups are synced

        return maps_of_copies(self._plan.copies)

    @cached_property
    def memory(self) -> GroupMemory:
        """What the job knows of the groups; first used by an attempt, when no earlier run writes any more."""
        from kcli.flows.mirror.groups.memory import GroupMemory  # only where groups are synced

        if self._settings.checkpoint is not None:
            return GroupMemory(self._id, self._saved_groups(), self._store.write)
        writer = self._stack.enter_context(StateWriter(self._target, self._hooks, _WRITE_PATIENCE))
        return GroupMemory(self._id, self._saved_groups(), writer.write)

    # --- the lease -----------------------------------------------------------------------------------

    def _take(self, stop: Stop) -> bool:
        """Returns True when the job is this instance's, which is its own with a checkpoint file; False after a stop."""
        if self._settings.checkpoint is not None:
            return True
        if self._lease is None:
            self._lease = self._stack.enter_context(
                JobLease(self._target, self._target_admin, self._id, self._hooks)
            )
        began = time.monotonic()
        # At first somebody may be there whose session has to time out; what is copied already waits for no session.
        from_then = began if self._begun else began + SESSION_MS / 1000

        def waiting() -> bool:
            return time.monotonic() < from_then or self._waits(
                "target: the coordinator of the job does not respond", began
            )

        return self._lease.take(
            stop,
            stand_by=self._settings.stand_by,
            note=self._observer.note,
            waiting=waiting,
            turned=self._turned,
        )

    def _create(self) -> None:
        """Creates the topics that the target lacks, which an instance that has ended meanwhile may have created; raises
        the first error.
        """
        if self._lease is not None and self._lease.has_waited:
            self._follow(self._earlier.saved())
        plan = self._plan
        plan.fail(made_targets(self._target_admin, plan.found.findings, plan.targets))
        self._created = bool(plan.found.findings.create)
        if self._settings.checkpoint is None:
            create_state_topic(self._target_admin, plan.found.brokers)
        self._create_acls()

    def _create_acls(self) -> None:
        if self._acls is not None:
            self._acls.act(
                self._source_admin,
                self._target_admin,
                self._planner.selection,
                self._routes(),
                self._observer,
            )

    # --- an attempt ----------------------------------------------------------------------------------

    def _attempt(self, stop: Stop, progress: Callable[[], None]) -> None:
        """Copies with a producer of its own, until the job is fenced or its lease is lost."""
        settings = self._settings
        identify(self._target_admin, self._plan.copies)
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
                self._earlier.fence(writer, self._contact_patience)
                self._follow_earlier_run()
            stop.wake(producer.interrupt)
            stop.wake(writer.interrupt)
            state = self._state()
            saving = Progress(state, self._plan.saved, lambda: self._watch.polled_ms)
            store = self._store = self._claim(writer, state, saving, stop)
            copy = self._copy_of(producer, deliveries, store, stop, progress)
            tasks = self._tasks(producer, saving, copy)
            self._begun = True
            self._began_ms = wall_ms()
            copy.run(tasks)
            if stop or copy.abandoned:
                for one in (producer, writer):
                    one.close(0.0)  # what is not confirmed by now is not waited for

    def _state(self) -> JobState:
        settings, saved = self._settings, self._plan.saved
        known = {} if saved is None else saved.state.topics
        begin = begin_text(settings.span) or "earliest"
        begun = {route.source: begin for route in self._plan.found.routes if route.source not in known}
        made = job_state(
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
        reverses = 0 if saved is None else saved.state.reverses_ms
        return msgspec.structs.replace(made, how=_how_copied(settings), reverses_ms=reverses)

    def _connect(self, producer: Producer, topics: Sequence[str]) -> None:
        with_state = self._settings.exactly_once and STATE_TOPIC not in topics
        needed = [*topics, STATE_TOPIC] if with_state else topics
        try:
            with self._observer.contact(self._target.servers):
                producer.connect(needed, self._timeout, _CREATED_PATIENCE)
        except UnsupportedError as error:  # this broker is older than those that the plan has seen
            raise without_options(error) from None

    @property
    def _contact_patience(self) -> float:
        return _AGAIN if self._begun else max(_INIT_PATIENCE, self._timeout)

    def _follow_earlier_run(self) -> None:
        """Step b: an earlier run of the job could save until now, when it is fenced: the copy begins where it ended.

        1. This run reads position 100, and shows its plan.
        2. The earlier one, which still runs, commits up to 150.
        3. It is fenced. Copied from 100 on, 100 to 149 would be stored twice.

        Reading waits for no transaction of this job any more. Where the state is the one that the plan is made of, the
        plan stands.
        """
        saved, known = self._earlier.saved(), self._plan.saved
        if saved is None or (known is not None and known.state == saved.state):
            self._plan.saved = saved  # the offsets of groups have records of their own
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
        records = self._earlier.claim(state)
        if self._settings.checkpoint is not None:
            own = FileStore(self._settings.checkpoint, saving, self._earlier.file_records)
            own.write(records)
            return own
        patience = self._contact_patience
        store: TopicStore | FencedStore = TopicStore(writer, saving)
        writer.begin_transaction(patience)
        store.write(records)
        writer.commit_transaction(patience, stop=lambda: bool(stop), grace=_FLUSH_SLICE)
        return (
            store
            if self._settings.exactly_once
            else FencedStore(writer, saving, stop, self._settings.patience)
        )

    def _copy_of(
        self,
        producer: Producer,
        deliveries: Deliveries,
        store: FileStore | FencedStore | TopicStore,
        stop: Stop,
        progress: Callable[[], None],
    ) -> Copy:
        settings, found, kind = self._settings, self._plan.found, Copy
        if settings.exactly_once:
            from kcli.flows.mirror.copy.exactly_once import ExactlyOnceCopy  # with its transactions

            kind = ExactlyOnceCopy
        return kind(
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
            to_ms=settings.timestamps == "ms",
            watch=self._watch,
            may_send=lambda waiting: self._lease is None or self._lease.check(stop, waiting),
        )

    def _tasks(self, producer: Producer, saving: Progress, copy: Copy) -> list[Periodic]:
        """What is done from time to time while the source is followed; a run with an end has none of it.

        The admins and the discovery stay after a fence, the latter with what it has refused.
        """
        plan, settings, observer = self._plan, self._settings, self._observer
        if any(one.stop is not None for one in plan.copies):
            return []
        from kcli.flows.mirror.follow.configs import FollowedConfigs  # only without an end
        from kcli.flows.mirror.follow.deleted import DeletedTopics
        from kcli.flows.mirror.follow.lost_targets import LostTargets
        from kcli.flows.mirror.follow.tasks import configs_task, discovery_task, sync_task, targets_task

        source, target = self._admins_of_tasks
        if self._discovery is None:
            deleted = DeletedTopics(
                source,
                target,
                (plan.found.source_cluster, plan.found.target_cluster),
                lambda: self._plan.copies,
                self._end_seen,
                deletes=settings.on_delete == "delete",
            )
            self._discovery = self._look_for_more(
                source, target, self._planner.selection, plan.found, plan.copies, deleted
            )
        if self._configs is None:
            self._configs = FollowedConfigs(
                source,
                target,
                self._selection.configs,
                plan.found,
                self._routes,
            )

        def add(copies: Sequence[PartitionCopy]) -> None:
            new = {
                one.source for one in copies
            }  # of a topic that is there again, instead of those that ended
            plan.copies[:] = [one for one in plan.copies if one.source not in new] + list(copies)
            if any(one.restarted for one in copies):
                self._know_again(one.source.topic for one in copies)
            copy.add(copies)

        look = discovery_task(observer, self._discovery, producer, saving, add, by_key=settings.by_key)

        def look_around() -> None:
            """ACLs of a new topic are there before its first record."""
            look()
            self._sync_acls(source, target)

        interval = min(_TASK_INTERVAL, self._consumer.options.metadata_max_age_ms / 1000)
        lost = LostTargets(target, lambda: self._plan.copies)
        tasks = [
            Periodic(interval, look_around),
            Periodic(interval, targets_task(observer, lost, copy.fail)),
            Periodic(interval, configs_task(observer, self._configs)),
        ]
        if settings.groups:
            tasks.append(Periodic(interval, sync_task(observer, self.sync_groups)))
        return tasks

    def _sync_acls(self, source: Admin, target: Admin) -> None:
        if self._acls is not None:
            self._acls.again(source, target, self._planner.selection, self._routes(), self._observer)

    @property
    def _admins(self) -> tuple[Admin, Admin]:
        """Of source and target; those of tasks once there are any, which nothing waits long for."""
        return self._task_admins or (self._source_admin, self._target_admin)

    @property
    def _admins_of_tasks(self) -> tuple[Admin, Admin]:
        """Of source and target, for calls between two polls."""
        if self._task_admins is None:
            self._task_admins = (
                self._admin(self._source, _TASK_PATIENCE),
                self._admin(self._target, _TASK_PATIENCE),
            )
        return self._task_admins

    # --- recovery after a fence ----------------------------------------------------------------------

    def _recover(self, error: KcliError, stop: Stop, attempts: list[Attempt]) -> bool:
        """Whether there is another attempt: when the job is this instance's again. Adds to ``attempts`` what the one that
        ended has copied.

        The last transaction may be committed or not (its answer was lost with the fence). The new plan begins at what is
        saved, which was in the same transaction as the records: so exactly once nothing is copied twice, and nothing is
        ever left out.

        A transaction times out when the target is away, so either cluster may be: they are waited for.
        """
        lost = isinstance(error, LeaseLostError)
        if stop:
            if lost:
                return False
            raise error
        if not (isinstance(error, _OVER) or is_outage(error)):
            raise error
        if lost:
            self._observer.note(f"{error}: another instance may have taken over")
        if not self._take(stop):
            return False
        if isinstance(error, _OVER) and not lost and self._lease is not None and not self._lease.has_waited:
            self._observer.note(
                f"{error}; the transaction timed out, continuing from the last one that was committed"
            )
        begun = self._plan.copies
        self._plan = self._when_reached(stop, lambda: self._planner.plan_again(self._earlier.saved(), begun))
        new = {copy.source: copy for copy in self._plan.copies}
        attempts += [
            finish_attempt(copy, new[copy.source]) for copy in begun if copy not in self._plan.copies
        ]
        return True

    def _when_reached(self, stop: Stop, call: Callable[[], T]) -> T:
        """The result of ``call``, which is repeated while a cluster is away: for as long as partitions may wait."""
        began, backoff = time.monotonic(), Backoff(1.0, _LONGEST_PAUSE)
        while True:
            try:
                return call()
            except KcliError as error:
                if stop or not is_outage(error) or isinstance(error, TransactionUnknownError):
                    raise
                if not self._waits(str(error), began):
                    raise
                wait(backoff.next(), stop)

    def _waits(self, why: str, began: float) -> bool:
        """Nothing is copied for this reason since ``began``; whether any partition still waits."""
        copies, now = self._plan.copies, time.monotonic()
        self._turned()
        self._watch.block(why, began)
        if self._watch.is_due(now):
            for copy, late, _ in self._watch.look(copies, None, {}, (), now):
                copy.fail(late)
            self._watch.say(copies, now)
        return any(copy.error is None and not copy.done for copy in copies)

    # --- figures -------------------------------------------------------------------------------------

    def _shown(self, progress: Callable[[], None]) -> Callable[[], None]:
        """What is called between the steps of a copy."""
        if self._handover is None:
            return progress

        def turned() -> None:
            progress()
            self._turned()

        return turned

    def _turned(self) -> None:
        if self._handover is not None:
            self._handover.turned(self._figures)

    def _figures(self) -> Figures:
        """Of this moment, in the thread of the mirror."""
        from kcli.flows.mirror.figures import Figures, Role, partition_figures  # only where they are served

        plan, lease, found = self._plan, self._lease, self._plan.found
        at = time.monotonic()
        ids = self._name, found.source_cluster, found.target_cluster
        if lease is not None and not lease.is_held:
            return Figures(at, *ids, Role.STAND_BY, str(lease.other or ""))
        saved = {} if plan.saved is None else plan.saved.partitions
        gaps = {
            copy.source: len(gaps_of(saved[copy.source].progress, copy.topic_ids.source))
            for copy in plan.copies
            if copy.source in saved
        }
        return Figures(
            at, *ids, Role.HOLDER, partitions=partition_figures(plan.copies, gaps), groups=self._group_ages()
        )

    def _group_ages(self) -> tuple[tuple[str, float], ...]:
        """Seconds since each group was synced. One that never was, since this instance copies, counts from then on."""
        if self._began_ms is None or not self._settings.groups:
            return ()
        synced, now, seen = self.memory.synced_at, wall_ms(), self.memory.groups()
        matching = (name for one in self._groups.patterns for name in self._groups.selected(one, seen))
        names = sorted({*synced, *self._groups.names, *matching})
        return tuple((name, (now - synced.get(name, self._began_ms)) / 1000) for name in names)

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

    def _reader_of_proof(self, cluster: Cluster) -> Consumer:
        """Damaged batches that are gaps of the copy are no difference: the target has none of their records."""
        return self._reader(cluster, on_corrupt="skip" if self._settings.on_gap == "record" else "fail")

    def _producer_options(self) -> ProducerOptions:
        """With transactions, all runs of the job have the same id: a new one fences the others."""
        return (
            self._writing(transactional_id=transactional_id(self._id))
            if self._settings.exactly_once
            else self._writing()
        )

    def _know_again(self, topics: Iterable[str]) -> None:
        """Topics that the consumer takes for deleted are there again: it would end them at once, as before."""
        cluster = self._consumer.cluster
        cluster.topics.update(topics)
        with suppress(KcliError):
            cluster.wait_refreshed(cluster.deadline(_TASK_PATIENCE))

    def _end_seen(self, tp: TopicPartition) -> int:
        """The high watermark of a partition as it was seen last; −1 if it was not read."""
        state = self._consumer.assigned(tp)
        return -1 if state is None else state.high_watermark

    def _state_options(self) -> ProducerOptions:
        """Of positions alone: their transactions last for milliseconds."""
        return self._writing(
            transactional_id=transactional_id(self._id), transaction_timeout_ms=_STATE_TIMEOUT_MS
        )

    def _writing(self, **own: Any) -> ProducerOptions:
        options = self._target.options(
            ProducerOptions, delivery_timeout_ms=_FOREVER, max_block_ms=_FOREVER, linger_ms=0, **own
        )
        return limited_by_brokers(options)


def _how_copied(settings: MirrorSettings) -> HowCopied:
    """What a promotion needs of the options of a run."""
    return HowCopied(
        excludes=list(settings.excludes),
        renames=list(settings.renames),
        groups=list(settings.groups),
        groups_excluded=list(settings.groups_excluded),
        sync_acls=settings.sync_acls,
        principals=list(settings.principals),
        on_gap=settings.on_gap,
        on_recreate=settings.on_recreate,
        timestamps=settings.timestamps,
        sync_configs=settings.sync_configs,
        configs=list(settings.configs),
    )
