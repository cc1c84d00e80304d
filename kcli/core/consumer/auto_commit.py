"""Automatic commits (``enable.auto.commit``) of what earlier polls returned: by polling again, the application shows
that it has processed it. Commits once more before partitions are revoked, and on close.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from kcli.core.cluster.cluster import Cluster
from kcli.core.consumer.subscription import UNKNOWN, Subscription
from kcli.core.errors import CommitFailedError, KcliError
from kcli.core.future import Future
from kcli.core.options import ConsumerOptions
from kcli.core.types import OffsetAndMetadata, TopicPartition

if TYPE_CHECKING:
    from kcli.core.group.group import Group

_REVOCATION_PATIENCE = 5.0  # seconds a rebalance waits for the commit


class AutoCommit:
    """``polled`` at the start of every poll; the other methods when they apply. Commits only positions that changed."""

    def __init__(
        self, cluster: Cluster, options: ConsumerOptions, subscription: Subscription, group: Group | None
    ) -> None:
        self._cluster = cluster
        self._group = group if options.enable_auto_commit else None
        self._interval = options.auto_commit_interval_ms / 1000
        self._subscription = subscription
        self._pending: Future[None] | None = None
        self._next = 0.0

    def polled(self, now: float) -> None:
        """Everything returned so far has been processed; commits it when the interval has elapsed."""
        if self._group is None or not self._group.commits.possible:
            return
        # One at a time: a second commit could only repeat the first, or wait behind it.
        if now < self._next or (self._pending is not None and not self._pending.done):
            return
        self._next = now + self._interval
        if offsets := self._moved(None):
            self._pending = self._submit(offsets, self._cluster.deadline(), through_rebalance=True)

    def before_revocation(self, partitions: frozenset[TopicPartition]) -> Future[None] | None:
        """Commits what earlier polls returned of these partitions; None when there is nothing to commit.

        Runs inside a poll, so everything returned has been processed.
        """
        offsets = self._moved(partitions)
        if self._group is None or not offsets:
            return None
        # Not the commit's usual patience: the whole group may be waiting for this member.
        deadline = self._cluster.loop.now() + _REVOCATION_PATIENCE
        return self._submit(offsets, deadline, through_rebalance=False, last=True)

    def before_close(self, deadline: float) -> None:
        """Commits everything returned and waits; a failure is logged, not raised."""
        offsets = self._moved(None)
        if self._group is None or not offsets:
            return
        future = self._submit(offsets, deadline, through_rebalance=False, last=True)
        with suppress(TimeoutError, KcliError):
            future.result(max(0.0, deadline - self._cluster.loop.now()))

    def committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Records offsets that were committed, unless they are of a topic that has been replaced since."""
        for tp, committed in offsets.items():
            state = self._subscription.get(tp)
            if state is not None and state.reads(committed.topic_id):
                state.committed = committed.offset

    def _moved(self, partitions: frozenset[TopicPartition] | None) -> dict[TopicPartition, OffsetAndMetadata]:
        return {
            tp: state.to_commit
            for tp, state in self._subscription.items()
            if (partitions is None or tp in partitions) and state.position not in (UNKNOWN, state.committed)
        }

    def _submit(
        self,
        offsets: dict[TopicPartition, OffsetAndMetadata],
        deadline: float,
        *,
        through_rebalance: bool,
        last: bool = False,
    ) -> Future[None]:
        assert self._group is not None
        future = self._group.commits.submit(offsets, deadline, through_rebalance=through_rebalance, last=last)
        future.on_done(lambda done: self._committed(offsets, done))
        return future

    def _committed(self, offsets: dict[TopicPartition, OffsetAndMetadata], done: Future[None]) -> None:
        failed: Mapping[TopicPartition, KcliError] = {}
        if isinstance(done.error, CommitFailedError):
            failed = done.error.errors
            self._cluster.hooks.log("warning", "group", f"automatic commit: {done.error}")
        self.committed({tp: committed for tp, committed in offsets.items() if tp not in failed})
