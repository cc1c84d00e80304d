"""What ``kcli mirror`` does: checks both clusters, shows the plan, copies, compares, and reports."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import msgspec

from kcli.commands._mirror_clusters import Side
from kcli.commands._mirror_jobs import jobs_that_write, saved_jobs
from kcli.commands._mirror_plan import may_begin, names_of
from kcli.commands._mirror_progress import MirrorProgress
from kcli.commands._mirror_proof import compare_copies
from kcli.commands._mirror_report import Result, report
from kcli.commands._mirror_tasks import discovery_task, sync_copies, sync_task
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.params import Rate
from kcli.core.admin.admin import Admin
from kcli.core.clock import wall_ms
from kcli.core.cluster.offsets import LATEST
from kcli.core.consumer import ranges
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.errors import (
    ConfigError,
    KcliError,
    NotFoundError,
    ProducerFencedError,
    TransactionUnknownError,
    UnsupportedError,
)
from kcli.core.options import WHOLE_BATCHES, ClientOptions, ConsumerOptions, ProducerOptions
from kcli.core.positions import OffsetSpec, RangeSpec, check_times
from kcli.core.producer.producer import Producer
from kcli.core.producer.requests import NOT_IDEMPOTENT
from kcli.core.types import TopicPartition
from kcli.flows.checkpoint import locked
from kcli.flows.mirror.copy import JOINED_BYTES, Copy, Deliveries, Pace
from kcli.flows.mirror.discovery import Discovery
from kcli.flows.mirror.exactly_once import ExactlyOnceCopy
from kcli.flows.mirror.job import (
    Attempt,
    Ends,
    add_attempts,
    begun_later,
    check_continues,
    default_name,
    finish_attempt,
    job_state,
    partition_copies,
    source_partitions,
)
from kcli.flows.mirror.loops import copies_of_target, returning_routes
from kcli.flows.mirror.partition_copy import PartitionCopy
from kcli.flows.mirror.routes import STATE_TOPIC, is_pattern, parse_rename, select_topics
from kcli.flows.mirror.state import JobState, SavedJob, StateRecord, job_record, load_jobs
from kcli.flows.mirror.store import FileStore, Progress, TopicStore, read_file_records
from kcli.flows.mirror.survey import Selection, Survey, survey
from kcli.flows.mirror.sync_groups import Translated
from kcli.flows.mirror.targets import create_state_topic, create_targets, identify, offsets, target_ends
from kcli.flows.periodic import Periodic
from kcli.flows.rate import wait
from kcli.flows.stop import Stop

_FOREVER = 0x7FFF_FFFF  # ms: a target that is away for long costs nothing but time
_INIT_PATIENCE = 60.0  # seconds until the transactional id is ours
_TAKEOVER_SECONDS = 2.0  # a mirror that took over has written its name by then
_CREATED_PATIENCE = 30.0  # seconds until a new topic is in the metadata of all brokers
_FLUSH_SLICE = 0.2
_TASK_INTERVAL = 30.0  # seconds between two looks for new topics, and two syncs of groups
_TASK_PATIENCE = 5.0  # seconds for one of them: nothing is copied meanwhile


def run(inv: Invocation, source: str, target: str, flags: Mapping[str, Any]) -> int:
    """Runs the mirror; returns the exit status."""
    with ExitStack() as stack:
        return _Run(
            inv,
            Side(inv, "--from", source, changes=False),
            Side(inv, "--to", target, changes=not flags["verify_only"]),
            flags,
            stack,
        ).run()


class _Plan:
    """What is to be copied, and from where; made again after a fenced transaction."""

    def __init__(
        self, found: Survey, saved: SavedJob | None, ends: Ends, copies: list[PartitionCopy]
    ) -> None:
        self.found = found
        self.saved = saved
        self.ends = ends
        self.copies = copies


class _Run:
    """One run of a job; ``flags`` are those of the command by name."""

    def __init__(
        self, inv: Invocation, source: Side, target: Side, flags: Mapping[str, Any], stack: ExitStack
    ) -> None:
        self.inv = inv
        self.flags = flags
        self.stack = stack
        renames = [parse_rename(text) for text in flags["renames"]]
        self.selection = Selection(flags["topics"], renames, flags["partitions"] == "by-key")
        self.bounded = flags["until_caught_up"] or flags["verify"] or flags["verify_only"]
        self.source, self.target = source, target
        self.source_admin = self._admin(source, inv.timeout)
        self.target_admin = self._admin(target, inv.timeout)
        self.records: list[StateRecord] = []
        self.admins: tuple[Admin, Admin] | None = None
        self.discovery: Discovery | None = None

    def run(self) -> int:
        """See ``run``."""
        flags, inv = self.flags, self.inv
        for side, admin in ((self.source, self.source_admin), (self.target, self.target_admin)):
            with inv.first_contact(side.servers):
                admin.connect()
        if flags["checkpoint"] is not None and not inv.dry_run:
            self.stack.enter_context(locked(flags["checkpoint"]))
        source_id = self.source_admin.cluster_id()
        name = flags["job"] or default_name(source_id, flags["topics"], flags["renames"])
        consumer = self._consumer(self.source, show_control_batches=True)
        with inv.first_contact(self.source.servers):
            consumer.connect(inv.timeout)
        jobs = self._jobs_on_source(self.source_admin)
        saved, target_id = self._saved_before_plan(name), self.target_admin.cluster_id()
        copies = copies_of_target(jobs, target_id)
        if saved is not None and source_id == target_id:
            copies.update(saved.state.topics.values())
        self.selection = self.selection._replace(copies=copies)
        plan = self._plan(saved, consumer)
        self._find_loops(plan.found, jobs)
        if not may_begin(
            inv,
            name,
            names_of(self.source, self.target),
            plan.found,
            {} if plan.saved is None else plan.saved.state.topics,
            Counter(copy.source.topic for copy in plan.copies),
            plan.ends,
            exactly_once=flags["exactly_once"],
            compares=flags["verify_only"],
        ):
            return 0
        if flags["verify_only"]:
            with Stop() as stop:
                comparisons = self._compare(plan.copies, stop, whole=plan.saved is None)
            return report(inv, Result(name, plan.found, plan.copies, comparisons, [], 0.0, {}), stop)
        create_targets(self.target_admin, plan.found.findings, _targets(plan.copies))
        if flags["checkpoint"] is None:
            create_state_topic(self.target_admin, plan.found.brokers)
        return self._copy(name, plan, consumer)

    def _admin(self, side: Side, timeout: float) -> Admin:
        return self.stack.enter_context(Admin(side.options(ClientOptions), self.inv.hooks, timeout=timeout))

    def _consumer(self, side: Side, **own: Any) -> Consumer:
        options = side.options(
            ConsumerOptions,
            isolation_level="read_committed",
            max_poll_records=WHOLE_BATCHES,
            on_out_of_range="fail",
            **own,
        )
        return self.stack.enter_context(Consumer(options, hooks=self.inv.hooks, joins=JOINED_BYTES))

    # before the first record

    def _plan(self, saved: SavedJob | None, consumer: Consumer) -> _Plan:
        found = self._survey(self.selection, saved)
        return self._planned(found, saved, self._spans(consumer, source_partitions(found), saved))

    def _plan_again(
        self, saved: SavedJob | None, consumer: Consumer, begun: Sequence[PartitionCopy]
    ) -> _Plan:
        """The plan of what this run has begun, with its bounds, and of what an earlier run has begun since.

        What nobody has checked yet is left to the discovery. A partition that the source no longer has ends.
        """
        topics = {} if saved is None else saved.state.topics
        selection = self.selection
        available = [topic.name for topic in self.source_admin.list_topics() if not topic.internal]
        selectors = [one for one in selection.selectors if one in available or is_pattern(one)]
        selected = topics.keys() & select_topics(available, selectors, selection.copies)
        own = {copy.source.topic for copy in begun}
        names = sorted((own | selected).intersection(available))
        found = self._survey(selection._replace(selectors=names), saved)
        present = set(source_partitions(found))
        spans = {copy.source: Span(copy.started_at, copy.stop) for copy in begun}
        more = (
            [] if saved is None else [tp for tp in saved.partitions if tp.topic in topics and tp not in spans]
        )
        spans = {tp: span for tp, span in spans.items() if tp in present}
        spans |= self._spans(consumer, [tp for tp in more if tp in present], saved)
        plan = self._planned(found, saved, spans)
        for copy in begun:
            if copy.source not in present:
                copy.rollback()
                copy.fail(
                    NotFoundError(
                        f"{copy.source} of the source was deleted",
                        why="the source cluster does not have its topic any more",
                        do=f"leave it out of -t; the copy in {copy.target.topic} remains",
                    )
                )
                plan.copies.append(copy)
        return plan

    def _survey(self, selection: Selection, saved: SavedJob | None) -> Survey:
        check_continues(saved, by_key=self.selection.by_key)
        continues = {} if saved is None else saved.state.topics
        return survey(self.source_admin, self.target_admin, selection, continues)

    def _planned(self, found: Survey, saved: SavedJob | None, spans: Mapping[TopicPartition, Span]) -> _Plan:
        ends = target_ends(self.target_admin, found)
        copies = partition_copies(
            found,
            saved,
            spans,
            offsets(self.source_admin, spans, LATEST),
            ends,
            by_key=self.selection.by_key,
            on_recreate=self.flags["on_recreate"],
        )
        return _Plan(found, saved, ends, copies)

    def _saved_before_plan(self, name: str) -> SavedJob | None:
        """What is saved, without waiting for a transaction of this job that a kill left open: it ends when the copy
        initializes its transactional id, and then the state is read again.
        """
        if self.flags["exactly_once"] and not self.flags["verify_only"]:
            found = self._saved(name, wait=False)
            if found is not None:
                return found
        return self._saved(name)

    def _saved(self, name: str, *, wait: bool = True) -> SavedJob | None:
        if self.flags["checkpoint"] is not None:
            self.records = read_file_records(self.flags["checkpoint"])
            return load_jobs(self.records).get(name)
        return saved_jobs(self.inv, self.target, self.target_admin, wait=wait).get(name)

    def _jobs_on_source(self, admin: Admin, *, again: bool = False) -> list[JobState]:
        """The jobs that write to the source, those of this command and of ``kcli pipeline mirror``; without permission to
        read them there is no guard against loops.

        ``again``: the caller tries again later, so an error that may pass is raised.
        """
        return jobs_that_write(self.inv, self.source, admin, self.target_admin.cluster_id(), again=again)

    def _find_loops(self, found: Survey, jobs: Sequence[JobState]) -> None:
        """Adds to the findings that a job copies the other way."""
        conflicts, warnings = returning_routes(
            found.routes,
            jobs,
            found.target_cluster,
            headers=self.flags["headers"],
            now=wall_ms(),
        )
        found.findings.conflicts.extend(conflicts)
        found.findings.warnings.extend(warnings)

    def _spans(
        self, consumer: Consumer, partitions: Sequence[TopicPartition], saved: SavedJob | None
    ) -> dict[TopicPartition, Span]:
        """``--offset`` says where a new job begins; what appeared since an earlier run is copied from its start."""
        wanted = self.flags["span"] or RangeSpec(OffsetSpec("earliest"))
        if wanted.start is not None and wanted.start.kind == "stored":
            raise ConfigError(
                "kcli mirror: --offset stored", why="a mirror has no group", do="a job continues by itself"
            )
        check_times(wanted, wall_ms(), "kcli mirror", since="--offset")
        later = begun_later(partitions, saved)
        spans: dict[TopicPartition, Span] = {}
        for some, start in (
            ([tp for tp in partitions if tp not in later], wanted.start),
            (sorted(later), OffsetSpec("earliest")),
        ):
            if some:
                spans |= self._resolve(consumer, some, RangeSpec(start, wanted.stop))
        return spans

    def _resolve(
        self, consumer: Consumer, partitions: Sequence[TopicPartition], wanted: RangeSpec
    ) -> dict[TopicPartition, Span]:
        return ranges.spans(
            consumer,
            partitions,
            wanted,
            until_end=bool(self.bounded),
            timeout=self.inv.timeout,
            do="choose another --offset",
        )

    # the copy

    def _copy(self, name: str, plan: _Plan, consumer: Consumer) -> int:
        flags, inv = self.flags, self.inv
        state = job_state(
            name,
            plan.found,
            self.source.servers,
            exactly_once=flags["exactly_once"],
            by_key=self.selection.by_key,
            headers=flags["headers"],
        )
        began, attempts = time.monotonic(), list[Attempt]()
        with Stop() as stop, inv.progress("copied") as bar:
            stop.wake(consumer.wakeup)
            while True:
                identify(self.target_admin, plan.copies)
                try:
                    self._attempt(state, plan, consumer, stop, MirrorProgress(bar, plan.copies, consumer))
                    break
                except (ProducerFencedError, TransactionUnknownError) as error:
                    self._check_fence(state, error, stop)
                    begun, plan = plan.copies, self._plan_again(self._saved(name), consumer, plan.copies)
                    new = {copy.source: copy for copy in plan.copies}
                    attempts += [
                        finish_attempt(copy, new[copy.source]) for copy in begun if copy not in plan.copies
                    ]
                    topics = {copy.source.topic: copy.target.topic for copy in plan.copies}
                    state = msgspec.structs.replace(state, topics=topics)
            add_attempts(plan.copies, attempts)
            seconds = time.monotonic() - began
            comparisons = self._compare(plan.copies, stop) if flags["verify"] and not stop else []
            synced = self._sync(plan.copies) if flags["groups"] else []
        end_of = self._source_end(consumer)
        ends = {copy.source: end_of(copy.source) for copy in plan.copies}
        return report(inv, Result(name, plan.found, plan.copies, comparisons, synced, seconds, ends), stop)

    def _attempt(
        self, state: JobState, plan: _Plan, consumer: Consumer, stop: Stop, progress: Callable[[], None]
    ) -> None:
        """Copies with a producer of its own; with transactions, until it is fenced."""
        flags, inv = self.flags, self.inv
        own: dict[str, Any] = (
            {"transactional_id": f"kcli-mirror-{state.job}"} if flags["exactly_once"] else {}
        )
        options = self.target.options(
            ProducerOptions, delivery_timeout_ms=_FOREVER, max_block_ms=_FOREVER, linger_ms=0, **own
        )
        deliveries = Deliveries(transactional=flags["exactly_once"])
        with Producer(options, hooks=inv.hooks, on_delivery=deliveries) as producer:
            topics = _targets(plan.copies)
            needed = topics if flags["checkpoint"] is not None else [*topics, STATE_TOPIC]
            try:
                with inv.first_contact(self.target.servers):
                    producer.connect(needed, inv.timeout, _CREATED_PATIENCE)
            except UnsupportedError as error:
                if error.do == NOT_IDEMPOTENT:  # which no option of a mirror changes
                    error.do = "the target of a mirror needs brokers of Kafka 0.11 or later"
                raise
            if flags["exactly_once"]:
                producer.init_transactions(max(_INIT_PATIENCE, inv.timeout))
                self._follow_earlier_run(state.job, plan, consumer)
            stop.wake(producer.interrupt)
            saving = Progress(state, self._source_end(consumer), plan.saved)
            store = self._store(producer, state, saving)
            # The job is stored before its first record: otherwise the next run would find records of an unknown job.
            while not stop and not producer.flush(_FLUSH_SLICE):
                pass
            copy = (ExactlyOnceCopy if flags["exactly_once"] else Copy)(
                consumer,
                producer,
                deliveries,
                plan.copies,
                store,
                stop=stop,
                pace=_pace(flags["rate"]),
                by_key=self.selection.by_key,
                clusters=(plan.found.source_cluster, plan.found.target_cluster) if flags["headers"] else None,
                on_gap=flags["on_gap"],
                on_recreate=flags["on_recreate"],
                progress=progress,
                warn=inv.talk.warn,
            )
            copy.run(self._tasks(plan, consumer, producer, saving, copy))
            if stop:
                producer.close(0.0)  # what is not confirmed by now is not waited for

    def _follow_earlier_run(self, job: str, plan: _Plan, consumer: Consumer) -> None:
        """An earlier run of the job could commit until now, when it is fenced: the copy begins where that one ended."""
        saved = self._saved(job)
        if saved is None or (plan.saved is not None and plan.saved.state == saved.state):
            return
        new = self._plan_again(saved, consumer, plan.copies)
        identify(self.target_admin, new.copies)
        plan.found, plan.saved, plan.ends, plan.copies[:] = new.found, new.saved, new.ends, new.copies

    def _store(self, producer: Producer, state: JobState, progress: Progress) -> FileStore | TopicStore:
        """Where positions are saved; the job itself is written now, so that an earlier run finds out that it is over."""
        store: FileStore | TopicStore
        if self.flags["checkpoint"] is not None:
            store = FileStore(self.flags["checkpoint"], progress, self.records)
            store.write([job_record(state)])
            return store
        store = TopicStore(producer, progress)
        if self.flags["exactly_once"]:
            with producer.transaction():
                store.write([job_record(state)])
        else:
            store.write([job_record(state)])
        return store

    def _tasks(
        self, plan: _Plan, consumer: Consumer, producer: Producer, saving: Progress, copy: Copy
    ) -> list[Periodic]:
        """What is done from time to time while the source is followed; a run with an end has none of it."""
        if any(copy.stop is not None for copy in plan.copies):
            return []
        inv, flags = self.inv, self.flags
        if self.admins is None:
            self.admins = (
                self._admin(self.source, _TASK_PATIENCE),
                self._admin(self.target, _TASK_PATIENCE),
            )
        source, target = self.admins
        if self.discovery is None:  # it stays after a fence, with what it has refused
            self.discovery = Discovery(
                source,
                target,
                self.selection,
                plan.found,
                plan.copies,
                jobs=lambda: self._jobs_on_source(source, again=True),
                headers=flags["headers"],
                may_fill=inv.yes and not (inv.profile is not None and inv.profile.protected),
            )

        def add(copies: Sequence[PartitionCopy]) -> None:
            plan.copies.extend(copies)
            copy.add(copies)

        look = discovery_task(inv, self.discovery, producer, saving, add, by_key=self.selection.by_key)
        interval = min(_TASK_INTERVAL, consumer.options.metadata_max_age_ms / 1000)
        tasks = [Periodic(interval, look)]
        if flags["groups"]:
            tasks.append(Periodic(interval, sync_task(inv, source, target, flags["groups"], plan.copies)))
        return tasks

    def _check_fence(self, state: JobState, error: KcliError, stop: Stop) -> None:
        """Raises if another mirror of the job took over, or a stop was requested; else the transaction timed out."""
        if stop:
            raise error
        wait(_TAKEOVER_SECONDS, stop)
        saved = self._saved(state.job)
        if saved is None or saved.state.run != state.run:
            host = saved.state.host if saved is not None else "unknown"
            raise ProducerFencedError(
                f"mirror job {state.job} is run by another process",
                why=f"it took over the transactional id (host {host})",
                do="stop one of them; --job NAME gives a second mirror a name of its own",
            )
        self.inv.talk.note(
            f"{error}; the transaction timed out, continuing from the last one that was committed"
        )

    def _source_end(self, consumer: Consumer) -> Callable[[TopicPartition], int]:
        def end(tp: TopicPartition) -> int:
            if tp not in consumer.assignment:
                return -1
            state = consumer.state(tp)
            return max(state.last_stable, state.position)

        return end

    def _sync(self, copies: Sequence[PartitionCopy]) -> list[Translated]:
        try:
            rows, errors = sync_copies(self.source_admin, self.target_admin, self.flags["groups"], copies)
        except KcliError as failure:
            self.inv.failed(failure)
            return []
        for error in errors.values():
            self.inv.failed(error)
        for group in dict.fromkeys(self.flags["groups"]):
            if group not in errors and not any(row.group == group for row in rows):
                self.inv.talk.warn(
                    f"group {group} has no committed offset of a mirrored partition on the source"
                )
        return rows

    def _compare(self, copies: Sequence[PartitionCopy], stop: Stop, *, whole: bool = False) -> list[Any]:
        return compare_copies(
            self.inv,
            self.source,
            self.target,
            self._consumer,
            copies,
            stop,
            whole=whole,
            to_end=self.flags["verify_only"],
            limited=self.flags["span"] is not None and self.flags["span"].stop is not None,
        )


def _pace(rate: Rate | None) -> Pace:
    return Pace() if rate is None else Pace(records_per_second=rate.records, bytes_per_second=rate.bytes)


def _targets(copies: Sequence[PartitionCopy]) -> list[str]:
    """The topics that are written."""
    return list(dict.fromkeys(copy.target.topic for copy in copies if copy.error is None))
