"""What ``kcli mirror`` does: checks both clusters, shows the plan, copies, compares, and reports."""

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import Any

from kcli.commands._mirror_clusters import Side
from kcli.commands._mirror_report import Result, plan_text, report
from kcli.commands.shared.confirm import confirm, show_plan
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.params import Rate
from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import id_text
from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.errors import (
    AuthError,
    ConfigError,
    KcliError,
    ProducerFencedError,
    TransactionUnknownError,
)
from kcli.core.options import WHOLE_BATCHES, ClientOptions, ConsumerOptions, ProducerOptions
from kcli.core.positions import OffsetSpec, RangeSpec
from kcli.core.producer.producer import Producer
from kcli.core.types import TopicPartition
from kcli.flows import ranges
from kcli.flows.checkpoint import locked
from kcli.flows.mirror.copy import JOINED_BYTES, Copy, Deliveries, Pace
from kcli.flows.mirror.exactly_once import ExactlyOnceCopy
from kcli.flows.mirror.job import Ends, default_name, job_state, partition_copies, source_partitions
from kcli.flows.mirror.partition_copy import PartitionCopy
from kcli.flows.mirror.routes import STATE_TOPIC, parse_rename
from kcli.flows.mirror.state import JobState, SavedJob, StateRecord, job_record, load_jobs
from kcli.flows.mirror.store import (
    FileStore,
    Identity,
    Progress,
    TopicStore,
    load_topic,
    read_file_records,
    state_topic_spec,
)
from kcli.flows.mirror.survey import Survey, survey
from kcli.flows.mirror.sync_groups import Mapped, sync_groups
from kcli.flows.mirror.verify import Comparison, Extent, Pair, compare
from kcli.flows.rate import wait
from kcli.flows.stop import Stop
from kcli.output.progress import Progress as Bar
from kcli.output.progress import counted

_FOREVER = 0x7FFF_FFFF  # ms: a target that is away for long costs nothing but time
_INIT_PATIENCE = 60.0  # seconds until the transactional id is ours
_TAKEOVER_SECONDS = 2.0  # a mirror that took over has written its name by then
_CREATED_PATIENCE = 30.0  # seconds until a new topic is in the metadata of all brokers


class ConflictError(KcliError):
    """The target does not allow an exact copy."""

    exit_code = 7


def run(inv: Invocation, source: str, target: str, flags: Mapping[str, Any]) -> int:
    """Runs the mirror; returns the exit status."""
    with ExitStack() as stack:
        return _Run(inv, Side(inv, "--from", source), Side(inv, "--to", target), flags, stack).run()


class _Run:
    """One run of a job; ``flags`` are those of the command by name."""

    def __init__(
        self, inv: Invocation, source: Side, target: Side, flags: Mapping[str, Any], stack: ExitStack
    ) -> None:
        self.inv = inv
        self.flags = flags
        self.stack = stack
        self.by_key = flags["partitions"] == "by-key"
        self.bounded = flags["until_caught_up"] or flags["verify"] or flags["verify_only"]
        self.source, self.target = source, target
        hooks, timeout = inv.hooks, inv.timeout
        self.source_admin = stack.enter_context(Admin(source.options(ClientOptions), hooks, timeout=timeout))
        self.target_admin = stack.enter_context(Admin(target.options(ClientOptions), hooks, timeout=timeout))
        self.records: list[StateRecord] = []

    def run(self) -> int:
        """See ``run``."""
        flags, inv = self.flags, self.inv
        renames = [parse_rename(text) for text in flags["renames"]]
        for side, admin in ((self.source, self.source_admin), (self.target, self.target_admin)):
            with inv.first_contact(side.servers):
                admin.connect()
        found = survey(
            self.source_admin,
            self.target_admin,
            flags["topics"],
            renames,
            by_key=self.by_key,
            back=self._jobs_of_the_source(),
            marks_origins=flags["headers"],
        )
        if flags["checkpoint"] is not None and not inv.dry_run:
            self.stack.enter_context(locked(flags["checkpoint"]))
        name = flags["job"] or default_name(found.source_cluster, flags["topics"], flags["renames"])
        saved = self._saved(name)
        consumer = self._consumer(self.source, show_control_batches=True)
        with inv.first_contact(self.source.servers):
            consumer.connect(inv.timeout)
        spans = self._spans(consumer, found)
        ends = self._target_ends(found)
        copies = partition_copies(
            found,
            saved,
            spans,
            self._offsets(self.source_admin, spans, LATEST),
            ends,
            by_key=self.by_key,
            on_recreate=flags["on_recreate"],
        )
        if not self._may_begin(found, name, saved, copies, ends):
            return 0
        if flags["verify_only"]:
            with Stop() as stop:
                comparisons = self._compare(copies, stop, whole=saved is None)
            return report(inv, Result(name, found, copies, comparisons, [], 0.0), stop)
        self._create_topics(found, copies)
        return self._copy(name, found, saved, copies, consumer)

    # before the first record

    def _saved(self, name: str) -> SavedJob | None:
        if self.flags["checkpoint"] is not None:
            self.records = read_file_records(self.flags["checkpoint"])
            return load_jobs(self.records).get(name)
        return self._jobs(self.target, self.target_admin).get(name)

    def _jobs(self, side: Side, admin: Admin) -> dict[str, SavedJob]:
        """The jobs that write to a cluster."""
        options = side.options(
            ConsumerOptions, isolation_level="read_committed", max_poll_records=WHOLE_BATCHES
        )
        with Consumer(options, hooks=self.inv.hooks) as reader:
            return load_topic(admin, reader)

    def _jobs_of_the_source(self) -> list[JobState]:
        """As far as they can be read: without permission for the state of the source there is no guard against loops."""
        try:
            return [job.state for job in self._jobs(self.source, self.source_admin).values()]
        except KcliError as error:
            self.inv.talk.detail(f"the mirror jobs of the source cannot be read: {error}")
            return []

    def _consumer(self, side: Side, **own: Any) -> Consumer:
        options = side.options(
            ConsumerOptions,
            isolation_level="read_committed",
            max_poll_records=WHOLE_BATCHES,
            on_out_of_range="fail",
            **own,
        )
        return self.stack.enter_context(Consumer(options, hooks=self.inv.hooks, joins=JOINED_BYTES))

    def _spans(self, consumer: Consumer, found: Survey) -> dict[TopicPartition, Span]:
        wanted = self.flags["span"] or RangeSpec(OffsetSpec("earliest"))
        if wanted.start is not None and wanted.start.kind == "stored":
            raise ConfigError(
                "kcli mirror: --offset stored", why="a mirror has no group", do="a job continues by itself"
            )
        return ranges.spans(
            consumer,
            source_partitions(found),
            wanted,
            until_end=bool(self.bounded),
            timeout=self.inv.timeout,
        )

    def _target_ends(self, found: Survey) -> Ends:
        partitions = [
            TopicPartition(name, number)
            for name, facts in found.targets.items()
            for number in range(facts.partitions)
        ]
        if not partitions:
            return Ends({}, {})
        admin = self.target_admin
        return Ends(self._offsets(admin, partitions, EARLIEST), self._offsets(admin, partitions, LATEST))

    def _offsets(
        self, admin: Admin, partitions: Iterable[TopicPartition], which: int
    ) -> dict[TopicPartition, int]:
        found: dict[TopicPartition, int] = {}
        for tp, one in admin.list_offsets(dict.fromkeys(partitions, which)).items():
            if not isinstance(one, OffsetInfo):
                raise one
            found[tp] = one.offset
        return found

    def _may_begin(
        self, found: Survey, name: str, saved: SavedJob | None, copies: list[PartitionCopy], ends: Ends
    ) -> bool:
        """Shows the plan; refuses it for conflicts, asks where a target has records of somebody else."""
        inv, findings = self.inv, found.findings
        plan = plan_text(name, found, saved, copies, self.flags)
        if findings.denied:
            show_plan(inv, plan)
            raise AuthError(
                f"{counted(len(findings.denied), 'permission')} missing",
                why="; ".join(finding.what for finding in findings.denied),
                do="grant them, or leave these topics out",
            )
        if findings.conflicts and not self.flags["verify_only"]:
            show_plan(inv, plan)
            routes = dict.fromkeys(finding.route for finding in findings.conflicts)
            raise ConflictError(
                "; ".join(f"topic {one.target} cannot hold an exact copy of {one.source}" for one in routes),
                why="; ".join(
                    finding.what if len(routes) == 1 else f"{finding.route.target}: {finding.what}"
                    for finding in findings.conflicts
                ),
                do="; ".join(dict.fromkeys(finding.do for finding in findings.conflicts)),
            )
        filled = [
            route.target
            for route in found.routes
            if any(ends.ends[tp] > ends.starts[tp] for tp in ends.ends if tp.topic == route.target)
        ]
        if saved is not None or not filled or self.flags["verify_only"]:
            show_plan(inv, plan)
            return not inv.dry_run
        question = f"Copy to {', '.join(filled)}, which has records already?"
        return confirm(inv, plan, question, name=filled[0], among=filled)

    def _create_topics(self, found: Survey, copies: list[PartitionCopy]) -> None:
        """Creates what the target lacks; not a topic that was deleted there since an earlier run."""
        wanted = _targets(copies)
        specs = [spec for spec in found.findings.create if spec.name in wanted]
        if self.flags["checkpoint"] is None:
            specs += [state_topic_spec(found.brokers)] if not self._has_state_topic() else []
        for error in self.target_admin.create_topics(specs).values() if specs else ():
            if error is not None:
                raise error

    def _has_state_topic(self) -> bool:
        return not isinstance(self.target_admin.describe_topics([STATE_TOPIC])[STATE_TOPIC], KcliError)

    # the copy

    def _copy(
        self,
        name: str,
        found: Survey,
        saved: SavedJob | None,
        copies: list[PartitionCopy],
        consumer: Consumer,
    ) -> int:
        flags, inv = self.flags, self.inv
        state = job_state(
            name, found, self.source.servers, exactly_once=flags["exactly_once"], by_key=self.by_key
        )
        began = time.monotonic()
        with Stop() as stop, inv.progress("copied") as bar:
            stop.wake(consumer.wakeup)
            while True:
                try:
                    self._attempt(state, found, saved, copies, consumer, stop, bar)
                    break
                except (ProducerFencedError, TransactionUnknownError) as error:
                    saved = self._after_fence(state, error, stop)
                    copies[:] = partition_copies(
                        found,
                        saved,
                        {copy.source: Span(copy.started_at, copy.stop) for copy in copies},
                        self._offsets(self.source_admin, [copy.source for copy in copies], LATEST),
                        self._target_ends(found),
                        by_key=self.by_key,
                        on_recreate=flags["on_recreate"],
                    )
            seconds = time.monotonic() - began
            comparisons = self._compare(copies, stop) if flags["verify"] and not stop else []
            synced = self._sync(copies) if flags["groups"] and not stop else []
        return report(inv, Result(name, found, copies, comparisons, synced, seconds), stop)

    def _attempt(
        self,
        state: JobState,
        found: Survey,
        saved: SavedJob | None,
        copies: list[PartitionCopy],
        consumer: Consumer,
        stop: Stop,
        bar: Bar,
    ) -> None:
        """Copies with a producer of its own; with transactions, until it is fenced."""
        flags, inv = self.flags, self.inv
        own: dict[str, Any] = (
            {"transactional_id": f"kcli-mirror-{state.job}"} if flags["exactly_once"] else {}
        )
        options = self.target.options(
            ProducerOptions, delivery_timeout_ms=_FOREVER, max_block_ms=_FOREVER, linger_ms=0, **own
        )
        deliveries = Deliveries()
        with Producer(options, hooks=inv.hooks, on_delivery=deliveries) as producer:
            topics = _targets(copies)
            with inv.first_contact(self.target.servers):
                producer.connect(
                    topics if flags["checkpoint"] is not None else [*topics, STATE_TOPIC],
                    inv.timeout,
                    _CREATED_PATIENCE,
                )
            if flags["exactly_once"]:
                producer.init_transactions(max(_INIT_PATIENCE, inv.timeout))
            stop.wake(producer.interrupt)
            copy = (ExactlyOnceCopy if flags["exactly_once"] else Copy)(
                consumer,
                producer,
                deliveries,
                copies,
                self._store(producer, state, found, saved, consumer),
                stop=stop,
                pace=_pace(flags["rate"]),
                by_key=self.by_key,
                clusters=(found.source_cluster, found.target_cluster) if flags["headers"] else None,
                on_gap=flags["on_gap"],
                on_recreate=flags["on_recreate"],
                progress=lambda: bar.update(
                    sum(one.records for one in copies),
                    sum(one.bytes for one in copies),
                    lag=_lag(copies, consumer),
                ),
                warn=inv.talk.warn,
            )
            copy.run()
            if stop:
                producer.close(0.0)  # what is not confirmed by now is not waited for

    def _store(
        self,
        producer: Producer,
        state: JobState,
        found: Survey,
        saved: SavedJob | None,
        consumer: Consumer,
    ) -> FileStore | TopicStore:
        """Where positions are saved; the job itself is written now, so that an earlier run finds out that it is over."""
        progress = Progress(
            state, self._identities(found), self._source_end(consumer), _segments(saved), _topic_id(consumer)
        )
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

    def _after_fence(self, state: JobState, error: KcliError, stop: Stop) -> SavedJob:
        """What is saved now; raises if another mirror of the job took over, or a stop was requested."""
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
        return saved

    def _identities(self, found: Survey) -> dict[TopicPartition, Identity]:
        described = self.target_admin.describe_topics([route.target for route in found.routes])
        target_ids = {
            name: "" if isinstance(info, KcliError) else info.topic_id for name, info in described.items()
        }
        return {
            TopicPartition(route.source, number): Identity(
                found.sources[route.source].topic_id, target_ids[route.target]
            )
            for route in found.routes
            for number in range(found.sources[route.source].partitions)
        }

    def _source_end(self, consumer: Consumer) -> Any:
        def end(tp: TopicPartition) -> int:
            if tp not in consumer.assignment:
                return -1
            state = consumer.state(tp)
            return max(state.last_stable, state.position)

        return end

    def _sync(self, copies: list[PartitionCopy]) -> list[Any]:
        maps = {copy.source: Mapped(copy.target, copy.offsets) for copy in copies}
        rows, errors = sync_groups(self.source_admin, self.target_admin, self.flags["groups"], maps)
        for error in errors.values():
            self.inv.failed(error)
        return rows

    # the proof

    def _compare(self, copies: list[PartitionCopy], stop: Stop, *, whole: bool = False) -> list[Comparison]:
        """Compares what the job has copied and the source still has; ``whole``: all of both topics."""
        left, right = self._consumer(self.source), self._consumer(self.target)
        for side, consumer in ((self.source, left), (self.target, right)):
            with self.inv.first_contact(side.servers):
                consumer.connect(self.inv.timeout)
        starts = ranges.bounds(left, [copy.source for copy in copies], self.inv.timeout).starts
        there = ranges.bounds(right, [copy.target for copy in copies], self.inv.timeout)
        pairs = [
            Pair(
                Extent(copy.source, starts[copy.source], copy.position if copy.stop is None else copy.stop),
                Extent(copy.target, there.starts[copy.target], there.ends[copy.target]),
            )
            if whole
            else _pair(copy, starts[copy.source])
            for copy in copies
            if copy.error is None
        ]
        with self.inv.progress("compared") as bar:
            return compare(
                left,
                right,
                pairs,
                timestamps=True,
                stop=stop,
                progress=lambda done: bar.update(
                    min(done.source, done.target), 0, done.target / done.total if done.total else None
                ),
            )


def _pair(copy: PartitionCopy, source_start: int) -> Pair:
    """What the offset map covers, from the first record on that the source still has."""
    offsets = copy.offsets
    assert offsets is not None
    start = max(offsets.start, source_start)
    first = offsets.translate(start)
    assert isinstance(first, int)
    return Pair(Extent(copy.source, start, copy.position), Extent(copy.target, first, offsets.target_end))


def _targets(copies: list[PartitionCopy]) -> list[str]:
    """The topics that are written."""
    return list(dict.fromkeys(copy.target.topic for copy in copies if copy.error is None))


def _topic_id(consumer: Consumer) -> Callable[[TopicPartition], str]:
    def topic_id(tp: TopicPartition) -> str:
        found = consumer.state(tp).topic_id if tp in consumer.assignment else None
        return "" if found is None else id_text(found)

    return topic_id


def _pace(rate: Rate | None) -> Pace:
    return Pace() if rate is None else Pace(records_per_second=rate.records, bytes_per_second=rate.bytes)


def _segments(saved: SavedJob | None) -> dict[TopicPartition, int]:
    return {} if saved is None else {tp: one.progress.segments for tp, one in saved.partitions.items()}


def _lag(copies: list[PartitionCopy], consumer: Consumer) -> int:
    assigned = consumer.assignment
    return sum(
        max(
            0,
            (copy.stop if copy.stop is not None else consumer.state(copy.source).last_stable) - copy.position,
        )
        for copy in copies
        if copy.source in assigned and copy.error is None
    )
