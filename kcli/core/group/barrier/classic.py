"""The barrier of a classic group: no JoinGroup is answered until it has left, or until it leads a generation in which
the members own nothing. See ``barrier.py``.

The first member of the new generation must be alone: a JoinGroup of a follower that changes nothing is answered
without a rebalance. So the barrier evicts first, then joins, and checks who leads and how many members there are.
Other members of the barrier's generation get an empty assignment before they are evicted: a coordinator does not
answer the SyncGroup of a member that is removed meanwhile, which would wait for ``request.timeout.ms``. Tested in
``tests/fault/test_barrier.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kcli.core.cluster.brokers import GROUP
from kcli.core.cluster.cluster import Cluster
from kcli.core.error_codes import (
    ILLEGAL_GENERATION,
    MEMBER_ID_REQUIRED,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from kcli.core.errors import BrokerError
from kcli.core.future import Future
from kcli.core.group.barrier.barrier import EVICTED_CODES, HOLD_SECONDS, POLL_SECONDS, Barrier
from kcli.core.group.consumer_protocol import Assignment, encode_assignment
from kcli.core.group.coordinator_link import CoordinatorLink
from kcli.core.group.member_requests import join_request, sync_request
from kcli.core.group.membership import MemberEvent, Membership, MemberState
from kcli.core.group.reasons import refused
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.describe_groups import DescribeGroupsRequest
from kcli.core.protocol.messages.join_group import (
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from kcli.core.protocol.messages.sync_group import SyncGroupRequestAssignment

# SyncGroup: the group has moved on since the JoinGroup response
_GONE_ON = frozenset({REBALANCE_IN_PROGRESS, ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID})
_FIRST_WITH_IDS = 4  # JoinGroup: returns the member id before the member joins
_PREPARING = "PreparingRebalance"


class ClassicBarrier(Barrier):
    """The barrier of a classic group. ``protocols``: the group's assignors, with a subscription that may be empty."""

    instance_id_field = "group_instance_id"

    def __init__(
        self,
        cluster: Cluster,
        link: CoordinatorLink,
        membership: Membership,
        protocols: list[JoinGroupRequestProtocol],
        session_timeout_ms: int,
    ) -> None:
        super().__init__(cluster, link, membership)
        self._protocols = protocols
        self._session_timeout_ms = session_timeout_ms

    def seize(self, deadline: float) -> None:
        """Evicts the other members; JoinGroup is answered once the coordinator waits for none of them."""
        member = self._membership
        join = self._join_again if member.is_member else self._join_as_new_member
        while self._cluster.loop.now() < deadline:
            joined = join(deadline)
            join = self._join_again
            if joined is None:
                self._cluster.sleep(POLL_SECONDS)
                continue
            if self._lead_generation(joined, deadline) and len(joined.members) <= 1:
                return
        raise self._not_held_error()

    def _lead_generation(self, joined: JoinGroupResponse, deadline: float) -> bool:
        """Begins the generation, in which no member owns anything; False if another member leads, or it is over."""
        member = self._membership
        with member.lock:
            member.member_id, member.generation = joined.member_id, joined.generation_id
        # Sequence: a member joins between the description of the group and the eviction, so it leads and the
        # barrier is a follower. What it assigned is not known here; the next round evicts it.
        if joined.leader != joined.member_id or not self._sync(joined, deadline):
            return False
        with member.lock:
            if member.state is not MemberState.STABLE:
                member.happened(MemberEvent.JOIN)
                member.happened(MemberEvent.JOINED, "as the leader that assigns nothing")
        self.arrival_log.record_unassigned(
            [one.member_id for one in joined.members], self._cluster.loop.now()
        )
        return True

    def _admit_waiting_members(self, group: Any, deadline: float) -> float | None:
        """Members waiting to rejoin are listed already but cannot commit: commits of an earlier generation fail.

        A client may keep such a commit and send it after it has joined, or keep its position in a partition that is
        assigned to it again (kafka-python). So the members join generations in which they own nothing, and what they
        commit is corrected.
        """
        # In any other state no JoinGroup is pending, so nobody waits.
        if group.group_state != _PREPARING:
            return None
        complete = self._join_with_waiting_members(deadline)
        return self._cluster.loop.now() + (0.0 if complete else HOLD_SECONDS)

    def _join_with_waiting_members(self, deadline: float) -> bool:
        """Joins together with the waiting members, so that a generation begins. A coordinator waits for each up to its
        rebalance timeout, the barrier only for two heartbeat intervals: then it evicts them all again, and returns
        False.
        """
        loop = self._cluster.loop
        give_up, ended = loop.now() + HOLD_SECONDS, False

        def waits(joining: Future[Any]) -> None:
            nonlocal ended
            ended = self._evict_when(lambda _group: loop.now() >= give_up, joining, deadline) or ended

        joined = self._join(deadline, waits)
        if (
            joined is not None
            and not self._lead_generation(joined, deadline)
            and joined.leader != joined.member_id
        ):
            self.seize(deadline)  # another leader has assigned them partitions
            ended = True
        return not ended

    def _describe_request(self) -> Request:
        return DescribeGroupsRequest(groups=[self._membership.group_id])

    def _join_as_new_member(self, deadline: float) -> JoinGroupResponse | None:
        """Joins as a new member. The barrier's JoinGroup is pending before the others are evicted: a group that is
        empty for a moment accepts commits from any client (aiokafka's members send them).
        """
        # KIP-394: an id first, so that it is known whether the JoinGroup below is pending.
        self._obtain_member_id(deadline)

        def listed(group: Any) -> bool:
            return any(one.member_id == self._membership.member_id for one in group.members)

        return self._join(deadline, lambda joining: self._evict_when(listed, joining, deadline))

    def _evict_when(self, due: Callable[[Any], bool], joining: Future[Any], deadline: float) -> bool:
        """Evicts the other members once the group is ``due``, unless JoinGroup is answered before."""
        while not joining.done and self._cluster.loop.now() < deadline:
            group = self._describe(deadline)
            if due(group):
                # Only now that the barrier's own JoinGroup is pending: the group is never empty.
                self._evict(self._listed(group), deadline)
                return True
            self._cluster.sleep(POLL_SECONDS)
        return False

    def _obtain_member_id(self, deadline: float) -> None:
        """Obtains a member id (KIP-394)."""
        member = self._membership
        with member.lock:
            member.happened(MemberEvent.JOIN)

        def make() -> Request:
            request = join_request(member, self._session_timeout_ms, self._protocols)
            request.require_version(_FIRST_WITH_IDS)
            return request

        def check(response: JoinGroupResponse) -> str:
            if response.error_code != MEMBER_ID_REQUIRED:
                raise BrokerError(response.error_code, f"joining group {member.group_id}")
            return response.member_id

        try:
            member_id = self._call(make, check, deadline, "asking to join the group", purpose=GROUP)
        except BrokerError as error:
            raise refused(member.group_id, error) from error
        with member.lock:
            member.member_id = member_id

    def _join_again(self, deadline: float) -> JoinGroupResponse | None:
        self._evict(self._others(deadline), deadline)
        return self._join(deadline)

    def _join(
        self, deadline: float, sent: Callable[[Future[Any]], object] | None = None
    ) -> JoinGroupResponse | None:
        """None if the group was about to form another generation."""
        member = self._membership

        def make() -> Request:
            with member.lock:
                if not member.member_id:  # else it would be promised a new id, and all would wait for it
                    raise self._evicted_error()
                return join_request(member, self._session_timeout_ms, self._protocols)

        try:
            response: JoinGroupResponse = self._ask(
                make, max(0.0, deadline - self._cluster.loop.now()), deadline, sent
            )
        except BrokerError as error:
            if error.code == REBALANCE_IN_PROGRESS:
                return None
            if error.code in EVICTED_CODES:
                raise self._evicted_error() from error
            raise refused(member.group_id, error, member.instance_id) from error
        return response

    def _sync(self, joined: JoinGroupResponse, deadline: float) -> bool:
        """Assigns nothing to any member; False if the group has moved on already.

        Members that came back quickly get this assignment too, before they are evicted again: a coordinator leaves a
        SyncGroup unanswered if its member is evicted meanwhile.
        """
        nothing = encode_assignment(Assignment())
        rows = [
            SyncGroupRequestAssignment(member_id=one.member_id, assignment=nothing) for one in joined.members
        ]
        try:
            self._ask(lambda: sync_request(self._membership, joined, rows), None, deadline)
        except BrokerError as error:
            if error.code in _GONE_ON:
                return False
            raise refused(self._membership.group_id, error, self._membership.instance_id) from error
        return True

    def _ask(
        self,
        make: Callable[[], Request],
        timeout: float | None,
        deadline: float,
        sent: Callable[[Future[Any]], object] | None = None,
    ) -> Any:
        """Uses the connection for joins: while a join is pending on it, other requests use another connection."""

        def check(response: Any) -> Any:
            if response.error_code != NONE:
                raise BrokerError(response.error_code, f"holding group {self._membership.group_id}")
            return response

        what = "becoming the only member of the group"
        return self._call(make, check, deadline, what, purpose=GROUP, timeout=timeout, sent=sent)
