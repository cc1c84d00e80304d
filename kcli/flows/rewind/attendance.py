"""How long the evicted members of a group may still commit what they read before. Pure: the time is passed in.

A member that has rejoined may still be working on an old batch: clients that join in the background, and applications
with worker threads, commit its offsets when it is done, and the coordinator accepts the commit. This cannot be seen
from outside, but a batch ends. So every member has a time (``due``) after which no old commit is expected from it: the
longest interval between two commits seen before, with a margin, after the member was seen to be back.

Returned members are identified by name (``barrier/arrivals.py``), never by count. Where several members share a name, a
late arrival may be a new member while the evicted member is still away; in that case the deadline of an absent member
applies. Times are seconds, on any clock that does not step.
"""

from collections.abc import Collection, Hashable, Iterable

from kcli.core.classes import dataclass
from kcli.core.group.barrier.arrivals import Arrival, ListedMember
from kcli.core.types import TopicPartition

LONGEST_BATCH = 12.0
"""Seconds that an exceptional batch may take, whatever was seen before."""
PROMPT = 4.0
"""A live member is back within this many seconds: more than a heartbeat interval. A later arrival may be a new member."""
_ROUNDING = 0.5
IDLE_SECONDS = 1.0
"""For members that had no batch in progress: nothing was unread when they were back."""
USUAL_SESSION = 45.0
"""``session.timeout.ms`` of most clients, and of brokers for KIP-848, where it is not known."""
UNKNOWN_PACE = 5.0
"""Where the batch duration of a member is not known: the default auto-commit interval of clients."""
CARRIED_SECONDS = 2.0
"""A client may keep a commit that was rejected, or that it made while it was joining, and send it within this many
seconds after it has joined (aiokafka, and applications that retry rejected commits).
"""
AT_LAST_SECONDS = 0.7
"""A member that had no partitions for that long has sent what it kept, or sends it as soon as it is assigned partitions
(librdkafka holds back commits of worker threads until then, aiokafka refuses them).
"""
NOTICE_SECONDS = 6.0
"""A heartbeat of KIP-848 (5 s) or of a classic group (3 s) comes within this many seconds, or a third of the session."""
AT_ONCE = 0.2
"""A member that was already rejoining when it was evicted is back within this many seconds."""


def usual_patience(pace: float) -> float:
    """How long a member may hold uncommitted records: this batch and the next, of ``pace`` seconds each."""
    return 2.0 * pace + 2.0


def patience(pace: float) -> float:
    """How long a single exceptional batch of such a member may take."""
    return max(LONGEST_BATCH, usual_patience(pace))


@dataclass(frozen=True, slots=True)
class EvictedMember:
    """``pace``: its longest interval between two commits; ``session``: its session timeout (seconds)."""

    member: ListedMember
    partitions: frozenset[TopicPartition]
    pace: float = UNKNOWN_PACE
    session: float = USUAL_SESSION


class Party:
    """The members evicted at ``at`` that share a name: exactly one where names are unique (``exact``).

    ``sealed``: the group was held long enough for every batch in progress to end. Then the members that rejoined at
    once are the evicted ones and a later arrival is new, unless one of them was missing in between: it may have
    rejoined.
    """

    def __init__(
        self, members: Collection[EvictedMember], at: float, *, exact: bool, sealed: bool = False
    ) -> None:
        self.members = tuple(members)
        self.partitions = frozenset[TopicPartition]().union(*(one.partitions for one in members))
        self.pace = max(one.pace for one in members)
        self.last_arrival: float | None = None
        self.left_at: float | None = None  # when a member that had rejoined was missing
        self._session = max(one.session for one in members)
        self._at, self._exact, self._sealed = at, exact, sealed
        self._came: dict[str, float] = {}  # last arrival of each member that is or was back
        self._rested = set[str]()  # those that have sent what they kept before the group was released
        self._here = frozenset[str]()

    @property
    def noticed_at(self) -> float:
        """When the evicted members have noticed the eviction, by a heartbeat, and read no further."""
        return self._at + max(NOTICE_SECONDS, self._session / 3 + 1.0)

    def update_present(self, here: Collection[str], now: float) -> bool:
        """Updates the ids that are listed now; returns whether a member has arrived that may have been away."""
        missed = self._here - frozenset(here)
        if missed:
            self.left_at = now
        new = [one for one in here if one not in self._here]
        self._here = frozenset(here)
        came = [self.record_arrival(one, now) for one in new]
        return any(came)

    def record_arrival(self, member_id: str, at: float) -> bool:
        """Whether the new member may be one that was away."""
        newcomer = not self._exact and self._sealed and self.certain and self.left_at is None
        self._here |= {member_id}
        self._came[member_id] = at
        if not newcomer:
            self.last_arrival = at if self.last_arrival is None else max(at, self.last_arrival)
        return not newcomer

    def record_departure(self, member_id: str, at: float) -> None:
        """A member that had rejoined is missing."""
        self._here -= {member_id}
        self.left_at = at if self.left_at is None else max(at, self.left_at)

    def record_rest(self, member_id: str) -> None:
        """The member had no partitions for CARRIED_SECONDS before the group was released."""
        self._rested.add(member_id)

    @property
    def carries_for(self) -> float:
        """Seconds after the assignment during which members may send a commit that they kept while the group was held."""
        return AT_LAST_SECONDS if self._rested >= self._came.keys() else CARRIED_SECONDS

    def came_at(self, member_id: str) -> float | None:
        """When it last joined."""
        return self._came.get(member_id)

    def record_unknown_arrival(self, at: float) -> None:
        """Some member joined the group at this time; which one is not known."""
        if not self.complete:
            self.last_arrival = at

    @property
    def back(self) -> int:
        """How many of them have rejoined, as far as is known."""
        return min(len(self._came), len(self.members))

    @property
    def complete(self) -> bool:
        """Whether as many members have rejoined as were evicted."""
        return self.back == len(self.members)

    @property
    def all_here(self) -> bool:
        """Whether as many members are listed now as were evicted."""
        return len(self._here) >= len(self.members)

    @property
    def certain(self) -> bool:
        """Whether all are back and cannot be confused with new members."""
        if self._exact:
            return self.complete
        prompt = sum(at <= self._at + PROMPT for at in self._came.values())
        if self._sealed:
            return prompt >= len(self.members)
        return prompt == len(self._came) == len(self.members)

    def due(self, *, at_work: bool) -> float:
        """The time after which no old commit is expected. ``at_work``: all of them were seen to make progress."""
        longest = patience(self.pace)
        last = self.last_arrival
        if last is not None and self.certain and at_work:
            return self.in_progress_until
        since = [one for one in (last, self.left_at) if one is not None]
        return max([self._at + max(self._session, longest), *(one + longest for one in since)])

    @property
    def in_progress_until(self) -> float:
        """When the batches in progress of the members that are back have ended; −inf if none is back and could commit."""
        if self.last_arrival is None:
            return float("-inf")
        return max(self._at + LONGEST_BATCH, self.last_arrival + usual_patience(self.pace))


class Attendance:
    """All parties. ``arrivals``: the members that were back at the start, time 0."""

    def __init__(
        self, evicted: Iterable[EvictedMember], at: float, arrivals: Iterable[Arrival], *, keeps_id: bool
    ) -> None:
        self._keeps_id, self._at = keeps_id, at
        by_name: dict[Hashable, list[EvictedMember]] = {}
        for one in evicted:
            by_name.setdefault(one.member.name(keeps_id=keeps_id), []).append(one)
        sealed = -at >= LONGEST_BATCH - _ROUNDING
        self.parties = {
            name: Party(members, at, exact=keeps_id or bool(members[0].member.instance_id), sealed=sealed)
            for name, members in by_name.items()
        }
        for arrival in sorted(arrivals, key=lambda one: one.at):
            if (party := self.party(arrival.member)) is not None:
                party.record_arrival(arrival.member.member_id, arrival.at)
                if arrival.unassigned_since is not None and arrival.unassigned_since <= -CARRIED_SECONDS:
                    party.record_rest(arrival.member.member_id)
                if arrival.left_at is not None:
                    party.record_departure(arrival.member.member_id, arrival.left_at)

    def update_members(self, members: Collection[ListedMember], now: float) -> list[Party]:
        """Updates the members of the group; returns the parties with a new arrival that may have been away."""
        here: dict[Hashable, list[str]] = {}
        for member in members:
            here.setdefault(member.name(keeps_id=self._keeps_id), []).append(member.member_id)
        return [
            party for name, party in self.parties.items() if party.update_present(here.get(name, ()), now)
        ]

    def of(self, partition: TopicPartition) -> list[Party]:
        """The parties that may have read the partition: its owners, or all if the owners are not known."""
        owners = [party for party in self.parties.values() if partition in party.partitions]
        return owners or list(self.parties.values())

    def back_at_once(self, member: ListedMember) -> bool:
        """Whether the member may not have noticed its eviction because it was already rejoining then."""
        party = self.party(member)
        came = None if party is None else party.came_at(member.member_id)
        return came is not None and came <= self._at + AT_ONCE

    def party(self, member: ListedMember) -> Party | None:
        """The party of a member, by its name; None for a new member."""
        return self.parties.get(member.name(keeps_id=self._keeps_id))

    @property
    def away(self) -> list[EvictedMember]:
        """For each name, the members that have not rejoined; which of several namesakes they are cannot be known."""
        return [one for party in self.parties.values() for one in party.members[party.back :]]
