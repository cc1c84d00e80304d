"""Until when those who were sent out of a group may still commit what they had read before. Pure: the time is given.

A member that is back may be at work on an old batch still: clients that join in the background, and applications with
worker threads, commit it by its offsets as soon as it is done, and a coordinator takes that. Nobody can tell from
outside; but a batch ends. So everybody has a time (``due``) after which nothing old is expected of them: the longest
time between two commits that was seen before, with a margin, after they were seen back.

Who is back is known by name (``barrier/arrivals.py``), never by count. Where several members share a name, one that comes
late may be a newcomer, and the one that was sent out may be away: then it is given the time of somebody who is away.
Times are seconds, on any clock that does not step.
"""

from collections.abc import Collection, Hashable, Iterable

from kcli.core.dataclass import dataclass
from kcli.core.group.barrier.arrivals import Arrival, ListedMember
from kcli.core.types import TopicPartition

LONGEST_BATCH = 12.0
"""Seconds that one batch may take out of the ordinary, whatever was seen before."""
PROMPT = 4.0
"""Within so many seconds a live member is back: more than a heartbeat interval. Who comes later may be new."""
_ROUNDING = 0.5
IDLE_SECONDS = 1.0
"""For members that had nothing in hand: nothing was unread when they were back."""
USUAL_SESSION = 45.0
"""``session.timeout.ms`` of most clients, and of brokers for KIP-848, where it is not known."""
UNKNOWN_PACE = 5.0
"""Where it is not known how long a member's batches take: the interval at which clients commit by themselves."""
CARRIED_SECONDS = 2.0
"""A client may keep a commit that was refused, or that it made while it joined, and send it when it has joined (aiokafka,
and applications that commit again what was refused): within so many seconds.
"""
AT_LAST_SECONDS = 0.7
"""Who was a member without partitions for that long has sent what it kept, or sends it at once when it gets partitions
(librdkafka holds back commits of worker threads until then, aiokafka refuses them).
"""
NOTICE_SECONDS = 6.0
"""A heartbeat of KIP-848 (5 s) or of a classic group (3 s) comes within so many seconds, or a third of the session."""
AT_ONCE = 0.2
"""Who was just joining again when it was sent out is back within so many seconds."""


def usual_patience(pace: float) -> float:
    """For how long somebody who was seen to take ``pace`` seconds at most has things in hand: one batch, and the next."""
    return 2.0 * pace + 2.0


def patience(pace: float) -> float:
    """How long a batch of theirs may take, once, out of the ordinary."""
    return max(LONGEST_BATCH, usual_patience(pace))


@dataclass(frozen=True, slots=True)
class SentOut:
    """A member that was sent out. ``pace``: seconds between two commits of its partitions, at most; ``session`` is its
    session timeout in seconds.
    """

    member: ListedMember
    partitions: frozenset[TopicPartition]
    pace: float = UNKNOWN_PACE
    session: float = USUAL_SESSION


class Party:
    """Those who were sent out, at ``at``, and share a name: one, where names are exact (``exact``).

    ``sealed``: the group was held for so long that who had anything in hand had ended it. Then those who came at once are
    those who were sent out, and who comes later is new, unless one of them was missed meanwhile: it may come again.
    """

    def __init__(self, members: Collection[SentOut], at: float, *, exact: bool, sealed: bool = False) -> None:
        self.members = tuple(members)
        self.partitions = frozenset[TopicPartition]().union(*(one.partitions for one in members))
        self.pace = max(one.pace for one in members)
        self.last_arrival: float | None = None
        self.left_at: float | None = None  # when one that had come was missed
        self._session = max(one.session for one in members)
        self._at, self._exact, self._sealed = at, exact, sealed
        self._came: dict[str, float] = {}  # when those who are here, or were, came last
        self._rested = set[
            str
        ]()  # of them: those who have sent what they carried before the group was let in
        self._here = frozenset[str]()

    @property
    def noticed_at(self) -> float:
        """By then those who were sent out have noticed it, by a heartbeat, and read no further."""
        return self._at + max(NOTICE_SECONDS, self._session / 3 + 1.0)

    def look(self, here: Collection[str], now: float) -> bool:
        """These ids are listed; whether somebody has come who may be one that was away."""
        missed = self._here - frozenset(here)
        if missed:
            self.left_at = now
        new = [one for one in here if one not in self._here]
        self._here = frozenset(here)
        came = [self.came(one, now) for one in new]
        return any(came)

    def came(self, member_id: str, at: float) -> bool:
        """Whether it may be one that was away."""
        newcomer = not self._exact and self._sealed and self.certain and self.left_at is None
        self._here |= {member_id}
        self._came[member_id] = at
        if not newcomer:
            self.last_arrival = at if self.last_arrival is None else max(at, self.last_arrival)
        return not newcomer

    def left(self, member_id: str, at: float) -> None:
        """It had come, and is missed."""
        self._here -= {member_id}
        self.left_at = at if self.left_at is None else max(at, self.left_at)

    def rested(self, member_id: str) -> None:
        """It was a member without partitions for CARRIED_SECONDS before the group was released."""
        self._rested.add(member_id)

    @property
    def carries_for(self) -> float:
        """For how many seconds after they got partitions they may send a commit that was kept over the hold."""
        return AT_LAST_SECONDS if self._rested >= self._came.keys() else CARRIED_SECONDS

    def came_at(self, member_id: str) -> float | None:
        """When it came last."""
        return self._came.get(member_id)

    def may_have_come(self, at: float) -> None:
        """Somebody joined the group then; nobody knows who."""
        if not self.complete:
            self.last_arrival = at

    @property
    def back(self) -> int:
        """How many of them have come, as far as can be told."""
        return min(len(self._came), len(self.members))

    @property
    def complete(self) -> bool:
        """Whether as many have come as were sent out."""
        return self.back == len(self.members)

    @property
    def all_here(self) -> bool:
        """Whether as many are listed now."""
        return len(self._here) >= len(self.members)

    @property
    def certain(self) -> bool:
        """Whether all are back, and cannot be taken for anybody else."""
        if self._exact:
            return self.complete
        prompt = sum(at <= self._at + PROMPT for at in self._came.values())
        if self._sealed:
            return prompt >= len(self.members)
        return prompt == len(self._came) == len(self.members)

    def due(self, *, at_work: bool) -> float:
        """After this nothing old is expected of them. ``at_work``: all of them were seen to go on."""
        longest = patience(self.pace)
        last = self.last_arrival
        if last is not None and self.certain and at_work:
            return self.in_hand_until
        since = [one for one in (last, self.left_at) if one is not None]
        return max([self._at + max(self._session, longest), *(one + longest for one in since)])

    @property
    def in_hand_until(self) -> float:
        """By when the batches have ended that those have in hand who are back; −inf if nobody is, who cannot commit."""
        if self.last_arrival is None:
            return float("-inf")
        return max(self._at + LONGEST_BATCH, self.last_arrival + usual_patience(self.pace))


class Attendance:
    """All parties. ``arrivals``: who had come back when it began, at 0. ``keeps_id``: see ``ListedMember.name``."""

    def __init__(
        self, sent_out: Iterable[SentOut], at: float, arrivals: Iterable[Arrival], *, keeps_id: bool
    ) -> None:
        self._keeps_id, self._at = keeps_id, at
        by_name: dict[Hashable, list[SentOut]] = {}
        for one in sent_out:
            by_name.setdefault(one.member.name(keeps_id=keeps_id), []).append(one)
        sealed = -at >= LONGEST_BATCH - _ROUNDING
        self.parties = {
            name: Party(members, at, exact=keeps_id or bool(members[0].member.instance_id), sealed=sealed)
            for name, members in by_name.items()
        }
        for arrival in sorted(arrivals, key=lambda one: one.at):
            if (party := self.party(arrival.member)) is not None:
                party.came(arrival.member.member_id, arrival.at)
                if arrival.unassigned_since is not None and arrival.unassigned_since <= -CARRIED_SECONDS:
                    party.rested(arrival.member.member_id)
                if arrival.left_at is not None:
                    party.left(arrival.member.member_id, arrival.left_at)

    def looked(self, members: Collection[ListedMember], now: float) -> list[Party]:
        """These are in the group now; the parties to which somebody has come who may be one that was away."""
        here: dict[Hashable, list[str]] = {}
        for member in members:
            here.setdefault(member.name(keeps_id=self._keeps_id), []).append(member.member_id)
        return [party for name, party in self.parties.items() if party.look(here.get(name, ()), now)]

    def of(self, partition: TopicPartition) -> list[Party]:
        """Those who may have read it: who had it, or all, if that is not known."""
        owners = [party for party in self.parties.values() if partition in party.partitions]
        return owners or list(self.parties.values())

    def back_at_once(self, member: ListedMember) -> bool:
        """Whether it may not have noticed that it was sent out: it was just joining again then."""
        party = self.party(member)
        came = None if party is None else party.came_at(member.member_id)
        return came is not None and came <= self._at + AT_ONCE

    def party(self, member: ListedMember) -> Party | None:
        """To which a member belongs by its name; None for a newcomer."""
        return self.parties.get(member.name(keeps_id=self._keeps_id))

    @property
    def away(self) -> list[SentOut]:
        """Of each name those who have not come back; which ones of several nobody can tell."""
        return [one for party in self.parties.values() for one in party.members[party.back :]]
