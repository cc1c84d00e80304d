"""``kcli mirror promote``: ends a job for good, and states which records of the source its target has.

With the source: what is left is copied, by the mirror itself, until producers are quiet or the time is over; then both
sides are compared. Without it nothing is asked of the source, and what the job has saved is all that is known. Then, in
this order, which no step may leave:

a. seize: all other instances are removed from the group of the lease (``lease.JobLease.seize``). One that has copied
   notices that with its next heartbeat, saves its position, and says that it has ended; it has a session's time for that.
b. fence: the job's transactional id is initialized. From here on no other instance can save a position, nor, exactly
   once, store a record; at least once, the session's time is over too, in which one could believe that it may.
c. point: the saved positions are read, and the ends of the target: they do not change any more.
d. record: the recovery point and that the job is promoted, in one transaction. An instance that gets the lease later
   reads it, and ends.
e. what may follow only then: offsets of groups; ACLs that let others write.

A promotion that was killed before d has changed nothing, and after it is completed by another one.
"""

import os
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple
from kcli.core.clock import wall_ms
from kcli.core.cluster.offsets import LATEST, OffsetInfo
from kcli.core.errors import ConfigError, KcliError, NotFoundError
from kcli.core.hooks import Hooks
from kcli.core.options import ClientOptions
from kcli.core.types import TopicPartition
from kcli.flows.mirror.acls.changes import AclSync, AclSyncError
from kcli.flows.mirror.acls.plan import AclAccount
from kcli.flows.mirror.copy.partition_copy import PartitionCopy
from kcli.flows.mirror.groups.memory import GroupMemory
from kcli.flows.mirror.groups.offsets import NOTHING_SYNCED, GroupsAccount, group_row
from kcli.flows.mirror.groups.selection import group_selectors
from kcli.flows.mirror.groups.sync import maps_of_job, sync_groups
from kcli.flows.mirror.job.job import EXACTLY_ONCE, Attempt
from kcli.flows.mirror.job.lease import SESSION_MS, JobLease, LeaseLostError
from kcli.flows.mirror.job.state import (
    HowCopied,
    JobId,
    JobState,
    PromotedGroup,
    Promotion,
    RecoveryPoint,
    SavedJob,
    SavedPromotion,
    job_record,
    promotion_records,
)
from kcli.flows.mirror.job.writer import JobWriter, Target, fenced_writer, job_writer, read_jobs
from kcli.flows.mirror.plan.plan import CopyPlan, PlannedPartition
from kcli.flows.mirror.promotion.recovery_point import Seen, recovery_point, topic_promotions, unknown_since
from kcli.flows.mirror.proof.compare import Comparison
from kcli.flows.mirror.proof.target_tail import read_tails
from kcli.flows.mirror.run import Mirror
from kcli.flows.mirror.settings import Cluster, MirrorSettings, Observer
from kcli.flows.mirror.topics.routes import is_pattern, parse_rename, renamed
from kcli.flows.rate import wait
from kcli.flows.stop import Stop

_QUIET = 1.0  # seconds without a new record of the source, until it counts as quiet
_LOOK = 0.2  # seconds between two looks at whether the other instance has saved its position


class Promoted(NamedTuple):
    """``saved``: the recovery point; None where both sides differ, and nothing was promoted. The others are of this
    promotion; ``anew``: False for a job that was promoted before.
    """

    job: JobId
    state: JobState
    saved: SavedPromotion | None
    errors: Sequence[KcliError] = ()
    comparisons: Sequence[Comparison] = ()
    groups: GroupsAccount = NOTHING_SYNCED
    acls: AclAccount | None = None
    anew: bool = True


def find_job(jobs: Mapping[JobId, SavedJob], name: str, source: str, servers: str) -> tuple[JobId, SavedJob]:
    """The job of this name. ``source``: the id of its cluster, empty where that cannot be asked: then it is the only job
    of the name, or the one whose source had these ``servers``. NotFoundError, or ConfigError where it is not clear.
    """
    named = {job: one for job, one in jobs.items() if job.job == name and not job.is_old}
    found = {job: one for job, one in named.items() if job.source in (source, servers)} if source else named
    if len(found) > 1:
        found = {job: one for job, one in named.items() if one.state.source_servers == servers} or found
    if len(found) == 1:
        return next(iter(found.items()))
    if not found:
        raise NotFoundError(
            f"mirror job {name} does not exist",
            why="the target has no job of this name" + (" that copies from this source" if named else ""),
            do="`kcli mirror status --to HOST:PORT` lists the jobs",
        )
    raise ConfigError(
        f"which mirror job {name} is meant is not clear",
        why="jobs of this name copy from "
        + ", ".join(sorted(f"{job.source} ({one.state.source_servers})" for job, one in found.items())),
        do="give --from as the job was given it",
    )


def how_copied(saved: SavedJob) -> HowCopied:
    """The options of the last run. An earlier version has not written them: then groups are those that were synced."""
    return saved.state.how or HowCopied(groups=sorted({key.group for key in saved.groups}))


def settings_of(saved: SavedJob, *, max_wait: float | None) -> MirrorSettings:
    """Those with which the job is copied to its end: the topics of its last run, and its options."""
    state, how = saved.state, how_copied(saved)
    topics = sorted(topic for topic in state.topics if state.selects(topic))
    return MirrorSettings(
        topics=tuple(topics),
        renames=tuple(f"{one}={state.topics[one]}" for one in topics if state.topics[one] != one),
        by_key=state.partitions == "by-key",
        exactly_once=state.delivery == EXACTLY_ONCE,
        headers=state.headers,
        groups=tuple(how.groups),
        groups_excluded=tuple(how.groups_excluded),
        sync_acls=how.sync_acls,
        principals=tuple(how.principals),
        until_caught_up=True,
        job=state.job,
        on_gap=how.on_gap,
        on_recreate=how.on_recreate,
        sync_configs=how.sync_configs,
        configs=tuple(how.configs),
        timestamps=how.timestamps,
        max_wait=max_wait,
    )


def take_over(lease: JobLease, target: Target, job: JobId, stop: Stop, observer: Observer) -> bool:
    """Steps a and b: returns True when no other instance can copy any more; False after a stop.

    1. The instance that copies is removed from the group, and does not know it yet.
    2. It stores records, until it sends its next heartbeat, or its session's time is over.
    3. It saves its position, and that it has ended: nothing is on the target that the position does not cover.

    Were it fenced before 3, the records of 2 would be on the target, and nobody would know which of the source they are.
    """
    holders = lease.seize(stop)
    until = time.monotonic() + SESSION_MS / 1000
    for one in holders:
        observer.note(f"job {job.job} is taken from {one}; it may save how far it is")
    while holders and not stop and time.monotonic() < until:
        saved = read_jobs(target).get(job)
        if saved is None or saved.state.ended or saved.state.delivery == EXACTLY_ONCE:
            break
        wait(_LOOK, stop)
    with fenced_writer(target, job) as writer:
        saved = writer.saved
    if saved is not None and holders and not saved.state.ended and saved.state.delivery != EXACTLY_ONCE:
        wait(max(0.0, until - time.monotonic()), stop)
        observer.warn(
            f"{holders[0]} has not saved how far it is: end it, it may have records on their way to the target"
        )
    return not stop


def check_held(lease: JobLease | None, job: JobId, stop: Stop) -> None:
    """LeaseLostError if the job may be another instance's by now: then what is saved is not the end of it."""
    if lease is None or not lease.check(stop, lambda: False):
        raise LeaseLostError(
            f"the lease of mirror job {job.job} is lost",
            why="another process promotes the job, or the coordinator of its group does not respond",
            do="run it again",
        )


def record(
    writer: JobWriter,
    job: JobId,
    target: Target,
    seen: Mapping[TopicPartition, Seen],
    whys: Mapping[TopicPartition, str],
    *,
    source_lost: bool,
    read_from: int,
) -> tuple[JobState, SavedPromotion]:
    """Steps c and d. ``seen``: ends of the source that were read from ``read_from`` (milliseconds) on; ``whys``: of
    partitions that are not copied to their end.
    """
    saved = writer.saved
    if saved is None:
        raise NotFoundError(f"mirror job {job.job} was deleted", why="its record is gone", do="run it again")
    if saved.promotion is not None:
        return saved.state, saved.promotion
    points = points_now(saved, target, seen, whys)
    now = wall_ms()
    made = SavedPromotion(
        Promotion(
            promoted_ms=now,
            host=socket.gethostname(),
            pid=os.getpid(),
            source_lost=source_lost,
            unknown_since_ms=unknown_since(points.values(), now + 1 if source_lost else read_from),
        ),
        topic_promotions(saved, points, now),
        {},
    )
    state = msgspec.structs.replace(saved.state, promoted_ms=now, updated_ms=now, ended=True)
    writer.write([*promotion_records(job, made), job_record(state)])
    return state, made


def points_now(
    saved: SavedJob, target: Target, seen: Mapping[TopicPartition, Seen], whys: Mapping[TopicPartition, str]
) -> dict[TopicPartition, RecoveryPoint]:
    """The recovery points of a job that nobody writes any more; see ``record``."""
    chosen = {tp: one for tp, one in saved.partitions.items() if saved.state.selects(tp.topic)}
    by_key = saved.state.partitions == "by-key"
    copies = {
        tp: TopicPartition(one.progress.target, one.progress.target_partition) for tp, one in chosen.items()
    }
    reached = {} if by_key else {copies[tp]: chosen[tp].offsets.target_end for tp in chosen}
    known = read_tails(target.cluster, target.admin, target.hooks, reached)
    points = {
        tp: recovery_point(tp.partition, one, known.get(copies[tp]), seen.get(tp), whys.get(tp, ""))
        for tp, one in chosen.items()
    }
    for tp in (*seen, *whys):  # could not begin: nothing of it is copied
        if tp not in points:
            end, at_ms = seen.get(tp, Seen(-1, -1))
            points[tp] = RecoveryPoint(
                partition=tp.partition, target_partition=tp.partition, copied_to=0, source_end=end, seen_ms=at_ms,
                is_read=tp in seen, why=whys.get(tp, ""),
            )  # fmt: skip
    return points


def finish(
    writer: JobWriter, job: JobId, made: SavedPromotion, source: Admin | None, target: Admin
) -> tuple[SavedPromotion, GroupsAccount]:
    """Step e, for groups: the last translation of their offsets, by what the source has, or what the job has seen of it;
    then the promotion is finished.
    """
    saved = writer.saved
    assert saved is not None
    how, account = how_copied(saved), NOTHING_SYNCED
    if how.groups:
        memory = GroupMemory(job, saved.groups, writer.write)
        selectors = group_selectors(how.groups, how.groups_excluded)
        account = sync_groups(source, target, selectors, maps_of_job(saved), memory)
    rows: dict[str, list[dict[str, Any]]] = {}
    for one in account.offsets:
        rows.setdefault(one.group, []).append(group_row(one))
    promoted_ms = made.promotion.promoted_ms
    made = made._replace(
        promotion=msgspec.structs.replace(made.promotion, finished=True),
        groups={name: PromotedGroup(promoted_ms=promoted_ms, offsets=some) for name, some in rows.items()},
    )
    writer.write(promotion_records(job, made))
    return made, account


def promote_without_source(target: Target, job: JobId, stop: Stop, observer: Observer) -> Promoted | None:
    """Promotes the job by what it has saved; None where a stop came first."""
    with JobLease(target.cluster, target.admin, job, target.hooks) as lease:
        if not take_over(lease, target, job, stop, observer):
            return None
        check_held(lease, job, stop)
        with fenced_writer(target, job) as writer:
            state, made = record(writer, job, target, {}, {}, source_lost=True, read_from=0)
            errors = [_acls_not_known(job)] if state.how is not None and state.how.sync_acls else []
            made, groups = finish(writer, job, made, None, target.admin)
    return Promoted(job, state, made, errors, groups=groups)


def complete(target: Target, job: JobId, source: Cluster, *, source_lost: bool, timeout: float) -> Promoted:
    """Step e of a promotion that was killed before it."""
    with job_writer(target, job) as writer:
        saved = writer.saved
        assert saved is not None
        assert saved.promotion is not None
        if source_lost:
            errors = [_acls_not_known(job)] if how_copied(saved).sync_acls else []
            made, groups = finish(writer, job, saved.promotion, None, target.admin)
            return Promoted(job, saved.state, made, errors, groups=groups)
        with Admin(source.options(ClientOptions), target.hooks, timeout=timeout) as admin:
            made, groups = finish(writer, job, saved.promotion, admin, target.admin)
    return Promoted(job, saved.state, made, groups=groups)


def _acls_not_known(job: JobId) -> KcliError:
    return AclSyncError(
        f"ACLs that waited for the promotion of mirror job {job.job} were not created",
        why="they are on the source only, which was not asked",
        do="create those with which applications may write to the topics",
    )


class PromotedMirror(Mirror):
    """The job of a source that can be reached; ``prepare``, then ``promote``. ``verify``: both sides are compared before
    the job is promoted, and it is not if they differ.

    Topics that the job selects and that it has not begun with are copied, too: somebody has created them since it looked
    last. Those that cannot be copied are named (``_left``), with all of their records, and stop nothing.
    """

    def __init__(
        self,
        saved: SavedJob,
        source: Cluster,
        target: Cluster,
        observer: Observer,
        *,
        verify: bool,
        max_wait: float,
        hooks: Hooks,
        timeout: float,
    ) -> None:
        settings = settings_of(saved, max_wait=max_wait)
        super().__init__(settings, source, target, observer, hooks=hooks, timeout=timeout)
        self._before = saved.state
        self._verify = verify and not settings.by_key
        self._max_wait = max_wait
        self._looked = 0  # when the ends of the source were read last, milliseconds since the epoch
        self._ends: dict[TopicPartition, Seen] = {}
        self._added: list[str] = []
        self._left: dict[TopicPartition, KcliError] = {}

    def _planned(self, source_id: str) -> CopyPlan:
        plan = super()._planned(source_id)
        how = self._before.how
        patterns = [] if how is None else [one for one in self._before.selectors if is_pattern(one)]
        if how is None or not patterns:
            return plan
        own = self._selection
        renames = [*own.renames, *(parse_rename(text) for text in how.renames)]
        wider = own._replace(selectors=[*own.selectors, *patterns], renames=renames, excludes=how.excludes)
        self._added, self._left = self._look_for_more(
            self._source_admin, self._target_admin, wider, plan.found, self._plan.copies
        ).candidates()
        if self._added:
            self._selection = own._replace(selectors=[*own.selectors, *self._added], renames=renames)
            plan = super()._planned(source_id)
        ends = self._source_admin.list_offsets(dict.fromkeys(self._left, LATEST)) if self._left else {}
        items = [
            PlannedPartition(
                tp,
                TopicPartition(renamed(tp.topic, renames), tp.partition),
                0,
                end.offset if isinstance(end, OffsetInfo) else None,
                self._left[tp],
            )
            for tp, end in sorted(ends.items())
        ]
        return plan._replace(items=[*plan.items, *items])

    def _acl_sync(self) -> AclSync:
        made = super()._acl_sync()
        made.promote()
        return made

    def _state(self) -> JobState:
        """The job as it was: its selectors are those of its last run."""
        old, new = self._before, super()._state()
        selected = None if old.selected is None else [*old.selected, *self._added]
        begun = {**old.begun, **{name: new.begun[name] for name in self._added if name in new.begun}}
        return msgspec.structs.replace(
            new, selectors=old.selectors, selected=selected, begun=begun, how=old.how
        )

    def _take(self, stop: Stop) -> bool:
        if self._lease is not None:  # another one has promoted the job meanwhile, or is about to
            return self._lease.take(stop, stand_by=False, note=self._observer.note, waiting=lambda: True)
        self._lease = self._stack.enter_context(
            JobLease(self._target, self._target_admin, self._id, self._hooks)
        )
        return take_over(self._lease, self._own, self._id, stop, self._observer)

    @property
    def _own(self) -> Target:
        return Target(self._target, self._target_admin, self._hooks, self._timeout)

    def _create_acls(self) -> None:
        """Those that let others write wait until the job is promoted."""

    def promote(self, stop: Stop) -> Promoted | None:
        """Copies what is left and promotes the job; None where a stop came first. ``saved`` is None in the result where
        the comparison found a difference: then nothing is promoted.
        """
        stop.wake(self._consumer.wakeup)
        try:
            if not self._take(stop):
                return None
            self._create()
            self._copy_to_end(stop)
            comparisons = self._compare(stop) if self._verify and not stop else []
            if stop:
                return None
            check_held(self._lease, self._id, stop)
            if any(one.difference is not None or one.deleted for one in comparisons):
                return Promoted(self._id, self._before, None, comparisons=comparisons)
            return self._record(comparisons)
        finally:
            if self._lease is not None:
                self._lease.close()

    def _copy_to_end(self, stop: Stop) -> None:
        """Copies up to the ends of now, again and again until there is nothing new for a moment, or the time is over."""
        until = time.monotonic() + self._max_wait
        attempts: list[Attempt] = []
        with self._observer.progress("copied") as bar:
            while not stop:
                self._attempt_again_and_again(bar, stop, attempts)
                behind = self._look_at_ends()
                if not behind:
                    wait(_QUIET, stop)
                    behind = self._look_at_ends()
                if not behind or time.monotonic() >= until:
                    return
                for copy, end in behind.items():
                    copy.stop = end

    def _look_at_ends(self) -> dict[PartitionCopy, int]:
        """Reads the high watermarks of the source; returns the partitions that are behind, with them."""
        self._looked = wall_ms()
        copies = {copy.source: copy for copy in self._plan.copies}
        wanted = [*copies, *self._left]
        try:
            found = self._source_admin.list_offsets(dict.fromkeys(wanted, LATEST)) if wanted else {}
        except KcliError as error:
            self._observer.warn(f"the ends of the source cannot be read: {error}")
            return {}
        behind = {}
        for tp, one in found.items():
            if isinstance(one, OffsetInfo):
                self._ends[tp] = Seen(one.offset, self._looked)
                if tp in copies and copies[tp].error is None and one.offset > copies[tp].position:
                    behind[copies[tp]] = one.offset
        return behind

    def _record(self, comparisons: Sequence[Comparison]) -> Promoted:
        errors = {
            copy.source: copy.error for copy in self._plan.copies if copy.error is not None
        } | self._left
        whys = {tp: str(error) for tp, error in errors.items()}
        with fenced_writer(self._own, self._id) as writer:
            state, made = record(
                writer, self._id, self._own, self._ends, whys, source_lost=False, read_from=self._looked
            )
            super()._create_acls()
            made, groups = finish(writer, self._id, made, self._source_admin, self._target_admin)
        acls = None if self._acls is None else self._acls.account
        for error in errors.values():  # what would let the job go on does not help any more
            error.do = ""
        for error in self._left.values():
            error.do = "a new --job NAME copies it"
        return Promoted(self._id, state, made, [*dict.fromkeys(errors.values())], comparisons, groups, acls)
