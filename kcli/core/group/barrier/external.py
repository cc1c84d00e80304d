"""Holds a live group from outside: a client that is not a member becomes its barrier, sets its offsets, and leaves.

Call ``seize`` first; from then until ``release`` no member reads, and no other client can commit. If the process dies,
its session timeout releases the group. See ``barrier/barrier.py`` for why this is exact, unlike evicting the members
and then committing.

In a classic group the barrier joins first, so that the group is never empty: an empty group accepts commits from
anybody. With KIP-848 it is the reverse: the members are evicted first, because a coordinator computes an
assignment at most once a second, and a member that is back by then gets partitions; a commit in the moment between
precedes the barrier's own, and does no harm. Tested in ``tests/fault/test_barrier.py``.
"""

from __future__ import annotations

from collections.abc import Collection
from types import TracebackType

from kcli.core.cluster.cluster import Cluster
from kcli.core.errors import KcliError
from kcli.core.group.barrier.arrivals import ArrivalLog
from kcli.core.group.barrier.barrier import DEFAULT_TIMES, Barrier, HoldTimes, Offsets
from kcli.core.group.barrier.classic import ClassicBarrier
from kcli.core.group.barrier.consumer import ConsumerBarrier
from kcli.core.group.classic_heartbeats import ClassicHeartbeats
from kcli.core.group.consumer_heartbeats import ConsumerGroupHeartbeats
from kcli.core.group.consumer_protocol import Subscription, encode_subscription
from kcli.core.group.coordinator_link import CoordinatorLink
from kcli.core.group.heartbeat import Heartbeats, HeartbeatThread
from kcli.core.group.membership import MemberEvent, Membership
from kcli.core.hooks import NO_HOOKS, Hooks
from kcli.core.options import ConsumerOptions
from kcli.core.protocol.messages.join_group import JoinGroupRequestProtocol
from kcli.core.types import OffsetAndMetadata, TopicPartition

_FAREWELL = 5.0  # seconds to leave the group


class ExternalBarrier:
    """A context manager that releases the group on exit; timeouts are in seconds.

    ``options`` name the group, its protocol (classic, or KIP-848's), and the barrier's timeouts: no poll is needed, but
    the group is released after ``max.poll.interval.ms`` in any case, and (a classic group) ``session.timeout.ms`` after
    the process died. ``assignor`` is the assignor of a classic group; ``topics`` are the topics read in a group of the
    new protocol: the barrier must own them all.
    """

    def __init__(
        self,
        options: ConsumerOptions,
        *,
        assignor: str = "",
        topics: Collection[str] = (),
        hooks: Hooks = NO_HOOKS,
    ) -> None:
        self._cluster = Cluster(options, hooks=hooks)
        self._cluster.topics.update(topics)
        self._topics = sorted(topics)
        self._membership = Membership(options.group_id, None, options.max_poll_interval_ms / 1000)
        self._heartbeats = self._new_heartbeats(options)
        self._heartbeat = HeartbeatThread(
            options, self._membership, self._heartbeats, hooks, self._cluster.loop.wakeup
        )
        self._barrier = self._new_barrier(options, assignor)

    def __enter__(self) -> ExternalBarrier:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    @property
    def arrival_log(self) -> ArrivalLog:
        """Which members were evicted, and which have come back since."""
        return self._barrier.arrival_log

    @property
    def may_have_committed(self) -> bool:
        """Whether a commit was sent."""
        return self._barrier.may_have_committed

    def seize(self, timeout: float) -> None:
        """Returns when no member owns anything; KcliError if the members keep coming back, or it is not permitted."""
        self._cluster.connect(timeout)
        deadline = self._cluster.deadline(timeout)
        if self._topics:
            self._cluster.require_topics(self._topics, deadline, timeout)
        self._heartbeat.start()
        self._barrier.seize(deadline)

    def committed(
        self, partitions: Collection[TopicPartition], timeout: float
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """The committed offsets; they stay as they are until a commit is made through this object."""
        return self._barrier.verify(partitions, self._cluster.deadline(timeout))

    def commit(self, offsets: Offsets, timeout: float) -> dict[TopicPartition, KcliError | None]:
        """The result of each partition. Raises errors about them all: EvictedError if the group has another barrier."""
        if self._heartbeat.defect is not None:
            raise self._heartbeat.defect
        return self._barrier.try_commit(offsets, self._cluster.deadline(timeout))

    def hold(self, offsets: Offsets, timeout: float, times: HoldTimes = DEFAULT_TIMES) -> int:
        """See ``Barrier.hold``. Late commits are corrected (KIP-848) or refused (classic)."""
        return self._barrier.hold(offsets, self._cluster.deadline(timeout), times)

    def release(self) -> None:
        """Leaves; the members are assigned their partitions with their next heartbeat. May be called again."""
        with self._membership.lock:
            # Leaving is what releases the members; where no coordinator answers, the session timeout does.
            self._membership.leave_by = self._cluster.loop.now() + _FAREWELL
            self._membership.happened(MemberEvent.LEAVE, "the offsets are set")
        self._heartbeat.end(_FAREWELL)
        self._cluster.close()

    def _new_heartbeats(self, options: ConsumerOptions) -> Heartbeats:
        pause = options.retry_backoff_ms / 1000
        if options.group_protocol == "classic":
            return ClassicHeartbeats(self._membership, options.heartbeat_interval_ms / 1000, pause)
        heartbeats = ConsumerGroupHeartbeats(self._membership, pause)
        heartbeats.topics = self._topics
        return heartbeats

    def _new_barrier(self, options: ConsumerOptions, assignor: str) -> Barrier:
        link = CoordinatorLink(self._cluster, options.group_id)
        if isinstance(self._heartbeats, ConsumerGroupHeartbeats):
            return ConsumerBarrier(
                self._cluster,
                link,
                self._membership,
                self._heartbeats,
                self._heartbeat.wake,
                lambda: self._cluster.view.partitions_by_id(self._topics),
            )
        nothing = encode_subscription(Subscription(), 0)
        offer = JoinGroupRequestProtocol(name=assignor, metadata=nothing)
        return ClassicBarrier(self._cluster, link, self._membership, [offer], options.session_timeout_ms)
