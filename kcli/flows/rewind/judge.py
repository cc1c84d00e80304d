"""Whether the partitions of a group that was rewound as it ran are read from their new offsets on. Pure.

The judge is shown what can be seen from outside, look after look: what is committed, where logs end, who is in the group
and has what. ``held`` is said of a partition when nothing that can be expected can take it away again:

- nobody who had the partition before is expected to commit an old batch any more (``attendance.py``), and
- what is committed last comes from somebody who began at the new offset: it lies between the new and the old one; or
  beyond the log's end as it was when the last of those who had it before came back; or it was committed when nobody who
  was back could have an old batch in hand any more; or nothing is left to be read from the new offset on.

A commit at or beyond the old offset and not beyond that end may be an old batch. Alone it does no harm, for who reads the
partition goes on and commits further; but if the partition changes hands before it does, it is read on from there. Then
nothing is known of it any more: it is ``unknown``. So it is if the first commit of all may be an old one, and whoever got
the partition may have asked only then where to begin. ``overwritten`` is said where
nobody who began at the new offset can have committed what is there.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field

from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.dataclass import dataclass
from kcli.core.group.barrier.arrivals import ListedMember
from kcli.core.types import TopicPartition
from kcli.flows.rewind.attendance import (
    IDLE_SECONDS,
    Attendance,
    Party,
    patience,
    usual_patience,
)

HELD, OVERWRITTEN, UNKNOWN, OPEN = "held", "overwritten", "unknown", "open"
STABLE = "Stable"
BLIND_SECONDS = 2.0
"""Between two looks that are further apart somebody may have committed, and others may have read on from there."""
EAGER = ("range", "roundrobin", "sticky")
"""Assignors whose members give everything up before they join: all of them read what is committed when they are in."""


@dataclass(frozen=True, slots=True)
class Rewound:
    """One partition that was set: ``old`` as of when the members were sent out, ``end`` of the log as of when the last of
    them came back to the door: nobody has read beyond it. None: not known.
    """

    new: int
    old: int | None
    end: int | None

    @property
    def idle(self) -> bool:
        """Whether nobody could have anything in hand: all that there was had been committed."""
        return self.old is not None and self.old == self.end


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen at ``at``: commits first, then the group, then the logs' ends. Without an entry: not seen.

    ``changed``: in a history, that the group's members, or who has what, changed then.
    """

    at: float
    commits: Mapping[TopicPartition, int | None] = field(default_factory=dict)
    group: GroupDescription | None = None
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Awaited:
    """Why a partition is open. ``until``: when nothing old is expected any more; None: a commit is waited for, or, with
    ``logged``, the history of commits (``Judge.confirm``).

    ``away``: members that have not come back. ``owner`` has the partition, None if nobody has.
    """

    until: float | None = None
    away: tuple[ListedMember, ...] = ()
    owner: MemberDescription | None = None
    logged: bool = False


@dataclass(frozen=True, slots=True)
class Sentence:
    """What is known of one partition. ``commits``: when, and what, in order."""

    verdict: str
    commits: tuple[tuple[float, int | None], ...]
    awaited: Awaited | None = None
    owner: MemberDescription | None = None
    why: str = ""


_NONE, _AT_NEW, _NEW = "nothing", "at the new offset", "from the new offset on"
_EITHER, _LOW = "may be of an old batch", "is of an old batch"
_FROM_FIRST = "it may have been read on from the first commit, which may have been of an old batch"


class Judge:
    """``look`` as often as there is something to be seen, then ask for the ``sentence`` of each partition."""

    def __init__(
        self,
        partitions: Mapping[TopicPartition, Rewound],
        attendance: Attendance,
        *,
        assignor: str = "",
    ) -> None:
        self.attendance = attendance
        self._eager = assignor in EAGER
        self._trails = {tp: _Trail(one, usual_patience(self._pace(tp))) for tp, one in partitions.items()}
        self._members: tuple[MemberDescription, ...] = ()
        self._known: set[str] = set()  # ids of members that were seen settled
        self._settled: tuple[object, ...] | None = None  # who was in a classic group when it was stable last
        self._readers: dict[TopicPartition, MemberDescription] = {}
        self._looked_at = 0.0
        self._changes = 0  # in a history
        self._at_rest = False

    def look(self, look: Look) -> None:
        blind = look.at - self._looked_at > BLIND_SECONDS
        self._looked_at = look.at
        if look.group is not None:
            self._arrived(look.group, look)
        self._take(look, blind=blind)
        if look.group is not None:
            self._look_at_group(look.group, look)
        for tp, end in look.ends.items():
            if (trail := self._trails.get(tp)) is not None:
                trail.end = end

    def replay(self, look: Look) -> None:
        """A look from a history without gaps; the first change is that of the members when they were let in."""
        self._looked_at = look.at
        if look.changed:
            if self._changes:
                for party in self.attendance.parties.values():
                    party.may_have_come(look.at)
            for trail in self._trails.values():
                if self._changes:
                    trail.changed_hands()
                trail.has_reader(look.at)
            self._changes += 1
            return
        self._take(look, blind=False, logged=True)

    def sentence(self, tp: TopicPartition, now: float) -> Sentence:
        """HELD, OVERWRITTEN, UNKNOWN (nothing that may come can tell), or OPEN with what is waited for."""
        trail, owner = self._trails[tp], self._readers.get(tp)
        due, commits = self._due(tp), tuple(trail.commits)
        if trail.overwritten:
            return Sentence(OVERWRITTEN, commits, owner=owner)
        if trail.spoilt:
            return Sentence(UNKNOWN, commits, owner=owner, why=trail.why)
        if trail.unconfirmed and trail.first_kind == _EITHER and now > due:
            return Sentence(OPEN, commits, Awaited(None, (), owner, logged=True), owner)
        if now <= due:
            return Sentence(OPEN, commits, Awaited(due, self._away(tp), owner), owner, trail.why)
        if trail.last == _LOW and now > trail.commits[-1][0] + self._patience(tp):
            return Sentence(OVERWRITTEN, commits, owner=owner)
        if trail.proven or self._quiet(tp, trail, now, due):
            return Sentence(HELD, commits, owner=owner)
        return Sentence(OPEN, commits, Awaited(None, (), owner), owner, trail.why)

    @property
    def unconfirmed(self) -> bool:
        """Whether a commit of an old batch may have come unseen, before the first one that was seen."""
        return any(trail.unconfirmed for trail in self._trails.values())

    def confirm(self, commits: Mapping[TopicPartition, Sequence[int | None]] | None) -> None:
        """``commits``: all since some time before the group was held, in order; None where they cannot be read."""
        for tp, trail in self._trails.items():
            if trail.unconfirmed:
                trail.confirm(None if commits is None else commits.get(tp, ()))

    def _take(self, look: Look, *, blind: bool, logged: bool = False) -> None:
        for tp, offset in look.commits.items():
            if (trail := self._trails.get(tp)) is not None:
                carried = max((party.carries_for for party in self.attendance.of(tp)), default=0.0)
                trail.take(look.at, offset, self._in_hand_until(tp), carried, blind=blind, logged=logged)

    # --- the group ----------------------------------------------------------------------------------------

    def _arrived(self, group: GroupDescription, look: Look) -> None:
        """Who is new in this look may have come before the commits were looked at."""
        before = {id(one) for one in self.attendance.parties.values() if one.complete}
        for party in self.attendance.looked([listed(one) for one in group.members], look.at):
            if id(party) in before or party.noticed_at <= 0:
                continue  # who was back before, or had noticed before the release, has read nothing old since
            for tp in party.partitions or self._trails:
                if tp in self._trails and tp in look.ends:  # nobody has read beyond before they came
                    trail = self._trails[tp]
                    trail.horizon = max(trail.horizon or 0, look.ends[tp])

    def _look_at_group(self, group: GroupDescription, look: Look) -> None:
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
            self._trails[tp].changed_hands()
        for tp in readers.keys() - self._readers.keys():
            self._trails[tp].has_reader(look.at)
        self._readers = readers

    def _moved_classic(self, group: GroupDescription, *, stable: bool) -> Collection[TopicPartition]:
        """All read anew in a rebalance.

        Cooperative members tell what they own when they join. Kafka-python tells what it owned when it joined before, and
        has dropped that when it has noticed that it was sent out; not if it was just joining again.
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

    # --- who may still commit an old batch ----------------------------------------------------------------

    def _due(self, tp: TopicPartition) -> float:
        """When nothing old is expected for it any more."""
        parties = self.attendance.of(tp)
        if self._idle(tp):
            return max((party.last_arrival or 0.0 for party in parties), default=0.0) + IDLE_SECONDS
        return max((party.due(at_work=self._at_work(party)) for party in parties), default=0.0)

    def _in_hand_until(self, tp: TopicPartition) -> float:
        """Until when those who are back may commit what they have in hand."""
        if self._idle(tp):
            return float("-inf")
        return max((party.in_hand_until for party in self.attendance.of(tp)), default=float("-inf"))

    def _idle(self, tp: TopicPartition) -> bool:
        return self._trails[tp].rewound.idle and all(party.certain for party in self.attendance.of(tp))

    def _at_work(self, party: Party) -> bool:
        """Whether every member of that name was seen to go on since, where there was something to be read."""
        if not party.all_here:
            return False
        own = [one for one in self._members if self.attendance.party(listed(one)) is party]
        return all(self._works(member) for member in own)

    def _works(self, member: MemberDescription) -> bool:
        trails = [trail for tp in member.assignment or () if (trail := self._trails.get(tp)) is not None]
        return not trails or any(trail.goes_on for trail in trails) or all(trail.drained for trail in trails)

    def _away(self, tp: TopicPartition) -> tuple[ListedMember, ...]:
        return tuple(one.member for party in self.attendance.of(tp) for one in party.members[party.back :])

    def _quiet(self, tp: TopicPartition, trail: "_Trail", now: float, due: float) -> bool:
        """Whether all is read, what is committed last was not corrected, and would have been by now."""
        if trail.last in (_NONE, _AT_NEW):  # or nobody has it, and whoever gets it begins there
            return (trail.drained and not trail.kept) or (self._at_rest and tp not in self._readers)
        if trail.kept or not trail.drained:
            return False
        return trail.last == _EITHER and now > max(due, trail.commits[-1][0] + self._patience(tp))

    def _patience(self, tp: TopicPartition) -> float:
        return patience(self._pace(tp))

    def _pace(self, tp: TopicPartition) -> float:
        return max((party.pace for party in self.attendance.of(tp)), default=0.0)


class _Trail:
    """What was committed for one partition since its members were let in."""

    def __init__(self, rewound: Rewound, usual: float) -> None:
        self.rewound = rewound
        self._usual = usual  # seconds that a batch takes as a rule, at most
        self.commits: list[tuple[float, int | None]] = []
        self.horizon = rewound.end  # who had it before has read nothing beyond
        self.end = rewound.end
        self.last = _NONE
        self.covered = rewound.new  # read again up to here since: whoever begins below leaves nothing out
        self.read_since: float | None = None  # when somebody got it after the members were let in
        self.kept = False  # whether somebody claims to have kept it
        self.overwritten = False
        self.spoilt = False
        self.goes_on = False
        self.unconfirmed = False
        self.first_kind = _NONE
        self._only_early = False  # the last commit may be old only because it is the first, and came at once
        self.why = ""

    def take(
        self,
        at: float,
        offset: int | None,
        in_hand_until: float,
        carried: float,
        *,
        blind: bool,
        logged: bool,
    ) -> None:
        """``offset`` is committed now. ``carried``: for so many seconds after they got the partition, members may send
        what they kept over the hold. ``blind``: what came before was not seen; ``logged``: all of it was.
        """
        if offset == (self.commits[-1][1] if self.commits else self.rewound.new):
            return
        self.commits.append((at, offset))
        self.kept = self.kept and not (offset is not None and self._between(offset))
        new, old = self.rewound.new, self.rewound.old
        if offset is None or offset < (new if old is None else min(new, old)):
            self.overwritten = True
            return
        first, old_possible = len(self.commits) == 1, at <= in_hand_until
        since_read = at - (self.read_since if self.read_since is not None else at)
        may_carry = first and not self.rewound.idle
        early = may_carry and since_read <= carried
        covered = new < offset <= self.covered
        self.last = _NEW if covered else self._kind(offset, old_possible=old_possible or early)
        self.goes_on = self.goes_on or self.last == _NEW or not first
        if self.last == _NEW:
            self.covered = max(self.covered, offset)
        if self._between(offset):
            self.unconfirmed = False
        if self._between(offset) or self.last == _AT_NEW:
            return
        if first:
            self.first_kind = self.last
        self._only_early = first and early and not old_possible and self.last == _EITHER
        if may_carry and self.last == _NEW and not logged:
            self.unconfirmed = since_read <= carried + BLIND_SECONDS
        if blind:
            self._spoil("kcli could not look for some seconds, and somebody committed meanwhile")
        elif first and self.last == _EITHER and not self.kept and not logged:
            self.unconfirmed = True
        elif first and (self.last == _LOW or (self.last == _EITHER and not self.kept)):
            self._spoil(_FROM_FIRST)
        elif first and self._silent(at) and not self.rewound.idle:
            self.last = _EITHER  # whoever was at work on something for that long may have committed just that

    def confirm(self, commits: Sequence[int | None] | None) -> None:
        """See ``Judge.confirm``: the first commit that tells anything is the one to go by."""
        self.unconfirmed = False
        if commits is None:
            missed = (
                "an earlier commit may have been missed; __consumer_offsets, which has all, cannot be read"
            )
            self._spoil(_FROM_FIRST if self.first_kind == _EITHER else missed)
            return
        old_first = False
        for offset in self._after_ours(commits):
            if offset is None or offset == self.rewound.new:
                continue
            seen = offset == self.commits[0][1] and self.first_kind == _NEW
            old_first = old_first or (not seen and self._kind(offset, old_possible=True) != _NEW)
            if self._between(offset) or not old_first:
                break
        else:
            if old_first:
                self._spoil(_FROM_FIRST)
                return
        if self._only_early:
            self.last, self._only_early = _NEW, False

    def _after_ours(self, commits: Sequence[int | None]) -> Sequence[int | None]:
        """Clocks differ, so the new offset is looked for: what came before it last was corrected."""
        ours = [number for number, offset in enumerate(commits) if offset == self.rewound.new]
        return commits[ours[-1] + 1 :] if ours else commits

    def has_reader(self, at: float) -> None:
        """Somebody has it now, for the first time since."""
        if self.read_since is None:
            self.read_since = at
            self.changed_hands()

    def changed_hands(self) -> None:
        """It may have been read on from what is committed now."""
        if self.read_since is None:
            return
        if self.last == _LOW:
            self.overwritten = True
        elif self.last == _EITHER:
            self._spoil("it changed hands when the last commit may have been of an old batch")

    @property
    def proven(self) -> bool:
        """Whether what is committed last comes from somebody who began at the new offset."""
        return self.last == _NEW

    @property
    def drained(self) -> bool:
        """Whether nothing is left to be read from what is committed on."""
        committed = self.commits[-1][1] if self.commits else self.rewound.new
        return self.end is not None and committed is not None and self.end <= committed

    def _kind(self, offset: int, *, old_possible: bool) -> str:
        if offset == self.rewound.new:
            return _AT_NEW
        if offset < self.rewound.new:
            return _LOW
        if self._between(offset):
            return _NEW
        if self.kept:
            return _EITHER
        beyond = self.horizon is not None and offset > self.horizon
        return _NEW if beyond or not old_possible else _EITHER

    def _silent(self, at: float) -> bool:
        """Whether a first commit would have been expected earlier."""
        return self.read_since is not None and at > self.read_since + self._usual

    def _between(self, offset: int) -> bool:
        """Who has begun at the old offset commits nothing below it."""
        return self.rewound.old is not None and self.rewound.new < offset < self.rewound.old

    def _spoil(self, why: str) -> None:
        self.spoilt, self.why = True, why


def listed(member: MemberDescription) -> ListedMember:
    """A member as the door's log knows it."""
    return ListedMember(member.member_id, member.instance_id, member.client_id, member.client_host)
