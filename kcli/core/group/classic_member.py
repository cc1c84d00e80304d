"""A member of a classic group: joins, assigns as the leader, adopts and revokes partitions.

KIP-62 (the heartbeat thread), KIP-345 (static members), KIP-394 (the member id is obtained first), KIP-429 (cooperative
rebalances), KIP-814 (a static leader that came back need not assign). Runs in the caller's thread.

A JoinGroup without a response is waited for ``max.poll.interval.ms`` and 5 s, or ``request.timeout.ms`` if that is
longer, as in the Java client: a lost broker looks the same as members that are slow to join. Polls and closes
keep their own timeouts meanwhile. SyncGroup has ``request.timeout.ms`` (``tests/fault/test_slow_joins.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from kcli.core.cluster.brokers import GROUP
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.retry import Backoff, classify_error
from kcli.core.error_codes import (
    FENCED_INSTANCE_ID,
    ILLEGAL_GENERATION,
    MEMBER_ID_REQUIRED,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from kcli.core.errors import BrokerError, KcliError, MembershipError
from kcli.core.future import Future
from kcli.core.group.assignors.assignor import Assignor
from kcli.core.group.assignors.leading import assignments, read_members
from kcli.core.group.assignors.registry import offers, rebalance_protocol
from kcli.core.group.barrier.barrier import Barrier
from kcli.core.group.barrier.classic import ClassicBarrier
from kcli.core.group.consumer_protocol import decode_assignment
from kcli.core.group.coordinator_link import CoordinatorLink, Seen
from kcli.core.group.member import Listener, Member, Procedure, TopicPartitions
from kcli.core.group.member_requests import join_request, sync_request
from kcli.core.group.membership import NO_GENERATION, MemberEvent, Membership, MemberState
from kcli.core.group.reasons import refused
from kcli.core.options import ConsumerOptions
from kcli.core.permissions import on_group
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.join_group import JoinGroupResponse
from kcli.core.protocol.messages.sync_group import SyncGroupRequestAssignment
from kcli.core.types import Node

Steps = Generator["Future[Any] | float", None, Any]

_GRACE = 5.0
"""Seconds that a JoinGroup may take beyond the rebalance timeout (Java's JOIN_GROUP_TIMEOUT_LAPSE): the coordinator may
hold it for the whole timeout, and the response takes time.
"""
_METADATA_PATIENCE = 10.0  # seconds for the leader to get metadata of topics that it did not subscribe to
_METADATA_PAUSE = 0.05


class _OvertakenError(Exception):
    """The join is obsolete: the heartbeat thread has left the group meanwhile, or found that the member is fenced."""


class ClassicMember(Member):
    """See ``Member``. The rebalance timeout is ``max.poll.interval.ms``: a member that does not poll does not join.

    While it joins, the heartbeat thread keeps it alive; the join itself finds out about errors of those heartbeats.
    """

    def __init__(
        self,
        cluster: Cluster,
        options: ConsumerOptions,
        membership: Membership,
        link: CoordinatorLink,
        listener: Listener,
        wake_heartbeat: Callable[[], None],
        assignors: Sequence[Assignor],
    ) -> None:
        super().__init__(cluster, membership, link, listener, wake_heartbeat)
        self._options = options
        self._assignors = {one.name: one for one in assignors}
        self._cooperative = rebalance_protocol(assignors) == "COOPERATIVE"
        self._join_timeout = max(options.request_timeout_ms / 1000, membership.max_poll_interval + _GRACE)
        self._backoff = Backoff.of_requests(options)
        self._joined_for: frozenset[str] = frozenset()
        self._led: Mapping[str, int] | None = None
        self._last: tuple[TopicPartitions, int] = (frozenset(), NO_GENERATION)
        self._assigned: TopicPartitions | None = None  # in this generation, and not adopted yet
        self._joins_at: int | None = None  # the coordinator that owes a response to JoinGroup or SyncGroup

    def advance(self, now: float) -> None:
        """A join that its heartbeats have ended does not wait for its response.

        A broker never answers the SyncGroup of a member that was removed meanwhile (4.3.1, seen), and serves nothing
        else on that connection.
        """
        if self._joins_at is not None and self._membership.state is not MemberState.JOINING:
            self._cluster.brokers.disconnect(self._joins_at, GROUP)
        super().advance(now)

    def barrier(self) -> Barrier:
        """Keeps its own assignors and subscription: it is a member like the others."""
        protocols = offers(list(self._assignors.values()), self.topics)
        self._last, self._assigned = (frozenset(), NO_GENERATION), None
        return ClassicBarrier(
            self._cluster, self._link, self._membership, protocols, self._options.session_timeout_ms
        )

    def _due(self, now: float) -> Procedure | None:  # noqa: ARG002 - nothing here depends on the time
        state = self._membership.state
        if state in (MemberState.LEAVING, MemberState.GONE):
            return None
        assert state is not MemberState.JOINING, "a join has its procedure"
        if state in (MemberState.OUT, MemberState.LATE) and not self.topics:
            self._lose()
            return None
        # Before a rejoin that is due already: after a cooperative rebalance that takes partitions away
        # (KIP-429) the member first gives them up, and the join that follows reports what it still owns.
        if self._assigned is not None and self._is_member():
            return self._adopt(self._assigned)
        if state is MemberState.STABLE:
            if self._joined_for != self.topics:
                reason = "the subscription changed"
            elif self._led is not None and self._led != self._sizes(self._led):
                reason = "partitions of the group's topics changed"
            else:
                return None
            with self._membership.lock:
                self._membership.happened(MemberEvent.REBALANCE, reason)
        return self._rebalance()

    def _rebalance(self) -> Procedure:
        if not self._is_member():
            self._lose()
        elif self._cooperative:
            # KIP-429: kept until an assignment shows what goes elsewhere. Eager members give up everything
            # before JoinGroup, since it may be another's as soon as all have joined.
            yield from self._revoke(frozenset(tp for tp in self.owned if tp.topic not in self.topics))
        else:
            yield from self._revoke(self.owned)
        with self._membership.lock:
            # The heartbeat thread may have found meanwhile that the member is fenced, or the consumer is being
            # closed.
            if not self._membership.happened(MemberEvent.JOIN):
                return
        # Noted before the request: a subscription that changes while the join is under way differs from this,
        # which is a reason for the next rebalance.
        self._joined_for, self._led, self._assigned = self.topics, None, None
        partitions: TopicPartitions | None = None
        try:
            while partitions is None:
                node, joined = yield from self._join()
                partitions = yield from self._sync(node, joined)
        except _OvertakenError:
            return
        self._joined(node, partitions)

    def _joined(self, node: Node, partitions: TopicPartitions) -> None:
        member = self._membership
        with member.lock:
            if not member.happened(MemberEvent.JOINED, f"generation {member.generation}"):
                return
            member.seen = Seen(self._cluster.view, node)
            self._assigned = partitions
            if self.owned - partitions:  # cooperative: they are assigned anew in a second rebalance (KIP-429)
                member.happened(MemberEvent.REBALANCE, "partitions are revoked")
        self._wake_heartbeat()

    def _adopt(self, partitions: TopicPartitions) -> Procedure:
        """Starts over after a callback that raised: what is assigned must be read by some member."""
        yield from self._revoke(self.owned - partitions)
        if not self._is_member():
            return
        self._assigned = None
        generation, (last, before) = self._membership.generation, self._last
        self._last = (partitions, generation)
        # Only the generation that follows directly proves that nobody else had the partitions in between. If
        # one was missed, another member may have read them and committed.
        self._assign(partitions, last if generation == before + 1 else frozenset())

    def _lose(self) -> None:
        self._last = (frozenset(), NO_GENERATION)
        super()._lose()

    # --- requests ------------------------------------------------------------------------------------

    def _join(self) -> Steps:
        """Joins until the coordinator accepts; returns the coordinator and its response."""
        member, options = self._membership, self._options
        tries = 0
        while True:
            node = yield from self._coordinator()
            last, generation = self._last
            # Cooperative members report what they own now. Eager ones own nothing here, and report what they
            # had: sticky assignors give it back, unless a member with a later generation claims it (KIP-54,
            # KIP-341).
            protocols = offers(
                list(self._assignors.values()),
                self.topics,
                last=sorted(last & self.owned if self._cooperative else last),
                generation=generation,
                rack=options.client_rack or None,
            )
            request = join_request(member, options.session_timeout_ms, protocols)
            answer, error = yield from self._ask(node, request, self._join_timeout)
            if error is None:
                return node, answer
            code = error.code if isinstance(error, BrokerError) else NONE
            # KIP-394: the first answer only names the id, so that a client that gives up leaves no member
            # behind.
            if code == MEMBER_ID_REQUIRED:
                self._now_known_as(answer.member_id)
            elif code in (UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION):
                # Removed while it was joining: what a cooperative member had kept may be another's by now.
                self._lose()
                self._now_known_as("")
            else:
                yield self._pause_or_raise(error)
                continue
            tries += 1
            if tries > 1:  # once is normal; a coordinator that keeps doing this must not be flooded
                yield self._cluster.loop.now() + self._backoff.next()

    def _sync(self, node: Node, joined: JoinGroupResponse) -> Steps:
        """The assignment; None if the group has moved on to another generation meanwhile."""
        # First of all: with id and generation the heartbeat thread begins to beat, and the leader may need
        # seconds for metadata below while the session runs.
        self._now_known_as(joined.member_id, joined.generation_id)
        rows: list[SyncGroupRequestAssignment] = []
        if joined.leader == joined.member_id:
            rows = yield from self._lead(joined)
        request = sync_request(self._membership, joined, rows)
        # A shorter timeout than JoinGroup's, as in Java: a member that rejoins meanwhile gets the same generation.
        answer, error = yield from self._ask(node, request, self._options.request_timeout_ms / 1000)
        if error is None:
            self._backoff.reset()
            # Another client made this assignment: anything may be in it.
            given = decode_assignment(answer.assignment, joined.member_id).partitions
            return frozenset(tp for tp in given if tp.partition >= 0)
        code = error.code if isinstance(error, BrokerError) else NONE
        if code in (UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, MEMBER_ID_REQUIRED):
            self._lose()
            self._now_known_as(joined.member_id if code == ILLEGAL_GENERATION else "")
        elif code != REBALANCE_IN_PROGRESS:
            # Not for REBALANCE_IN_PROGRESS: somebody joined after JoinGroup was answered, and the caller joins
            # the next generation at once, under the same id.
            yield self._pause_or_raise(error)
        return None

    def _lead(self, joined: JoinGroupResponse) -> Steps:
        """The assignment of every member, for the leader's SyncGroup."""
        members = read_members(joined.members)
        for error in members.unreadable.values():
            self._cluster.hooks.log("warning", "group", f"{error}; it gets no partitions")
        yield from self._learn_topics(members.topics)
        # Also where it need not assign (KIP-814): the leader is the member that watches the number of
        # partitions.
        self._led = self._sizes(dict.fromkeys(members.topics, 0))
        if joined.skip_assignment:
            return []
        assignor = self._assignors.get(joined.protocol_name or "")
        if assignor is None:
            name = joined.protocol_name
            raise MembershipError(
                f"group {self._membership.group_id} chose the assignor {name!r}",
                why="this member did not offer it",
            )
        given = assignments(assignor, members.subscriptions, self._led)
        return [SyncGroupRequestAssignment(member_id=one, assignment=data) for one, data in given.items()]

    def _learn_topics(self, topics: frozenset[str]) -> Steps:
        cluster = self._cluster
        if not cluster.all_known:
            cluster.topics |= topics
        give_up_at, before = cluster.loop.now() + _METADATA_PATIENCE, cluster.view.version
        while not topics <= cluster.view.topics.keys() and cluster.loop.now() < give_up_at:
            if cluster.all_known and cluster.view.version != before:
                return  # metadata lists all topics that exist
            cluster.request_refresh()
            yield cluster.loop.now() + _METADATA_PAUSE

    def _sizes(self, before: Mapping[str, int]) -> dict[str, int]:
        """A topic that is briefly missing from metadata keeps its size: that is not worth a rebalance."""
        views, sizes = self._cluster.view.topics, dict(before)
        for topic in before:
            if topic in views and views[topic].partitions:
                sizes[topic] = len(views[topic].partitions)
            elif self._cluster.gone(topic) is not None:
                sizes[topic] = 0
        return sizes

    def _coordinator(self) -> Steps:
        while (node := self._link.node(self._cluster.loop.now())) is None:
            yield self._link.looked_up() or self._link.wake_at
        return node

    def _ask(self, node: Node, request: Request, timeout: float) -> Steps:
        """Returns the response, and the error in it or in place of it."""
        self._check_joining()
        # Checked before and after: the heartbeat thread ends a join at any time, and the response to one that
        # is over must set no generation.
        future = self._cluster.send(request, node.id, purpose=GROUP, timeout=timeout)
        self._joins_at = node.id
        try:
            yield future
        finally:
            self._joins_at = None
        self._check_joining()
        if future.error is not None:
            if not isinstance(future.error, KcliError):
                raise future.error
            return None, future.error
        code = future.value.error_code
        if code == NONE:
            self._link.confirmed()
            return future.value, None
        what = f"{request.api_name} of group {self._membership.group_id}"
        needs = [on_group("READ", self._membership.group_id)]
        return future.value, BrokerError(code, what, needs=needs)

    def _pause_or_raise(self, error: KcliError) -> float:
        """Returns when to try again; raises an error that is not retriable."""
        now = self._cluster.loop.now()
        retriable = self._link.refuted(error, now) or classify_error(error).retriable
        if isinstance(error, BrokerError) and error.code == REBALANCE_IN_PROGRESS:
            retriable = True
        if retriable:
            self._cluster.hooks.log("debug", "group", f"{error}; retrying")
            return now + self._backoff.next()
        member = self._membership
        if isinstance(error, BrokerError):
            reason = refused(member.group_id, error, member.instance_id)
            if error.code == FENCED_INSTANCE_ID:
                with member.lock:
                    member.happened(MemberEvent.FENCE, str(error), error=reason)
            raise reason
        raise error

    def _check_joining(self) -> None:
        if self._membership.state is not MemberState.JOINING:
            raise _OvertakenError

    def _now_known_as(self, member_id: str, generation: int = NO_GENERATION) -> None:
        with self._membership.lock:
            self._check_joining()
            # Under the lock that the check was made under: an id that is stored after the heartbeat thread has
            # left would stay in the group until its session ends.
            self._membership.member_id, self._membership.generation = member_id, generation
