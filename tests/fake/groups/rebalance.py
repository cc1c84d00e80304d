"""Moves classic groups through their rebalances: who joins or leaves, whom we wait for, and for how long.

The order of steps is that of Kafka's GroupMetadataManager. Nothing here waits: answers to parked requests are
put into their futures, and deadlines call back.
"""

from collections.abc import Callable
from dataclasses import replace

from kcli.core.protocol.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from kcli.core.protocol.messages.sync_group import SyncGroupResponse
from tests.fake.codes import Code
from tests.fake.groups.classic_group import ClassicGroup, Member, State
from tests.fake.groups.deadlines import Deadlines
from tests.fake.groups.settings import Settings


class Rebalances:
    """All steps of all classic groups."""

    def __init__(self, deadlines: Deadlines, now: Callable[[], float], settings: Settings) -> None:
        self._deadlines = deadlines
        self._now = now
        self._settings = settings

    # Members

    def await_pending(self, group: ClassicGroup, member_id: str, seconds: float) -> None:
        """``member_id`` was given out with MEMBER_ID_REQUIRED; it is expected back."""
        group.pending.add(member_id)
        self._set_session(group, member_id, seconds)

    def add(self, group: ClassicGroup, member: Member, protocol_type: str) -> None:
        """A new member, its JoinGroup parked."""
        if group.state is State.PREPARING and group.previous is State.EMPTY:
            group.joined_during_delay = True
        group.add(member, protocol_type)
        self._set_session(group, member.id, self._settings.new_member_timeout)
        self.advance(group)

    def touch(self, group: ClassicGroup, member: Member) -> None:
        """The member is alive: its session begins anew."""
        self._set_session(group, member.id, member.session_timeout)

    def drop(self, group: ClassicGroup, member_id: str) -> None:
        """Takes a member out; ``after_drop`` must follow.

        A parked JoinGroup is told. A parked SyncGroup is not: brokers (4.3.1) never answer it, seen.
        """
        self._deadlines.cancel("session", group.id, member_id)
        member = group.members.get(member_id)
        if member:
            member.answer_join(refused_join(Code.UNKNOWN_MEMBER_ID))
        group.remove(member_id)

    def replace(self, group: ClassicGroup, former_id: str, member_id: str) -> Member:
        """A static member under its new id, in its former place; whatever waits under the old one is fenced."""
        former = group.members[former_id]
        former.answer_join(refused_join(Code.FENCED_INSTANCE_ID, former_id))
        former.answer_sync(refused_sync(Code.FENCED_INSTANCE_ID))
        self._deadlines.cancel("session", group.id, former_id)
        member = replace(former, id=member_id, is_new=False)
        group.members = {(member_id if key == former_id else key): m for key, m in group.members.items()}
        group.members[member_id] = member
        group.static_ids[member.instance_id or ""] = member_id
        if former_id in group.unsynced:
            group.unsynced ^= {former_id, member_id}
        if group.leader == former_id:
            group.leader = member_id
        self.touch(group, member)
        return member

    def after_drop(self, group: ClassicGroup) -> None:
        """The others must join again; or we waited for the dropped one only."""
        if group.state is State.PREPARING:
            self._complete_if_all_joined(group)
        elif group.state in (State.STABLE, State.COMPLETING):
            self.prepare(group)

    # Rebalances

    def advance(self, group: ClassicGroup) -> None:
        """Somebody joined: begins a rebalance, or completes the one that waited for it."""
        if group.state is State.PREPARING:
            self._complete_if_all_joined(group)
        else:
            self.prepare(group)

    def prepare(self, group: ClassicGroup) -> None:
        """PreparingRebalance: all members are asked to join again."""
        if group.state is State.COMPLETING:
            for member in group.members.values():
                member.assignment = b""
                self._answer_sync(group, member, Code.REBALANCE_IN_PROGRESS)
        group.unsynced.clear()
        self._deadlines.cancel("sync", group.id)
        initial = group.state is State.EMPTY
        group.become(State.PREPARING)
        if initial:
            delay = self._settings.initial_rebalance_delay
            self._delay(group, delay, max(group.rebalance_timeout - delay, 0.0))
        elif group.all_joined:
            self.complete(group)
        else:
            self._set_join_deadline(group)

    def complete(self, group: ClassicGroup) -> None:
        """The barrier opens: dynamic members that did not come are out, the others get the new generation."""
        self._deadlines.cancel("join", group.id)
        late = [m.id for m in group.members.values() if not m.joining and m.instance_id is None]
        for member_id in late:
            self.drop(group, member_id)
        if group.members and not group.elect_joined_leader():
            self._set_join_deadline(group)  # static members only, and none came: their sessions decide
            return
        group.begin_generation()
        for member in group.members.values():
            member.answer_join(joined(group, member))
            self.touch(group, member)
            member.is_new = False
            group.unsynced.add(member.id)
        if group.members:
            at = self._now() + group.rebalance_timeout
            self._deadlines.set(("sync", group.id), at, lambda: self._expire_sync(group))

    def assign(self, group: ClassicGroup, assignments: dict[str, bytes]) -> None:
        """The leader's SyncGroup: everybody who waits gets its part."""
        for member in group.members.values():
            member.assignment = assignments.get(member.id, b"")
            self._answer_sync(group, member, Code.NONE)
        group.become(State.STABLE)

    def synced(self, group: ClassicGroup, member_id: str) -> None:
        group.unsynced.discard(member_id)
        if not group.unsynced:
            self._deadlines.cancel("sync", group.id)

    def _answer_sync(self, group: ClassicGroup, member: Member, code: int) -> None:
        if member.answer_sync(synced(group, member) if code == Code.NONE else refused_sync(code)):
            self.touch(group, member)

    def _complete_if_all_joined(self, group: ClassicGroup) -> None:
        """Not during the first rebalance, which ends with its delay."""
        if group.previous is not State.EMPTY and group.all_joined:
            self.complete(group)

    # Deadlines

    def _set_session(self, group: ClassicGroup, member_id: str, seconds: float) -> None:
        key = ("session", group.id, member_id)
        self._deadlines.set(key, self._now() + seconds, lambda: self._expire(group, member_id))

    def _expire(self, group: ClassicGroup, member_id: str) -> None:
        """Unlike a member that leaves, one that is lost also ends the first rebalance's delay."""
        member = group.members.get(member_id)
        if member and member.is_waited_for:
            return
        self.drop(group, member_id)
        if group.state is State.PREPARING and group.all_joined:
            self.complete(group)
        elif member and group.state in (State.STABLE, State.COMPLETING):
            self.prepare(group)

    def _set_join_deadline(self, group: ClassicGroup) -> None:
        at = self._now() + group.rebalance_timeout
        self._deadlines.set(("join", group.id), at, lambda: self.complete(group))

    def _delay(self, group: ClassicGroup, delay: float, remaining: float) -> None:
        """The first rebalance waits for more members; each that comes prolongs it, up to the rebalance timeout."""

        def over() -> None:
            if group.joined_during_delay and remaining > 0:
                group.joined_during_delay = False
                step = min(self._settings.initial_rebalance_delay, remaining)
                self._delay(group, step, max(remaining - delay, 0.0))
            else:
                self.complete(group)

        if delay <= 0:
            over()
        else:
            self._deadlines.set(("join", group.id), self._now() + delay, over)

    def _expire_sync(self, group: ClassicGroup) -> None:
        if group.state in (State.COMPLETING, State.STABLE) and group.unsynced:
            for member_id in list(group.unsynced):
                self.drop(group, member_id)
            self.prepare(group)


def joined(group: ClassicGroup, member: Member, *, skip: bool = False) -> JoinGroupResponse:
    """The generation as ``member`` gets to know it; the leader also learns who the members are."""
    rows = [
        JoinGroupResponseMember(
            member_id=one.id, group_instance_id=one.instance_id, metadata=one.protocols[group.protocol or ""]
        )
        for one in group.members.values()
    ]
    return JoinGroupResponse(
        error_code=Code.NONE,
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        leader=group.leader or "",
        skip_assignment=skip,
        member_id=member.id,
        members=rows if group.leader == member.id else [],
    )


def refused_join(code: int, member_id: str = "") -> JoinGroupResponse:
    return JoinGroupResponse(error_code=code, protocol_name=None, leader="", member_id=member_id, members=[])


def synced(group: ClassicGroup, member: Member) -> SyncGroupResponse:
    return SyncGroupResponse(
        error_code=Code.NONE,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        assignment=member.assignment,
    )


def refused_sync(code: int) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=code, assignment=b"")
