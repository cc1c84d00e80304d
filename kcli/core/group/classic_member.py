"""A member of a classic group: joins, assigns as the leader, takes and gives up partitions.

KIP-62 (the heartbeat thread), KIP-345 (static members), KIP-394 (the member id is asked for first), KIP-429
(cooperative rebalances), KIP-814 (a static leader that came back need not assign). Runs in the caller's thread.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from kcli.core.cluster.brokers import GROUP
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.retry import Backoff, judge
from kcli.core.error_codes import (
    FENCED_INSTANCE_ID,
    ILLEGAL_GENERATION,
    MEMBER_ID_REQUIRED,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from kcli.core.errors import BrokerError, KcliError
from kcli.core.future import Future
from kcli.core.group.assignors.assignor import Assignor
from kcli.core.group.assignors.joining import offers
from kcli.core.group.assignors.leading import assignments, read_members
from kcli.core.group.assignors.registry import rebalance_protocol
from kcli.core.group.consumer_protocol import PROTOCOL_TYPE, decode_assignment
from kcli.core.group.coordinator_link import CoordinatorLink, Seen
from kcli.core.group.guard import ClassicGuard, Guard
from kcli.core.group.member import Listener, Member, Places, Procedure
from kcli.core.group.membership import NO_GENERATION, MemberEvent, Membership, MemberState
from kcli.core.group.reasons import refused
from kcli.core.options import ConsumerOptions
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kcli.core.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from kcli.core.types import Node

Steps = Generator["Future[Any] | float", None, Any]

_GRACE = 5.0  # seconds that a JoinGroup may take beyond the rebalance timeout: the answer has its way too
_METADATA_PATIENCE = 10.0  # seconds for the leader to learn of a topic that only others subscribed to
_METADATA_LOOK = 0.05


class ClassicMember(Member):
    """See ``Member``. The rebalance timeout is ``max.poll.interval.ms``: who does not poll does not join either."""

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
        self._join_timeout = max(options.request_timeout_ms, options.max_poll_interval_ms) / 1000 + _GRACE
        self._backoff = Backoff.of_requests(options)
        self._joined_for: frozenset[str] = frozenset()
        self._led: Mapping[str, int] | None = None
        self._last: tuple[Places, int] = (frozenset(), NO_GENERATION)

    def guard(self) -> Guard:
        """With its own assignors and subscription: it is a member like the others."""
        protocols = offers(list(self._assignors.values()), self.topics)
        self._last = (frozenset(), NO_GENERATION)
        return ClassicGuard(
            self._cluster, self._link, self._membership, protocols, self._options.session_timeout_ms
        )

    def _due(self, now: float) -> Procedure | None:  # noqa: ARG002 - nothing here is a matter of time
        state = self._membership.state
        if not self.topics or state in (MemberState.LEAVING, MemberState.GONE):
            return None
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
            yield from self._give_up(
                frozenset(place for place in self.owned if place.topic not in self.topics)
            )
        else:
            yield from self._give_up(self.owned)
        with self._membership.lock:
            if not self._membership.happened(MemberEvent.JOIN):
                return
        self._joined_for, self._led = self.topics, None
        places: Places | None = None
        while places is None:
            node, joined = yield from self._join()
            places = yield from self._sync(node, joined)
        yield from self._took(node, places)

    def _took(self, node: Node, places: Places) -> Procedure:
        member = self._membership
        with member.lock:
            member.seen = Seen(self._cluster.view, node)
            member.happened(MemberEvent.JOINED, f"generation {member.generation}")
            self._last = (places, member.generation)
        self._wake_heartbeat()
        revoked = self.owned - places
        yield from self._give_up(revoked)
        self._take(places)
        if revoked:  # cooperative: what was given up finds its new owner in a second round (KIP-429)
            with member.lock:
                member.happened(MemberEvent.REBALANCE, "partitions were given up")

    # --- requests ------------------------------------------------------------------------------------

    def _join(self) -> Steps:
        """Joins until the coordinator has taken it; returns the coordinator and its answer."""
        member, options = self._membership, self._options
        while True:
            node = yield from self._coordinator()
            last, generation = self._last
            request = JoinGroupRequest(
                group_id=member.group_id,
                session_timeout_ms=options.session_timeout_ms,
                rebalance_timeout_ms=options.max_poll_interval_ms,
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                protocol_type=PROTOCOL_TYPE,
                protocols=offers(
                    list(self._assignors.values()),
                    self.topics,
                    last=sorted(last & self.owned if self._cooperative else last),
                    generation=generation,
                    rack=options.client_rack or None,
                ),
            )
            answer, error = yield from self._ask(node, request)
            if error is None:
                return node, answer
            code = error.code if isinstance(error, BrokerError) else NONE
            if code == MEMBER_ID_REQUIRED:
                self._now_known_as(answer.member_id)
            elif code == UNKNOWN_MEMBER_ID:
                self._lose()
                self._now_known_as("")
            else:
                yield self._pause_or_raise(error)

    def _sync(self, node: Node, joined: JoinGroupResponse) -> Steps:
        """The assignment; None when the group has gone on to another generation meanwhile."""
        member = self._membership
        self._now_known_as(joined.member_id, joined.generation_id)
        rows: list[SyncGroupRequestAssignment] = []
        if joined.leader == joined.member_id:
            rows = yield from self._lead(joined)
        request = SyncGroupRequest(
            group_id=member.group_id,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            group_instance_id=member.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=joined.protocol_name,
            assignments=rows,
        )
        answer, error = yield from self._ask(node, request)
        if error is None:
            self._backoff.reset()
            return frozenset(decode_assignment(answer.assignment, joined.member_id).partitions)
        code = error.code if isinstance(error, BrokerError) else NONE
        if code in (UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION):
            self._lose()
            self._now_known_as("" if code == UNKNOWN_MEMBER_ID else joined.member_id)
        elif code != REBALANCE_IN_PROGRESS:
            yield self._pause_or_raise(error)
        return None

    def _lead(self, joined: JoinGroupResponse) -> Steps:
        """What the leader hands in: every member's assignment."""
        members = read_members(joined.members)
        for error in members.unreadable.values():
            self._cluster.hooks.log("warning", "group", f"{error}; it gets no partitions")
        yield from self._learn_topics(members.topics)
        self._led = self._sizes(dict.fromkeys(members.topics, 0))
        if joined.skip_assignment:
            return []
        assignor = self._assignors[joined.protocol_name or ""]
        given = assignments(assignor, members.subscriptions, self._led)
        return [SyncGroupRequestAssignment(member_id=one, assignment=data) for one, data in given.items()]

    def _learn_topics(self, topics: frozenset[str]) -> Steps:
        cluster = self._cluster
        cluster.topics |= topics
        give_up = cluster.loop.now() + _METADATA_PATIENCE
        while not topics <= cluster.view.topics.keys() and cluster.loop.now() < give_up:
            cluster.request_refresh()
            yield cluster.loop.now() + _METADATA_LOOK

    def _sizes(self, topics: Mapping[str, int]) -> dict[str, int]:
        views = self._cluster.view.topics
        return {topic: len(views[topic].partitions) if topic in views else 0 for topic in topics}

    def _coordinator(self) -> Steps:
        while (node := self._link.node(self._cluster.loop.now())) is None:
            yield self._link.looked_up() or self._link.wake_at
        return node

    def _ask(self, node: Node, request: Request) -> Steps:
        """The answer, and the error in it or instead of it."""
        timeout = self._join_timeout
        future = self._cluster.send(request, node.id, purpose=GROUP, timeout=timeout)
        yield future
        if future.error is not None:
            if not isinstance(future.error, KcliError):
                raise future.error
            return None, future.error
        code = future.value.error_code
        if code == NONE:
            self._link.confirmed()
            return future.value, None
        what = f"{request.api_name} of group {self._membership.group_id}"
        return future.value, BrokerError(code, what)

    def _pause_or_raise(self, error: KcliError) -> float:
        """When to try again; what no retry can help is raised."""
        now = self._cluster.loop.now()
        retriable = self._link.refuted(error, now) or judge(error).retriable
        if isinstance(error, BrokerError) and error.code == REBALANCE_IN_PROGRESS:
            retriable = True
        if retriable:
            self._cluster.hooks.log("debug", "group", f"{error}; trying again")
            return now + self._backoff.next()
        member = self._membership
        if isinstance(error, BrokerError):
            reason = refused(member.group_id, error, member.instance_id)
            if error.code == FENCED_INSTANCE_ID:
                with member.lock:
                    member.happened(MemberEvent.FENCE, str(error), error=reason)
            raise reason
        raise error

    def _now_known_as(self, member_id: str, generation: int = NO_GENERATION) -> None:
        with self._membership.lock:
            self._membership.member_id, self._membership.generation = member_id, generation
