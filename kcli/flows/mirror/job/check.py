"""``kcli mirror check``: reads a job's record on the target, and the ends of its source; ``conditions`` judges.

Few requests, since it is for probes: none is for a single partition. The target is needed; a source that does not respond
is a finding.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from kcli.account.survey import Missing
from kcli.core.admin.admin import Admin
from kcli.core.admin.first_records import FirstRecord
from kcli.core.classes import NamedTuple
from kcli.core.clock import wall_ms
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.exit_codes import ExitCode
from kcli.core.hooks import Hooks
from kcli.core.options import ClientOptions
from kcli.core.types import TopicPartition
from kcli.flows.groups.first_records import first_unread_records
from kcli.flows.groups.offsets import LogEnds, log_ends, unknown_offsets
from kcli.flows.mirror.job.conditions import (
    CheckedPartition,
    Condition,
    Limits,
    Reading,
    checked_partition,
    conditions,
)
from kcli.flows.mirror.job.lease import read_instances
from kcli.flows.mirror.job.state import JobId, JobState, SavedJob
from kcli.flows.mirror.job.status import KnownJob, with_instances
from kcli.flows.mirror.job.store import saved_jobs
from kcli.flows.mirror.plan.loops import copies_of_target, jobs_that_write
from kcli.flows.mirror.settings import Cluster
from kcli.flows.mirror.topics.routes import is_pattern, pattern, select_topics, selects
from kcli.output.progress import counted


class ConditionError(KcliError):
    """A condition of a job does not hold, or is not known to hold."""

    exit_code = ExitCode.CHECK


class Checked(NamedTuple):
    """A job as it was found. ``missing``: what of the source could not be read."""

    job: KnownJob
    partitions: Sequence[CheckedPartition]
    conditions: Sequence[Condition]
    missing: Sequence[Missing]

    @property
    def errors(self) -> list[ConditionError]:
        """One for each condition that does not hold."""
        name = self.job.saved.state.job
        return [
            ConditionError(f"mirror job {name}: {one.demand}: {one.why}")
            for one in self.conditions
            if not one.ok
        ]


class _Source(NamedTuple):
    """``id``: of the cluster, None where it cannot be read, for this ``error``."""

    id: str | None
    error: KcliError | None = None


def check(
    name: str,
    source: Cluster,
    target: Cluster,
    admin: Admin,
    limits: Limits,
    topics: Sequence[str],
    hooks: Hooks,
) -> Checked:
    """The job of this name from ``source``. ``admin``: of the target, connected; its errors are raised, and NotFoundError
    where there is no such job, or no topic of it is selected by ``topics`` (empty: all).
    """
    with Admin(source.options(ClientOptions), hooks, timeout=admin.timeout) as reader:
        jobs = _jobs(name, target, admin, hooks)
        here = _contacted(reader)
        found = job_of(jobs, name, here.id, source.servers)
        instances = read_instances(admin, [] if found.is_old else [found])
        (job,) = with_instances({found: jobs[found]}, instances, wall_ms())
        chosen = chosen_topics(job.saved, topics)
        other = job.saved.state.target

        def writers() -> list[JobState]:
            return jobs_that_write(source, reader, other, hooks, detail=str)

        def seen() -> list[str]:
            more = not_begun(reader, job.saved, writers)
            return [*chosen, *(one for one in more if not topics or selects(topics, one))]

        readings = _unread(job, chosen, here.error) if here.error else _read(reader, job, chosen, seen)
    now = wall_ms()
    partitions = [checked_partition(tp, job, readings[0][tp], limits, now) for tp in sorted(readings[0])]
    return Checked(job, partitions, conditions(job, partitions, limits, now), readings[1])


def _jobs(name: str, target: Cluster, admin: Admin, hooks: Hooks) -> Mapping[JobId, SavedJob]:
    """What the jobs have committed so far. An open transaction of any of them is not waited for, unless it may be the one
    that holds back the first record of this job.
    """
    found = saved_jobs(target, admin, hooks, wait=False)
    known = any(one.state.job == name for one in found.values())
    return found if known else saved_jobs(target, admin, hooks)


def _contacted(reader: Admin) -> _Source:
    try:
        return _Source(reader.cluster_id())
    except KcliError as error:
        if error.exit_code is ExitCode.USAGE:
            raise
        return _Source(None, error)


def job_of(jobs: Mapping[JobId, SavedJob], name: str, source: str | None, servers: str) -> JobId:
    """The job of this name from the cluster ``source``; where that does not respond (None), the one that named the same
    brokers, or the only one of the name. NotFoundError if there is none, ConditionError if it is not known which it is.
    """
    named = [job for job, saved in jobs.items() if saved.state.job == name]
    if source is None:
        mine = [job for job in named if jobs[job].state.source_servers == servers]
        if not mine and len({jobs[job].state.source for job in named}) > 1:
            raise ConditionError(
                f"mirror job {name}: {len(named)} jobs have this name, and --from does not say which of them is its own",
                why="the source does not respond, and its brokers are named in another way than when the job was started",
                do="give --from the brokers that the job was started with",
            )
        mine = mine or named
    else:
        mine = [
            job
            for job in named
            if job.source == (source or servers) or (job.is_old and jobs[job].state.source == source)
        ]
    if not mine:
        others = (
            f", and {len(named)} of this name from other clusters" if named and source is not None else ""
        )
        raise NotFoundError(
            f"mirror job {name} of this source does not exist",
            why=f"the target has {counted(len(jobs), 'job')}{others}",
            do="`kcli mirror status --to HOST:PORT` lists the jobs",
        )
    return min(mine, key=lambda job: job.is_old)


def chosen_topics(saved: SavedJob, selectors: Sequence[str]) -> list[str]:
    """The topics of the job's last run that ``selectors`` select, all without any; NotFoundError for one that selects
    none.
    """
    own = sorted(topic for topic in saved.state.topics if saved.state.selects(topic))
    if not selectors:
        return own
    found: set[str] = set()
    for one in selectors:
        matches = pattern(one, "topics")
        some = [topic for topic in own if (topic == one if matches is None else matches(topic))]
        if not some:
            raise NotFoundError(
                f"mirror job {saved.state.job} does not copy topic {one}",
                why=f"its last run selected {counted(len(own), 'topic')}, and none of that name",
                do="`kcli mirror status --to HOST:PORT` lists the jobs",
            )
        found.update(some)
    return sorted(found)


_Readings = tuple[dict[TopicPartition, Reading], list[Missing]]


def _unread(job: KnownJob, topics: Sequence[str], error: KcliError) -> _Readings:
    """The source does not respond."""
    own = [tp for tp in job.saved.partitions if tp.topic in topics]
    return dict.fromkeys(own, Reading(unknown=str(error))), [Missing.of(error, "the source")]


def matching_topics(admin: Admin, state: JobState, excludes: Sequence[str]) -> list[str]:
    """Topics of a cluster that patterns of the job select; nothing is asked where it has none."""
    patterns = [one for one in state.selectors if is_pattern(one)]
    if not patterns:
        return []
    names = [topic.name for topic in admin.list_topics() if not topic.internal]
    return select_topics(names, patterns, (), excludes)


def not_begun(admin: Admin, saved: SavedJob, writers: Callable[[], Iterable[JobState]]) -> list[str]:
    """Topics of the source that patterns of the job select, and that its last run has not begun with. ``writers``: the
    jobs that write to the source, since what they copy from the target is not meant.
    """
    state = saved.state
    if state.how is None:
        return []
    found = [one for one in matching_topics(admin, state, state.how.excludes) if not state.selects(one)]
    out = copies_of_target(writers(), state.target) if found else set()
    return [one for one in found if one not in out]


def _read(admin: Admin, job: KnownJob, topics: Sequence[str], seen: Callable[[], Sequence[str]]) -> _Readings:
    """``seen``: the topics, and those that the job has not begun with."""
    try:
        return _readings(admin, job, seen())
    except KcliError as error:
        return _unread(job, topics, error)


def _readings(admin: Admin, job: KnownJob, topics: Sequence[str]) -> _Readings:
    saved = job.saved.partitions
    described = admin.describe_topics(list(topics)) if topics else {}
    broken: dict[str, str] = {}
    partitions = {tp for tp in saved if tp.topic in topics}
    for name, topic in described.items():
        if isinstance(topic, NotFoundError):
            broken[name] = "the source has no such topic any more"
        elif not isinstance(topic, KcliError):
            partitions |= {TopicPartition(name, one.partition) for one in topic.partitions}
            known = {one.progress.topic_id for tp, one in saved.items() if tp.topic == name} - {""}
            if topic.topic_id and known and topic.topic_id not in known:
                broken[name] = "the topic of the source was deleted and created anew"
    logs = log_ends(admin, partitions, stable=True)
    times = _oldest(admin, logs, {tp: one.progress.position for tp, one in saved.items() if tp in logs})
    found = {}
    for tp, log in logs.items():
        position = saved[tp].progress.position if tp in saved else 0
        found[tp] = Reading(
            log.end, times.get(tp, -1), _unknown(log), broken.get(tp.topic, _moved(log, position))
        )
    lost = {tp: log for tp, log in logs.items() if not isinstance(log.error, NotFoundError)}
    return found, [Missing.of(error) for error in unknown_offsets(lost)]


def _unknown(log: LogEnds) -> str:
    return "" if log.end is not None else f"the end of the source is not known: {log.note}"


def _moved(log: LogEnds, position: int) -> str:
    """Why the copy cannot go on at its position, where it cannot."""
    if log.start is not None and position < log.start:
        return f"the source has removed offsets {position} to {log.start - 1}, which are not copied"
    if log.end is not None and position > log.end:
        return f"the log of the source ends at {log.end}, before the position {position}"
    return ""


def _oldest(
    admin: Admin, logs: Mapping[TopicPartition, LogEnds], positions: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int | None]:
    """The time of the first record from the position on; −1 where there are only markers and aborted records, None where
    it is not known. Only of partitions that are behind.
    """
    behind = {
        (tp, at): tp
        for tp, at in positions.items()
        if (end := logs[tp].end) is not None and (start := logs[tp].start) is not None and start <= at < end
    }
    return {
        behind[key]: _time(record) for key, record in first_unread_records(admin, list(behind), logs).items()
    }


def _time(record: FirstRecord | KcliError | None) -> int | None:
    if record is None:
        return -1
    return None if isinstance(record, KcliError) or record.timestamp < 0 else record.timestamp
