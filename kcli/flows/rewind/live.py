"""A rewind of a group that has members: held at the door while its offsets are set, then watched.

``set_offsets`` does it with a ``Holding`` (``core/group/hold.py`` and its reasons), ``watch`` looks on afterwards. What
is told was seen: ``held`` is a partition of which a commit says that it was read from the new offset on, or whose members
could not do anything else when they were let in, and nothing that was committed since says otherwise.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from typing import Protocol

from kcli.core.admin.admin import Admin
from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.dataclass import dataclass
from kcli.core.errors import KcliError, MembershipError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.rewind.plan import STABLE, GroupPlan, NotPossibleError, RewindItem

SEIZE_SECONDS = 20.0
"""For the members to be sent out, and not to come back before the guard has everything."""
CALL_SECONDS = 10.0
WATCH_SECONDS = 10.0
"""Twice the interval at which clients commit by themselves (``auto.commit.interval.ms``)."""
LOOK_SECONDS = 0.1
EAGER = ("range", "roundrobin", "sticky")
"""Assignors whose members give everything up before they join: all of them read what is committed when they are in."""

HELD, OVERWRITTEN, UNCLEAR, OPEN = "held", "overwritten", "unclear", "open"

Commit = OffsetAndMetadata | None
Offsets = Mapping[TopicPartition, OffsetAndMetadata]
LogEnds = Callable[[Sequence[TopicPartition]], Mapping[TopicPartition, int]]
"""Of those logs whose ends can be told."""


class Holding(Protocol):
    """See ``core.group.hold.Hold``."""

    @property
    def evicted(self) -> int: ...

    @property
    def may_have_committed(self) -> bool: ...

    def seize(self, timeout: float) -> None: ...

    def committed(
        self, places: Collection[TopicPartition], timeout: float
    ) -> Mapping[TopicPartition, Commit]: ...

    def commit(self, offsets: Offsets, timeout: float) -> Mapping[TopicPartition, KcliError | None]: ...

    def wait_for_members(self, offsets: Offsets, timeout: float) -> int: ...

    def release(self) -> None: ...


@dataclass(frozen=True, slots=True)
class LiveResult:
    """One group after its door was opened. ``plan`` has the commits as they were when it was shut.

    ``stored`` tells which commits were refused, ``found`` what was read back last before the door was opened.
    ``failure`` has ended it early: what was set is not known then. ``unseen``: how many of those that were sent out,
    ``evicted``, were not back at the door when it was opened. ``ends``: of the logs, when it was: a position from before
    is not beyond.
    """

    plan: GroupPlan
    stored: Mapping[TopicPartition, KcliError | None] = field(default_factory=dict)
    found: Mapping[TopicPartition, Commit] = field(default_factory=dict)
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    evicted: int = 0
    unseen: int = 0
    failure: KcliError | None = None

    @property
    def eager(self) -> bool:
        """Whether all give up what they have before they join."""
        return self.plan.type == "classic" and self.plan.assignor in EAGER

    @property
    def watched(self) -> dict[TopicPartition, RewindItem]:
        """What is worth watching: partitions that were at their new offset when the door was opened."""
        if self.failure is not None:
            return {}
        return {
            item.where: item
            for item in self.plan.todo
            if self.stored.get(item.where) is None and _at(self.found.get(item.where)) == _at(item.new)
        }


@dataclass(frozen=True, slots=True)
class Watched:
    """What became of one partition: HELD, OVERWRITTEN or UNCLEAR. ``member`` has the partition now."""

    verdict: str
    found: Commit
    member: MemberDescription | None = None


@dataclass(frozen=True, slots=True)
class GroupWatch:
    """``missing``: members that were there before and have not come back."""

    partitions: Mapping[TopicPartition, Watched] = field(default_factory=dict)
    missing: tuple[MemberDescription, ...] = ()


def read_topics(group: GroupDescription) -> frozenset[str]:
    """The topics that the members of a group read, or may."""
    names: set[str] = set()
    for member in group.members:
        names.update(member.subscription)
        names.update(where.topic for where in (*(member.assignment or ()), *(member.target or ())))
    return frozenset(names)


def seize(holding: Holding) -> None:
    """Shuts the door. NotPossibleError when the group could not be held: nothing has changed then."""
    try:
        holding.seize(SEIZE_SECONDS)
    except KcliError as error:
        holding.release()
        raise _impossible(error) from error
    except BaseException:
        holding.release()
        raise


def _impossible(error: KcliError) -> KcliError:
    """The group could not be held, or has another guard; what else went wrong is said as it is."""
    return (
        NotPossibleError(error.what, why=error.why, do=error.do)
        if isinstance(error, MembershipError)
        else error
    )


def set_offsets(
    holding: Holding, plan: GroupPlan, journal: Callable[[GroupPlan], object], log_ends: LogEnds
) -> LiveResult:
    """Sets the offsets of a group that is held, and releases it. ``journal`` is called before the first commit.

    KcliError when nothing was committed.
    """
    offsets = {item.where: item.new for item in plan.todo if item.new is not None}
    result = LiveResult(plan)
    try:
        plan = _as_held(plan, holding.committed(offsets, CALL_SECONDS))
        result = LiveResult(plan)
        journal(plan)
        stored = dict(holding.commit(offsets, CALL_SECONDS))
        good = {where: new for where, new in offsets.items() if stored[where] is None}
        back = holding.wait_for_members(good, CALL_SECONDS) if good else holding.evicted
        stored |= holding.commit(good, CALL_SECONDS) if good else {}
        found = holding.committed(offsets, CALL_SECONDS)
        ends, evicted = log_ends(list(offsets)), holding.evicted
        result = LiveResult(plan, stored, found, ends, evicted, max(0, evicted - back))
    except KcliError as error:
        if not holding.may_have_committed:
            raise _impossible(error) from error
        result = replace(result, failure=error)
    finally:
        holding.release()
    return result


def _as_held(plan: GroupPlan, committed: Mapping[TopicPartition, Commit]) -> GroupPlan:
    """What is undone is what was committed when the door was shut: members go on while a plan is looked at."""
    items = [
        replace(item, committed=committed[item.where]) if item.where in committed else item
        for item in plan.items
    ]
    return replace(plan, items=tuple(items))


# --- afterwards ------------------------------------------------------------------------------------------


def watch(
    admin: Admin,
    results: Sequence[LiveResult],
    *,
    seconds: float = WATCH_SECONDS,
    now: Callable[[], float],
    sleep: Callable[[float], None],
) -> dict[str, GroupWatch]:
    """Looks at what the members commit, until each partition has gone on from its new offset, or the time is over.

    A coordinator that does not answer is asked again, to the end.
    """
    sights = {result.plan.group: _Sight(result) for result in results if result.watched}
    end = now() + seconds
    while sights:
        wanted = {group: list(sight.items) for group, sight in sights.items()}
        for group, told in admin.fetch_offsets(wanted).items():
            if not isinstance(told, KcliError):
                sights[group].take(told)
        new = [group for group, sight in sights.items() if not sight.joined]
        for group, described in (admin.describe_groups(new) if new else {}).items():
            sights[group].look(described)
        if now() >= end or all(sight.decided for sight in sights.values()):
            break
        sleep(min(LOOK_SECONDS, max(0.0, end - now())))
    after = admin.describe_groups(list(sights)) if sights else {}
    return {group: sight.judged(after[group]) for group, sight in sights.items()}


class _Sight:
    """What was seen of one group."""

    def __init__(self, result: LiveResult) -> None:
        self.items = result.watched
        self._result = result
        self._proven = result.eager and result.unseen == 0
        self.joined = False  # whether it was seen after its members had joined
        self._seen: dict[TopicPartition, list[Commit]] = {where: [] for where in self.items}

    def take(self, told: Mapping[TopicPartition, Commit | KcliError]) -> None:
        for where, seen in self._seen.items():
            commit = told[where]
            if not isinstance(commit, KcliError) and (not seen or seen[-1] != commit):
                seen.append(commit)

    def look(self, group: GroupDescription | KcliError) -> None:
        """Whether nobody could go on from an old position when the door was opened, whatever is committed since.

        Cooperative members tell what they own when they join: nothing, unless a client keeps what it has though it was
        sent out (kafka-python in the middle of a commit). Members of the new protocol join in the background: one that is
        still at work on what it had read may commit that in its new epoch, and nobody can tell.
        """
        if isinstance(group, KcliError) or group.state != STABLE or not group.members or self.joined:
            return
        self.joined = True
        if group.type == "classic" and not self._result.unseen:
            self._proven = self._result.eager or not any(member.owned for member in group.members)

    @property
    def decided(self) -> bool:
        """Whether nothing more is to come: who is not back yet may commit to the last moment."""
        known = (HELD, OVERWRITTEN, UNCLEAR) if self._proven else (HELD, OVERWRITTEN)
        return self._result.unseen == 0 and all(self._trail(where) in known for where in self._seen)

    def _trail(self, where: TopicPartition) -> str:
        if self._proven and _drained(self.items[where], self._end(where)):
            return UNCLEAR  # nobody will commit
        return trail(self.items[where], self._seen[where], self._end(where))

    def _end(self, where: TopicPartition) -> int | None:
        """Who has kept a position goes on beyond it, too."""
        return self._result.ends.get(where) if self._proven or self._result.plan.type != "classic" else None

    def judged(self, group: GroupDescription | KcliError) -> GroupWatch:
        members = () if isinstance(group, KcliError) else group.members
        owners = {where: member for member in members for where in member.assignment or ()}
        verdicts = {
            where: Watched(
                verdict(self.items[where], seen, self._end(where), proven=self._proven),
                seen[-1] if seen else self.items[where].new,
                owners.get(where),
            )
            for where, seen in self._seen.items()
        }
        missing = () if isinstance(group, KcliError) else _missing(self._result.plan.members, members)
        return GroupWatch(verdicts, missing)


def trail(item: RewindItem, seen: Sequence[Commit], end: int | None) -> str:
    """What the commits that were seen one after the other say of a partition, on their own.

    Below the new offset nobody commits who has begun there. Between the new and the old one only those do who have: who
    has read on was at the old one at least. Beyond ``end``, where the log ended when the members were let in, nobody had
    read then. Elsewhere it may be either: UNCLEAR. OPEN: nobody has committed anything.
    """
    assert item.new is not None
    new, old = item.new.offset, _at(item.committed)
    found = OPEN
    for commit in seen:
        if commit is None or commit.offset < new:
            return OVERWRITTEN
        if commit.offset > new and found == OPEN:
            again = old is not None and commit.offset < old
            found = HELD if again or (end is not None and commit.offset > end) else UNCLEAR
    return found


def verdict(item: RewindItem, seen: Sequence[Commit], end: int | None, *, proven: bool) -> str:
    """HELD, OVERWRITTEN or UNCLEAR. Where nothing is left to be read from the new offset on, nothing has to be seen."""
    found = trail(item, seen, end)
    if found in (HELD, OVERWRITTEN):
        return found
    return HELD if proven or (found == OPEN and _drained(item, end)) else UNCLEAR


def _drained(item: RewindItem, end: int | None) -> bool:
    """Whether nothing is left to be read from the new offset on."""
    return item.new is not None and end is not None and end <= item.new.offset


def _missing(
    before: Sequence[MemberDescription], after: Sequence[MemberDescription]
) -> tuple[MemberDescription, ...]:
    """Members have new ids when they come back; they are known by client and host."""
    left = [(member.instance_id, member.client_id, member.client_host) for member in after]
    missing = []
    for member in before:
        name = (member.instance_id, member.client_id, member.client_host)
        if name in left:
            left.remove(name)
        else:
            missing.append(member)
    return tuple(missing)


def _at(commit: Commit) -> int | None:
    return None if commit is None else commit.offset
