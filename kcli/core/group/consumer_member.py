"""A member of a group of the new protocol (KIP-848): the coordinator assigns, this side adopts and revokes partitions.

The heartbeats carry everything; here their ``target`` becomes what is owned, callbacks included, and is acknowledged.
Runs in the caller's thread.
"""

from __future__ import annotations

from collections.abc import Callable

from kcli.core.cluster.cluster import Cluster
from kcli.core.group.barrier.barrier import Barrier
from kcli.core.group.barrier.consumer import ConsumerBarrier
from kcli.core.group.consumer_heartbeats import ConsumerGroupHeartbeats
from kcli.core.group.coordinator_link import CoordinatorLink, Seen
from kcli.core.group.epoch_heartbeats import Partitions
from kcli.core.group.member import Listener, Member, Procedure, TopicPartitions
from kcli.core.group.membership import MemberEvent, Membership, MemberState
from kcli.core.types import TopicPartition


class ConsumerMember(Member):
    """See ``Member``."""

    def __init__(
        self,
        cluster: Cluster,
        membership: Membership,
        link: CoordinatorLink,
        listener: Listener,
        wake_heartbeat: Callable[[], None],
        heartbeats: ConsumerGroupHeartbeats,
    ) -> None:
        super().__init__(cluster, membership, link, listener, wake_heartbeat)
        self._heartbeats = heartbeats
        self._acknowledged: Partitions | None = None

    def barrier(self) -> Barrier:
        """Once it owns everything, a revocation is not acknowledged until it polls again."""
        self._acknowledged = None
        return ConsumerBarrier(
            self._cluster,
            self._link,
            self._membership,
            self._heartbeats,
            self._wake_heartbeat,
            self._everything,
        )

    def _everything(self) -> Partitions:
        return self._cluster.view.partitions_by_id(self.topics)

    def _due(self, now: float) -> Procedure | None:
        state = self._membership.state
        if state in (MemberState.LEAVING, MemberState.GONE):
            return None
        if state in (MemberState.OUT, MemberState.LATE):
            if self.topics:
                return self._enter()
            self._lose()
            return None
        topics = sorted(self.topics)
        with self._membership.lock:
            changed = self._heartbeats.topics != topics
            if changed:
                self._heartbeats.topics = topics
                self._heartbeats.changed()
            target = self._heartbeats.target
        if changed:
            self._wake_heartbeat()
        if target is None or target == self._acknowledged:
            return None
        partitions = self._named(target)
        # The target names topics by id, and may have one that was created since the last metadata.
        if partitions is None:
            self._cluster.request_refresh()
            self.wake_at = now + self._cluster.options.retry_backoff_ms / 1000
            return None
        return self._reconcile(target, partitions)

    def _enter(self) -> Procedure:
        self._lose()
        node = self._link.node(self._cluster.loop.now())
        while node is None:
            yield self._link.looked_up() or self._link.wake_at
            node = self._link.node(self._cluster.loop.now())
        self._acknowledged = None
        with self._membership.lock:
            self._membership.seen = Seen(self._cluster.view, node)
            self._heartbeats.begin_join(sorted(self.topics), self._cluster.loop.now())
            self._membership.happened(MemberEvent.JOIN)
        self._wake_heartbeat()

    def _reconcile(self, target: Partitions, partitions: TopicPartitions) -> Procedure:
        """Revokes first, then takes the rest: the coordinator assigns nothing that other members still own."""
        yield from self._revoke(self.owned - partitions)
        if not self._is_member():
            return
        # Not earlier: a callback that raises while partitions are revoked ends this procedure, and the target
        # is due again. Not later: the next callback may take long, and the coordinator gives partitions to
        # others only once it has been told that they are free.
        self._acknowledged = target
        with self._membership.lock:
            self._heartbeats.owned = target
            self._heartbeats.changed()
        self._wake_heartbeat()
        self._assign(partitions)

    def _named(self, target: Partitions) -> TopicPartitions | None:
        """The partitions by name; None while metadata lacks some of their topics."""
        view = self._cluster.view
        names = {topic_id: view.topic_name(topic_id) for topic_id in target}
        if None in names.values():
            return None
        return frozenset(
            TopicPartition(names[topic_id] or "", partition)
            for topic_id, partitions in target.items()
            for partition in partitions
        )
