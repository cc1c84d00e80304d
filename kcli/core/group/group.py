"""A consumer's membership, heartbeats, commits and committed offsets behind one interface. Runs in the caller's thread.

Without a subscription (partitions assigned by hand) it only commits: nothing joins, no thread runs.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from kcli.core.cluster.cluster import Cluster
from kcli.core.error_codes import (
    FENCED_INSTANCE_ID,
    FENCED_MEMBER_EPOCH,
    GROUP_ID_NOT_FOUND,
    ILLEGAL_GENERATION,
    MEMBER_ID_REQUIRED,
    REBALANCE_IN_PROGRESS,
    STALE_MEMBER_EPOCH,
    UNKNOWN_MEMBER_ID,
)
from kcli.core.errors import BrokerError, KcliError
from kcli.core.group.assignors.assignor import Assignor
from kcli.core.group.assignors.registry import choose
from kcli.core.group.barrier.barrier import Barrier, EvictedError, rewind
from kcli.core.group.beating import Beating
from kcli.core.group.classic_heartbeats import ClassicHeartbeats
from kcli.core.group.classic_member import ClassicMember
from kcli.core.group.commits import Commits, Committer
from kcli.core.group.committed_offsets import CommittedOffsets
from kcli.core.group.consumer_heartbeats import ConsumerGroupHeartbeats
from kcli.core.group.consumer_member import ConsumerMember
from kcli.core.group.coordinator_link import CoordinatorLink
from kcli.core.group.heartbeat import Heartbeats
from kcli.core.group.member import Listener, Member, TopicPartitions
from kcli.core.group.membership import MemberEvent, Membership, MemberState
from kcli.core.group.reasons import refused
from kcli.core.options import ConsumerOptions
from kcli.core.types import GroupMetadata, OffsetAndMetadata, TopicPartition

_NEVER = float("inf")
_RANDOM = random.Random()
_FIRST_WINDOW = 0.25  # seconds within which one of several rewinds begins: more than a few round trips
_LONGEST_WINDOW = 4.0


class Group:
    """Call ``advance`` in every turn of the caller's loop, and ``polled`` when the application polls."""

    def __init__(
        self,
        cluster: Cluster,
        options: ConsumerOptions,
        listener: Listener,
        assignors: str | Assignor | Sequence[str | Assignor],
    ) -> None:
        self._cluster = cluster
        self._options = options
        self._listener = listener
        self._assignors = choose(assignors)
        self._link = CoordinatorLink(cluster, options.group_id)
        self.committed_offsets = CommittedOffsets(cluster, self._link, options.group_id)
        self._membership = self._new_membership()
        self._beating = Beating(cluster, options, self._membership)
        self._member: Member | None = None
        self.commits = Commits(cluster, self._link, Committer(options.group_id))

    # --- membership ------------------------------------------------------------------------------------

    def subscribe(self, topics: frozenset[str]) -> None:
        """Becomes a member at the next ``advance``, or changes the subscription."""
        try:  # callbacks of commits may raise
            if self._member is None:
                self.commits.abandon(KcliError("the consumer joins a group"))
        finally:
            if self._member is None:
                self._membership = self._new_membership()
                self._beating = Beating(self._cluster, self._options, self._membership)
                self._member = self._new_member()
            self._member.topics = topics

    @property
    def is_member(self) -> bool:
        """Whether it still owns its partitions, as far as it knows."""
        return self._membership.is_member

    @property
    def rebalances(self) -> int:
        """How many assignments it has received."""
        return self._member.rebalances if self._member is not None else 0

    @property
    def owned(self) -> TopicPartitions:
        """The partitions that were assigned and not revoked since."""
        return self._member.owned if self._member is not None else frozenset()

    @property
    def revoking(self) -> TopicPartitions:
        """The partitions about to be revoked: their records must not be returned any more."""
        return self._member.revoking if self._member is not None else frozenset()

    @property
    def is_stable(self) -> bool:
        """Whether it is a member, and has its whole assignment."""
        stable = self._membership.state is MemberState.STABLE
        return self._member is None or (stable and not self._member.changing)

    @property
    def wake_at(self) -> float:
        """When ``advance`` is due, unless the loop reports something earlier."""
        if self._member is None:
            return self.commits.wake_at
        # A caller that waits in a poll is alive: that must be recorded before the heartbeat thread considers it late.
        alive = self._membership.polled_at + self._membership.max_poll_interval / 2
        return min(self._member.wake_at, self.commits.wake_at, alive)

    @property
    def metadata(self) -> GroupMetadata:
        """The committer's identity, for ``send_offsets_to_transaction`` (KIP-447)."""
        with self._membership.lock:
            return self._membership.metadata

    def polled(self, now: float) -> None:
        """Records that the application is alive."""
        with self._membership.lock:
            self._membership.polled_at = now

    def advance(self, now: float) -> None:
        """Continues whatever is under way. Raises the reason why it cannot be a member, and errors of callbacks."""
        self._beating.check()
        # Before the member: a revocation waits for its commit, and finds it done in the same turn.
        self.commits.pump(now)
        if self._member is not None:
            try:
                self._member.advance(now)
            finally:
                self._beating.log_news()

    def leave(self, timeout: float) -> None:
        """Leaves permanently, within ``timeout`` seconds; an unreachable coordinator notices by the session timeout."""
        if self._member is None:
            return
        member = self._member
        try:  # callbacks of commits may raise
            # Before LeaveGroup: with it the group may become empty, and accepts old offsets from anyone then.
            self.commits.abandon(KcliError("the consumer has left the group"))
        finally:
            self.commits.committer = Committer(self._options.group_id)
            member.stop()
            self._beating.leave(timeout)
            self._member = None

    def abandon(self) -> None:
        """The consumer was dropped: the heartbeat thread leaves the group and ends. Takes no lock and does not block."""
        self._beating.abandon()

    def rewind(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], deadline: float
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Sets offsets for the whole group, as its barrier; every member reads them when it rejoins.

        Blocks, at most until ``deadline``; the next ``advance`` releases the other members, whatever the outcome. While
        another member rewinds the group, it waits for its turn; EvictedError if that does not come by then.
        """
        assert self._member is not None
        window, may_have_committed = _FIRST_WINDOW, False
        while True:
            barrier = self._member.barrier()
            barrier.may_have_committed = may_have_committed
            try:
                return self._rewind(self._member, barrier, offsets, deadline)
            except EvictedError:
                if not self._stay_stable_for(_RANDOM.uniform(0.0, window), deadline):
                    raise
            window, may_have_committed = min(2 * window, _LONGEST_WINDOW), barrier.may_have_committed

    def _rewind(
        self,
        member: Member,
        barrier: Barrier,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        deadline: float,
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        try:
            member.revoke_all()  # its callback may raise: the partitions must be assigned again all the same
            return rewind(barrier, offsets, deadline)
        finally:
            # Also after an error: the barrier holds the group's rebalance, and the others wait until this
            # member joins again.
            if self._options.group_protocol == "classic":  # else its next heartbeat releases the members
                with self._membership.lock:
                    self._membership.happened(MemberEvent.REBALANCE, "the offsets were rewound")
            self._beating.log_news()

    def _stay_stable_for(self, seconds: float, deadline: float) -> bool:
        """Rejoins as a member, and waits until it has been stable for ``seconds``; False at the deadline.

        The time is random and grows, because two barriers that evicted each other would do so again. The first to
        continue evicts the other, which then waits to rejoin.
        """
        loop = self._cluster.loop
        since = _NEVER
        while (now := loop.now()) < deadline:
            self.polled(now)
            self.advance(now)
            since = min(since, now) if self.is_stable else _NEVER
            if now >= since + seconds:
                return True
            self._cluster.poll(max(0.0, min(self.wake_at, since + seconds, deadline) - now))
        return False

    def _new_membership(self) -> Membership:
        options = self._options
        patience = options.max_poll_interval_ms
        if options.group_protocol == "classic":  # KIP-62: the longer of the two applies
            patience = max(patience, options.session_timeout_ms)
        return Membership(options.group_id, options.group_instance_id or None, patience / 1000)

    def _new_member(self) -> Member:
        options, membership = self._options, self._membership
        pause = options.retry_backoff_ms / 1000
        member: Member
        heartbeats: Heartbeats
        if options.group_protocol == "consumer":
            assignor, rack = options.group_remote_assignor, options.client_rack
            heartbeats = theirs = ConsumerGroupHeartbeats(membership, pause, rack=rack, assignor=assignor)
            member = ConsumerMember(
                self._cluster, membership, self._link, self._listener, self._beating.wake, theirs
            )
        else:
            heartbeats = ClassicHeartbeats(membership, options.heartbeat_interval_ms / 1000, pause)
            member = ClassicMember(
                self._cluster,
                options,
                membership,
                self._link,
                self._listener,
                self._beating.wake,
                self._assignors,
            )
        self.commits.committer = MemberCommitter(
            membership, member, by_epoch=options.group_protocol == "consumer"
        )
        self._beating.start(heartbeats)
        return member


_NOT_A_MEMBER = frozenset(
    {UNKNOWN_MEMBER_ID, MEMBER_ID_REQUIRED, ILLEGAL_GENERATION, FENCED_MEMBER_EPOCH, GROUP_ID_NOT_FOUND}
)


class MemberCommitter(Committer):
    """Commits carry the membership's identity at the time they are sent."""

    advice = "poll to join the group again; the records will be read again by the members that own their partitions"

    def __init__(self, membership: Membership, member: Member, *, by_epoch: bool) -> None:
        super().__init__(membership.group_id)
        self.by_epoch = by_epoch
        self._membership = membership
        self._member = member

    def metadata(self) -> GroupMetadata | None:
        """None while it is not a member."""
        with self._membership.lock:
            member = self._membership.is_member and self._membership.generation >= 0
            return self._membership.metadata if member else None

    @property
    def joining(self) -> bool:
        """While it joins, it does not know yet what it owns."""
        return self._membership.state is MemberState.JOINING

    def tenure(self, tp: TopicPartition) -> int | None:
        """See ``Member.tenure``."""
        return self._member.tenure(tp)

    def refused(self, error: BrokerError, made_as: GroupMetadata) -> bool:
        """Passes on to the heartbeats what the coordinator's error says about the membership."""
        member = self._membership
        with member.lock:
            if made_as.generation_id != member.generation or made_as.member_id != member.member_id:
                return True  # the membership has changed meanwhile
            if member.state is MemberState.JOINING and error.code != FENCED_INSTANCE_ID:
                return True  # the membership is about to change
            if error.code == REBALANCE_IN_PROGRESS:
                member.happened(MemberEvent.REBALANCE, str(error))
                return True
            # KIP-848: the epoch advanced while the commit was under way. The next heartbeat brings the new one,
            # under which the commit is sent again; the member has lost nothing.
            if error.code == STALE_MEMBER_EPOCH:
                return True
            if error.code in _NOT_A_MEMBER:
                member.happened(MemberEvent.LOST, str(error))
                # A classic member that is unknown gets another id; one of KIP-848 joins again under its own.
                if error.code != ILLEGAL_GENERATION and not self.by_epoch:
                    member.member_id = ""
            elif error.code == FENCED_INSTANCE_ID:
                reason = refused(member.group_id, error, member.instance_id)
                member.happened(MemberEvent.FENCE, str(error), error=reason)
        return False
