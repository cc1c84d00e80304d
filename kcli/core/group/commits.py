"""Commits of a consumer, in order: none overtakes another, so a committed offset never goes back.

Adjacent commits share a request if they do not contradict each other about a partition: what is committed, and the
result of each, is then the same as if they were sent one by one.

A commit belongs to the generation it was made in. If the member has rejoined meanwhile, partitions that it owned
throughout are committed under the new generation. The rest is refused, as the coordinator would: other members may have
read on from there and committed, even if the partition has come back since. Runs in the caller's thread.

A commit before partitions are revoked never waits for the rebalance, which waits for that commit. Without a
membership nothing is sent: a group without members accepts a commit from anyone.

An offset belongs to the topic with the id under which it was read, and is never committed for another topic of the same
name. Since OffsetCommit 10 (Kafka 4.1, KIP-848) the broker checks that. Older brokers know names only: a topic is
deleted and created again, and the old position, sent a moment later, makes the group skip the first records of the new
one. There a commit is sent one turn of the loop after it was made, so that what has arrived by then is known, and waits
for metadata where there is reason to doubt: it is the last of its partitions, a refresh is due, or the broker did not
know the topic. It is refused when metadata names another id and a second response confirms that, since brokers that
lag report old ids. What remains with brokers before 4.1: a commit by the timer that is sent after the new topic exists
and before the error of a fetch has arrived, and the time between the response with the metadata and the commit.
Brokers before 2.8 have no topic ids: nothing can be noticed there.
Tested in ``tests/fault/test_recreated_topics.py``.

A callback of a commit may raise, commit again, or close the consumer: all commits of a response are completed
before the first error is raised; a commit that is made while others are abandoned is not abandoned with them, or a
callback that tries again would keep a close from ending; and the consumer leaves its group whatever its callbacks
raise. Tested in ``tests/unit/core/group/test_commits.py``; tenure: ``Member.tenure`` and case O3 in
``tests/fault/test_groups.py``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from heapq import heappop, heappush
from itertools import count
from typing import Any

from kcli.core.classes import dataclass, field
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.retry import Backoff, classify_error, given_up
from kcli.core.cluster.topic_ids import checks_ids, is_other, replaced_topic
from kcli.core.error_codes import (
    FENCED_INSTANCE_ID,
    FENCED_MEMBER_EPOCH,
    GROUP_ID_NOT_FOUND,
    ILLEGAL_GENERATION,
    MEMBER_ID_REQUIRED,
    NONE,
    REBALANCE_IN_PROGRESS,
    STALE_MEMBER_EPOCH,
    UNKNOWN_MEMBER_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from kcli.core.errors import (
    BrokerError,
    ClosedError,
    CommitFailedError,
    KcliError,
    MembershipError,
    OutcomeUnknownError,
    TimedOutError,
)
from kcli.core.future import Future
from kcli.core.group.coordinator_link import CoordinatorLink, is_coordinator_error
from kcli.core.group.offset_requests import commit_request, have_ids, read_commit
from kcli.core.names import unwritable
from kcli.core.permissions import on_group, on_topic
from kcli.core.protocol.schema import NO_UUID
from kcli.core.types import GroupMetadata, OffsetAndMetadata, TopicPartition

Offsets = Mapping[TopicPartition, OffsetAndMetadata]

_NEVER = float("inf")
_ABOUT_MEMBERSHIP = frozenset(
    {
        REBALANCE_IN_PROGRESS,
        ILLEGAL_GENERATION,
        UNKNOWN_MEMBER_ID,
        MEMBER_ID_REQUIRED,
        FENCED_INSTANCE_ID,
        FENCED_MEMBER_EPOCH,
        STALE_MEMBER_EPOCH,
        GROUP_ID_NOT_FOUND,  # OffsetCommit 9 and later: a group may disappear with its last member
    }
)


class Committer:
    """The identity that commits are made under: none, for partitions that were assigned by hand."""

    by_epoch = False
    advice = (
        "a group that has members accepts commits from them only: give this consumer a group.id of its own, or subscribe "
        "instead of assigning by hand"
    )
    """What to do about a commit that is refused because of the committer's identity."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self._no_member = GroupMetadata(group_id)

    def metadata(self) -> GroupMetadata | None:
        """What the coordinator checks; None while there is no membership. Then nothing may be sent: a group without
        members accepts a commit from any client, and this commit would undo what other members did since.
        """
        return self._no_member

    @property
    def joining(self) -> bool:
        """Whether it is about to receive an assignment."""
        return False

    def tenure(self, tp: TopicPartition) -> int | None:  # noqa: ARG002 - assigned by hand
        """The same number for as long as no other member can have owned the partition; None if it is not owned.

        A member's numbers are never negative: what was submitted without a membership is not committed with one.
        """
        return -1

    def refused(self, error: BrokerError, made_as: GroupMetadata) -> bool:  # noqa: ARG002 - there is no membership
        """The coordinator refuses commits of ``made_as``; True if a rebalance may bring a generation that it accepts."""
        return False


@dataclass(slots=True, eq=False)
class _Commit:
    """A commit under way. ``tenures``: those in which its partitions were owned when it was submitted.

    It is not sent before metadata of version ``needs_view`` or later is there; −1: that is not decided yet.
    ``suspects``: a broker has said once that a topic is not the one that was read.
    """

    offsets: dict[TopicPartition, OffsetAndMetadata]
    tenures: dict[TopicPartition, int | None]
    made_as: GroupMetadata | None
    deadline: float
    through_rebalance: bool
    last: bool
    future: Future[None]
    started: float
    has_waited: bool = False
    needs_view: int = -1
    suspects: bool = False
    errors: dict[TopicPartition, KcliError] = field(default_factory=dict)
    last_error: KcliError | None = None


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request in flight, and the commits in it."""

    commits: Mapping[_Commit, None]
    made_as: GroupMetadata
    through_rebalance: bool
    offsets: Offsets
    answer: Future[Any]


class Commits:
    """``submit`` queues, ``pump`` sends the head of the queue and completes it; ``wake_at`` is when the next call is
    due.

    A commit is open while it is in the queue. It is removed before its future is completed: callbacks may commit, and
    so pump, and must find nothing half done. No step scans the whole queue, which may be long: an application that
    commits after every record is faster than coordinators respond.
    """

    def __init__(self, cluster: Cluster, link: CoordinatorLink, committer: Committer) -> None:
        self._cluster = cluster
        self._link = link
        self.committer = committer
        self._queue: OrderedDict[_Commit, None] = OrderedDict()
        self._impatient: OrderedDict[_Commit, None] = OrderedDict()  # that wait for no rebalance
        self._deadlines: list[tuple[float, int, _Commit]] = []  # a heap; its top drops what is completed
        self._serial = count()
        self._asked: _Asked | None = None
        self._backoff = Backoff.of_requests(cluster.options)
        self._not_before = 0.0
        self._closed = False
        self.wake_at = _NEVER
        self.done = 0
        self.failed = 0

    @property
    def idle(self) -> bool:
        """Whether nothing waits for the coordinator."""
        return not self._queue

    @property
    def possible(self) -> bool:
        """Whether there is an identity to commit under."""
        return self.committer.metadata() is not None

    def submit(
        self, offsets: Offsets, deadline: float, *, through_rebalance: bool, last: bool = False
    ) -> Future[None]:
        """A future that completes when all of ``offsets`` are committed, or fails with CommitFailedError; at the latest
        at ``deadline``.

        ``through_rebalance``: waits for a rebalance that is under way; otherwise the rebalance fails the commit, since
        a caller that waits for the commit does not poll, and only polling completes a rebalance. ``last``: nothing more
        is read from these partitions, so no error of a fetch will show that their topic is another one.
        """
        if self._closed:
            raise ClosedError("the consumer is closed")
        now = self._cluster.loop.now()
        refused: dict[TopicPartition, KcliError]
        refused = {tp: why for tp, offset in offsets.items() if (why := unwritable(tp, offset))}
        commit = _Commit(
            {tp: offset for tp, offset in offsets.items() if tp not in refused},
            {tp: self.committer.tenure(tp) for tp in offsets},
            self.committer.metadata(),
            deadline,
            through_rebalance,
            last,
            Future(self._wait),
            now,
            errors=refused,
        )
        self._queue[commit] = None
        if not through_rebalance:
            self._impatient[commit] = None
        heappush(self._deadlines, (deadline, next(self._serial), commit))
        self.pump(now)
        return commit.future

    def pump(self, now: float) -> None:
        """Completes what was answered and sends what comes next."""
        self.wake_at = _NEVER
        # Responses first: a commit whose response has arrived by its deadline has not expired.
        if self._asked is not None and self._asked.answer.done:
            asked, self._asked = self._asked, None
            self._answered(asked, now)
        while self._next_deadline() <= now:
            self._expire(self._deadlines[0][2], now)
        while self._queue and self._asked is None:
            if now < self._not_before:
                self.wake_at = self._not_before
                break
            if not self._send(now):
                break  # it cannot be sent now; the next commit would overtake it
        self.wake_at = min(self.wake_at, self._next_deadline())

    def abandon(self, error: KcliError) -> None:
        """Fails all commits that are not answered yet: the membership in which they were made has ended.

        Not what callbacks commit meanwhile: one that retries after each failure would keep this from ending.
        """
        self._fail_together(list(self._queue), error)

    def close(self) -> None:
        """Ends the commits: open ones fail, and no more are accepted."""
        self._closed = True
        with suppress(ClosedError):  # raised to a callback that tries to commit again
            self.abandon(ClosedError("the consumer is closed"))

    def _wait(self, future: Future[None], timeout: float | None) -> None:
        loop = self._cluster.loop
        end = None if timeout is None else loop.now() + timeout
        self.pump(loop.now())
        while not future.done and (end is None or loop.now() < end):
            until = self.wake_at if end is None else min(self.wake_at, end)
            self._cluster.poll(None if until == _NEVER else max(0.0, until - loop.now()))
            self.pump(loop.now())

    @property
    def _first(self) -> _Commit:
        return next(iter(self._queue))

    def _next_deadline(self) -> float:
        while self._deadlines and self._deadlines[0][2] not in self._queue:
            heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else _NEVER

    def _send(self, now: float) -> bool:
        """False when nothing can be sent at the moment."""
        present = self.committer.metadata()
        if present is None:
            why = MembershipError("this consumer is not a member of the group at the moment")
            self._fail_all(self._first, why)
            return True
        # Which partitions stay is known only after the assignment. Commits whose caller waits without polling
        # fail now: the join needs that poll, so both would wait for each other.
        if self._first.made_as != present and self.committer.joining:
            self._fail_waiting()
            self.wake_at = now + self._cluster.options.retry_backoff_ms / 1000
            return False
        try:
            node = self._link.node(now)
        except KcliError as error:
            self._fail_all(self._first, error)
            return True
        if node is None:
            self.wake_at = self._link.wake_at
            return False
        commits, offsets = self._next_together(present)
        over = [commit for commit in commits if not commit.offsets]
        if over:
            self._complete_all(*over)
            return True
        # By id the broker checks that the topic is the one that was read. By name nobody does: hence the turn, the
        # metadata and the check below; the module's docstring has the sequence of events.
        by_id = have_ids(offsets) and checks_ids(self._cluster, node)
        if not by_id and self._waits_a_turn(commits):
            self.wake_at = now
            return False
        if any(commit.needs_view > self._cluster.view.version for commit in commits):
            self._cluster.request_refresh()
            return False
        if self._drop_replaced(commits):
            return True
        try:
            request = commit_request(present, offsets, by_epoch=self.committer.by_epoch)
            answer = self._cluster.send(request, node.id)
        except Exception as error:  # noqa: BLE001 - fails these commits; later ones must still be sent
            self._fail_together(commits, _not_sent(error))
            return True
        self._asked = _Asked(dict.fromkeys(commits), present, commits[0].through_rebalance, offsets, answer)
        return True

    def _waits_a_turn(self, commits: Iterable[_Commit]) -> bool:
        """True for a commit by name at first; then it is decided whether there is reason to wait for metadata."""
        waits, version = False, self._cluster.view.version
        for commit in commits:
            if all(offset.topic_id == NO_UUID for offset in commit.offsets.values()):
                continue
            if not commit.has_waited:
                commit.has_waited = waits = True
            elif commit.needs_view < 0:
                commit.needs_view = version + (commit.last or self._cluster.is_stale)
        return waits

    def _drop_replaced(self, commits: Iterable[_Commit]) -> bool:
        """Refuses offsets of topics that were replaced; True if these commits cannot be sent like this.

        A topic that neither the coordinator nor metadata knows is waited for: between two attempts it may be created
        again, and the second one would be stored for it.
        """
        view, changed = self._cluster.view, False

        def is_replaced(topic: str, topic_id: bytes) -> bool:
            found = view.topics.get(topic)
            return found is not None and is_other(found.id, topic_id)

        def is_absent(topic: str) -> bool:
            return topic not in view.topics or view.topics[topic].error == UNKNOWN_TOPIC_OR_PARTITION

        for commit in commits:
            replaced = [tp for tp, offset in commit.offsets.items() if is_replaced(tp.topic, offset.topic_id)]
            absent = [tp for tp in commit.offsets if commit.suspects and is_absent(tp.topic)]
            if not replaced and not absent:
                commit.suspects = False
                continue
            changed = True
            for tp in absent:
                commit.needs_view = view.version + 1
                if (gone := self._cluster.gone(tp.topic)) is not None:
                    commit.errors[tp] = gone
                    del commit.offsets[tp]
            if not commit.suspects:
                commit.suspects, commit.needs_view = True, view.version + 1
                continue
            for tp in replaced:
                commit.errors[tp] = replaced_topic(tp, commit.offsets.pop(tp).offset)
        return changed

    def _next_together(self, present: GroupMetadata) -> tuple[list[_Commit], Offsets]:
        """The commits at the head of the queue that fit one request, and all their offsets.

        Never two that differ in a partition: if the broker refuses the second there, the first must have been
        committed.
        """
        commits: list[_Commit] = []
        offsets: dict[TopicPartition, OffsetAndMetadata] = {}
        for commit in self._queue:
            if commit.made_as != present:
                self._carry_over(commit, present)
            differs = any(offsets.get(tp, offset) != offset for tp, offset in commit.offsets.items())
            if differs or (commits and commit.through_rebalance != commits[0].through_rebalance):
                break
            commits.append(commit)
            offsets |= commit.offsets
        return commits, offsets

    def _fail_waiting(self) -> None:
        """A caller that waits for its commit does not poll, so the join that commits here wait for would never end."""
        error = BrokerError(REBALANCE_IN_PROGRESS, f"commit of group {self.committer.group_id}")
        while self._impatient:
            self._fail_all(next(iter(self._impatient)), error)

    def _carry_over(self, commit: _Commit, present: GroupMetadata) -> None:
        """Partitions still owned in the new generation are committed there; the rest belong to others now, or did."""
        for tp in list(commit.offsets):
            tenure = self.committer.tenure(tp)
            if tenure is None or tenure != commit.tenures[tp]:
                commit.errors[tp] = MembershipError(f"{tp} was revoked before it was committed")
                del commit.offsets[tp]
        commit.made_as = present

    def _answered(self, asked: _Asked, now: float) -> None:
        error = asked.answer.error
        if error is not None:
            self._unanswered(asked, error, now)
            return
        codes: dict[TopicPartition, int] = {}
        for tp, code in read_commit(asked.answer.value, asked.offsets):
            codes.setdefault(tp, code)
        again = self._about_membership(asked, set(codes.values()))
        # Others expired or were abandoned while the request was in flight, and are completed.
        is_open = [commit for commit in asked.commits if commit in self._queue]
        for commit in is_open:
            self._remove_finished(commit, codes, again)
        over = [commit for commit in is_open if not commit.offsets]
        passing = next((commit.last_error for commit in is_open if commit.offsets), None)
        if passing is not None:
            self._pause(passing, now)
        elif over:
            self._link.confirmed()
            self._backoff.reset()
        self._complete_all(*over)

    def _remove_finished(
        self, commit: _Commit, codes: Mapping[TopicPartition, int], again: Mapping[int | None, bool]
    ) -> None:
        """Removes the partitions that were committed, and those that cannot be, from what is sent again."""
        for tp in list(commit.offsets):
            code = codes.get(tp)
            if code != NONE:
                failure = _failure(tp, code, self.committer.group_id)
                verdict = classify_error(failure)
                gone = self._cluster.gone(tp.topic) if verdict.refresh == "metadata" else None
                if gone is None and again.get(code, verdict.retriable):
                    commit.last_error = failure
                    # The topic may be deleted, and created anew before the next attempt, which therefore needs
                    # metadata that is newer than this response.
                    if verdict.refresh == "metadata":
                        commit.suspects, commit.needs_view = True, self._cluster.view.version + 1
                    continue
                commit.errors[tp] = gone or failure
            del commit.offsets[tp]

    def _pause(self, error: KcliError, now: float) -> None:
        if not self._link.refuted(error, now) and classify_error(error).refresh == "metadata":
            self._cluster.request_refresh()
        self._not_before = now + self._backoff.next()

    def _about_membership(self, asked: _Asked, codes: set[int]) -> dict[int | None, bool]:
        """The codes that concern the membership, each reported once, and whether a retry may help."""
        again: dict[int | None, bool] = {}
        for code in codes & _ABOUT_MEMBERSHIP:
            error = BrokerError(code, f"commit of group {self.committer.group_id}")
            may_pass = self.committer.refused(error, asked.made_as)
            # Member epochs advance without the caller; generations only when it polls.
            again[code] = may_pass and (asked.through_rebalance or self.committer.by_epoch)
        return again

    def _unanswered(self, asked: _Asked, error: BaseException, now: float) -> None:
        failure = error if isinstance(error, KcliError) else _not_sent(error)
        if not is_coordinator_error(failure):
            self._fail_together(asked.commits, failure)
            return
        for commit in asked.commits:
            commit.last_error = failure
        self._pause(failure, now)

    def _expire(self, commit: _Commit, now: float) -> None:
        error = commit.last_error or self._link.error
        what = "committing offsets"
        if self._asked is not None and commit in self._asked.commits:
            # In flight: the coordinator may have stored it, and the response only come too late.
            failure: KcliError = OutcomeUnknownError(f"{what}: no response in {now - commit.started:.1f} s")
        elif error is None:
            failure = TimedOutError(f"{what}: no response in {now - commit.started:.1f} s")
        else:
            failure = given_up(what, error, now - commit.started)
        self._fail_all(commit, failure)

    def _fail_all(self, commit: _Commit, error: KcliError) -> None:
        self._fail_together([commit], error)

    def _fail_together(self, commits: Iterable[_Commit], error: KcliError) -> None:
        is_open = [commit for commit in commits if commit in self._queue]
        for commit in is_open:
            commit.errors.update(dict.fromkeys(commit.offsets, error))
            commit.offsets.clear()
        self._complete_all(*is_open)

    def _complete_all(self, *commits: _Commit) -> None:
        for commit in commits:
            del self._queue[commit]
            self._impatient.pop(commit, None)
        defect: Exception | None = None
        for commit in commits:
            try:
                self._complete(commit)
            except Exception as error:  # noqa: BLE001 - of a callback; the other commits must still complete
                defect = defect or error
        if defect is not None:
            raise defect

    def _complete(self, commit: _Commit) -> None:
        if commit.errors:
            self.failed += 1
            commit.future.set_error(self._failed(commit.errors))
        else:
            self.done += 1
            commit.future.set_result(None)

    def _failed(self, errors: Mapping[TopicPartition, KcliError]) -> CommitFailedError:
        partitions = ", ".join(sorted(map(str, errors))[:3]) + (", …" if len(errors) > 3 else "")
        return CommitFailedError(
            f"group {self.committer.group_id}: offsets of {partitions} were not committed",
            errors,
            do=self._advice(errors.values()),
        )

    def _advice(self, errors: Iterable[KcliError]) -> str:
        if any(map(_about_membership, errors)):
            return self.committer.advice
        return next((error.do for error in errors if error.do), "")


def _about_membership(error: KcliError) -> bool:
    """Whether a commit failed because of the committer's identity, not because of its content."""
    return isinstance(error, MembershipError) or (
        isinstance(error, BrokerError) and error.code in _ABOUT_MEMBERSHIP
    )


def _not_sent(error: BaseException) -> KcliError:
    return KcliError("the commit could not be sent", why=f"{type(error).__name__}: {error}")


def _failure(tp: TopicPartition, code: int | None, group_id: str) -> KcliError:
    if code is None:
        return OutcomeUnknownError(f"the response lacks {tp}")
    return BrokerError(
        code, f"commit of {tp}", needs=[on_topic("READ", tp.topic), on_group("READ", group_id)]
    )
