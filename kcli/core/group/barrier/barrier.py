"""A group member that holds the other members back while offsets are changed, which makes the rewind of a live group
exact (the first proposal's RewindConsumer).

Members commit their own positions when their partitions are revoked, and read committed offsets only when they join. So
the barrier evicts them, commits as the only member, and keeps the rebalance open until they are waiting to rejoin,
where they own nothing and cannot commit. What it reads back then is what they will start from. If the barrier dies, its
session times out and the members are released, at the new offsets. Blocks in the loop's poll; heartbeats are sent by
the membership's thread.

If two barriers compete: a barrier that is not listed in the group evicts no member. So the first one to evict continues,
and the other one finds itself evicted. Only if both requests cross are both evicted, and then neither has committed.
``Group.rewind`` lets an evicted barrier rejoin as a member, which blocks until the group is released, and try again.

A barrier that was evicted requests no new member id in passing: the coordinator would reserve a slot for that id,
and every rebalance would wait for a member that never joins (``tests/fault/test_rewind_offsets.py``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from kcli.core.classes import NamedTuple
from kcli.core.cluster.brokers import CONTROL
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.retry import classify_error
from kcli.core.cluster.topic_ids import checks_ids, explained, replaced
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
from kcli.core.group.barrier.arrivals import ArrivalLog, ListedMember
from kcli.core.group.coordinator_link import CoordinatorLink, Seen
from kcli.core.group.membership import Membership
from kcli.core.group.offset_requests import (
    commit_request,
    fetch_error,
    fetch_request,
    read_commit,
    read_fetch,
)
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kcli.core.types import Node, OffsetAndMetadata, TopicPartition

T = TypeVar("T")
Offsets = Mapping[TopicPartition, OffsetAndMetadata]

POLL_SECONDS = 0.05  # seconds between two polls of the group
HOLD_SECONDS = 8.0  # seconds for the other members to come back: more than two of their heartbeat intervals
# this member was evicted: another barrier is active
EVICTED_CODES = frozenset(
    {UNKNOWN_MEMBER_ID, MEMBER_ID_REQUIRED, ILLEGAL_GENERATION, FENCED_MEMBER_EPOCH, GROUP_ID_NOT_FOUND}
)
_REASON = "the group's offsets are rewound"
_FIRST_WITH_MANY = 3  # LeaveGroup: for other members, and several at once


class HoldTimes(NamedTuple):
    """How long a group is held, in seconds: at most ``members`` until the evicted members are back, then ``quiet`` after
    the last of them came back, and at least ``since_eviction``.
    """

    members: float = HOLD_SECONDS
    quiet: float = 0.0
    since_eviction: float = 0.0


DEFAULT_TIMES = HoldTimes()


class EvictedError(MembershipError):
    """The barrier is not a member of its group any more: most likely another rewind evicted it."""


class Barrier(ABC):
    """``seize``, ``commit``, ``hold``, ``verify``, in this order; then the caller rejoins or leaves.

    Each raises EvictedError when the barrier has been evicted. ``may_have_committed``: in this rewind, by this barrier
    or by an earlier one.
    """

    by_epoch = False
    instance_id_field = "instance_id"  # of a described member
    least_quiet = 0.0
    """Seconds without a commit by another member that ``hold`` awaits at least."""

    def __init__(self, cluster: Cluster, link: CoordinatorLink, membership: Membership) -> None:
        self._cluster = cluster
        self._link = link
        self._membership = membership
        self.may_have_committed = False
        self.arrival_log = ArrivalLog(keeps_id=self.by_epoch)

    @abstractmethod
    def seize(self, deadline: float) -> None:
        """Returns once no other member owns anything; MembershipError if they rejoin again and again."""

    def hold(self, offsets: Offsets, deadline: float, times: HoldTimes = DEFAULT_TIMES) -> int:
        """Holds the group until the evicted members are back, or ``times`` are over; returns how many are back.

        The members may still be processing what they had read before. What they commit meanwhile is corrected.
        """
        loop, quiet = self._cluster.loop, max(times.quiet, self.least_quiet)
        corrects = quiet > 0 or times.since_eviction > 0
        began = quiet_since = loop.now()
        patient_until = began + times.members
        give_up = min(deadline, patient_until + times.since_eviction + 2 * quiet)
        while True:
            group = self._describe_as_member(deadline)
            log = self.arrival_log
            waited = log.all_back or loop.now() >= patient_until
            # Waiting members join before the offsets are read back: what they commit once they are members has
            # to be corrected, too.
            if corrects and waited and loop.now() < give_up:
                until = self._admit_waiting_members(group, deadline)
                if until is not None:
                    patient_until, quiet_since = max(patient_until, until), loop.now()
                    continue
            # A late commit of an old batch. Each one starts the quiet time anew, as more may follow.
            if corrects and differing(self.verify(offsets, deadline), offsets):
                self.commit(offsets, deadline)
                quiet_since = loop.now()
            now = loop.now()
            ready = max(max(quiet_since, log.last_arrival) + quiet, log.evicted_at + times.since_eviction)
            if now >= give_up or (waited and now >= ready):
                return log.back
            self._cluster.sleep(POLL_SECONDS)

    def _admit_waiting_members(self, group: Any, deadline: float) -> float | None:  # noqa: ARG002 - see ``ClassicBarrier``
        """Lets waiting members join; returns until when evicted members are awaited, None if none was waiting."""
        return None

    def commit(self, offsets: Offsets, deadline: float) -> None:
        """Commits as the group's only member; raises the first error."""
        for error in self.try_commit(offsets, deadline).values():
            if error is not None:
                raise error

    def try_commit(self, offsets: Offsets, deadline: float) -> dict[TopicPartition, KcliError | None]:
        """Commits as the group's only member; the result of each partition. Raises errors that concern them all.

        An offset of a topic that was replaced gets a DataLossError: see ``admin.commits.commit_offsets``.
        """
        refused: dict[TopicPartition, KcliError] = {}
        if not checks_ids(self._cluster, self._coordinator(deadline)):
            refused = replaced(self._cluster, offsets, deadline)
        left = {tp: offset for tp, offset in offsets.items() if tp not in refused}
        found = {**refused, **(self._try_commit(left, deadline) if left else {})}
        return {tp: explained(found[tp], tp, offset) for tp, offset in offsets.items()}

    def _try_commit(self, offsets: Offsets, deadline: float) -> dict[TopicPartition, BrokerError | None]:
        def check(response: Any) -> dict[TopicPartition, BrokerError | None]:
            found = dict(read_commit(response, offsets))
            # A partition that the response leaves out counts as refused, never as committed.
            codes = {tp: found.get(tp, UNKNOWN_MEMBER_ID) for tp in offsets}
            errors = {
                tp: BrokerError(code, f"commit of {tp}") if code else None for tp, code in codes.items()
            }
            for error in errors.values():
                if error is not None and _about_all(error):
                    raise error
            return errors

        what = f"committing the rewound offsets of group {self._membership.group_id}"
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
                # Refused at the first attempt: nothing of this commit was stored. After an attempt without a
                # response that is not known.
                if not unanswered:
                    self.may_have_committed = before
                if error.code in EVICTED_CODES:
                    raise self._evicted_error() from error
                if error.code != STALE_MEMBER_EPOCH or self._cluster.loop.now() >= deadline:
                    raise
            self._cluster.sleep(POLL_SECONDS)  # the heartbeats bring the current epoch

    def _commit_request(self, offsets: Offsets) -> Request:
        with self._membership.lock:
            made_as = self._membership.metadata
        # The heartbeats found that it was evicted; a commit without a generation might be accepted.
        if made_as.generation_id < 0:
            raise self._evicted_error()
        # Before it is sent: a commit without a response may have been stored.
        self.may_have_committed = True
        return commit_request(made_as, offsets, by_epoch=self.by_epoch)

    def verify(
        self, partitions: Collection[TopicPartition], deadline: float
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """The committed offsets of these partitions now."""

        def check(response: Any) -> dict[TopicPartition, OffsetAndMetadata | None]:
            if code := fetch_error(response):
                raise BrokerError(code, f"reading the offsets of group {self._membership.group_id} back")
            found = dict.fromkeys(partitions, None)
            for tp, code, offset in read_fetch(response):
                if code != NONE:
                    raise BrokerError(code, f"reading {tp} back")
                found[tp] = offset
            return found

        return self._call(
            lambda: fetch_request(self._membership.group_id, partitions),
            check,
            deadline,
            f"reading the offsets of group {self._membership.group_id} back",
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
        sent: Callable[[Future[Any]], object] | None = None,
    ) -> T:
        """Sends to the coordinator, looked up again if it moved. ``sent`` is called before the response is awaited."""

        def attempt() -> Future[Any]:
            node = self._coordinator(deadline)
            future = self._cluster.send(make(), node.id, purpose=purpose, timeout=timeout)
            if sent is not None:
                sent(future)
            return future

        def checked(response: Any) -> T:
            try:
                return check(response)
            except BrokerError as error:
                self._link.refuted(error, self._cluster.loop.now())
                raise

        return self._cluster.call(attempt, checked, deadline, what)

    def _coordinator(self, deadline: float) -> Node:
        """Finds the coordinator and passes it on to the heartbeats."""
        node = self._link.wait(deadline)
        if node is None:
            raise self._link.error or TimedOutError("the group's coordinator was not found in time")
        with self._membership.lock:
            seen = self._membership.seen
            # The heartbeats must follow a coordinator that has moved: a barrier that nobody hears of loses its
            # session, and with it the group.
            if seen.coordinator != node or seen.view is not self._cluster.view:
                self._membership.seen = Seen(self._cluster.view, node)
        return node

    @abstractmethod
    def _describe_request(self) -> Request:
        """The request that describes the group."""

    def _listed(self, group: Any) -> list[ListedMember]:
        """All members in a group's description except this one."""
        own_id = self._membership.member_id
        return [
            ListedMember(one.member_id, getattr(one, self.instance_id_field), one.client_id, one.client_host)
            for one in group.members
            if one.member_id != own_id
        ]

    def _describe(self, deadline: float) -> Any:
        """Describes the group and updates the arrival log. Also counts as a poll of this member."""
        member, now = self._membership, self._cluster.loop.now()
        with member.lock:
            # Who waits for the group is alive: without this max.poll.interval.ms would end the barrier.
            member.polled_at = now

        def check(response: Any) -> Any:
            group = response.groups[0]
            if group.error_code not in (NONE, GROUP_ID_NOT_FOUND):
                raise BrokerError(group.error_code, f"describing group {member.group_id}")
            return group

        group = self._call(self._describe_request, check, deadline, f"describing group {member.group_id}")
        self.arrival_log.record_listing(self._listed(group), self._cluster.loop.now())
        return group

    def _describe_as_member(self, deadline: float) -> Any:
        group = self._describe(deadline)
        if all(one.member_id != self._membership.member_id for one in group.members):
            raise self._evicted_error()
        return group

    def _others(self, deadline: float) -> list[ListedMember]:
        """All other members of the group, waiting to rejoin or inside."""
        return self._listed(self._describe_as_member(deadline))

    def _evict(self, others: Sequence[ListedMember], deadline: float) -> None:
        if not others:
            return
        rows = [
            MemberIdentity(member_id=one.member_id, group_instance_id=one.instance_id, reason=_REASON)
            for one in others
        ]

        def make() -> Request:
            request = LeaveGroupRequest(group_id=self._membership.group_id, members=rows)
            request.require_version(_FIRST_WITH_MANY)
            return request

        def check(response: Any) -> None:
            if response.error_code != NONE:
                raise BrokerError(response.error_code, f"evicting the members of {self._membership.group_id}")

        self._call(make, check, deadline, f"evicting the other members of group {self._membership.group_id}")
        self.arrival_log.record_eviction(others, self._cluster.loop.now())

    def _not_held_error(self) -> MembershipError:
        return MembershipError(
            f"group {self._membership.group_id} could not be held",
            why="its members rejoined faster than they were evicted",
            do=f"try again; {self._outcome}",
        )

    def _evicted_error(self) -> EvictedError:
        return EvictedError(
            f"group {self._membership.group_id}: another rewind is in progress, or this one was paused for too long",
            why=f"this member was evicted from the group; {self._outcome}",
            do="try again when the other rewind has ended",
        )

    @property
    def _outcome(self) -> str:
        if self.may_have_committed:
            return "these offsets may have been committed, and others since"
        return "nothing was committed"


def _about_all(error: BrokerError) -> bool:
    """Whether a partition's error concerns the whole commit: the committer is not known, or has to try again."""
    if error.code in (UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID):
        return False
    return (
        error.code in (*EVICTED_CODES, STALE_MEMBER_EPOCH, REBALANCE_IN_PROGRESS)
        or classify_error(error).retriable
    )


def differing(
    found: Mapping[TopicPartition, OffsetAndMetadata | None], offsets: Offsets
) -> dict[TopicPartition, OffsetAndMetadata | None]:
    """The partitions whose committed offset differs from the wanted one."""
    return {
        tp: commit for tp, commit in found.items() if commit is None or commit.offset != offsets[tp].offset
    }


def rewind(
    barrier: Barrier, offsets: Offsets, deadline: float
) -> dict[TopicPartition, OffsetAndMetadata | None]:
    """Sets a live group's offsets while ``barrier`` holds its members back; returns what is committed when they rejoin.

    Raises KcliError before anything was committed, or when the offsets that were read back differ.
    """
    barrier.seize(deadline)
    barrier.commit(offsets, deadline)
    barrier.hold(offsets, deadline)
    # Once more, with the members waiting to rejoin: what one of them committed between its return and this is
    # overwritten, and what is read back now is what they will start from.
    barrier.commit(offsets, deadline)
    found = barrier.verify(offsets, deadline)
    wrong = differing(found, offsets)
    if wrong:
        why = ", ".join(f"{tp}: {commit.offset if commit else 'none'}" for tp, commit in wrong.items())
        raise KcliError("the offsets were changed while they were rewound", why=why, do="try again")
    return found
