"""A rewind of a group that has members: the group is held while its offsets are set, then released.

``set_offsets`` does this with a ``Holding`` (reasons: ``core/group/barrier``), and records what a judge must know of
the state before (``LiveFacts``). The result is watched afterwards (``watching.py``).
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.errors import KcliError, MembershipError
from kcli.core.group.barrier.arrivals import Arrival, ArrivalLog
from kcli.core.group.barrier.barrier import HOLD
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.rewind.attendance import (
    IDLE_SECONDS,
    LONGEST_BATCH,
    UNKNOWN_PACE,
    USUAL_SESSION,
    Attendance,
    SentOut,
    usual_patience,
)
from kcli.flows.rewind.judge import Judge, Rewound
from kcli.flows.rewind.pace import Pace
from kcli.flows.rewind.plan import GroupPlan, NotPossibleError, RewindItem

SEIZE_SECONDS = 20.0
"""For the members to be evicted and stay out until the barrier owns every partition."""
CALL_SECONDS = 10.0
LONGEST_QUIET = 12.0
"""The longest time in seconds that a group is held for members whose batches usually take long."""
_SAMPLE_SECONDS = 0.3

Commit = OffsetAndMetadata | None
Offsets = Mapping[TopicPartition, OffsetAndMetadata]
LogEnds = Callable[[Sequence[TopicPartition]], Mapping[TopicPartition, int]]
"""The log end offsets that could be read."""


class Holding(Protocol):
    """See ``core.group.barrier.external.ExternalBarrier``."""

    @property
    def door(self) -> ArrivalLog: ...

    @property
    def may_have_committed(self) -> bool: ...

    def seize(self, timeout: float) -> None: ...

    def committed(
        self, partitions: Collection[TopicPartition], timeout: float
    ) -> Mapping[TopicPartition, Commit]: ...

    def commit(self, offsets: Offsets, timeout: float) -> Mapping[TopicPartition, KcliError | None]: ...

    def wait_for_members(
        self,
        offsets: Offsets,
        timeout: float,
        *,
        patience: float = HOLD,
        quiet: float = 0.0,
        least: float = 0.0,
    ) -> int: ...

    def release(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Before:
    """What was known of a group just before its members were evicted: their assignments, the longest time between two
    commits (by partition), and, in classic groups, their session timeouts (ms, by member id).
    """

    members: tuple[MemberDescription, ...] = ()
    paces: Mapping[TopicPartition, Pace] = field(default_factory=dict)
    sessions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Shut:
    """A group that is held."""

    holding: Holding
    before: Before = Before()


@dataclass(frozen=True, slots=True)
class LiveFacts:
    """What a judge must know of a live rewind. Times are seconds since the members were released, at ``let_in_ms``
    (since the epoch). ``arrivals``: the members that had rejoined by then.
    """

    let_in_ms: int
    sent_out: tuple[SentOut, ...]
    sent_out_at: float
    arrivals: tuple[Arrival, ...]
    partitions: Mapping[TopicPartition, Rewound]
    type: str
    assignor: str

    @property
    def attendance(self) -> Attendance:
        return Attendance(self.sent_out, self.sent_out_at, self.arrivals, keeps_id=self.type != "classic")

    @property
    def judge(self) -> Judge:
        """A new judge, without any observations yet."""
        return Judge(self.partitions, self.attendance, assignor=self.assignor)


@dataclass(frozen=True, slots=True)
class LiveResult:
    """One group after its release. ``plan`` has the commits as they were when the barrier took hold of the group.

    ``stored`` has the error of each rejected commit, ``found`` the offsets last read back before the release. A
    ``failure`` ended the rewind early: what was set is not known then, and there are no ``facts``. ``let_in_at`` is
    monotonic time.
    """

    plan: GroupPlan
    stored: Mapping[TopicPartition, KcliError | None] = field(default_factory=dict)
    found: Mapping[TopicPartition, Commit] = field(default_factory=dict)
    facts: LiveFacts | None = None
    let_in_at: float = 0.0
    failure: KcliError | None = None


def read_topics(group: GroupDescription) -> frozenset[str]:
    """The topics that the members of a group read or may read."""
    names: set[str] = set()
    for member in group.members:
        names.update(member.subscription)
        names.update(tp.topic for tp in (*(member.assignment or ()), *(member.target or ())))
    return frozenset(names)


def seize(holding: Holding) -> None:
    """Takes hold of the group. NotPossibleError if the group could not be held: nothing has changed then."""
    try:
        holding.seize(SEIZE_SECONDS)
    except KcliError as error:
        holding.release()
        raise _impossible(error) from error
    except BaseException:
        holding.release()
        raise


def _impossible(error: KcliError) -> KcliError:
    """NotPossibleError where the group could not be held or has another barrier; other errors are returned unchanged."""
    return (
        NotPossibleError(error.what, why=error.why, do=error.do)
        if isinstance(error, MembershipError)
        else error
    )


@dataclass(frozen=True, slots=True)
class Clocks:
    """``now``: seconds, on the clock of the arrival log; ``wall_ms``: ms since the epoch."""

    now: Callable[[], float]
    wall_ms: Callable[[], int]


def set_offsets(
    shut: Shut,
    plan: GroupPlan,
    journal: Callable[[GroupPlan], object],
    log_ends: LogEnds,
    clocks: Clocks,
) -> LiveResult:
    """Sets the offsets of a group that is held, and releases it. ``journal`` is called before the first commit.

    Raises KcliError when nothing was committed.
    """
    holding = shut.holding
    offsets = {item.tp: item.new for item in plan.todo if item.new is not None}
    result = LiveResult(plan)
    ends: Mapping[TopicPartition, int] = {}
    try:
        plan = _as_held(plan, holding.committed(offsets, CALL_SECONDS))
        result = LiveResult(plan)
        journal(plan)
        stored = dict(holding.commit(offsets, CALL_SECONDS))
        good = {tp: new for tp, new in offsets.items() if stored[tp] is None}
        if good:
            ends = _wait(holding, good, shut.before, plan, log_ends, clocks.now)
            stored |= holding.commit(good, CALL_SECONDS)
        found = holding.committed(offsets, CALL_SECONDS)
        result = LiveResult(plan, stored, found)
    except KcliError as error:
        if not holding.may_have_committed:
            raise _impossible(error) from error
        result = replace(result, failure=error)
    finally:
        let_in_at, let_in_ms = clocks.now(), clocks.wall_ms()
        holding.release()
    if result.failure is not None:
        return result
    facts = _facts(result, shut.before, holding.door, ends, let_in_at, let_in_ms)
    return replace(result, facts=facts, let_in_at=let_in_at)


def _as_held(plan: GroupPlan, committed: Mapping[TopicPartition, Commit]) -> GroupPlan:
    """The plan with the offsets committed when the group was held, which an undo restores: members continue during
    planning.
    """
    items = [
        replace(item, committed=committed[item.tp]) if item.tp in committed else item for item in plan.items
    ]
    return replace(plan, items=tuple(items))


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a group is held: ``quiet`` seconds after the last member rejoined, ``least`` since the eviction."""

    quiet: float = 0.0
    least: float = 0.0


def _wait(
    holding: Holding,
    offsets: Offsets,
    before: Before,
    plan: GroupPlan,
    log_ends: LogEnds,
    now: Callable[[], float],
) -> Mapping[TopicPartition, int]:
    """Waits until the members are back and their batches in progress have ended. Returns the end of each log when the
    previous owners of the partition were back or had noticed their eviction: none of them has read beyond it.
    """
    ends: dict[TopicPartition, int] = {}
    reading = set(offsets)
    give_up = now() + HOLD
    while reading:
        timeout = min(_SAMPLE_SECONDS, max(0.0, give_up - now()))
        holding.wait_for_members(offsets, CALL_SECONDS, patience=timeout)
        at, attendance = now(), _attendance(before, holding.door)
        over = {tp for tp in reading if all(at > p.noticed_at or p.complete for p in attendance.of(tp))}
        ends |= log_ends(sorted(over))
        reading -= over
        if holding.door.all_back or now() >= give_up:
            break
    ends |= log_ends(sorted(reading))
    hold = _patience(before, plan, ends)
    timeout = 2 * hold.quiet + hold.least + CALL_SECONDS
    holding.wait_for_members(offsets, timeout, patience=0.0, quiet=hold.quiet, least=hold.least)
    return {**ends, **log_ends(sorted(reading))}


def _attendance(before: Before, door: ArrivalLog) -> Attendance:
    """As of now, on the clock of the arrival log."""
    return Attendance(_sent_out(before, door), door.sent_out_at, door.arrivals, keeps_id=door.keeps_id)


def patience_at_the_door(paces: Iterable[float], *, bound: float = LONGEST_BATCH) -> Patience:
    """How long to hold a group so that batches in progress end while no member can commit them: as long as batches
    usually take, and as long as an exceptional one may take. ``bound`` limits both times.
    """
    longest = max((usual_patience(pace) for pace in paces), default=0.0)
    return Patience(min(longest, LONGEST_QUIET, bound), min(LONGEST_BATCH, bound))


def _patience(before: Before, plan: GroupPlan, ends: Mapping[TopicPartition, int]) -> Patience:
    """Where nothing was unread, only long enough for the members to notice that they own nothing."""
    if all(ends.get(item.tp) == _at(item.committed) for item in plan.todo):
        return Patience(IDLE_SECONDS)
    return patience_at_the_door(pace.seconds for pace in before.paces.values() if pace.known)


# --- what a judge must know ------------------------------------------------------------------------------


def _facts(
    result: LiveResult,
    before: Before,
    door: ArrivalLog,
    ends: Mapping[TopicPartition, int],
    let_in_at: float,
    let_in_ms: int,
) -> LiveFacts:
    plan = result.plan
    set_ones = [
        item
        for item in plan.todo
        if result.stored.get(item.tp) is None
        and item.new is not None
        and _at(result.found.get(item.tp)) == item.new.offset
    ]
    sent_out = _sent_out(before, door)
    arrivals = tuple(one.since(let_in_at) for one in door.arrivals)
    facts = LiveFacts(
        let_in_ms, sent_out, door.sent_out_at - let_in_at, arrivals, {}, plan.type, plan.assignor
    )
    partitions = {item.tp: _rewound(item, ends) for item in set_ones}
    return replace(facts, partitions=partitions)


def _rewound(item: RewindItem, ends: Mapping[TopicPartition, int]) -> Rewound:
    assert item.new is not None
    return Rewound(item.new.offset, _at(item.committed), ends.get(item.tp))


def _sent_out(before: Before, door: ArrivalLog) -> tuple[SentOut, ...]:
    """The evicted members and their partitions; unknown if the group had changed by the time of the eviction."""
    had = {one.member_id: one.assignment for one in before.members}
    certain = {one.member_id for one in door.sent_out} == set(had) and None not in had.values()
    found = []
    for member in door.sent_out:
        own = frozenset(had[member.member_id] or ()) if certain else frozenset[TopicPartition]()
        seen = [before.paces[tp] for tp in own or before.paces if tp in before.paces]
        pace = max((one.seconds for one in seen), default=0.0)
        if sum(one.gaps for one in seen) < 2 or not any(one.known for one in seen):
            pace = max(pace, UNKNOWN_PACE)
        session = before.sessions.get(member.member_id)
        found.append(SentOut(member, own, pace, USUAL_SESSION if session is None else session / 1000))
    return tuple(found)


def _at(commit: Commit) -> int | None:
    return None if commit is None else commit.offset
