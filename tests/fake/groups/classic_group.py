"""A classic group: members, generation, leader, chosen protocol, and the rules that only look at them.

It waits for nothing and sets no deadline: ``rebalance.py`` moves it from state to state.
"""

import asyncio
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum

from kcli.core.protocol.messages.join_group import JoinGroupResponse
from kcli.core.protocol.messages.sync_group import SyncGroupResponse
from tests.fake.codes import Code, RefusedError
from tests.fake.groups import embedded

CONSUMER = "consumer"
"""The protocol type whose embedded bytes the coordinator reads."""


class State(StrEnum):
    """As DescribeGroups and ListGroups spell it."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


_BEFORE = {
    State.EMPTY: {State.PREPARING},
    State.PREPARING: {State.EMPTY, State.COMPLETING, State.STABLE},
    State.COMPLETING: {State.PREPARING},
    State.STABLE: {State.COMPLETING},
    State.DEAD: {State.EMPTY},
}


@dataclass(slots=True, eq=False)
class Member:
    """Who joined. ``joining`` and ``syncing`` are its parked requests; one whose connection died stays there."""

    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout: float
    rebalance_timeout: float
    protocols: dict[str, bytes]
    """Metadata by protocol name, the preferred one first."""
    assignment: bytes = b""
    is_new: bool = True
    joining: asyncio.Future[JoinGroupResponse] | None = None
    syncing: asyncio.Future[SyncGroupResponse] | None = None

    @property
    def is_waited_for(self) -> bool:
        """Parked members need no heartbeat, but a first JoinGroup must not be parked indefinitely."""
        return not self.is_new and (self.joining is not None or self.syncing is not None)

    def answer_join(self, answer: JoinGroupResponse) -> None:
        parked, self.joining = self.joining, None
        if parked and not parked.done():
            parked.set_result(answer)

    def answer_sync(self, answer: SyncGroupResponse) -> bool:
        """Whether a SyncGroup was parked."""
        parked, self.syncing = self.syncing, None
        if parked and not parked.done():
            parked.set_result(answer)
        return parked is not None


@dataclass(slots=True, eq=False)
class ClassicGroup:
    """``pending`` have a member id and must come again with it (KIP-394); ``unsynced`` owe a SyncGroup."""

    id: str
    state: State = State.EMPTY
    previous: State = State.DEAD
    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    members: dict[str, Member] = field(default_factory=dict)
    static_ids: dict[str, str] = field(default_factory=dict)
    """Member id by group.instance.id (KIP-345)."""
    pending: set[str] = field(default_factory=set)
    unsynced: set[str] = field(default_factory=set)
    subscribed: frozenset[str] | None = None
    """None: not known; the group is not of consumers, or their bytes cannot be read."""
    joined_during_delay: bool = False

    def become(self, state: State) -> None:
        """The one setter of ``state``."""
        assert self.state in _BEFORE[state], f"{self.state} -> {state}"
        self.previous, self.state = self.state, state

    # Members

    def add(self, member: Member, protocol_type: str) -> None:
        """The first member decides the type and leads."""
        if not self.members:
            self.protocol_type = protocol_type
        self.leader = self.leader or member.id
        self.members[member.id] = member
        self.pending.discard(member.id)
        if member.instance_id is not None:
            self.static_ids[member.instance_id] = member.id

    def remove(self, member_id: str) -> None:
        """Also one that is only pending."""
        member = self.members.pop(member_id, None)
        if member and member.instance_id is not None:
            del self.static_ids[member.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.pending.discard(member_id)
        self.unsynced.discard(member_id)

    def elect_joined_leader(self) -> bool:
        """A leader that did not come back loses its office; False when nobody came."""
        if self.leader is None:
            return False
        joined = [member.id for member in self.members.values() if member.joining]
        if self.leader not in joined:
            if not joined:
                return False
            self.leader = joined[0]
        return True

    @property
    def all_joined(self) -> bool:
        return not self.pending and all(member.joining for member in self.members.values())

    @property
    def rebalance_timeout(self) -> float:
        return max((member.rebalance_timeout for member in self.members.values()), default=0.0)

    def accepts(self, member_id: str, max_size: int) -> bool:
        """Whether there is room; those who wait in JoinGroup count during a rebalance, else all members."""
        if self.state in (State.EMPTY, State.DEAD):
            return True
        known = self.members.get(member_id)
        if self.state is State.PREPARING:
            waiting = sum(member.joining is not None for member in self.members.values())
            return waiting < max_size or (known is not None and known.joining is not None)
        return known is not None or len(self.members) < max_size

    # Protocols

    def supports(self, protocol_type: str, protocols: Collection[str]) -> bool:
        """An Empty group takes any type; a live one its own, with a protocol that everybody has.

        A live one may be without members for a moment: all left while a newcomer's member id was out.
        """
        if self.state is State.EMPTY:
            return bool(protocol_type and protocols)
        if protocol_type != self.protocol_type or not protocols:
            return False
        return not self.members or not self._common_protocols().isdisjoint(protocols)

    def choose_protocol(self) -> str:
        """Each member votes for the first in its list that all have."""
        common = self._common_protocols()
        votes = Counter(
            next(name for name in member.protocols if name in common) for member in self.members.values()
        )
        return votes.most_common(1)[0][0]

    def begin_generation(self) -> None:
        """Everybody joined: CompletingRebalance, or Empty when there is nobody."""
        self.generation += 1
        self.unsynced.clear()
        self.protocol = self.choose_protocol() if self.members else None
        self.subscribed = self._read_subscriptions()
        self.become(State.COMPLETING if self.members else State.EMPTY)

    def is_subscribed(self, topic: str) -> bool:
        """Where the subscriptions cannot be read, a group of consumers is taken to be subscribed to everything."""
        if self.subscribed is None:
            return self.protocol_type == CONSUMER
        return topic in self.subscribed

    def _common_protocols(self) -> set[str]:
        counts = Counter(name for member in self.members.values() for name in member.protocols)
        return {name for name, count in counts.items() if count == len(self.members)}

    def _read_subscriptions(self) -> frozenset[str] | None:
        if self.protocol_type != CONSUMER:
            return None
        metadata = [member.protocols[self.protocol or ""] for member in self.members.values()]
        try:
            return frozenset().union(*(embedded.subscribed_topics(one) for one in metadata))
        except ValueError:
            return None

    # Rules

    def check_member(self, member_id: str, instance_id: str | None) -> None:
        """Refuses who is not a member, and the former bearer of an instance id."""
        if instance_id is not None:
            bearer = self.static_ids.get(instance_id)
            if bearer is not None and bearer != member_id:
                raise RefusedError(Code.FENCED_INSTANCE_ID)
            if bearer is None:
                raise RefusedError(Code.UNKNOWN_MEMBER_ID)
        if member_id not in self.members:
            raise RefusedError(Code.UNKNOWN_MEMBER_ID)

    def check_generation(self, member_id: str, instance_id: str | None, generation: int) -> None:
        self.check_member(member_id, instance_id)
        if generation != self.generation:
            raise RefusedError(Code.ILLEGAL_GENERATION)

    def check_commit(
        self, member_id: str, instance_id: str | None, generation: int, *, transactional: bool
    ) -> None:
        """Strangers may commit to an Empty group only, or in a transaction (kafka-facts 1.1 and 2)."""
        if generation < 0 and self.state is State.EMPTY:
            return
        if generation >= 0 or member_id or instance_id is not None:
            self.check_generation(member_id, instance_id, generation)
        elif not transactional:
            raise RefusedError(Code.UNKNOWN_MEMBER_ID)
        if self.state is State.COMPLETING and not transactional:
            raise RefusedError(Code.REBALANCE_IN_PROGRESS)
