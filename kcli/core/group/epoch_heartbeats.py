"""Heartbeats that carry membership themselves: groups of type consumer (KIP-848) and share (KIP-932). Pure.

A heartbeat joins (epoch 0), stays and leaves (−1). Its response carries the partitions that the member is assigned:
``target``. Adopting them is up to the caller; what a heartbeat reports besides topics is up to the kind of group.

TOPIC_AUTHORIZATION_FAILED leaves the member in its group, as in the Java client
(``tests/unit/core/group/test_consumer_heartbeats.py``, G5).
"""

import uuid
from abc import ABC, abstractmethod
from typing import Any

from kcli.core.cluster.retry import classify_code
from kcli.core.error_codes import (
    FENCED_MEMBER_EPOCH,
    GROUP_ID_NOT_FOUND,
    ILLEGAL_GENERATION,
    NONE,
    STALE_MEMBER_EPOCH,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_MEMBER_ID,
    UNSUPPORTED_VERSION,
)
from kcli.core.errors import BrokerError, KcliError
from kcli.core.group.membership import NO_GENERATION, MemberEvent, Membership, MemberState
from kcli.core.group.reasons import came_too_late, refused
from kcli.core.permissions import on_group
from kcli.core.protocol.api import Request

Partitions = dict[bytes, list[int]]
"""Topic id → partitions, in order."""

_NEVER = float("inf")
_REMOVED = frozenset({UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, STALE_MEMBER_EPOCH, ILLEGAL_GENERATION})
_JOIN, _LEAVE = 0, -1
_SHORTEST_INTERVAL = 0.1  # seconds; an interval of 0 would flood the coordinator (reliability case G13)
_LONGEST_PAUSE = 1.0  # seconds between two attempts to join, or to get permission


class EpochHeartbeats(ABC):
    """See ``heartbeat.Heartbeats``. ``pause`` is in seconds; the interval is the coordinator's."""

    def __init__(self, membership: Membership, pause: float, *, rack: str = "") -> None:
        self._membership = membership
        self._pause = pause
        self._rack = rack or None
        self._interval = 5.0
        self._next = 0.0
        self._known = False  # the coordinator may know this member
        self._owes_leave = False
        self._lost = 0  # times in a row that it lost its membership before a second heartbeat was accepted
        self.topics: list[str] = []
        self.target: Partitions | None = None
        membership.member_id = str(uuid.uuid4())

    # --- of the kind of group --------------------------------------------------------------------------

    @abstractmethod
    def _beat(self, epoch: int) -> Any:
        """A heartbeat with this epoch that reports nothing."""

    @abstractmethod
    def _report(self, request: Any) -> None:
        """Adds what the coordinator may not know: a field that is null means "as before"."""

    @abstractmethod
    def _reported(self, request: Any) -> None:
        """The coordinator has received the request: what it said, not what is true now."""

    @abstractmethod
    def _forget_reports(self) -> None:
        """It is not known what the coordinator has received: everything is reported again."""

    @abstractmethod
    def _switched_off(self, error: BrokerError) -> KcliError:
        """Why the brokers refuse the protocol although they know it."""

    @property
    def _leave_epoch(self) -> int:
        return _LEAVE

    # --- of all ----------------------------------------------------------------------------------------

    def changed(self) -> None:
        """What is to be reported has changed: reports it to the coordinator at once."""
        self._next = 0.0

    def begin_join(self, topics: list[str], now: float) -> None:
        """Joins anew; a member that was just removed does so after a pause."""
        self.topics, self.target = topics, None
        pause = self._pause * 2.0 ** min(self._lost - 1, 8) if self._lost else 0.0
        self._next = now + min(pause, _LONGEST_PAUSE)

    def tick(self, now: float) -> float:
        """A late poll, and a request to leave, become a heartbeat that leaves."""
        member = self._membership
        if member.is_member and now >= member.late_at:
            self._owe_leave()
            member.happened(MemberEvent.LATE, came_too_late(member.group_id, member.max_poll_interval))
        if member.state is MemberState.LEAVING:
            self._owe_leave()
            if not self._owes_leave or now >= member.leave_by:
                member.happened(MemberEvent.LEFT)
                return now
        if self._owes_leave:
            return self._next
        return min(self._next, member.late_at) if member.is_member else _NEVER

    def _owe_leave(self) -> None:
        """Leaves with the next heartbeat, even where it is not known yet whether the join succeeded."""
        self._membership.generation = NO_GENERATION
        if self._known and not self._owes_leave:
            self._owes_leave, self._next = True, 0.0

    def request(self, now: float) -> Request | None:
        """A heartbeat with all that the coordinator does not know yet."""
        member = self._membership
        if self._owes_leave:
            leave: Request = self._beat(self._leave_epoch)
            return leave
        if not member.is_member:
            return None
        self._next = now + self._interval
        joins = member.state is MemberState.JOINING
        if joins:
            # From here on the coordinator may have the member, whether or not the response arrives: a close
            # owes it a leave.
            self._forget_reports()
            self._known = True
        request: Request = self._beat(_JOIN if joins else member.generation)
        self._report(request)
        return request

    def handle_response(self, request: Request, answer: Any, now: float) -> KcliError | None:
        """A response that concerns an earlier epoch of the member changes nothing."""
        epoch: int = getattr(request, "member_epoch")  # noqa: B009 - of each kind of heartbeat
        member, code = self._membership, answer.error_code
        if code != NONE and classify_code(code).refresh == "coordinator":
            self._next = now
            return BrokerError(
                code, f"heartbeat of group {member.group_id}", needs=[on_group("READ", member.group_id)]
            )
        if classify_code(code).retriable:  # it is still loading its groups
            self._next = now + self._pause
        elif epoch < 0:
            # Whatever the code: a member that is unknown has left.
            self._owes_leave = self._known = False
        elif self._owes_leave or epoch != max(member.generation, 0) or not member.is_member:
            # The answer to a heartbeat of an earlier epoch: the member has joined again or left since, and a
            # refusal of that epoch must not end the present membership.
            pass
        elif code != NONE:
            error = BrokerError(
                code,
                f"group {member.group_id}",
                message=answer.error_message or "",
                needs=[on_group("READ", member.group_id)],
            )
            self._refused(error, now, joins=epoch == _JOIN)
        elif answer.member_epoch <= 0:
            self._removed("the coordinator reports that this member has left")
        else:
            self._accepted(request, answer, now)
        return None

    def handle_no_response(self, request: Request | None, now: float) -> None:  # noqa: ARG002 - the same for all requests
        """The coordinator may not have received the request: the next one repeats everything."""
        self._next = now + self._pause
        self._forget_reports()

    def _accepted(self, request: Request, answer: Any, now: float) -> None:
        member = self._membership
        self._reported(request)
        self._interval = max(_SHORTEST_INTERVAL, answer.heartbeat_interval_ms / 1000)
        # 0 stays 0: something changed while this heartbeat was under way, and is reported at once.
        self._next = min(self._next, now + self._interval) if self._next else 0.0
        member.member_id = answer.member_id or member.member_id
        member.generation = answer.member_epoch
        if member.state is MemberState.JOINING:
            member.happened(MemberEvent.JOINED, f"epoch {member.generation}")
        else:
            # A heartbeat after the one that joined proves that the membership lasts. Counted from the join, a
            # coordinator that accepts and then removes the member would be asked again without a pause.
            self._lost = 0
        # Null: as before (KIP-848).
        if answer.assignment is not None:
            rows = answer.assignment.topic_partitions
            self.target = {row.topic_id: sorted(row.partitions) for row in rows}

    def _refused(self, error: BrokerError, now: float, *, joins: bool) -> None:
        member = self._membership
        # The group disappeared with its last member, which is this one: its heartbeats were missing for too long.
        gone = error.code == GROUP_ID_NOT_FOUND and not joins
        if error.code in _REMOVED or gone:
            self._removed(str(error))
        elif error.code == TOPIC_AUTHORIZATION_FAILED:
            # The state stays the same: the permission may yet be granted.
            member.complaint = error
            self._next = min(self._next, now + _LONGEST_PAUSE)
        elif error.code == UNSUPPORTED_VERSION:
            member.happened(MemberEvent.FENCE, str(error), error=self._switched_off(error))
        else:
            reason = refused(member.group_id, error, member.instance_id)
            member.happened(MemberEvent.FENCE, str(error), error=reason)

    def _removed(self, why: str) -> None:
        self._lost += 1
        # The id stays: the member gave it to itself, and joins again under it with epoch 0 (KIP-848).
        self.target = None
        self._membership.happened(MemberEvent.LOST, why)
