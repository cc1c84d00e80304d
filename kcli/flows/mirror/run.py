"""A mirror from its start to its result, in this process: the driver of ``kcli mirror`` and of the demo. It runs in the
thread of its caller; the producer has one of its own.

The steps 1 and 2 of ``driver`` are here the plan with what earlier runs have saved, and the topics that the target lacks,
with that of the state. Step 3, ``copy``: one attempt, and after a fence another one, until everything is copied or a stop
is requested; then the proof and the groups.

An attempt has a producer of its own, and an order that no step may leave:

a. fence: ``init_transactions`` ends every transaction of an earlier run of the job. Until this moment such a run could
   commit, so what ``prepare`` read may be old.
b. follow: the state is read again, and the copy begins where that run ended.
c. claim: the job is written, with the name of this run, before its first record. An earlier run that is fenced later
   reads there who took over; and no records are of a job that the next run does not know.
d. copy: records and the positions after them, in one transaction (see ``exactly_once``), or the positions behind what
   is confirmed (see ``copy``). Between two polls: new topics, groups.

A fence has two meanings, and the broker does not say which: another run took over, or the transaction took longer than
the coordinator waits. ``_recover`` tells them apart by the claim, and makes a new plan in the second case.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, TypeVar

import msgspec

from kcli.core.admin.admin import Admin
from kcli.core.cluster.retry import Backoff
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import (
    KcliError,
    ProducerFencedError,
    TimedOutError,
    TransactionUnknownError,
    UnsupportedError,
)
from kcli.core.hooks import Hooks
from kcli.core.options import WHOLE_BATCHES, ClientOptions, ConsumerOptions, ProducerOptions
from kcli.core.producer.producer import Producer
from kcli.core.types import TopicPartition
from kcli.flows.mirror.acl_changes import AclSync
from kcli.flows.mirror.acl_plan import AclPlan
from kcli.flows.mirror.copy import JOINED_BYTES, Copy, Deliveries
from kcli.flows.mirror.deleted import DeletedTopics
from kcli.flows.mirror.discovery import Discovery
from kcli.flows.mirror.driver import Driver
from kcli.flows.mirror.errors import is_outage
from kcli.flows.mirror.exactly_once import ExactlyOnceCopy
from kcli.flows.mirror.followed_configs import FollowedConfigs
from kcli.flows.mirror.group_memory import GroupMemory
from kcli.flows.mirror.group_offsets import NOTHING_SYNCED, GroupsAccount
from kcli.flows.mirror.group_selection import group_selectors
from kcli.flows.mirror.job import Attempt, add_attempts, finish_attempt, job_state
from kcli.flows.mirror.open_writers import open_writers
from kcli.flows.mirror.partition_copy import PartitionCopy
from kcli.flows.mirror.plan import CopyPlan, PlannedPartition
from kcli.flows.mirror.planning import Plan, Planner
from kcli.flows.mirror.progress import MirrorProgress
from kcli.flows.mirror.proof import Clusters, Proof, compacted_topics, compare_copies, view_of
from kcli.flows.mirror.result import Result, not_synced
from kcli.flows.mirror.routes import STATE_TOPIC
from kcli.flows.mirror.settings import Cluster, MirrorSettings, Observer
from kcli.flows.mirror.source_commits import SourceCommits
from kcli.flows.mirror.state import (
    NO_GROUPS,
    GroupProgress,
    GroupTopic,
    JobState,
    SavedJob,
    StateRecord,
    job_record,
    load_jobs,
)
from kcli.flows.mirror.state_watch import StateWatch
from kcli.flows.mirror.store import (
    STATE,
    FileStore,
    Progress,
    StateWriter,
    TopicStore,
    read_file_records,
    saved_jobs,
)
from kcli.flows.mirror.sync_acls import parse_principal_rule
from kcli.flows.mirror.sync_groups import maps_of_copies, sync_groups
from kcli.flows.mirror.targets import (
    create_state_topic,
    identify,
    made_targets,
    refused_targets,
    unfit,
    without_options,
)
from kcli.flows.mirror.tasks import configs_task, discovery_task, sync_task
from kcli.flows.mirror.verify import Comparison
from kcli.flows.produce.checkpoint import check_lockable, locked
from kcli.flows.rate import Periodic, wait
from kcli.flows.stop import Stop

T = TypeVar("T")

_FOREVER = 0x7FFF_FFFF  # ms: a target that is away for long costs nothing but time
_INIT_PATIENCE = 60.0  # seconds until the transactional id is ours, at the start
_AGAIN = 10.0  # the same for a later attempt, which is repeated
_LONGEST_PAUSE = 30.0  # seconds between two tries to reach a cluster that is away
_TAKEOVER_SECONDS = 2.0  # a mirror that took over has written its name by then
_CREATED_PATIENCE = 30.0  # seconds until a new topic is in the metadata of all brokers
_FLUSH_SLICE = 0.2
_TASK_INTERVAL = 30.0  # seconds between two looks for new topics, and two syncs of groups
_TASK_PATIENCE = 5.0  # seconds for one of them: nothing is copied meanwhile
_WRITE_PATIENCE = 5.0  # seconds until what is known of groups is stored


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
        self._task_admins: tuple[Admin, Admin] | None = None
        self._discovery: Discovery | None = None
        self._groups = group_selectors(settings.groups, settings.groups_excluded)
        self._acls = self._acl_sync() if settings.sync_acls else None
        self._configs: FollowedConfigs | None = None
        self._store: FileStore | TopicStore
        self._begun = False  # something may have been copied
        self._consumer: Consumer
        self._watch: StateWatch
        self._planner: Planner
        self._plan: Plan

    # --- 1: before anything is created ---------------------------------------------------------------

    def _planned(self, source_id: str) -> CopyPlan:  # noqa: ARG002 - the plan has it
        settings, observer = self._settings, self._observer
        if settings.checkpoint is not None and observer.dry_run:
            check_lockable(settings.checkpoint)
        elif settings.checkpoint is not None:
            self._stack.enter_context(locked(settings.checkpoint))
        self._consumer = self._reader(
            self._source, show_control_batches=True, default_api_timeout_ms=_FOREVER
        )
        self._watch = StateWatch(
            self._consumer,
            limit=settings.patience,
            pinned=settings.bounded,
            note=observer.note,
            warn=observer.warn,
            holders=lambda waits: open_writers(self._admins_of_tasks[0], waits),
        )
        with observer.contact(self._source.servers):
            self._consumer.connect(self._timeout)
        jobs = self._jobs_on_source(self._source_admin)
        self._planner = Planner(
            settings, self._selection, self._source_admin, self._target_admin, self._consumer, self._timeout
        )
        self._plan = plan = self._planner.plan(self._saved_before_plan(), jobs)
        findings = plan.found.findings
        unable = None if settings.verify_only else unfit(self._target_admin, self._producer_options())
        if not (settings.verify_only or findings.denied or findings.conflicts or unable):
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
            compares=settings.verify_only,
            acls=acls,
            carries=[*(["groups"] if settings.groups else []), *(["acls"] if acls else [])],
            deletes=settings.on_delete == "delete",
        )

    def _acl_sync(self) -> AclSync:
        """The user of the target's options is the mirror's own there; with TLS alone, it is not known."""
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
        groups, source = self._groups, (self._task_admins or (self._source_admin,))[0]
        listed = [one.group_id for one in source.list_groups().groups] if groups.patterns else ()
        return sorted(
            {*groups.names, *(name for one in groups.patterns for name in groups.selected(one, listed))}
        )

    def _look_for_groups(self) -> None:
        """Of a dry run: the groups that are not there, or cannot be read; the rest depends on what is copied."""
        memory = GroupMemory(self._name, self._saved_groups())
        found = SourceCommits(self._groups, maps_of_copies(self._plan.copies), memory)
        found.read(self._source_admin)
        errors = [*(part.error for part in found.missing), *(one.error for one in not_synced(found.absent))]
        for error in errors:
            self._observer.failed(error, partly=True)

    def _saved_groups(self) -> Mapping[GroupTopic, GroupProgress]:
        return NO_GROUPS if self._plan.saved is None else self._plan.saved.groups

    def _saved_before_plan(self) -> SavedJob | None:
        """What is saved, without waiting for a transaction of this job that a kill left open: it ends when the copy
        initializes its transactional id, and then the state is read again.
        """
        if self._settings.exactly_once:
            found = self._saved(wait=False)
            if found is not None:
                return found
        return self._saved()

    def _saved(self, *, wait: bool = True) -> SavedJob | None:
        """What runs of this job have saved until now. ``wait``: see ``load_topic``."""
        if self._settings.checkpoint is not None:
            self._file_records = read_file_records(self._settings.checkpoint)
            return load_jobs(self._file_records).get(self._name)
        return saved_jobs(self._target, self._target_admin, self._hooks, wait=wait).get(self._name)

    # --- 2: what the target lacks --------------------------------------------------------------------

    def create(self) -> None:
        """Creates the topics that the target lacks, and then their ACLs; a topic that it refuses is not copied."""
        plan = self._plan
        plan.fail(made_targets(self._target_admin, plan.found.findings, plan.targets))
        if self._settings.checkpoint is None:
            create_state_topic(self._target_admin, self._plan.found.brokers)
        if self._acls is not None:
            self._acls.act(
                self._source_admin,
                self._target_admin,
                self._planner.selection,
                self._routes(),
                self._observer,
            )

    # --- 3: the copy and its proof -------------------------------------------------------------------

    def copy(self, stop: Stop) -> Result:
        """Copies until the end or a stop, then compares and syncs groups. Errors of partitions are in the copies."""
        settings = self._settings
        began = time.monotonic()
        with self._observer.progress("copied") as bar:
            stop.wake(self._consumer.wakeup)
            state = job_state(
                self._name,
                self._plan.found,
                self._source.servers,
                exactly_once=settings.exactly_once,
                by_key=settings.by_key,
                headers=settings.headers,
            )
            attempts: list[Attempt] = []
            while True:
                try:
                    self._attempt(state, stop, MirrorProgress(bar, self._plan.copies))
                    break
                except KcliError as error:
                    if not (self._begun or stop):
                        raise
                    try:
                        state, ended = self._recover(state, error, stop)
                    except KcliError as failure:
                        self._end_copies(failure, stop)
                        break
                    attempts += ended
            copies = self._plan.copies
            add_attempts(copies, attempts)
            seconds = time.monotonic() - began
            comparisons = self._proof(stop) if settings.verify and not stop else []
            synced = self.sync_groups() if settings.groups else NOTHING_SYNCED
        acls = None if self._acls is None else self._acls.account
        return Result(self._name, self._plan.found, copies, comparisons, synced, seconds, acls)

    def _end_copies(self, error: KcliError, stop: Stop) -> None:
        """Nothing more can be copied. What was not committed does not count: it is in the state, or not."""
        copies = [copy for copy in self._plan.copies if copy.error is None]
        for copy in copies:
            if self._settings.exactly_once:
                copy.rollback()
            if not (stop or copy.done):
                copy.fail(error)
        if not stop and all(copy.done and copy.error is None for copy in copies):
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
        settings, found = self._settings, self._plan.found
        return compare_copies(
            self._observer,
            Clusters(self._source, self._target, self._source_admin, self._target_admin, self._reader),
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
        source, target = self._task_admins or (self._source_admin, self._target_admin)
        return sync_groups(source, target, self._groups, maps_of_copies(self._plan.copies), self.memory)

    @cached_property
    def memory(self) -> GroupMemory:
        """What the job knows of the groups; first used by an attempt, when no earlier run writes any more."""
        if self._settings.checkpoint is not None:
            return GroupMemory(self._name, self._saved_groups(), self._store.write)
        writer = self._stack.enter_context(StateWriter(self._target, self._hooks, _WRITE_PATIENCE))
        return GroupMemory(self._name, self._saved_groups(), writer.write)

    # --- an attempt ----------------------------------------------------------------------------------

    def _attempt(self, state: JobState, stop: Stop, progress: Callable[[], None]) -> None:
        """Copies with a producer of its own; with transactions, until it is fenced."""
        identify(self._target_admin, self._plan.copies)
        deliveries = Deliveries(transactional=self._settings.exactly_once)
        options = self._producer_options()
        with Producer(options, hooks=self._hooks, on_delivery=deliveries) as producer:
            self._connect(producer)
            if self._settings.exactly_once:
                self._fence_earlier_run(producer)
                self._follow_earlier_run()
            stop.wake(producer.interrupt)
            saving = Progress(state, self._plan.saved)
            store = self._store = self._claim(producer, state, saving, stop)
            copy = self._copy_of(producer, deliveries, store, stop, progress)
            tasks = self._tasks(producer, saving, copy)
            self._begun = True
            copy.run(tasks)
            if stop or copy.abandoned:
                producer.close(0.0)  # what is not confirmed by now is not waited for

    def _connect(self, producer: Producer) -> None:
        topics = self._plan.targets
        needed = topics if self._settings.checkpoint is not None else [*topics, STATE_TOPIC]
        try:
            with self._observer.contact(self._target.servers):
                producer.connect(needed, self._timeout, _CREATED_PATIENCE)
        except UnsupportedError as error:  # this broker is older than those that the plan has seen
            raise without_options(error) from None

    def _fence_earlier_run(self, producer: Producer) -> None:
        """Step a: from here on no earlier run can commit. A transaction that it left open is aborted (KIP-98), or
        committed, if its coordinator had decided that; ``init_transactions`` returns after its end.
        """
        producer.init_transactions(self._contact_patience)

    @property
    def _contact_patience(self) -> float:
        return _AGAIN if self._begun else max(_INIT_PATIENCE, self._timeout)

    def _follow_earlier_run(self) -> None:
        """Step b: an earlier run of the job could commit until now, when it is fenced: the copy begins where it ended.

        1. This run reads position 100, and shows its plan.
        2. The earlier one, which still runs, commits up to 150.
        3. It is fenced. Copied from 100 on, 100 to 149 would be stored twice.

        Reading waits for no transaction of this job any more. Where the state is the one that the plan is made of, the
        plan stands.
        """
        saved, known = self._saved(), self._plan.saved
        if saved is None or (known is not None and known.state == saved.state):
            self._plan.saved = saved  # the offsets of groups have records of their own
            return
        new = self._planner.plan_again(saved, self._plan.copies)
        identify(self._target_admin, new.copies)
        self._plan.become(new)

    def _claim(
        self, producer: Producer, state: JobState, saving: Progress, stop: Stop
    ) -> FileStore | TopicStore:
        """Step c: the job is written with the name of this run, so that an earlier one finds out that it is over."""
        store: FileStore | TopicStore
        patience = self._contact_patience
        if self._settings.checkpoint is not None:
            store = FileStore(self._settings.checkpoint, saving, self._file_records)
            store.write([job_record(state)])
            return store
        store = TopicStore(producer, saving)
        if self._settings.exactly_once:
            producer.begin_transaction(patience)
            store.write([job_record(state)])
            producer.commit_transaction(patience, stop=lambda: bool(stop), grace=_FLUSH_SLICE)
            return store
        store.write([job_record(state)])
        # Flushed, since records of an unknown job would be somebody else's to the next run, which would ask.
        deadline = time.monotonic() + patience
        while not stop and not producer.flush(_FLUSH_SLICE):
            if time.monotonic() >= deadline:
                why = producer.stalled().get(STATE, f"{STATE} has not confirmed it")
                raise TimedOutError(
                    f"the job was not saved on {self._target.servers} in {patience:g} s",
                    why=why,
                    do="check that the brokers of the target respond, or wait longer with --timeout",
                )
        return store

    def _copy_of(
        self,
        producer: Producer,
        deliveries: Deliveries,
        store: FileStore | TopicStore,
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
            to_ms=settings.timestamps == "ms",
            watch=self._watch,
        )

    def _tasks(self, producer: Producer, saving: Progress, copy: Copy) -> list[Periodic]:
        """What is done from time to time while the source is followed; a run with an end has none of it.

        The admins and the discovery stay after a fence, the latter with what it has refused.
        """
        plan, settings, observer = self._plan, self._settings, self._observer
        if any(one.stop is not None for one in plan.copies):
            return []
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
                lambda: {one.source.topic: one.target.topic for one in plan.copies if one.error is None},
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
        tasks = [Periodic(interval, look_around), Periodic(interval, configs_task(observer, self._configs))]
        if settings.groups:
            tasks.append(Periodic(interval, sync_task(observer, self.sync_groups)))
        return tasks

    def _sync_acls(self, source: Admin, target: Admin) -> None:
        if self._acls is not None:
            self._acls.again(source, target, self._planner.selection, self._routes(), self._observer)

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

    def _recover(self, state: JobState, error: KcliError, stop: Stop) -> tuple[JobState, list[Attempt]]:
        """The state for the next attempt, and what the fenced one has copied; raises if there is to be none.

        The last transaction may be committed or not (its answer was lost with the fence). The new plan begins at what is
        saved, which was in the same transaction as the records: so nothing is copied twice, and nothing is left out.

        A transaction times out when the target is away, so either cluster may be: they are waited for.
        """
        if isinstance(error, ProducerFencedError | TransactionUnknownError):
            self._when_reached(stop, lambda: self._check_fence(state, error, stop))
        elif stop or not (self._settings.exactly_once and is_outage(error)):
            raise error
        begun = self._plan.copies
        self._plan = self._when_reached(stop, lambda: self._planner.plan_again(self._saved(), begun))
        new = {copy.source: copy for copy in self._plan.copies}
        ended = [finish_attempt(copy, new[copy.source]) for copy in begun if copy not in self._plan.copies]
        topics = {copy.source.topic: copy.target.topic for copy in self._plan.copies}
        return msgspec.structs.replace(state, topics=topics), ended

    def _when_reached(self, stop: Stop, call: Callable[[], T]) -> T:
        """The result of ``call``, which is repeated while a cluster is away: for as long as partitions may wait."""
        began, backoff, copies = time.monotonic(), Backoff(1.0, _LONGEST_PAUSE), self._plan.copies
        while True:
            try:
                return call()
            except KcliError as error:
                if stop or not is_outage(error) or isinstance(error, TransactionUnknownError):
                    raise
                self._watch.block(str(error), began)
                now = time.monotonic()
                for copy, late, _ in self._watch.look(copies, None, {}, (), now):
                    copy.fail(late)
                self._watch.say(copies, now)
                if all(copy.error is not None or copy.done for copy in copies):
                    raise
                wait(backoff.next(), stop)

    def _check_fence(self, state: JobState, error: KcliError, stop: Stop) -> None:
        """Raises if another mirror of the job took over, or a stop was requested; else the transaction timed out.

        1. The other run fences this one, by its step a.
        2. This one finds out, at once: the other one has not claimed the job yet, and is about to.
        3. Two seconds later its name is in the state, unless it was killed in between; then the job is free.
        """
        if stop:
            raise error
        wait(_TAKEOVER_SECONDS, stop)
        saved = self._saved()
        if saved is None or saved.state.run != state.run:
            host = saved.state.host if saved is not None else "unknown"
            raise ProducerFencedError(
                f"mirror job {state.job} is run by another process",
                why=f"it took over the transactional id (host {host})",
                do="stop one of them; --job NAME gives a second mirror a name of its own",
            )
        self._observer.note(
            f"{error}; the transaction timed out, continuing from the last one that was committed"
        )

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
            {"transactional_id": f"kcli-mirror-{self._name}"} if self._settings.exactly_once else {}
        )
        return self._target.options(
            ProducerOptions, delivery_timeout_ms=_FOREVER, max_block_ms=_FOREVER, linger_ms=0, **own
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
