"""Membership in a share group (KIP-932): joins, adopts the assignment, leaves. Runs in the caller's thread.

Nothing is revoked with a procedure, as several members share each partition: a new assignment replaces the old one.
"""

from __future__ import annotations

from kcli.core.cluster.cluster import Cluster
from kcli.core.errors import KcliError
from kcli.core.group.beating import Beating
from kcli.core.group.coordinator_link import CoordinatorLink, Seen
from kcli.core.group.epoch_heartbeats import Partitions
from kcli.core.group.membership import MemberEvent, Membership, MemberState
from kcli.core.group.share_heartbeats import ShareGroupHeartbeats
from kcli.core.options import ConsumerOptions
from kcli.core.types import TopicPartition

_NEVER = float("inf")


class ShareGroup:
    """``subscribe`` once; then ``advance`` in every turn, and ``polled`` when the application polls."""

    def __init__(self, cluster: Cluster, options: ConsumerOptions) -> None:
        self._cluster = cluster
        self._link = CoordinatorLink(cluster, options.group_id)
        self._membership = Membership(options.group_id, None, options.max_poll_interval_ms / 1000)
        self._heartbeats = ShareGroupHeartbeats(
            self._membership, options.retry_backoff_ms / 1000, rack=options.client_rack
        )
        self._beating = Beating(cluster, options, self._membership)
        self._started = False
        self._topics: list[str] = []
        self._adopted: Partitions | None = None
        self.assignment: dict[TopicPartition, bytes] = {}
        """The partitions that are read, and the ids of their topics."""
        self.assignments = 0
        self.wake_at = _NEVER

    @property
    def member_id(self) -> str:
        """The member gave it to itself: brokers know it by this, too."""
        return self._membership.member_id

    @property
    def is_stable(self) -> bool:
        """Whether it is a member that has adopted the last assignment it was sent."""
        target = self._heartbeats.target
        stable = self._membership.state is MemberState.STABLE
        return stable and target is not None and target == self._adopted

    def subscribe(self, topics: frozenset[str]) -> None:
        """Becomes a member at the next ``advance``, or changes the subscription."""
        self._topics = sorted(topics)
        if not self._started:
            self._started = True
            self._beating.start(self._heartbeats)

    def polled(self, now: float) -> None:
        """Records that the application is alive."""
        with self._membership.lock:
            self._membership.polled_at = now

    def advance(self, now: float) -> None:
        """Continues what is under way, without waiting. Raises why it cannot be a member."""
        self.wake_at = _NEVER
        if not self._started:
            return
        self._beating.check()
        try:
            self._advance(now)
        finally:
            self._beating.log_news()

    def leave(self, timeout: float) -> None:
        """Leaves permanently, within ``timeout`` seconds."""
        self._beating.leave(timeout)
        self.assignment = {}
        self._beating.log_news()

    def abandon(self) -> None:
        """The consumer was dropped: the heartbeat thread leaves the group and ends. Takes no lock and does not block."""
        self._beating.abandon()

    def _advance(self, now: float) -> None:
        member = self._membership
        if member.state is MemberState.FENCED:
            raise member.error or KcliError(f"share group {member.group_id}: fenced")
        with member.lock:
            complaint, member.complaint = member.complaint, None
        if complaint is not None:
            raise complaint
        # A caller that waits in a poll is alive: recorded before the heartbeat thread considers it late.
        self.wake_at = member.polled_at + member.max_poll_interval / 2
        if member.state in (MemberState.OUT, MemberState.LATE):
            self._join(now)
            return
        if not member.is_member:
            return
        with member.lock:
            changed = self._heartbeats.topics != self._topics
            if changed:
                self._heartbeats.topics = list(self._topics)
                self._heartbeats.changed()
            target = self._heartbeats.target
        if changed:
            self._beating.wake()
        if target is not None and target != self._adopted:
            self._adopt(target, now)

    def _join(self, now: float) -> None:
        """Acquired records stay so: brokers know the member by its id, which stays the same."""
        node = self._link.node(now)
        if node is None:
            self.wake_at = min(self.wake_at, self._link.wake_at)
            return
        self._adopted = None
        with self._membership.lock:
            self._membership.seen = Seen(self._cluster.view, node)
            self._heartbeats.begin_join(list(self._topics), now)
            self._membership.happened(MemberEvent.JOIN)
        self._beating.wake()

    def _adopt(self, target: Partitions, now: float) -> None:
        view = self._cluster.view
        names = {topic_id: view.topic_name(topic_id) for topic_id in target}
        # A topic that was created since the last metadata.
        if None in names.values():
            self._cluster.request_refresh()
            self.wake_at = min(self.wake_at, now + self._cluster.options.retry_backoff_ms / 1000)
            return
        self._adopted = target
        self.assignments += 1
        self.assignment = {
            TopicPartition(names[topic_id] or "", partition): topic_id
            for topic_id, partitions in target.items()
            for partition in partitions
        }
