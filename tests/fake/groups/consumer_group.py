"""A KIP-848 group: members with epochs, what each was given and what each shall get. Rules that only look.

``consumer_heartbeat.py`` moves it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from tests.fake.codes import Code, RefusedError
from tests.fake.groups.topics import Place, Topics

_FIRST_WITH_MEMBER_EPOCH = 9  # of OffsetCommit

LEFT, STATIC_LEFT = -1, -2
"""Member epochs that say goodbye; a static member that comes back soon says −2."""


class GroupState(StrEnum):
    """As ConsumerGroupDescribe and ListGroups spell it."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class Progress(StrEnum):
    """How far a member is on its way to its target."""

    STABLE = "stable"
    UNREVOKED = "must give up partitions first"
    UNRELEASED = "waits for partitions of others"


@dataclass(slots=True, eq=False)
class ConsumerMember:
    """``assigned`` holds the epoch in which the member got each partition (KIP-1251)."""

    id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    epoch: int = 0
    previous_epoch: int = 0
    rebalance_timeout: float = 0.0
    names: frozenset[str] | None = None
    """None until its first heartbeat."""
    regex: str = ""
    assignor: str | None = None
    progress: Progress = Progress.STABLE
    assigned: dict[Place, int] = field(default_factory=dict)
    revoking: dict[Place, int] = field(default_factory=dict)
    """Taken away, but not yet reported as given up."""

    def check_places(self, epoch: int, places: Iterable[Place], code: Code) -> None:
        """For a commit. A former epoch will do for what the member had then and has still (KIP-1251)."""
        given = self.revoking | self.assigned
        if epoch > self.epoch or (
            epoch < self.epoch and any(epoch < given.get(place, self.epoch) for place in places)
        ):
            raise RefusedError(code)

    def check_epoch(self, epoch: int, owned: frozenset[Place] | None) -> None:
        """For a heartbeat. The epoch before is accepted from who owns no more than it was given: an answer was lost."""
        if epoch in (0, self.epoch):
            return
        if epoch == self.previous_epoch and owned is not None and owned <= self.assigned.keys():
            return
        relation = "greater" if epoch > self.epoch else "smaller"
        raise RefusedError(
            Code.FENCED_MEMBER_EPOCH,
            f"The consumer group member has a {relation} member epoch ({epoch}) than the one known by the "
            f"group coordinator ({self.epoch}). The member must abandon all its partitions and rejoin.",
        )


@dataclass(slots=True, eq=False)
class ConsumerGroup:
    """``epoch`` counts changes, ``assignment_epoch`` is the one that ``targets`` were computed for."""

    id: str
    epoch: int = 0
    assignment_epoch: int = 0
    assigned_at: float | None = None
    members: dict[str, ConsumerMember] = field(default_factory=dict)
    targets: dict[str, frozenset[Place]] = field(default_factory=dict)
    sizes: dict[bytes, int] = field(default_factory=dict)
    """Partitions by id of the subscribed topics, as of ``epoch``."""
    resolved: set[str] = field(default_factory=set)
    """Regular expressions whose topics were looked up; a broker does that in the background."""

    @property
    def state(self) -> GroupState:
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return GroupState.ASSIGNING
        if all(self.is_reconciled(member) for member in self.members.values()):
            return GroupState.STABLE
        return GroupState.RECONCILING

    def is_reconciled(self, member: ConsumerMember) -> bool:
        return member.progress is Progress.STABLE and member.epoch == self.assignment_epoch

    def member(self, member_id: str) -> ConsumerMember:
        """RefusedError when there is none."""
        if member_id not in self.members:
            raise RefusedError(
                Code.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self.id}."
            )
        return self.members[member_id]

    def bearer(self, instance_id: str) -> ConsumerMember | None:
        """The static member with this instance id."""
        return next((m for m in self.members.values() if m.instance_id == instance_id), None)

    def static_member(self, member_id: str, instance_id: str) -> ConsumerMember:
        """The bearer of ``instance_id``, if it is ``member_id``."""
        found = self.bearer(instance_id)
        if found is None:
            raise RefusedError(Code.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
        if found.id != member_id:
            raise RefusedError(
                Code.FENCED_INSTANCE_ID,
                f"Static member {member_id} with instance id {instance_id} was fenced by member {found.id}.",
            )
        return found

    def topics_of(self, member: ConsumerMember, topics: Topics) -> frozenset[str]:
        """Names, and what the regular expression matches as a whole (RE2; Python's ``re`` here)."""
        names = member.names or frozenset()
        if not member.regex or member.regex not in self.resolved:
            return names
        pattern = re.compile(member.regex)
        return names | {name for name in topics.names() if pattern.fullmatch(name)}

    def is_subscribed(self, topic: str, topics: Topics) -> bool:
        return any(topic in self.topics_of(member, topics) for member in self.members.values())

    def is_free(self, place: Place, member: ConsumerMember) -> bool:
        """Nobody but ``member`` holds it, or still has to give it up."""
        others = (one for one in self.members.values() if one is not member)
        return not any(place in one.assigned or place in one.revoking for one in others)

    @property
    def assignor(self) -> str:
        """What most members ask for; ``uniform`` when nobody asks."""
        asked = [member.assignor for member in self.members.values() if member.assignor]
        return max(asked, key=asked.count) if asked else "uniform"

    # Rules of other APIs

    def check_commit(self, member_id: str, epoch: int, version: int, places: Iterable[Place]) -> None:
        """Anybody may commit to an empty group. One partition that a member has no more refuses all (seen)."""
        if epoch < 0 and not self.members:
            return
        member = self.member(member_id)
        if version < _FIRST_WITH_MEMBER_EPOCH:
            raise RefusedError(Code.UNSUPPORTED_VERSION)
        member.check_places(epoch, places, Code.STALE_MEMBER_EPOCH)

    def check_transactional_commit(
        self, member_id: str, instance_id: str | None, epoch: int, places: Iterable[Place], stale: int
    ) -> None:
        """A stranger without id and epoch is accepted, also on a live group (kafka-facts 2)."""
        if epoch >= 0 or member_id or instance_id is not None:
            self.member(member_id).check_places(epoch, places, stale)

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        """Members say who they are since OffsetFetch v9, and with a former epoch they get nothing."""
        if member_id is not None and self.member(member_id).epoch != epoch:
            raise RefusedError(Code.STALE_MEMBER_EPOCH)
