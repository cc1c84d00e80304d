"""A member that holds the others of its group at the door while offsets are changed: what makes a rewind of a live
group exact (the first proposal's RewindConsumer).

Members commit their own positions when they give partitions up, and read what is committed only when they join. So the
guard evicts them, commits as the only member, and keeps the rebalance open until they are back at the door, where they
hold nothing and cannot commit; what it then reads back is what they will start from. If the guard dies, its session
timeout opens the door, at the new offsets. Blocks in the loop's poll; heartbeats are the membership's thread's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from kcli.core.cluster.brokers import CONTROL, GROUP
from kcli.core.cluster.cluster import Cluster
from kcli.core.error_codes import ILLEGAL_GENERATION, NONE, UNKNOWN_MEMBER_ID
from kcli.core.errors import BrokerError, KcliError, MembershipError, TimedOutError
from kcli.core.future import Future
from kcli.core.group.consumer_pulse import ConsumerPulse, Partitions
from kcli.core.group.coordinator_link import CoordinatorLink
from kcli.core.group.member_requests import join_request, sync_request
from kcli.core.group.membership import MemberEvent, Membership, MemberState
from kcli.core.group.offset_requests import (
    commit_request,
    fetch_error,
    fetch_request,
    read_commit,
    read_fetch,
)
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kcli.core.protocol.messages.describe_groups import DescribeGroupsRequest
from kcli.core.protocol.messages.join_group import (
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from kcli.core.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kcli.core.protocol.messages.sync_group import SyncGroupRequestAssignment
from kcli.core.types import OffsetAndMetadata, TopicPartition

T = TypeVar("T")
Offsets = Mapping[TopicPartition, OffsetAndMetadata]

_LOOK = 0.05  # seconds between two looks at the group
_HOLD = 8.0  # seconds for the others to come back: more than two heartbeats of theirs
_QUIET = 1.0  # seconds without a foreign commit, after which the door may open (KIP-848)
_SENT_OUT = frozenset({UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION})  # somebody else is the guard
_REASON = "the group's offsets are rewound"
_FIRST_WITH_MANY = 3  # LeaveGroup: of others, and several


class Guard(ABC):
    """``seize``, ``commit``, ``hold``, ``verify``, in this order; then the caller rejoins or leaves."""

    by_epoch = False

    def __init__(self, cluster: Cluster, link: CoordinatorLink, membership: Membership) -> None:
        self._cluster = cluster
        self._link = link
        self._membership = membership
        self.evicted = 0

    @abstractmethod
    def seize(self, deadline: float) -> None:
        """Returns as the only member that has anything; MembershipError when the others will not stay out."""

    @abstractmethod
    def hold(self, offsets: Offsets, deadline: float) -> int:
        """Keeps the door shut until the evicted are back at it, or for some seconds; how many are."""

    def commit(self, offsets: Offsets, deadline: float) -> None:
        """Commits as the group's only member; raises the first refusal."""

        def check(answer: Any) -> None:
            codes = dict(read_commit(answer, {}))
            for where in offsets:
                code = codes.get(where, UNKNOWN_MEMBER_ID)
                if code != NONE:
                    raise BrokerError(code, f"commit of {where}")

        self._call(
            lambda: commit_request(self._membership.metadata, offsets, {}, by_epoch=self.by_epoch),
            check,
            deadline,
            "committing the rewound offsets",
        )

    def verify(self, offsets: Offsets, deadline: float) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What is committed now of these partitions."""

        def check(answer: Any) -> dict[TopicPartition, OffsetAndMetadata | None]:
            if code := fetch_error(answer):
                raise BrokerError(code, "reading the offsets back")
            found = dict.fromkeys(offsets, None)
            for where, code, offset in read_fetch(answer):
                if code != NONE:
                    raise BrokerError(code, f"reading {where} back")
                found[where] = offset
            return found

        return self._call(
            lambda: fetch_request(self._membership.group_id, offsets),
            check,
            deadline,
            "reading the offsets back",
        )

    # --- shared ----------------------------------------------------------------------------------------

    def _call(self, make: Callable[[], Request], check: Callable[[Any], T], deadline: float, what: str) -> T:
        """Asks the coordinator, found anew when it has moved."""

        def attempt() -> Future[Any]:
            return self._cluster.send(make(), self._coordinator(deadline), purpose=CONTROL)

        def checked(answer: Any) -> T:
            try:
                return check(answer)
            except BrokerError as error:
                self._link.refuted(error, self._cluster.loop.now())
                raise

        return self._cluster.call(attempt, checked, deadline, what)

    def _coordinator(self, deadline: float) -> int:
        node = self._link.wait(deadline)
        if node is None:
            raise self._link.error or TimedOutError("the group's coordinator was not found in time")
        return node.id

    @abstractmethod
    def _question(self) -> Request:
        """Asks who is in the group."""

    @abstractmethod
    def _identity(self, described: Any) -> MemberIdentity:
        """What it takes to send a member out."""

    def _others(self, deadline: float) -> list[MemberIdentity]:
        """Everybody else in the group, at the door or inside."""
        member = self._membership

        def check(answer: Any) -> list[MemberIdentity]:
            group = answer.groups[0]
            if group.error_code != NONE:
                raise BrokerError(group.error_code, f"describing group {member.group_id}")
            return [self._identity(one) for one in group.members if one.member_id != member.member_id]

        return self._call(self._question, check, deadline, "looking at the group")

    def _evict(self, others: Sequence[MemberIdentity], deadline: float) -> None:
        if not others:
            return

        def make() -> Request:
            request = LeaveGroupRequest(group_id=self._membership.group_id, members=list(others))
            request.require_version(_FIRST_WITH_MANY)
            return request

        def check(answer: Any) -> None:
            if answer.error_code != NONE:
                raise BrokerError(answer.error_code, f"evicting the members of {self._membership.group_id}")

        self._call(make, check, deadline, "evicting the other members")
        self.evicted = max(self.evicted, len(others))

    def _gave_up(self) -> MembershipError:
        return MembershipError(
            f"group {self._membership.group_id} could not be held",
            why="its members came back faster than they were sent out, or another one rewinds it",
            do="try again; nothing was committed",
        )


class ClassicGuard(Guard):
    """For classic groups. ``offers`` are the assignors that the group has, with a subscription to nothing or more."""

    def __init__(
        self,
        cluster: Cluster,
        link: CoordinatorLink,
        membership: Membership,
        offers: list[JoinGroupRequestProtocol],
        session_timeout_ms: int,
    ) -> None:
        super().__init__(cluster, link, membership)
        self._offers = offers
        self._session_timeout_ms = session_timeout_ms

    def seize(self, deadline: float) -> None:
        """Sends the others out; the JoinGroup that follows is answered when nobody else is waited for."""
        member = self._membership
        while self._cluster.loop.now() < deadline:
            self._evict(self._others(deadline), deadline)
            try:
                joined = self._join(deadline)
            except BrokerError as error:
                if error.code in _SENT_OUT:
                    raise self._gave_up() from error
                raise
            with member.lock:
                member.member_id, member.generation = joined.member_id, joined.generation_id
            alone = joined.leader == joined.member_id and len(joined.members) <= 1
            if alone and self._sync(joined, deadline):
                with member.lock:
                    if member.state is not MemberState.STABLE:
                        member.happened(MemberEvent.JOIN)
                        member.happened(MemberEvent.JOINED, "as the only member")
                return
        raise self._gave_up()

    def hold(self, offsets: Offsets, deadline: float) -> int:  # noqa: ARG002 - nobody can commit meanwhile
        """Those at the door are listed as members already."""
        give_up = min(deadline, self._cluster.loop.now() + _HOLD)
        while (back := len(self._others(deadline))) < self.evicted and self._cluster.loop.now() < give_up:
            self._cluster.sleep(_LOOK)
        return back

    def _question(self) -> Request:
        return DescribeGroupsRequest(groups=[self._membership.group_id])

    def _identity(self, described: Any) -> MemberIdentity:
        instance_id = described.group_instance_id
        return MemberIdentity(member_id=described.member_id, group_instance_id=instance_id, reason=_REASON)

    def _join(self, deadline: float) -> JoinGroupResponse:
        request = join_request(self._membership, self._session_timeout_ms, self._offers)
        answer: JoinGroupResponse = self._ask(request, deadline)
        return answer

    def _sync(self, joined: JoinGroupResponse, deadline: float) -> bool:
        """The generation's only member assigns nothing, to itself; False if the group has gone on already."""
        nothing = SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"")
        request = sync_request(self._membership, joined, [nothing])
        try:
            self._ask(request, deadline)
        except BrokerError:
            return False
        return True

    def _ask(self, request: Request, deadline: float) -> Any:
        """On the connection of the joins: while one waits there, the others are asked elsewhere."""
        left = max(0.0, deadline - self._cluster.loop.now())
        node = self._coordinator(deadline)
        future = self._cluster.send(request, node, purpose=GROUP, timeout=left)
        self._cluster.poll(left, future)
        if not future.done:
            raise TimedOutError(f"{request.api_name} was not answered in time")
        if future.value.error_code != NONE:
            raise BrokerError(
                future.value.error_code, f"{request.api_name} of group {self._membership.group_id}"
            )
        return future.value


class ConsumerGuard(Guard):
    """For groups of the new protocol: it owns all partitions, and does not acknowledge that it should give some up."""

    by_epoch = True

    def __init__(
        self,
        cluster: Cluster,
        link: CoordinatorLink,
        membership: Membership,
        pulse: ConsumerPulse,
        wake_heartbeat: Callable[[], None],
        wanted: Callable[[], Partitions],
    ) -> None:
        super().__init__(cluster, link, membership)
        self._pulse = pulse
        self._wake_heartbeat = wake_heartbeat
        self._wanted = wanted

    def seize(self, deadline: float) -> None:
        """Takes what it is given, and sends out whoever is back, until it has everything."""
        while self._cluster.loop.now() < deadline:
            self._evict(self._others(deadline), deadline)
            with self._membership.lock:
                if self._membership.state is MemberState.FENCED:
                    raise self._membership.error or self._gave_up()
                if self._pulse.target is not None and self._pulse.owned != self._pulse.target:
                    self._pulse.owned = self._pulse.target
                owns_all = self._pulse.owned == self._wanted()
                self._pulse.changed()
            if owns_all:
                return
            self._wake_heartbeat()
            self._cluster.sleep(_LOOK)
        raise self._gave_up()

    def hold(self, offsets: Offsets, deadline: float) -> int:
        """Late commits of those who are back land now, and are corrected, until there are no more of them."""
        loop = self._cluster.loop
        give_up = min(deadline, loop.now() + _HOLD)
        quiet_since = loop.now()
        while True:
            if differing(self.verify(offsets, deadline), offsets):
                self.commit(offsets, deadline)
                quiet_since = loop.now()
            back, now = len(self._others(deadline)), loop.now()
            if now >= give_up or (back >= self.evicted and now - quiet_since >= _QUIET):
                return back
            self._cluster.sleep(_LOOK)

    def _question(self) -> Request:
        group_id = self._membership.group_id
        return ConsumerGroupDescribeRequest(group_ids=[group_id], include_authorized_operations=False)

    def _identity(self, described: Any) -> MemberIdentity:
        instance_id = described.instance_id
        return MemberIdentity(member_id=described.member_id, group_instance_id=instance_id, reason=_REASON)


def differing(
    found: Mapping[TopicPartition, OffsetAndMetadata | None], offsets: Offsets
) -> dict[TopicPartition, OffsetAndMetadata | None]:
    """The partitions whose committed offset is not the wanted one."""
    return {
        where: place
        for where, place in found.items()
        if place is None or place.offset != offsets[where].offset
    }


def rewind(guard: Guard, offsets: Offsets, deadline: float) -> dict[TopicPartition, OffsetAndMetadata | None]:
    """Sets a live group's offsets while ``guard`` keeps its members out; what is committed when they come in.

    KcliError before anything was committed, or when what was read back is something else.
    """
    guard.seize(deadline)
    guard.commit(offsets, deadline)
    guard.hold(offsets, deadline)
    guard.commit(offsets, deadline)
    found = guard.verify(offsets, deadline)
    wrong = differing(found, offsets)
    if wrong:
        told = ", ".join(f"{where}: {place.offset if place else 'none'}" for where, place in wrong.items())
        raise KcliError("the offsets were changed while they were rewound", why=told, do="try again")
    return found
