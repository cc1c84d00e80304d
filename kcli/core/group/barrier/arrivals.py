"""Which members were evicted from a group, and which have come back since: a list of names and times, not a count.

A member of a classic group has a new member id when it rejoins. It is recognized by its instance id, or else by its
client id and host, which other members may share. A member of the new protocol (KIP-848) keeps its id. Pure: the caller
passes the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable

from kcli.core.classes import NamedTuple


class ListedMember(NamedTuple):
    """A member as the coordinator lists it."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str

    def name(self, *, keeps_id: bool) -> Hashable:
        """What identifies the member when it rejoins. ``keeps_id``: the group uses the new protocol."""
        if self.instance_id:
            return self.instance_id
        return self.member_id if keeps_id else (self.client_id, self.client_host)


class Arrival(NamedTuple):
    """``at``: when the member was first seen, on the monotonic clock (s). ``unassigned_since``: since when it has been
    in a generation in which it owns nothing, and in which it can send commits that it had kept; None: not yet.
    ``left_at``: since when it has been missing without having been evicted.
    """

    member: ListedMember
    at: float
    unassigned_since: float | None = None
    left_at: float | None = None

    def since(self, zero: float) -> Arrival:
        """A copy with its times in seconds since ``zero``."""
        times = (None if at is None else at - zero for at in (self.unassigned_since, self.left_at))
        return Arrival(self.member, self.at - zero, *times)


class ArrivalLog:
    """``evicted``: the members of the first eviction. One that is evicted later came back before that, or is new.

    ``present``: the members listed now, by member id; ``gone``: those listed before and missing now. ``keeps_id``: see
    ``ListedMember``.
    """

    def __init__(self, *, keeps_id: bool) -> None:
        self.keeps_id = keeps_id
        self.evicted: tuple[ListedMember, ...] = ()
        self.evicted_at = 0.0
        self.present: dict[str, Arrival] = {}
        self.gone: dict[str, Arrival] = {}

    def record_eviction(self, members: Iterable[ListedMember], now: float) -> None:
        """Records that these members were evicted."""
        gone = tuple(members)
        # Later evictions are of members that have come back, or of new ones: who is waited for is decided by
        # the first.
        if not self.evicted:
            self.evicted, self.evicted_at = gone, now
        for member in gone:
            self.present.pop(member.member_id, None)

    def record_listing(self, members: Collection[ListedMember], now: float) -> None:
        """Records the members that are listed now, waiting to rejoin or present; the barrier is not among them."""
        before = self.present
        self.present = {
            one.member_id: self.present.get(one.member_id) or self._arrival(one, now) for one in members
        }
        for member_id in before.keys() - self.present.keys():
            self.gone[member_id] = before[member_id]._replace(left_at=now)

    def record_unassigned(self, member_ids: Iterable[str], now: float) -> None:
        """Records that a generation of a classic group begins in which these members own nothing."""
        for member_id in member_ids:
            arrival = self.present.get(member_id)
            if arrival is not None and arrival.unassigned_since is None:
                self.present[member_id] = arrival._replace(unassigned_since=now)

    def _arrival(self, member: ListedMember, now: float) -> Arrival:
        """A member that is listed in a group of the new protocol has an epoch, and may commit."""
        return Arrival(member, now, now if self.keeps_id else None)

    @property
    def arrivals(self) -> tuple[Arrival, ...]:
        """All members that have come since the eviction, also those that are missing again."""
        return (*self.present.values(), *self.gone.values())

    @property
    def back(self) -> int:
        """How many of the evicted members have come back, as far as names can tell."""
        there = Counter(one.member.name(keeps_id=self.keeps_id) for one in self.present.values())
        return (self._names & there).total()

    @property
    def all_back(self) -> bool:
        """Whether as many members of each name are present as were evicted."""
        return self.back == len(self.evicted)

    @property
    def last_arrival(self) -> float:
        """When the newest of the present members arrived; the time of the eviction if there is none."""
        return max((one.at for one in self.present.values()), default=self.evicted_at)

    @property
    def _names(self) -> Counter[Hashable]:
        return Counter(one.name(keeps_id=self.keeps_id) for one in self.evicted)
