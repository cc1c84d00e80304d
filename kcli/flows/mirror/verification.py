"""``kcli mirror verify``: compares what a job has copied with its source, and copies nothing. The job may run meanwhile.

What the job has saved says which topics are its own, which offsets correspond and how far it is. Without such a job, or
if it has copied none of the topics, all of both topics is compared, record by record in their order.
"""

from collections.abc import Mapping, Sequence

from kcli.account.survey import Missing
from kcli.core.classes import NamedTuple
from kcli.core.clock import wall_ms
from kcli.core.consumer import ranges
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.errors import ConfigError, KcliError, NotFoundError
from kcli.core.names import DEFAULT_JOB
from kcli.core.options import WHOLE_BATCHES, ConsumerOptions
from kcli.core.permissions import AclOperation, is_allowed, on_topic
from kcli.core.records.run import RUN_BYTES
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.offset_map import OffsetMap
from kcli.flows.mirror.copy.partition_copy import PartitionCopy
from kcli.flows.mirror.driver import Driver
from kcli.flows.mirror.job.job import Ends, partition_copies, source_partitions, taken_over
from kcli.flows.mirror.job.lease import read_instances
from kcli.flows.mirror.job.state import JobId, JobState, SavedGap, SavedJob, is_running, load_jobs
from kcli.flows.mirror.job.store import read_file_records, saved_jobs
from kcli.flows.mirror.plan.plan import CopyPlan, PlannedPartition
from kcli.flows.mirror.plan.planning import survey_job
from kcli.flows.mirror.proof.compare import Comparison
from kcli.flows.mirror.proof.proof import (
    Clusters,
    Log,
    Proof,
    compacted_topics,
    compare_copies,
    logs,
    view_of,
)
from kcli.flows.mirror.result import MismatchError, unread
from kcli.flows.mirror.settings import Cluster
from kcli.flows.mirror.topics.preflight import Denied, Findings
from kcli.flows.mirror.topics.routes import Rename, idle_renames, selects
from kcli.flows.mirror.topics.survey import Survey
from kcli.flows.stop import Stop
from kcli.output.progress import counted


class Verified(NamedTuple):
    """What was compared. ``job``: None without one. ``follows``: it was running. ``missing``: what could not be read.
    ``surplus``: partitions of the target with records of others, of topics of the job, where the source has none.
    """

    job: str | None
    survey: Survey
    copies: Sequence[PartitionCopy]
    comparisons: Sequence[Comparison]
    missing: Sequence[Missing]
    follows: bool
    gaps: Mapping[TopicPartition, Sequence[SavedGap]]
    surplus: Sequence[TopicPartition] = ()


class Verification(Driver):
    """One comparison; ``with`` closes its clients. ``prepare``, then ``compare``."""

    _id: JobId
    _saved: SavedJob | None
    _found: Survey
    _copies: list[PartitionCopy]
    _missing: list[Missing]
    _surplus: list[TopicPartition]

    def compare(self, stop: Stop) -> Verified:
        """Compares what ``prepare`` has found; errors of partitions are in the copies and the comparisons."""
        saved, span = self._saved, self._settings.span
        follows = saved is not None and self._is_running(saved.state)
        own = () if saved is None else saved.state.topics
        proof = Proof(
            whole={copy.source.topic for copy in self._copies}.difference(own),
            to_end=not follows,
            follows=follows,
            limited=span is not None and span.stop is not None,
            view=view_of(self._found, headers=saved is not None and saved.state.headers),
        )
        clusters = Clusters(self._source, self._target, self._source_admin, self._target_admin, self._reader)
        comparisons = compare_copies(
            self._observer,
            clusters,
            self._copies,
            proof,
            compacted_topics(self._found),
            stop,
            self._timeout,
        )
        missing = [*self._missing, *unread(comparisons)]
        known = {} if saved is None else saved.partitions
        gaps = {tp: [*one.progress.gaps, *one.accepted] for tp, one in known.items()}
        return Verified(
            None if saved is None else self._name,
            self._found,
            self._copies,
            comparisons,
            missing,
            follows,
            gaps,
            self._surplus,
        )

    def _is_running(self, state: JobState) -> bool:
        """As the lease says; by the age of its record where that is not known, or the job keeps its state in a file."""
        if self._settings.checkpoint is None:
            instances = read_instances(self._target_admin, [self._id])[self._id]
            if instances.known:
                return instances.holder is not None
        return is_running(state, wall_ms())

    def _planned(self, source_id: str) -> CopyPlan:
        settings = self._settings
        jobs = self._jobs()
        if settings.job is None and not settings.topics:
            self._name = _only_job(jobs, source_id)
        self._id = job = JobId(source_id or self._source.servers, self._name)
        saved, _ = taken_over(jobs, job, self._selection, settings.renames, source_id)
        _check(saved, jobs, job)
        own: Mapping[str, str] = {} if saved is None else saved.state.topics
        self._missing = []
        selection = self._selection
        if saved is None and (settings.job is not None or not settings.topics):
            path = settings.checkpoint
            raise NotFoundError(
                f"mirror job {self._name} does not exist",
                why=f"{'the target' if path is None else path} has {counted(len(jobs), 'job')}",
                do="`kcli mirror status --to HOST:PORT` lists the jobs; -t TOPIC without --job compares topics"
                if path is None
                else "check --checkpoint, --job and --from; -t TOPIC without --job compares topics",
            )
        given = selection.renames
        if not settings.topics:
            selection = selection._replace(selectors=self._present(own))
        selection = selection._replace(renames=_renames(given, own, self._name))
        _, found = survey_job(
            self._source_admin,
            self._target_admin,
            selection,
            own,
            self._jobs_on_source(self._source_admin),
            headers=False,
        )
        idle = idle_renames([route.source for route in found.routes], given)
        self._found = found = found._replace(findings=_of_reading(found), idle_renames=idle)
        self._saved = None if own.keys().isdisjoint(route.source for route in found.routes) else saved
        ends = self._pin(found)
        return CopyPlan(
            self._name if self._saved is not None else "",
            found,
            own,
            [
                PlannedPartition(copy.source, copy.target, copy.position, copy.stop, copy.error)
                for copy in self._copies
            ],
            ends,
            exactly_once=False,
            compares=True,
        )

    def _default_name(self, source_id: str) -> str:  # noqa: ARG002 - the identity has the source beside the name
        return DEFAULT_JOB

    def _jobs(self) -> Mapping[JobId, SavedJob]:
        """What the jobs have committed so far. A transaction that is open is not waited for: what it holds back is after
        the positions that are read here, as what the job copies from now on.
        """
        if self._settings.checkpoint is not None:
            return load_jobs(read_file_records(self._settings.checkpoint))
        found = saved_jobs(self._target, self._target_admin, self._hooks, wait=False)
        known = any(job.job == self._name for job in found)
        return found if known else saved_jobs(self._target, self._target_admin, self._hooks)

    def _present(self, own: Mapping[str, str]) -> list[str]:
        """The topics of the job that the source still has, without those that --exclude leaves out."""
        available = {topic.name for topic in self._source_admin.list_topics()}
        wanted = {topic for topic in own if not selects(self._selection.excludes, topic)}
        if own and not wanted:
            raise NotFoundError(
                "no topic is selected",
                why=f"--exclude leaves out all of mirror job {self._name}",
                do="leave --exclude out",
            )
        for topic in sorted(wanted - available):
            error = NotFoundError(
                f"topic {topic} of the source was deleted",
                why=f"the job copied it to {own[topic]}, and the source cluster does not have it any more",
                do="name the topics that it has with -t",
            )
            self._missing.append(Missing(f"topic {topic}", "", error))
        if not wanted & available:
            raise NotFoundError(
                "no topic of the job exists on the source",
                why=f"mirror job {self._name} copied {counted(len(own), 'topic')}",
                do="check --from",
            )
        return sorted(wanted & available)

    def _pin(self, found: Survey) -> Ends:
        """Finds where each partition's copy is; returns the ends of the target. Partitions of which either side's ends
        are not known are missing.
        """
        partitions = source_partitions(found)
        routes = {route.source: route.target for route in found.routes}
        there = logs(
            self._target_admin,
            [
                TopicPartition(name, number)
                for name, facts in found.targets.items()
                for number in range(facts.partitions)
            ],
        )
        here = logs(self._source_admin, partitions)
        known: dict[TopicPartition, Log] = {}
        for tp in partitions:
            ours, theirs = here[tp], there.get(TopicPartition(routes[tp.topic], tp.partition))
            if isinstance(ours, Log) and not isinstance(theirs, KcliError):
                known[tp] = ours
                continue
            error = ours if isinstance(ours, KcliError) else theirs
            assert isinstance(error, KcliError)
            self._missing.append(Missing.of(error, str(tp)))
        usable = {tp: log for tp, log in there.items() if isinstance(log, Log)}
        self._surplus = []
        ends = Ends(
            {tp: log.start for tp, log in usable.items()}, {tp: log.high for tp, log in usable.items()}
        )
        self._copies = partition_copies(
            found,
            self._saved,
            self._spans(list(known)),
            {tp: log.high for tp, log in known.items()},
            ends,
            by_key=False,
            on_recreate="fail",
        )
        for copy in self._copies:
            if copy.error is None and copy.target not in usable:
                exists = copy.target.topic in found.targets
                what = f"{copy.target}" if exists else f"topic {copy.target.topic}"
                copy.fail(
                    MismatchError(
                        f"the target has no {what}",
                        why=f"{copy.source} is not copied",
                        do="check -t, --map-topic and --to",
                    )
                )
        self._add_surplus(found, there)
        return ends

    def _add_surplus(self, found: Survey, there: Mapping[TopicPartition, Log | KcliError]) -> None:
        """Partitions of the target that the source does not have: where all of both topics is compared, their records are
        a difference; what a job has not copied may have been there before it.
        """
        own = () if self._saved is None else self._saved.state.topics
        for route in found.routes:
            facts = found.targets.get(route.target)
            for number in range(found.sources[route.source].partitions, facts.partitions if facts else 0):
                tp, copy = TopicPartition(route.source, number), TopicPartition(route.target, number)
                log = there[copy]
                if isinstance(log, KcliError):
                    self._missing.append(Missing.of(log, str(copy)))
                elif log.start < log.high and route.source in own:
                    self._surplus.append(copy)
                elif log.start < log.high and self._settings.span is None:
                    made = PartitionCopy(tp, copy, OffsetMap(0, 0), position=0)
                    made.fail(_only_on_target(tp, copy, log))
                    self._copies.append(made)

    def _spans(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Span]:
        """Where a copy without a saved position begins, and may end."""
        span = self._settings.span
        if span is None or not partitions:
            return dict.fromkeys(partitions, Span(0))
        with self._consumer(self._source) as consumer:
            consumer.connect(self._timeout)
            return ranges.spans(
                consumer,
                partitions,
                span,
                until_end=True,
                timeout=self._timeout,
                do="choose another --offset",
            )

    def _reader(self, cluster: Cluster) -> Consumer:
        return self._stack.enter_context(self._consumer(cluster))

    def _consumer(self, cluster: Cluster) -> Consumer:
        options = cluster.options(
            ConsumerOptions,
            isolation_level="read_committed",
            max_poll_records=WHOLE_BATCHES,
            on_out_of_range="fail",
        )
        return Consumer(options, hooks=self._hooks, joins=RUN_BYTES)


def _only_job(jobs: Mapping[JobId, SavedJob], source_id: str) -> str:
    """The job that copies from this source, if there is one and no other."""
    names = sorted({job.state.job for job in jobs.values() if job.state.source == source_id})
    if len(names) == 1:
        return names[0]
    raise ConfigError(
        "--job or -t is needed",
        why=f"{counted(len(names), 'mirror job')} of the target copy from this source"
        + (f": {', '.join(names)}" if names else ""),
        do="give --job NAME to compare what a job has copied, or -t TOPIC",
    )


def _check(saved: SavedJob | None, jobs: Mapping[JobId, SavedJob], job: JobId) -> None:
    """ConfigError for a job whose copies cannot be compared, or that is one of other clusters only."""
    if saved is None:
        others = sorted({one.state.source for key, one in jobs.items() if key.job == job.job})
        if others:
            raise ConfigError(
                f"mirror job {job.job} copies from cluster {', '.join(others)}",
                why=f"--from is cluster {job.source}",
                do="name the cluster that the job copies from, or another --job",
            )
        return
    if saved.state.partitions != "keep":
        raise ConfigError(
            f"what mirror job {saved.state.job} has copied cannot be compared",
            why="it chooses partitions by key: the records of one partition are in several",
            do="a new --job NAME with --partitions keep makes a copy that can be compared",
        )


def _only_on_target(tp: TopicPartition, copy: TopicPartition, log: Log) -> MismatchError:
    return MismatchError(
        f"the source has no {tp}",
        why=f"{copy} of the target has offsets {log.start} to {log.high - 1}",
        do=f"check -t, --map-topic and --from; `kcli consume {copy.topic} -p {copy.partition} -e` shows its records",
    )


def _renames(given: Sequence[Rename], own: Mapping[str, str], job: str) -> list[Rename]:
    """The rules of the command line, and those that the job has followed; ConfigError where they contradict."""
    for topic, target in own.items():
        renamed = next((new for rule in given if (new := rule.apply(topic)) is not None), target)
        if renamed != target:
            raise ConfigError(
                f"mirror job {job} copies topic {topic} to {target}, not to {renamed}",
                why="--map-topic names another topic",
                do="leave --map-topic out, or name another --job",
            )
    return [*given, *(Rename(topic, target) for topic, target in own.items())]


def _of_reading(found: Survey) -> Findings:
    """Of the findings, those that concern who only reads."""
    denied = [one for one in found.findings.denied if one.of_source]
    for route in found.routes:
        facts = found.targets.get(route.target)
        if facts is not None and not is_allowed(facts.operations, AclOperation.READ):
            what = f"READ on topic {route.target} of the target"
            denied.append(Denied(route, what, on_topic("READ", route.target), of_source=False))
    return found.findings._replace(denied=denied, conflicts=[], warnings=[])
