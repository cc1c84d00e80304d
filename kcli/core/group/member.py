"""A member of a group, in the caller's thread: what both protocols have in common.

A rebalance is one procedure from the first callback to the last, written as a generator: it yields what it waits for,
and ``advance`` resumes it when that has happened. So no poll takes longer than its timeout, and other work can be done
in between. The heartbeat thread signals through the membership that something is due.

A callback that raises ends the procedure, and the poll raises its error; ``_due`` finds what is left to be done.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from typing import Any, Protocol

from kcli.core.cluster.cluster import Cluster
from kcli.core.errors import KcliError
from kcli.core.future import Future
from kcli.core.group.barrier.barrier import Barrier
from kcli.core.group.coordinator_link import CoordinatorLink
from kcli.core.group.membership import MemberEvent, Membership, MemberState
from kcli.core.types import TopicPartition

TopicPartitions = frozenset[TopicPartition]

Procedure = Generator["Future[Any] | float", None, None]
"""Yields the future, or the time, that it waits for."""

_NOTHING: TopicPartitions = frozenset()
_NEVER = float("inf")


class Listener(Protocol):
    """The consumer, which is notified about its partitions. May run the user's callbacks, and raise their errors."""

    def assigned(self, partitions: TopicPartitions) -> None:
        """These are owned from now on."""

    def revoked(self, partitions: TopicPartitions) -> None:
        """These are being revoked: still owned during the call, so that they may be committed."""

    def lost(self, partitions: TopicPartitions) -> None:
        """These were lost: other members may own them already."""

    def committing(self, partitions: TopicPartitions) -> Future[None] | None:
        """Begins the automatic commit of what was consumed of these; None if there is none. Completes soon."""


class Member(ABC):
    """Call ``advance`` in every turn; ``wake_at`` is when the next call is due. ``topics``: the subscription.

    ``owned``: what was assigned and not revoked since; records in ``revoking`` must not be returned any more.
    """

    def __init__(
        self,
        cluster: Cluster,
        membership: Membership,
        link: CoordinatorLink,
        listener: Listener,
        wake_heartbeat: Callable[[], None],
    ) -> None:
        self.topics: frozenset[str] = frozenset()
        self.owned = self.revoking = _NOTHING
        self.wake_at = _NEVER
        self.rebalances = 0
        self._tenures: dict[TopicPartition, int] = {}
        self._next_tenure = itertools.count()
        self._cluster = cluster
        self._membership = membership
        self._link = link
        self._listener = listener
        self._wake_heartbeat = wake_heartbeat
        self._procedure: Procedure | None = None
        self._running = False
        self._waits_for: Future[Any] | float = 0.0

    @property
    def changing(self) -> bool:
        """Whether a rebalance is under way."""
        return self._procedure is not None

    def tenure(self, tp: TopicPartition) -> int | None:
        """A number that stays the same for as long as no other member can have owned the partition; None: not owned.

        What was read in one tenure may not be committed in another: others may have read on from there.
        """
        return self._tenures.get(tp) if tp in self.owned else None

    def advance(self, now: float) -> None:
        """Continues as far as possible without waiting. Raises why it cannot be a member, and errors of callbacks."""
        if self._running:
            raise KcliError(
                "a callback of a rebalance must not poll",
                why="the rebalance waits for it",
                do="return, then poll",
            )
        self.wake_at = _NEVER
        while True:
            if self._procedure is None:
                self._check_fenced()
                self._procedure = self._due(now)
                if self._procedure is None:
                    return
                self._waits_for = 0.0
            if isinstance(self._waits_for, float):
                if now < self._waits_for:
                    self.wake_at = self._waits_for
                    return
            elif not self._waits_for.done:
                return
            self._running = True
            try:
                self._waits_for = next(self._procedure)
            except StopIteration:
                self._procedure = None
            except BaseException:
                self.stop()
                raise
            finally:
                self._running = False
            now = self._cluster.loop.now()

    @abstractmethod
    def barrier(self) -> Barrier:
        """Makes this member the barrier of its group, for a rewind."""

    def revoke_all(self) -> None:
        """Revokes all that it owns without committing: the offsets are about to be set."""
        self.stop()
        partitions, self.owned = self.owned, _NOTHING
        if partitions:
            self._listener.revoked(partitions)

    def stop(self) -> None:
        """Drops a rebalance that is under way: the member starts over, or is closed."""
        # JOINING must end with its procedure: in that state answers about the generation are ignored, and
        # nothing else would lead out of it.
        self._procedure, self.revoking = None, _NOTHING
        with self._membership.lock:
            if self._membership.state is MemberState.JOINING:
                self._membership.happened(MemberEvent.LOST, "the join was abandoned")

    @abstractmethod
    def _due(self, now: float) -> Procedure | None:
        """The procedure that is due now; may set ``wake_at`` if there is none yet."""

    def _check_fenced(self) -> None:
        if self._membership.state is MemberState.FENCED:
            self._lose()
            raise self._membership.error or KcliError(f"group {self._membership.group_id}: fenced")
        with self._membership.lock:
            complaint, self._membership.complaint = self._membership.complaint, None
        if complaint is not None:
            raise complaint

    def _revoke(self, partitions: TopicPartitions) -> Procedure:
        """Commits, calls the listener and revokes; partitions that others own by then are lost instead."""
        if not partitions:
            return
        self.revoking = partitions
        commit = self._listener.committing(partitions)
        if commit is not None:
            yield commit
        # While the commit was under way the heartbeat thread may have found that the member was removed. Then
        # others may own the partitions, and `revoked` would promise that nobody has read on from here.
        if not self._is_member():
            self._lose()
            return
        try:
            self._listener.revoked(partitions)
        finally:
            # Also if the callback raised: it has been called for these partitions, and is not called again.
            self.owned -= partitions
            self.revoking = _NOTHING

    def _assign(self, partitions: TopicPartitions, kept: TopicPartitions = _NOTHING) -> None:
        """``kept``: what was revoked but not assigned to another member in between."""
        # A partition that stayed here keeps its number: a commit that was made before the rebalance may still
        # be sent after it (Commits._carry_over).
        added, same = partitions - self.owned, (self.owned | kept) & self._tenures.keys()
        self.owned = partitions
        self._tenures = {
            tp: self._tenures[tp] if tp in same else next(self._next_tenure) for tp in partitions
        }
        self.rebalances += 1
        self._listener.assigned(added)

    def _lose(self) -> None:
        partitions, self.owned, self.revoking = self.owned, _NOTHING, _NOTHING
        self._tenures.clear()
        if partitions:
            self._listener.lost(partitions)

    def _is_member(self) -> bool:
        return self._membership.is_member
