"""Commits of a consumer, one after the other: none overtakes another, so a committed offset never goes back.

A commit belongs to the generation it was made in. When the member has joined again meanwhile, what it has owned all the
time is committed under the new one. The rest is refused, as the coordinator would: others may have read on from there
and committed, even if the partition has come back since. Runs in the caller's thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.retry import Backoff, given_up, judge
from kcli.core.error_codes import (
    FENCED_INSTANCE_ID,
    FENCED_MEMBER_EPOCH,
    ILLEGAL_GENERATION,
    MEMBER_ID_REQUIRED,
    NONE,
    REBALANCE_IN_PROGRESS,
    STALE_MEMBER_EPOCH,
    UNKNOWN_MEMBER_ID,
)
from kcli.core.errors import BrokerError, CommitFailedError, KcliError, OutcomeUnknownError, TimedOutError
from kcli.core.future import Future
from kcli.core.group.coordinator_link import CoordinatorLink, is_coordinator_error
from kcli.core.group.offset_requests import commit_request, read_commit
from kcli.core.types import GroupMetadata, OffsetAndMetadata, TopicPartition

Offsets = Mapping[TopicPartition, OffsetAndMetadata]

_ABOUT_MEMBERSHIP = frozenset(
    {
        REBALANCE_IN_PROGRESS,
        ILLEGAL_GENERATION,
        UNKNOWN_MEMBER_ID,
        MEMBER_ID_REQUIRED,
        FENCED_INSTANCE_ID,
        FENCED_MEMBER_EPOCH,
        STALE_MEMBER_EPOCH,
    }
)
_ASK_AGAIN = "poll to join the group again; the records will be read again by whoever owns their partitions"


class Committer:
    """As whom commits are made: nobody in particular, for partitions that were assigned by hand."""

    by_epoch = False

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self._nobody = GroupMetadata(group_id)

    def metadata(self) -> GroupMetadata | None:
        """What the coordinator checks; None while there is no membership. Then nothing may be said: a group without
        members takes a commit from anyone, and this one would undo what others did since.
        """
        return self._nobody

    @property
    def joining(self) -> bool:
        """Whether it is about to be told what it owns."""
        return False

    def tenure(self, where: TopicPartition) -> int | None:  # noqa: ARG002 - nobody shares them out
        """The same number for as long as nobody else can have owned the partition; None if it is not owned."""
        return 0

    def refused(self, error: BrokerError, made_as: GroupMetadata) -> bool:  # noqa: ARG002 - there is none
        """The coordinator does not take commits of ``made_as``; True if a rebalance may bring a generation that it
        takes them from.
        """
        return False


@dataclass(slots=True)
class _Commit:
    offsets: dict[TopicPartition, OffsetAndMetadata]
    tenures: dict[TopicPartition, int | None]
    made_as: GroupMetadata | None
    deadline: float
    through_rebalance: bool
    future: Future[None]
    backoff: Backoff
    started: float
    errors: dict[TopicPartition, KcliError] = field(default_factory=dict)
    last_error: KcliError | None = None


class Commits:
    """``submit`` queues, ``pump`` sends the first in the queue and settles it; ``wake_at`` is its next moment."""

    def __init__(
        self,
        cluster: Cluster,
        link: CoordinatorLink,
        committer: Committer,
        topic_ids: Callable[[], Mapping[str, bytes]],
    ) -> None:
        self._cluster = cluster
        self._link = link
        self.committer = committer
        self._topic_ids = topic_ids
        self._queue: deque[_Commit] = deque()
        self._asked: tuple[_Commit, Future[Any], Mapping[str, bytes]] | None = None
        self._not_before = 0.0
        self.wake_at = float("inf")
        self.done = 0
        self.failed = 0

    @property
    def idle(self) -> bool:
        """Whether nothing waits for the coordinator."""
        return not self._queue

    @property
    def possible(self) -> bool:
        """Whether there is anybody to commit as."""
        return self.committer.metadata() is not None

    def submit(self, offsets: Offsets, deadline: float, *, through_rebalance: bool) -> Future[None]:
        """A future that is done when all of ``offsets`` are committed, or failed with CommitFailedError; at the latest
        at ``deadline``.

        ``through_rebalance``: a rebalance that is under way is waited for; else it fails the commit, since whoever
        waits for it does not poll, and only polling ends a rebalance.
        """
        options, now = self._cluster.options, self._cluster.loop.now()
        commit = _Commit(
            dict(offsets),
            {where: self.committer.tenure(where) for where in offsets},
            self.committer.metadata(),
            deadline,
            through_rebalance,
            Future(self._wait),
            Backoff.of_requests(options),
            now,
        )
        self._queue.append(commit)
        self.pump(now)
        return commit.future

    def pump(self, now: float) -> None:
        """Settles what was answered and sends what comes next."""
        self.wake_at = float("inf")
        if self._asked is not None and self._asked[1].done:
            (commit, future, ids), self._asked = self._asked, None
            self._answered(commit, future, ids, now)
        for commit in [commit for commit in self._queue if now >= commit.deadline]:
            self._give_up(commit, now)
        while self._queue and self._asked is None:
            if now < self._not_before:
                self.wake_at = self._not_before
                break
            if not self._send(self._queue[0], now):
                break  # it cannot be sent now; another one would overtake it
        self.wake_at = min(self.wake_at, *(commit.deadline for commit in self._queue), float("inf"))

    def abandon(self, error: KcliError) -> None:
        """Fails all that is not answered yet: the membership in which it was made is at its end."""
        while self._queue:
            self._fail_all(self._queue[0], error)

    # --- inside ------------------------------------------------------------------------------------

    def _wait(self, future: Future[None], timeout: float | None) -> None:
        loop = self._cluster.loop
        end = None if timeout is None else loop.now() + timeout
        self.pump(loop.now())
        while not future.done and (end is None or loop.now() < end):
            until = self.wake_at if end is None else min(self.wake_at, end)
            self._cluster.poll(None if until == float("inf") else max(0.0, until - loop.now()))
            self.pump(loop.now())

    def _send(self, commit: _Commit, now: float) -> bool:
        """False when it cannot be sent at the moment."""
        present = self.committer.metadata()
        if present is None:
            self._fail_all(commit, KcliError("this consumer is not a member of the group at the moment"))
            return True
        if commit.made_as != present:
            if self.committer.joining:
                self._fail_waiting()
                self.wake_at = now + self._cluster.options.retry_backoff_ms / 1000
                return False
            self._carry_over(commit, present)
            if not commit.offsets:
                self._settle(commit)
                return True
        try:
            node = self._link.node(now)
        except KcliError as error:
            self._fail_all(commit, error)
            return True
        if node is None:
            self.wake_at = self._link.wake_at
            return False
        ids = {topic: found for topic, found in self._topic_ids().items() if found}
        request = commit_request(present, commit.offsets, ids, by_epoch=self.committer.by_epoch)
        self._asked = (commit, self._cluster.send(request, node.id), ids)
        return True

    def _fail_waiting(self) -> None:
        """Whoever waits for his commit does not poll, and so the join that everything here waits for has no end."""
        error = BrokerError(REBALANCE_IN_PROGRESS, f"commit of group {self.committer.group_id}")
        for commit in [commit for commit in self._queue if not commit.through_rebalance]:
            self._fail_all(commit, error)

    def _carry_over(self, commit: _Commit, present: GroupMetadata) -> None:
        """What is owned in the new generation too is committed there; the rest belongs to others now, or did."""
        for where in list(commit.offsets):
            tenure = self.committer.tenure(where)
            if tenure is None or tenure != commit.tenures[where]:
                commit.errors[where] = KcliError(f"{where} was taken away before it was committed")
                del commit.offsets[where]
        commit.made_as = present

    def _answered(self, commit: _Commit, future: Future[Any], ids: Mapping[str, bytes], now: float) -> None:
        error = future.error
        if error is not None:
            self._unanswered(commit, error, now)
            return
        codes: dict[TopicPartition, int] = {}
        for where, told in read_commit(future.value, ids):
            codes.setdefault(where, told)
        again = self._about_membership(commit, set(codes.values()))
        if commit.future.done:  # its deadline came before its answer
            return
        for where in list(commit.offsets):
            code = codes.get(where)
            if code == NONE:
                del commit.offsets[where]
                continue
            failure = _failure(where, code)
            if again.get(code, judge(failure).retriable):
                commit.last_error = failure
                continue
            commit.errors[where] = failure
            del commit.offsets[where]
        if not commit.offsets:
            self._link.confirmed()
            self._settle(commit)
            return
        assert commit.last_error is not None
        self._link.refuted(commit.last_error, now)
        self._not_before = now + commit.backoff.next()

    def _about_membership(self, commit: _Commit, codes: set[int]) -> dict[int | None, bool]:
        """Those codes that say something of the membership, each told once; and whether it is worth another try."""
        again: dict[int | None, bool] = {}
        for code in codes & _ABOUT_MEMBERSHIP:
            assert commit.made_as is not None
            error = BrokerError(code, f"commit of group {self.committer.group_id}")
            may_pass = self.committer.refused(error, commit.made_as)
            # Member epochs go on without the caller; generations only by his polls.
            again[code] = may_pass and (commit.through_rebalance or self.committer.by_epoch)
        return again

    def _unanswered(self, commit: _Commit, error: BaseException, now: float) -> None:
        if not isinstance(error, KcliError):
            raise error
        if not is_coordinator_error(error):
            if not commit.future.done:
                self._fail_all(commit, error)
            return
        commit.last_error = error
        self._link.refuted(error, now)
        self._not_before = now + commit.backoff.next()

    def _give_up(self, commit: _Commit, now: float) -> None:
        error = commit.last_error or self._link.error
        what = "committing offsets"
        if self._asked is not None and self._asked[0] is commit:
            failure: KcliError = OutcomeUnknownError(f"{what}: no answer in {now - commit.started:.1f} s")
        elif error is None:
            failure = TimedOutError(f"{what}: no answer in {now - commit.started:.1f} s")
        else:
            failure = given_up(what, error, now - commit.started)
        self._fail_all(commit, failure)

    def _fail_all(self, commit: _Commit, error: KcliError) -> None:
        commit.errors.update(dict.fromkeys(commit.offsets, error))
        commit.offsets.clear()
        self._settle(commit)

    def _settle(self, commit: _Commit) -> None:
        self._queue.remove(commit)
        if not commit.errors:
            self.done += 1
            commit.future.set_result(None)
            return
        self.failed += 1
        group = self.committer.group_id
        places = ", ".join(map(str, sorted(commit.errors)[:3])) + (", …" if len(commit.errors) > 3 else "")
        commit.future.set_error(
            CommitFailedError(
                f"group {group}: offsets of {places} were not committed", commit.errors, do=_ASK_AGAIN
            )
        )


def _failure(where: TopicPartition, code: int | None) -> KcliError:
    if code is None:
        return OutcomeUnknownError(f"the answer left {where} out")
    return BrokerError(code, f"commit of {where}")
