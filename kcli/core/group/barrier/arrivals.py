"""Who was sent out of a group, and who has come back to its door since: a list of names and times, not a count.

A member of a classic group has a new id when it comes back: it is known by its instance id, or else by its client id and
host, which others may have, too. A member of the new protocol (KIP-848) keeps its id. Pure: the time is given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable
from dataclasses import replace

from kcli.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ListedMember:
    """A member as its coordinator lists it."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str

    def name(self, *, keeps_id: bool) -> Hashable:
        """What it is known by when it comes back; ``keeps_id``: in a group of the new protocol."""
        if self.instance_id:
            return self.instance_id
        return self.member_id if keeps_id else (self.client_id, self.client_host)


@dataclass(frozen=True, slots=True)
class Arrival:
    """``at``: when it was seen first, by the monotonic clock (s). ``unassigned_since``: since when it has been in a
    generation in which it owns nothing, where it can send the commits that it kept; None: not yet. ``left_at``: since
    when it is missed, though nobody has sent it out.
    """

    member: ListedMember
    at: float
    unassigned_since: float | None = None
    left_at: float | None = None

    def since(self, zero: float) -> Arrival:
        """The same, in seconds since ``zero``."""

        def shifted(at: float | None) -> float | None:
            return None if at is None else at - zero

        return Arrival(self.member, self.at - zero, shifted(self.unassigned_since), shifted(self.left_at))


class ArrivalLog:
    """``sent_out`` are those of the first eviction: whoever is sent out later has come back before, or is new.

    ``inside``: who is listed now, by member id; ``gone``: who was, and is missed. ``keeps_id``: see ``ListedMember``.
    """

    def __init__(self, *, keeps_id: bool) -> None:
        self.keeps_id = keeps_id
        self.sent_out: tuple[ListedMember, ...] = ()
        self.sent_out_at = 0.0
        self.inside: dict[str, Arrival] = {}
        self.gone: dict[str, Arrival] = {}

    def evicted(self, members: Iterable[ListedMember], now: float) -> None:
        """These were sent out."""
        gone = tuple(members)
        if not self.sent_out:
            self.sent_out, self.sent_out_at = gone, now
        for member in gone:
            self.inside.pop(member.member_id, None)

    def looked(self, members: Collection[ListedMember], now: float) -> None:
        """These are listed, at the door or inside, besides the barrier."""
        before = self.inside
        self.inside = {
            one.member_id: self.inside.get(one.member_id) or self._arrival(one, now) for one in members
        }

        for member_id in before.keys() - self.inside.keys():
            self.gone[member_id] = replace(before[member_id], left_at=now)

    def unassigned(self, member_ids: Iterable[str], now: float) -> None:
        """A generation of a classic group begins, in which these own nothing."""
        for member_id in member_ids:
            arrival = self.inside.get(member_id)
            if arrival is not None and arrival.unassigned_since is None:
                self.inside[member_id] = replace(arrival, unassigned_since=now)

    def _arrival(self, member: ListedMember, now: float) -> Arrival:
        """Whoever is listed in a group of the new protocol has an epoch, and may commit."""
        return Arrival(member, now, now if self.keeps_id else None)

    @property
    def back(self) -> int:
        """How many of those that were sent out have come back, as far as names tell."""
        there = Counter(one.member.name(keeps_id=self.keeps_id) for one in self.inside.values())
        return (self._names & there).total()

    @property
    def all_back(self) -> bool:
        """Whether there are as many of each name as were sent out."""
        return self.back == len(self.sent_out)

    @property
    def last_arrival(self) -> float:
        """When the last one came that is there; the eviction if there is none."""
        return max((one.at for one in self.inside.values()), default=self.sent_out_at)

    @property
    def _names(self) -> Counter[Hashable]:
        return Counter(one.name(keeps_id=self.keeps_id) for one in self.sent_out)
