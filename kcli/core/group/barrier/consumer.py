"""The barrier of a KIP-848 group: it owns all partitions and acknowledges no revocation. See ``barrier.py``.

A barrier that waits for its turn owes no acknowledgement: two barriers that waited for the group to be stable,
each with an assignment to acknowledge, waited for each other (``tests/fault/test_rewind_offsets.py``).
"""

from __future__ import annotations

from collections.abc import Callable

from kcli.core.cluster.cluster import Cluster
from kcli.core.errors import TimedOutError
from kcli.core.group.barrier.barrier import HOLD_SECONDS, POLL_SECONDS, Barrier
from kcli.core.group.consumer_heartbeats import ConsumerGroupHeartbeats
from kcli.core.group.coordinator_link import CoordinatorLink
from kcli.core.group.epoch_heartbeats import Partitions
from kcli.core.group.membership import MemberEvent, Membership, MemberState
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest

_QUIET = 1.0  # seconds without another member's commit, after which the group may be released
_STABLE = "Stable"


class ConsumerBarrier(Barrier):
    """The barrier of a KIP-848 group: it owns all partitions, and does not acknowledge their revocation."""

    by_epoch = True
    least_quiet = _QUIET

    def __init__(
        self,
        cluster: Cluster,
        link: CoordinatorLink,
        membership: Membership,
        heartbeats: ConsumerGroupHeartbeats,
        wake_heartbeat: Callable[[], None],
        wanted: Callable[[], Partitions],
    ) -> None:
        super().__init__(cluster, link, membership)
        self._heartbeats = heartbeats
        self._wake_heartbeat = wake_heartbeat
        self._wanted = wanted

    def seize(self, deadline: float) -> None:
        """Accepts what it is assigned, and evicts members that come back, until it owns everything."""
        if self._membership.is_member:
            self._wait_until_stable(deadline)
        else:
            self._join_as_new_member(deadline)
        while self._cluster.loop.now() < deadline:
            # Again in every round: an evicted member rejoins with its next heartbeat, and gets a share of the
            # next assignment.
            self._evict(self._others(deadline), deadline)
            if self._accept_assignment() == self._wanted():
                return
            self._cluster.sleep(POLL_SECONDS)
        raise self._not_held_error()

    def _join_as_new_member(self, deadline: float) -> None:
        """Joins as a new member, with the topics of its heartbeats. The others are evicted first, so that it is
        assigned everything at once: a coordinator computes an assignment once a second, and members that are back by
        then get a share.
        """
        member = self._membership
        self._evict(self._listed(self._describe(deadline)), deadline)
        with member.lock:
            self._heartbeats.begin_join(self._heartbeats.topics, self._cluster.loop.now())
            member.happened(MemberEvent.JOIN)
        self._wake_heartbeat()
        while member.state is not MemberState.STABLE:
            self._check_allowed()
            if self._cluster.loop.now() >= deadline:
                raise TimedOutError(
                    f"group {member.group_id} could not be joined in time", why="no response yet"
                )
            self._cluster.sleep(POLL_SECONDS)

    def _check_allowed(self) -> None:
        """Raises the error by which the coordinator refused this member."""
        member = self._membership
        with member.lock:
            complaint, member.complaint = member.complaint, None
        if error := complaint or (member.error if member.state is MemberState.FENCED else None):
            raise error

    def _wait_until_stable(self, deadline: float) -> None:
        """A group with another barrier is not stable: it owes an acknowledgement while it holds. Waits no longer than
        that.

        This barrier acknowledges meanwhile, or the two would wait for each other.
        """
        loop = self._cluster.loop
        give_up = min(deadline, loop.now() + HOLD_SECONDS + _QUIET)
        while self._describe_as_member(deadline).group_state != _STABLE and loop.now() < give_up:
            self._accept_assignment()
            self._cluster.sleep(POLL_SECONDS)

    def _accept_assignment(self) -> Partitions:
        """Accepts the assignment and returns what it owns; nothing is read from those partitions."""
        self._check_allowed()
        with self._membership.lock:
            if self._heartbeats.target is not None:
                # Owned without a callback and without a fetch: what counts is that the coordinator takes it
                # from nobody else.
                self._heartbeats.owned = self._heartbeats.target
            owned = self._heartbeats.owned
            self._heartbeats.changed()
        self._wake_heartbeat()
        return owned

    def _describe_request(self) -> Request:
        group_id = self._membership.group_id
        return ConsumerGroupDescribeRequest(group_ids=[group_id], include_authorized_operations=False)
