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
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from kcli.core.cluster.brokers import CONTROL, GROUP
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.retry import judge
from kcli.core.error_codes import (
    FENCED_MEMBER_EPOCH,
    GROUP_ID_NOT_FOUND,
    ILLEGAL_GENERATION,
    MEMBER_ID_REQUIRED,
    NONE,
    REBALANCE_IN_PROGRESS,
    STALE_MEMBER_EPOCH,
    UNKNOWN_MEMBER_ID,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from kcli.core.errors import BrokerError, KcliError, MembershipError, TimedOutError
from kcli.core.future import Future
from kcli.core.group.consumer_protocol import Assignment, encode_assignment
from kcli.core.group.consumer_pulse import ConsumerPulse, Partitions
from kcli.core.group.coordinator_link import CoordinatorLink, Seen
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
from kcli.core.types import Node, OffsetAndMetadata, TopicPartition

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
_FIRST_WITH_IDS = 4  # JoinGroup: tells the id of a member before it is one


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
        for error in self.try_commit(offsets, deadline).values():
            if error is not None:
                raise error

    def try_commit(self, offsets: Offsets, deadline: float) -> dict[TopicPartition, BrokerError | None]:
        """Commits as the group's only member: what became of each partition. Raises what is about all of them."""

        def check(answer: Any) -> dict[TopicPartition, BrokerError | None]:
            told = dict(read_commit(answer, {}))
            codes = {where: told.get(where, UNKNOWN_MEMBER_ID) for where in offsets}
            errors = {w: BrokerError(code, f"commit of {w}") if code else None for w, code in codes.items()}
            for error in errors.values():
                if error is not None and _about_all(error):
                    raise error
            return errors

        what = "committing the rewound offsets"
        before = self.may_have_committed
        while True:
            unanswered = -1

            def make() -> Request:
                nonlocal unanswered
                unanswered += 1
                return self._commit_request(offsets)

            try:
                return self._call(make, check, deadline, what)
            except BrokerError as error:
                if not unanswered:
                    self.may_have_committed = before
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

    def verify(
        self, places: Collection[TopicPartition], deadline: float
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What is committed now of these partitions."""

        def check(answer: Any) -> dict[TopicPartition, OffsetAndMetadata | None]:
            if code := fetch_error(answer):
                raise BrokerError(code, "reading the offsets back")
            found = dict.fromkeys(places, None)
            for where, code, offset in read_fetch(answer):
                if code != NONE:
                    raise BrokerError(code, f"reading {where} back")
                found[where] = offset
            return found

        return self._call(
            lambda: fetch_request(self._membership.group_id, places),
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
        sent: Callable[[Future[Any]], None] | None = None,
    ) -> T:
        """Asks the coordinator, found anew when it has moved. ``sent``: what is done before its answer is waited for."""

        def attempt() -> Future[Any]:
            node = self._coordinator(deadline)
            future = self._cluster.send(make(), node.id, purpose=purpose, timeout=timeout)
            if sent is not None:
                sent(future)
            return future

        def checked(answer: Any) -> T:
            try:
                return check(answer)
            except BrokerError as error:
                self._link.refuted(error, self._cluster.loop.now())
                raise

        return self._cluster.call(attempt, checked, deadline, what)

    def _coordinator(self, deadline: float) -> Node:
        """Known to the heartbeats too, then."""
        node = self._link.wait(deadline)
        if node is None:
            raise self._link.error or TimedOutError("the group's coordinator was not found in time")
        with self._membership.lock:
            seen = self._membership.seen
            if seen.coordinator != node or seen.view is not self._cluster.view:
                self._membership.seen = Seen(self._cluster.view, node)
        return node

    @abstractmethod
    def _question(self) -> Request:
        """Asks who is in the group."""

    @abstractmethod
    def _identity(self, described: Any) -> MemberIdentity:
        """What it takes to send a member out."""

    def _look(self, deadline: float) -> Any:
        """The group as it is described. Whoever looks is alive."""
        member, now = self._membership, self._cluster.loop.now()
        with member.lock:
            member.polled_at = now

        def check(answer: Any) -> Any:
            group = answer.groups[0]
            if group.error_code not in (NONE, GROUP_ID_NOT_FOUND):
                raise BrokerError(group.error_code, f"describing group {member.group_id}")
            return group

        return self._call(self._question, check, deadline, "looking at the group")

    def _look_as_member(self, deadline: float) -> Any:
        group = self._look(deadline)
        if all(one.member_id != self._membership.member_id for one in group.members):
            raise self._sent_out()
        return group

    def _others(self, deadline: float) -> list[MemberIdentity]:
        """Everybody else in the group, at the door or inside."""
        members, own_id = self._look_as_member(deadline).members, self._membership.member_id
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
        """Sends the others out; a JoinGroup is answered when nobody else is waited for."""
        member = self._membership
        join = self._join_again if member.is_member else self._enter
        while self._cluster.loop.now() < deadline:
            joined = join(deadline)
            join = self._join_again
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

    def _enter(self, deadline: float) -> JoinGroupResponse | None:
        """For one that is no member yet. It waits at the door before the others are sent out: a group that is empty for
        a moment takes commits from anybody (aiokafka's members do that).
        """
        self._become_known(deadline)

        def waits(joining: Future[Any]) -> None:
            while not joining.done and self._cluster.loop.now() < deadline:
                members, own_id = self._look(deadline).members, self._membership.member_id
                if any(one.member_id == own_id for one in members):
                    self._evict([self._identity(one) for one in members if one.member_id != own_id], deadline)
                    break
                self._cluster.sleep(_LOOK)

        return self._join(deadline, waits)

    def _become_known(self, deadline: float) -> None:
        """Asks for a member id (KIP-394)."""
        member = self._membership
        with member.lock:
            member.happened(MemberEvent.JOIN)

        def make() -> Request:
            request = join_request(member, self._session_timeout_ms, self._offers)
            request.require_version(_FIRST_WITH_IDS)
            return request

        def check(answer: JoinGroupResponse) -> str:
            if answer.error_code != MEMBER_ID_REQUIRED:
                raise BrokerError(answer.error_code, f"joining group {member.group_id}")
            return answer.member_id

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
        self, deadline: float, sent: Callable[[Future[Any]], None] | None = None
    ) -> JoinGroupResponse | None:
        """None when the group was about to form another generation."""
        member = self._membership

        def make() -> Request:
            with member.lock:
                if not member.member_id:  # a new one would be promised a place, and be waited for by all
                    raise self._sent_out()
                return join_request(member, self._session_timeout_ms, self._offers)

        try:
            answer: JoinGroupResponse = self._ask(
                make, max(0.0, deadline - self._cluster.loop.now()), deadline, sent
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

    def _ask(
        self,
        make: Callable[[], Request],
        timeout: float | None,
        deadline: float,
        sent: Callable[[Future[Any]], None] | None = None,
    ) -> Any:
        """On the connection of the joins: while one waits there, the others are asked elsewhere."""

        def check(answer: Any) -> Any:
            if answer.error_code != NONE:
                raise BrokerError(answer.error_code, f"holding group {self._membership.group_id}")
            return answer

        what = "becoming the only member of the group"
        return self._call(make, check, deadline, what, purpose=GROUP, timeout=timeout, sent=sent)


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
        if self._membership.is_member:
            self._wait_until_stable(deadline)
        else:
            self._enter(deadline)
        while self._cluster.loop.now() < deadline:
            self._evict(self._others(deadline), deadline)
            if self._take_what_is_given() == self._wanted():
                return
            self._cluster.sleep(_LOOK)
        raise self._gave_up()

    def _enter(self, deadline: float) -> None:
        """For one that is no member yet, with the pulse's topics. The others are sent out before, so that it is given
        everything at once: a coordinator computes an assignment once a second, and who is back by then has a share.
        """
        member = self._membership
        self._evict([self._identity(one) for one in self._look(deadline).members], deadline)
        with member.lock:
            self._pulse.begin(self._pulse.topics, self._cluster.loop.now())
            member.happened(MemberEvent.JOIN)
        self._wake_heartbeat()
        while member.state is not MemberState.STABLE:
            self._check_allowed()
            if self._cluster.loop.now() >= deadline:
                raise TimedOutError(
                    f"group {member.group_id} could not be joined in time", why="no answer yet"
                )
            self._cluster.sleep(_LOOK)

    def _check_allowed(self) -> None:
        """Raises what the coordinator has against this member."""
        member = self._membership
        with member.lock:
            complaint, member.complaint = member.complaint, None
        if error := complaint or (member.error if member.state is MemberState.FENCED else None):
            raise error

    def _wait_until_stable(self, deadline: float) -> None:
        """Another guard's group is not: it owes an acknowledgement for as long as it holds. No longer than that.

        This one owes none meanwhile, or two would wait for each other.
        """
        loop = self._cluster.loop
        give_up = min(deadline, loop.now() + _HOLD + _QUIET)
        while self._look_as_member(deadline).group_state != _STABLE and loop.now() < give_up:
            self._take_what_is_given()
            self._cluster.sleep(_LOOK)

    def _take_what_is_given(self) -> Partitions:
        """What it owns; nothing of it is read."""
        self._check_allowed()
        with self._membership.lock:
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


def _about_all(error: BrokerError) -> bool:
    """Whether a partition's error is about the commit as a whole: who commits is not known, or must ask again."""
    if error.code in (UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID):
        return False
    return error.code in (*_SENT_OUT, STALE_MEMBER_EPOCH, REBALANCE_IN_PROGRESS) or judge(error).retriable


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
