"""Decides whether a group that was rewound as it ran reads its partitions from the new offsets on. Pure.

The judge receives a series of observations from outside the group: committed offsets, log end offsets, members and
their assignments. A partition is ``held`` when no commit that can be expected may undo the rewind:

- no previous owner of the partition is expected to commit an old batch any more (``attendance.py``), and
- the last commit is by a member that began at the new offset: it lies between the new and the old offset; or beyond the
  log end as it was when the last previous owner came back; or it was made when no member that was back could have an
  old batch in progress any more; or nothing is left to read from the new offset on.

A commit at or beyond the old offset and not beyond that log end may be of an old batch. By itself it does no harm,
since the owner of the partition continues and commits further; but if the partition is reassigned before that, the new
owner starts from it. Then the partition is ``unknown``. The same holds if the first commit of all may be of an old
batch and the owner may have fetched its starting position only after it. A partition is ``overwritten`` where no member
that began at the new offset can have made the last commit.
"""

from collections.abc import Collection, Mapping, Sequence

from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.classes import dataclass, field
from kcli.core.group.barrier.arrivals import ListedMember
from kcli.core.types import TopicPartition
from kcli.flows.rewind.attendance import (
    IDLE_SECONDS,
    Attendance,
    Party,
    patience,
    usual_patience,
)
from kcli.flows.rewind.trail import BLIND_SECONDS, Fate, Last, Rewound, Trail

HELD, OVERWRITTEN, UNKNOWN, OPEN = "held", "overwritten", "unknown", "open"
STABLE = "Stable"
EAGER = ("range", "roundrobin", "sticky")
"""Assignors whose members revoke everything before they join: all of them fetch committed offsets once they are in."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What was seen at ``at``: commits first, then the group, then the log ends. A missing entry was not seen.

    ``changed``: in a history, that the group's members or their assignments changed then.
    """

    at: float
    commits: Mapping[TopicPartition, int | None] = field(default_factory=dict)
    group: GroupDescription | None = None
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Awaited:
    """Why a partition is open. ``until``: when no old commit is expected any more; None: waiting for a commit or, with
    ``history``, for the history of commits (``Judge.confirm``).

    ``away``: members that have not rejoined. ``owner`` owns the partition, None if no member does.
    """

    until: float | None = None
    away: tuple[ListedMember, ...] = ()
    owner: MemberDescription | None = None
    history: bool = False


@dataclass(frozen=True, slots=True)
class PartitionVerdict:
    """What is known of one partition. ``commits``: time and offset, in order."""

    status: str
    commits: tuple[tuple[float, int | None], ...]
    awaited: Awaited | None = None
    owner: MemberDescription | None = None
    why: str = ""


class Judge:
    """Call ``observe`` with each new observation, then get the ``verdict`` of each partition."""

    def __init__(
        self,
        partitions: Mapping[TopicPartition, Rewound],
        attendance: Attendance,
        *,
        assignor: str = "",
    ) -> None:
        self.attendance = attendance
        self._eager = assignor in EAGER
        self._trails = {tp: Trail(one, usual_patience(self._pace(tp))) for tp, one in partitions.items()}
        self._members: tuple[MemberDescription, ...] = ()
        self._known: set[str] = set()  # ids of members that were seen in a stable group
        self._settled: tuple[object, ...] | None = None  # members of a classic group when it was last stable
        self._readers: dict[TopicPartition, MemberDescription] = {}
        self._observed_at = 0.0
        self._changes = 0  # in a history
        self._at_rest = False

    def observe(self, seen: Observation) -> None:
        blind = seen.at - self._observed_at > BLIND_SECONDS
        self._observed_at = seen.at
        if seen.group is not None:
            self._record_arrivals(seen.group, seen)
        self._add_commits(seen, blind=blind)
        if seen.group is not None:
            self._update_group(seen.group, seen)
        for tp, end in seen.ends.items():
            if (trail := self._trails.get(tp)) is not None:
                trail.end = end

    def replay(self, seen: Observation) -> None:
        """Adds an observation from a history without gaps; its first change is the members joining after the release."""
        self._observed_at = seen.at
        if seen.changed:
            if self._changes:
                for party in self.attendance.parties.values():
                    party.record_unknown_arrival(seen.at)
            for trail in self._trails.values():
                if self._changes:
                    trail.record_reassignment()
                trail.record_first_owner(seen.at)
            self._changes += 1
            return
        self._add_commits(seen, blind=False)

    def verdict(self, tp: TopicPartition, now: float) -> PartitionVerdict:
        """HELD, OVERWRITTEN, UNKNOWN (no later observation can decide it), or OPEN with what is awaited."""
        trail, owner = self._trails[tp], self._readers.get(tp)
        due, commits = self._due(tp), tuple(trail.commits)
        if trail.fate is Fate.OVERWRITTEN:
            return PartitionVerdict(OVERWRITTEN, commits, owner=owner)
        if trail.fate is Fate.UNDECIDABLE:
            return PartitionVerdict(UNKNOWN, commits, owner=owner, why=trail.why)
        if now <= due:
            return PartitionVerdict(OPEN, commits, Awaited(due, self._away(tp), owner), owner)
        if trail.awaits_history:
            return PartitionVerdict(OPEN, commits, Awaited(None, (), owner, history=True), owner)
        if trail.last is Last.OLD and now > trail.commits[-1][0] + self._patience(tp):
            return PartitionVerdict(OVERWRITTEN, commits, owner=owner)
        if trail.last is Last.FROM_NEW or self._quiet(tp, trail, now, due):
            return PartitionVerdict(HELD, commits, owner=owner)
        return PartitionVerdict(OPEN, commits, Awaited(None, (), owner), owner)

    @property
    def unconfirmed(self) -> bool:
        """Whether a commit of an old batch may have been missed, before the first one that was seen."""
        return any(trail.unconfirmed for trail in self._trails.values())

    def confirm(self, commits: Mapping[TopicPartition, Sequence[int | None]] | None) -> None:
        """``commits``: all since some time before the group was held, in order; None where they cannot be read."""
        for tp, trail in self._trails.items():
            if trail.unconfirmed:
                trail.confirm(None if commits is None else commits.get(tp, ()))

    def _add_commits(self, seen: Observation, *, blind: bool) -> None:
        for tp, offset in seen.commits.items():
            if (trail := self._trails.get(tp)) is not None:
                carried = max((party.carries_for for party in self.attendance.of(tp)), default=0.0)
                trail.add_commit(seen.at, offset, self._in_progress_until(tp), carried, blind=blind)

    # --- the group ----------------------------------------------------------------------------------------

    def _record_arrivals(self, group: GroupDescription, seen: Observation) -> None:
        """A member that is new in this poll may have joined before the commits were fetched."""
        before = {id(one) for one in self.attendance.parties.values() if one.complete}
        for party in self.attendance.update_members([listed(one) for one in group.members], seen.at):
            if id(party) in before or party.noticed_at <= 0:
                continue  # members that were back, or had noticed before the release, have read nothing old since
            for tp in party.partitions or self._trails:
                if tp in self._trails and tp in seen.ends:  # read no further before
                    trail = self._trails[tp]
                    trail.horizon = max(trail.horizon or 0, seen.ends[tp])

    def _update_group(self, group: GroupDescription, seen: Observation) -> None:
        self._members = group.members
        classic, stable = group.type == "classic", group.state == STABLE and bool(group.members)
        self._at_rest = stable or not group.members
        readers = {
            tp: member
            for member in group.members
            for tp in member.assignment or ()
            if tp in self._trails and (stable or not classic)
        }
        moved = self._moved_classic(group, stable=stable) if classic else self._moved(readers)
        for tp in moved:
            self._trails[tp].record_reassignment()
        for tp in readers.keys() - self._readers.keys():
            self._trails[tp].record_first_owner(seen.at)
        self._readers = readers

    def _moved_classic(self, group: GroupDescription, *, stable: bool) -> Collection[TopicPartition]:
        """The partitions that were reassigned: in a rebalance all of them are read anew.

        Cooperative members report what they own when they join. kafka-python reports what it owned at its previous
        join, and drops that once it has noticed its eviction; not if it was already rejoining.
        """
        if not stable:
            moved = list(self._trails) if self._settled is not None else []
            self._settled = () if self._settled is not None else None
            return moved
        if not self._eager:
            for member in group.members:
                if member.member_id not in self._known and self.attendance.back_at_once(listed(member)):
                    for tp in set(member.owned).intersection(member.assignment or ()):
                        if tp in self._trails:
                            self._trails[tp].kept = True
        self._known.update(member.member_id for member in group.members)
        settled = tuple(sorted((one.member_id, one.assignment or ()) for one in group.members))
        before, self._settled = self._settled, settled
        return [] if before is None or settled == before else list(self._trails)

    def _moved(self, readers: Mapping[TopicPartition, MemberDescription]) -> Collection[TopicPartition]:
        return [
            tp
            for tp in self._trails
            if (tp in readers) != (tp in self._readers)
            or (tp in readers and readers[tp].member_id != self._readers[tp].member_id)
        ]

    # --- members that may still commit an old batch -------------------------------------------------------

    def _due(self, tp: TopicPartition) -> float:
        """When no old commit is expected for the partition any more."""
        parties = self.attendance.of(tp)
        if self._idle(tp):
            return max((party.last_arrival or 0.0 for party in parties), default=0.0) + IDLE_SECONDS
        return max((party.due(at_work=self._at_work(party)) for party in parties), default=0.0)

    def _in_progress_until(self, tp: TopicPartition) -> float:
        """Until when members that are back may commit a batch in progress."""
        if self._idle(tp):
            return float("-inf")
        return max((party.in_progress_until for party in self.attendance.of(tp)), default=float("-inf"))

    def _idle(self, tp: TopicPartition) -> bool:
        return self._trails[tp].rewound.idle and all(party.certain for party in self.attendance.of(tp))

    def _at_work(self, party: Party) -> bool:
        """Whether every member of that name was seen to make progress since, where there were records to read."""
        if not party.all_here:
            return False
        own = [one for one in self._members if self.attendance.party(listed(one)) is party]
        return all(self._works(member) for member in own)

    def _works(self, member: MemberDescription) -> bool:
        trails = [trail for tp in member.assignment or () if (trail := self._trails.get(tp)) is not None]
        return (
            not trails or any(trail.continues for trail in trails) or all(trail.drained for trail in trails)
        )

    def _away(self, tp: TopicPartition) -> tuple[ListedMember, ...]:
        return tuple(one.member for party in self.attendance.of(tp) for one in party.members[party.back :])

    def _quiet(self, tp: TopicPartition, trail: Trail, now: float, due: float) -> bool:
        """Whether everything is read, and the last commit was not corrected although it would have been by now."""
        if trail.last in (Last.NONE, Last.AT_NEW):  # or it has no owner, and its next owner begins there
            return (trail.drained and not trail.kept) or (self._at_rest and tp not in self._readers)
        if trail.kept or not trail.drained:
            return False
        return trail.last is Last.MAYBE_OLD and now > max(due, trail.commits[-1][0] + self._patience(tp))

    def _patience(self, tp: TopicPartition) -> float:
        return patience(self._pace(tp))

    def _pace(self, tp: TopicPartition) -> float:
        return max((party.pace for party in self.attendance.of(tp)), default=0.0)


def listed(member: MemberDescription) -> ListedMember:
    """A member as the arrival log identifies it."""
    return ListedMember(member.member_id, member.instance_id, member.client_id, member.client_host)
