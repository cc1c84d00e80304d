"""A rewind of a group that has members: the group is held while its offsets are set, then released.

``set_offsets`` does this with a barrier (``core/group/barrier``), and records what a judge must know of the state before
(``LiveFacts``). ``barriers.py`` holds the group; ``watching.py`` watches it afterwards.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from kcli.core.admin.group_description import MemberDescription
from kcli.core.classes import dataclass, field, replace
from kcli.core.errors import KcliError, MembershipError
from kcli.core.group.barrier.arrivals import Arrival, ArrivalLog
from kcli.core.group.barrier.barrier import HOLD_SECONDS, HoldTimes
from kcli.core.group.barrier.external import ExternalBarrier
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.rewind.attendance import (
    IDLE_SECONDS,
    LONGEST_BATCH,
    UNKNOWN_PACE,
    USUAL_SESSION,
    Attendance,
    EvictedMember,
    usual_patience,
)
from kcli.flows.rewind.judge import Judge
from kcli.flows.rewind.pace import Pace
from kcli.flows.rewind.plan import GroupPlan, NotPossibleError, RewindItem
from kcli.flows.rewind.trail import Rewound

CALL_SECONDS = 10.0
LONGEST_QUIET = 12.0
"""The longest time in seconds that a group is held for members whose batches usually take long."""
_SAMPLE_SECONDS = 0.3

Commit = OffsetAndMetadata | None
Offsets = Mapping[TopicPartition, OffsetAndMetadata]
LogEnds = Callable[[Sequence[TopicPartition]], Mapping[TopicPartition, int]]
"""The log end offsets that could be read."""


@dataclass(frozen=True, slots=True)
class BeforeEviction:
    """What was known of a group just before its members were evicted: their assignments, the longest time between two
    commits (by partition), and, in classic groups, their session timeouts (ms, by member id).
    """

    members: tuple[MemberDescription, ...] = ()
    paces: Mapping[TopicPartition, Pace] = field(default_factory=dict)
    sessions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HeldGroup:
    """A group that is held."""

    barrier: ExternalBarrier
    before: BeforeEviction = BeforeEviction()


@dataclass(frozen=True, slots=True)
class LiveFacts:
    """What a judge must know of a live rewind. Times are seconds since the members were released, at ``released_ms``
    (since the epoch). ``arrivals``: the members that had rejoined by then.
    """

    released_ms: int
    evicted: tuple[EvictedMember, ...]
    evicted_at: float
    arrivals: tuple[Arrival, ...]
    partitions: Mapping[TopicPartition, Rewound]
    type: str
    assignor: str

    @property
    def attendance(self) -> Attendance:
        return Attendance(self.evicted, self.evicted_at, self.arrivals, keeps_id=self.type != "classic")

    @property
    def judge(self) -> Judge:
        """A new judge, without any observations yet."""
        return Judge(self.partitions, self.attendance, assignor=self.assignor)


@dataclass(frozen=True, slots=True)
class LiveResult:
    """One group after its release. ``plan`` has the commits as they were when the barrier took hold of the group.

    ``stored`` has the error of each rejected commit, ``found`` the offsets last read back before the release. A
    ``failure`` ended the rewind early: what was set is not known then, and there are no ``facts``. ``released_at`` is
    monotonic time.
    """

    plan: GroupPlan
    stored: Mapping[TopicPartition, KcliError | None] = field(default_factory=dict)
    found: Mapping[TopicPartition, Commit] = field(default_factory=dict)
    facts: LiveFacts | None = None
    released_at: float = 0.0
    failure: KcliError | None = None


def refused(error: KcliError) -> KcliError:
    """NotPossibleError where the group could not be held or has another barrier; other errors are returned unchanged."""
    if isinstance(error, MembershipError):
        return NotPossibleError(error.what, why=error.why, do=error.do)
    return error


@dataclass(frozen=True, slots=True)
class Clocks:
    """``now``: seconds, on the clock of the arrival log; ``wall_ms``: ms since the epoch."""

    now: Callable[[], float]
    wall_ms: Callable[[], int]


def set_offsets(
    held: HeldGroup,
    plan: GroupPlan,
    journal: Callable[[GroupPlan], object],
    log_ends: LogEnds,
    clocks: Clocks,
) -> LiveResult:
    """Sets the offsets of a group that is held, and releases it. ``journal`` is called before the first commit.

    Raises KcliError when nothing was committed.
    """
    barrier = held.barrier
    offsets = {item.tp: item.commit for item in plan.todo if item.commit is not None}
    result = LiveResult(plan)
    ends: Mapping[TopicPartition, int] = {}
    try:
        plan = _as_held(plan, barrier.committed(offsets, CALL_SECONDS))
        result = LiveResult(plan)
        journal(plan)
        stored = dict(barrier.commit(offsets, CALL_SECONDS))
        good = {tp: new for tp, new in offsets.items() if stored[tp] is None}
        if good:
            ends = _wait(barrier, good, held.before, plan, log_ends, clocks.now)
            # Once more: a member that waits to rejoin may have committed its batch in progress since the last look. What
            # comes after this one, the watch has to see (``trail.py``).
            stored |= barrier.commit(good, CALL_SECONDS)
        # Before the release, as nobody reads yet: afterwards a member may have committed further already.
        found = barrier.committed(offsets, CALL_SECONDS)
        result = LiveResult(plan, stored, found)
    except KcliError as error:
        if not barrier.may_have_committed:
            raise refused(error) from error
        result = replace(result, failure=error)
    finally:
        released_at, released_ms = clocks.now(), clocks.wall_ms()
        barrier.release()
    if result.failure is not None:
        return result
    facts = _facts(result, held.before, barrier.arrival_log, ends, released_at, released_ms)
    return replace(result, facts=facts, released_at=released_at)


def _as_held(plan: GroupPlan, committed: Mapping[TopicPartition, Commit]) -> GroupPlan:
    """The plan with the offsets committed when the group was held: these are what an undo restores."""
    items = [
        replace(item, committed=committed[item.tp]) if item.tp in committed else item for item in plan.items
    ]
    return replace(plan, items=tuple(items))


def _wait(
    barrier: ExternalBarrier,
    offsets: Offsets,
    before: BeforeEviction,
    plan: GroupPlan,
    log_ends: LogEnds,
    now: Callable[[], float],
) -> Mapping[TopicPartition, int]:
    """Waits until the members are back and their batches in progress have ended. Returns the end of each log when the
    previous owners of the partition were back or had noticed their eviction: none of them has read beyond it.
    """
    ends: dict[TopicPartition, int] = {}
    reading = set(offsets)
    give_up = now() + HOLD_SECONDS
    while reading:
        timeout = min(_SAMPLE_SECONDS, max(0.0, give_up - now()))
        barrier.hold(offsets, CALL_SECONDS, HoldTimes(members=timeout))
        at, attendance = now(), _attendance(before, barrier.arrival_log)
        over = {tp for tp in reading if all(at > p.noticed_at or p.complete for p in attendance.of(tp))}
        ends |= log_ends(sorted(over))
        reading -= over
        if barrier.arrival_log.all_back or now() >= give_up:
            break
    ends |= log_ends(sorted(reading))
    times = _hold_times(before, plan, ends)
    barrier.hold(offsets, 2 * times.quiet + times.since_eviction + CALL_SECONDS, times)
    return {**ends, **log_ends(sorted(reading))}


def _attendance(before: BeforeEviction, log: ArrivalLog) -> Attendance:
    """As of now, on the clock of the arrival log."""
    return Attendance(_evicted_members(before, log), log.evicted_at, log.arrivals, keeps_id=log.keeps_id)


def hold_times(paces: Iterable[float], *, bound: float = LONGEST_BATCH) -> HoldTimes:
    """How long to hold a group so that batches in progress end while no member can commit them: as long as batches
    usually take, and as long as an exceptional one may take. ``bound`` limits both times.
    """
    longest = max((usual_patience(pace) for pace in paces), default=0.0)
    return HoldTimes(0.0, min(longest, LONGEST_QUIET, bound), min(LONGEST_BATCH, bound))


def _hold_times(before: BeforeEviction, plan: GroupPlan, ends: Mapping[TopicPartition, int]) -> HoldTimes:
    """Where nothing was unread, only long enough for the members to notice that they own nothing."""
    if all(ends.get(item.tp) == _at(item.committed) for item in plan.todo):
        return HoldTimes(0.0, IDLE_SECONDS)
    return hold_times(pace.seconds for pace in before.paces.values() if pace.known)


# --- what a judge must know ------------------------------------------------------------------------------


def _facts(
    result: LiveResult,
    before: BeforeEviction,
    log: ArrivalLog,
    ends: Mapping[TopicPartition, int],
    released_at: float,
    released_ms: int,
) -> LiveFacts:
    plan = result.plan
    set_ones = [
        item
        for item in plan.todo
        if result.stored.get(item.tp) is None
        and item.new is not None
        and _at(result.found.get(item.tp)) == item.new.offset
    ]
    evicted = _evicted_members(before, log)
    arrivals = tuple(one.since(released_at) for one in log.arrivals)
    facts = LiveFacts(
        released_ms, evicted, log.evicted_at - released_at, arrivals, {}, plan.type, plan.assignor
    )
    partitions = {item.tp: _rewound(item, ends) for item in set_ones}
    return replace(facts, partitions=partitions)


def _rewound(item: RewindItem, ends: Mapping[TopicPartition, int]) -> Rewound:
    assert item.new is not None
    return Rewound(item.new.offset, _at(item.committed), ends.get(item.tp))


def _evicted_members(before: BeforeEviction, log: ArrivalLog) -> tuple[EvictedMember, ...]:
    """The evicted members and their partitions; unknown if the group had changed by the time of the eviction."""
    had = {one.member_id: one.assignment for one in before.members}
    certain = {one.member_id for one in log.evicted} == set(had) and None not in had.values()
    found = []
    for member in log.evicted:
        own = frozenset(had[member.member_id] or ()) if certain else frozenset[TopicPartition]()
        seen = [before.paces[tp] for tp in own or before.paces if tp in before.paces]
        pace = max((one.seconds for one in seen), default=0.0)
        if sum(one.gaps for one in seen) < 2 or not any(one.known for one in seen):
            pace = max(pace, UNKNOWN_PACE)
        session = before.sessions.get(member.member_id)
        found.append(EvictedMember(member, own, pace, USUAL_SESSION if session is None else session / 1000))
    return tuple(found)


def _at(commit: Commit) -> int | None:
    return None if commit is None else commit.offset
