"""A member that holds the others of its group at the door while offsets are changed: what makes a rewind of a live
group exact (the first proposal's RewindConsumer).

Members commit their own positions when they give partitions up, and read what is committed only when they join. So the
guard evicts them, commits as the only member, and keeps the rebalance open until they are back at the door, where they
hold nothing and cannot commit; what it then reads back is what they will start from. If the guard dies, its session
timeout opens the door, at the new offsets. Blocks in the loop's poll; heartbeats are the membership's thread's.

Two guards: whoever is not listed in the group sends nobody out. So the first to evict goes on, and the other one finds
itself sent out. Only if both orders cross on their way are both out, and then neither has committed. ``Group.rewind``
lets a guard that was sent out come back as a member, which takes until the door is open, and try again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from kcli.core.cluster.brokers import CONTROL, GROUP
from kcli.core.cluster.cluster import Cluster
from kcli.core.error_codes import (
    FENCED_MEMBER_EPOCH,
    GROUP_ID_NOT_FOUND,
    ILLEGAL_GENERATION,
    MEMBER_ID_REQUIRED,
    NONE,
    REBALANCE_IN_PROGRESS,
    STALE_MEMBER_EPOCH,
    UNKNOWN_MEMBER_ID,
)
from kcli.core.errors import BrokerError, KcliError, MembershipError, TimedOutError
from kcli.core.future import Future
from kcli.core.group.consumer_protocol import Assignment, encode_assignment
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
from kcli.core.group.reasons import refused
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
# somebody else is the guard
_SENT_OUT = frozenset(
    {UNKNOWN_MEMBER_ID, MEMBER_ID_REQUIRED, ILLEGAL_GENERATION, FENCED_MEMBER_EPOCH, GROUP_ID_NOT_FOUND}
)
# SyncGroup: the group has gone on since JoinGroup was answered
_GONE_ON = frozenset({REBALANCE_IN_PROGRESS, ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID})
_STABLE = "Stable"
_REASON = "the group's offsets are rewound"
_FIRST_WITH_MANY = 3  # LeaveGroup: of others, and several


class SentOutError(MembershipError):
    """The guard is not in its group any more: somebody has sent it out, most likely another rewind."""


class Guard(ABC):
    """``seize``, ``commit``, ``hold``, ``verify``, in this order; then the caller rejoins or leaves.

    Each raises SentOutError when the guard is one no more. ``may_have_committed``: in this rewind, this guard or one
    before it.
    """

    by_epoch = False

    def __init__(self, cluster: Cluster, link: CoordinatorLink, membership: Membership) -> None:
        self._cluster = cluster
        self._link = link
        self._membership = membership
        self.may_have_committed = False
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

        what = "committing the rewound offsets"
        while True:
            try:
                return self._call(lambda: self._commit_request(offsets), check, deadline, what)
            except BrokerError as error:
                if error.code in _SENT_OUT:
                    raise self._sent_out() from error
                if error.code != STALE_MEMBER_EPOCH or self._cluster.loop.now() >= deadline:
                    raise
            self._cluster.sleep(_LOOK)  # the heartbeats bring the epoch that is right

    def _commit_request(self, offsets: Offsets) -> Request:
        with self._membership.lock:
            made_as = self._membership.metadata
        if made_as.generation_id < 0:  # the heartbeats know it: as nobody in particular it might be taken
            raise self._sent_out()
        self.may_have_committed = True
        return commit_request(made_as, offsets, {}, by_epoch=self.by_epoch)

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

    def _call(
        self,
        make: Callable[[], Request],
        check: Callable[[Any], T],
        deadline: float,
        what: str,
        *,
        purpose: str = CONTROL,
        timeout: float | None = None,
    ) -> T:
        """Asks the coordinator, found anew when it has moved."""

        def attempt() -> Future[Any]:
            node_id = self._coordinator(deadline)
            return self._cluster.send(make(), node_id, purpose=purpose, timeout=timeout)

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

    def _look(self, deadline: float) -> Any:
        """The group as it is described, with this member in it. Whoever looks is alive."""
        member, now = self._membership, self._cluster.loop.now()
        with member.lock:
            member.polled_at = now

        def check(answer: Any) -> Any:
            group = answer.groups[0]
            if group.error_code not in (NONE, GROUP_ID_NOT_FOUND):
                raise BrokerError(group.error_code, f"describing group {member.group_id}")
            return group

        group = self._call(self._question, check, deadline, "looking at the group")
        if all(one.member_id != member.member_id for one in group.members):
            raise self._sent_out()
        return group

    def _others(self, deadline: float) -> list[MemberIdentity]:
        """Everybody else in the group, at the door or inside."""
        members, own_id = self._look(deadline).members, self._membership.member_id
        return [self._identity(one) for one in members if one.member_id != own_id]

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
            why="its members came back faster than they were sent out",
            do=f"try again; {self._outcome}",
        )

    def _sent_out(self) -> SentOutError:
        return SentOutError(
            f"group {self._membership.group_id}: another rewind of it is going on",
            why=f"this member was sent out of the group; {self._outcome}",
            do="try again when the other one is done",
        )

    @property
    def _outcome(self) -> str:
        if self.may_have_committed:
            return "these offsets may have been committed, and others since"
        return "nothing was committed"


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
            joined = self._join(deadline)
            if joined is None:
                self._cluster.sleep(_LOOK)
                continue
            with member.lock:
                member.member_id, member.generation = joined.member_id, joined.generation_id
            leads = joined.leader == joined.member_id
            if leads and self._sync(joined, deadline) and len(joined.members) <= 1:
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

    def _join(self, deadline: float) -> JoinGroupResponse | None:
        """None when the group was about to form another generation."""
        member = self._membership

        def make() -> Request:
            with member.lock:
                if not member.member_id:  # a new one would be promised a place, and be waited for by all
                    raise self._sent_out()
                return join_request(member, self._session_timeout_ms, self._offers)

        try:
            answer: JoinGroupResponse = self._ask(
                make, max(0.0, deadline - self._cluster.loop.now()), deadline
            )
        except BrokerError as error:
            if error.code == REBALANCE_IN_PROGRESS:
                return None
            if error.code in _SENT_OUT:
                raise self._sent_out() from error
            raise refused(member.group_id, error, member.instance_id) from error
        return answer

    def _sync(self, joined: JoinGroupResponse, deadline: float) -> bool:
        """Nothing for anybody; False if the group has gone on already.

        Others that were quick to come back are told too, before they are sent out again: a coordinator leaves a
        SyncGroup unanswered whose member is sent out meanwhile.
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

    def _ask(self, make: Callable[[], Request], timeout: float | None, deadline: float) -> Any:
        """On the connection of the joins: while one waits there, the others are asked elsewhere."""

        def check(answer: Any) -> Any:
            if answer.error_code != NONE:
                raise BrokerError(answer.error_code, f"holding group {self._membership.group_id}")
            return answer

        what = "becoming the only member of the group"
        return self._call(make, check, deadline, what, purpose=GROUP, timeout=timeout)


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
        self._wait_until_stable(deadline)
        while self._cluster.loop.now() < deadline:
            self._evict(self._others(deadline), deadline)
            if self._take_what_is_given() == self._wanted():
                return
            self._cluster.sleep(_LOOK)
        raise self._gave_up()

    def _wait_until_stable(self, deadline: float) -> None:
        """Another guard's group is not: it owes an acknowledgement for as long as it holds. No longer than that.

        This one owes none meanwhile, or two would wait for each other.
        """
        loop = self._cluster.loop
        give_up = min(deadline, loop.now() + _HOLD + _QUIET)
        while self._look(deadline).group_state != _STABLE and loop.now() < give_up:
            self._take_what_is_given()
            self._cluster.sleep(_LOOK)

    def _take_what_is_given(self) -> Partitions:
        """What it owns; nothing of it is read."""
        with self._membership.lock:
            if self._membership.state is MemberState.FENCED:
                raise self._membership.error or self._gave_up()
            if self._pulse.target is not None:
                self._pulse.owned = self._pulse.target
            owned = self._pulse.owned
            self._pulse.changed()
        self._wake_heartbeat()
        return owned

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
