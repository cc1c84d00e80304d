"""The heartbeats of a classic group: what is sent when, and how the coordinator's responses change the member. Pure.

Responses to heartbeats and commits are ignored while the member joins: they are about the previous generation.
Taken into account, they cost a second rebalance, or removed a member that was just being accepted. That its id is
unknown, or fenced, is about the member itself and ends the join: a broker never answers the SyncGroup of a member
that was removed meanwhile (``tests/fault/test_slow_joins.py``). A heartbeat
that is refused for missing permission does not end the membership permanently: the poll raises the error, and the
next poll joins again (``tests/unit/core/group/test_classic_heartbeats.py``, G5).
"""

from typing import Any

from kcli.core.cluster.retry import classify_code
from kcli.core.error_codes import (
    FENCED_INSTANCE_ID,
    ILLEGAL_GENERATION,
    MEMBER_ID_REQUIRED,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
    UNKNOWN_SERVER_ERROR,
)
from kcli.core.errors import BrokerError, KcliError
from kcli.core.group.membership import NO_GENERATION, MemberEvent, Membership, MemberState
from kcli.core.group.reasons import came_too_late, refused
from kcli.core.permissions import on_group
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.heartbeat import HeartbeatRequest
from kcli.core.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity

_NEVER = float("inf")


class ClassicHeartbeats:
    """See ``heartbeat.Heartbeats``. ``interval`` and ``pause`` (after a failure) are in seconds."""

    def __init__(self, membership: Membership, interval: float, pause: float) -> None:
        self._membership = membership
        self._interval, self._pause = interval, pause
        self._next = 0.0
        # Ids that the group still lists for this member, though it has left.
        self._to_leave: list[str] = []

    def tick(self, now: float) -> float:
        """A late poll, and a request to leave, turn the member id into an id that is to leave the group."""
        member = self._membership
        if member.is_member and now >= member.late_at:
            # KIP-62: heartbeats go on while the application hangs, so without this nobody would read its
            # partitions.
            member.happened(MemberEvent.LATE, came_too_late(member.group_id, member.max_poll_interval))
            self._forget_id()
        if member.state is MemberState.LEAVING:
            self._forget_id()
            if not self._to_leave or now >= member.leave_by:
                member.happened(MemberEvent.LEFT)
                return now
        if self._to_leave:
            return self._next
        if not member.is_member:
            return _NEVER
        return min(self._next, member.late_at) if self._beats else member.late_at

    @property
    def _beats(self) -> bool:
        """Whether heartbeats are due: also between JoinGroup and SyncGroup, where a leader may have to fetch metadata."""
        member = self._membership
        return member.is_member and member.member_id != "" and member.generation != NO_GENERATION

    def _forget_id(self) -> None:
        """A static member does not leave: the next member with its instance id takes over its partitions (KIP-345)."""
        member = self._membership
        if member.member_id and member.instance_id is None:
            self._to_leave.append(member.member_id)
            self._next = 0.0
        member.member_id = ""

    def request(self, now: float) -> Request | None:
        """The heartbeat, or the LeaveGroup that must precede it."""
        member = self._membership
        if self._to_leave:
            # Before any heartbeat: the member may have joined again under a new id, and the coordinator would
            # go on assigning partitions to the old one until its session ends.
            gone = self._to_leave[0]
            reason = (
                "the consumer is closed"
                if member.state is MemberState.LEAVING
                else "poll was called too late"
            )
            return LeaveGroupRequest(
                group_id=member.group_id,
                member_id=gone,
                members=[MemberIdentity(member_id=gone, reason=reason)],
            )
        if not self._beats:
            return None
        self._next = now + self._interval
        return HeartbeatRequest(
            group_id=member.group_id,
            generation_id=member.generation,
            member_id=member.member_id,
            group_instance_id=member.instance_id,
        )

    def handle_response(self, request: Request, answer: Any, now: float) -> KcliError | None:
        """A response that concerns an earlier member id or generation changes nothing."""
        member, code = self._membership, answer.error_code
        error = (
            BrokerError(
                code, f"heartbeat of group {member.group_id}", needs=[on_group("READ", member.group_id)]
            )
            if code != NONE
            else None
        )
        if error is not None and classify_code(code).refresh == "coordinator":
            self._next = now
            return error
        # The coordinator is still loading its groups, or failed internally.
        if classify_code(code).retriable or code == UNKNOWN_SERVER_ERROR:
            self._next = now + self._pause
            return None
        if isinstance(request, LeaveGroupRequest):
            # Whatever the code: an unknown member has left, and a refusal would be repeated.
            if request.member_id in self._to_leave:
                self._to_leave.remove(request.member_id)
            return None
        assert isinstance(request, HeartbeatRequest)
        sent = (request.member_id, request.generation_id)
        # Sequence that must not end a membership: heartbeat of generation 4 is sent, the caller joins
        # generation 5, the coordinator answers the heartbeat with ILLEGAL_GENERATION.
        if error is not None and member.is_member and sent == (member.member_id, member.generation):
            return self._refused(error)
        return None

    def handle_no_response(self, request: Request | None, now: float) -> None:  # noqa: ARG002 - the same for all requests
        """Sent again as soon as there is a coordinator; a member that leaves does not wait for it indefinitely."""
        self._next = now + self._pause

    def _refused(self, error: BrokerError) -> KcliError | None:
        """Returns an error that does not concern the membership, such as a missing permission, for the next poll."""
        member = self._membership
        of_member = error.code in (FENCED_INSTANCE_ID, UNKNOWN_MEMBER_ID)
        if member.state is MemberState.JOINING and not of_member:
            return None  # that generation is over, or about to be; the join gets its own response
        if error.code == REBALANCE_IN_PROGRESS:
            member.happened(MemberEvent.REBALANCE, str(error))
        elif error.code in (UNKNOWN_MEMBER_ID, MEMBER_ID_REQUIRED):
            member.happened(MemberEvent.LOST, str(error))
            member.member_id = ""
        elif error.code == ILLEGAL_GENERATION:
            # The id is kept: the coordinator still has the member, and a join under a new id would leave the
            # old one behind until its session ends.
            member.happened(MemberEvent.LOST, str(error))
        elif error.code == FENCED_INSTANCE_ID:
            reason = refused(member.group_id, error, member.instance_id)
            member.happened(MemberEvent.FENCE, str(error), error=reason)
        else:
            return error
        return None
