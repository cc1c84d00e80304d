"""Applies rebalances to the consumer: adds and removes partitions and calls the application's callbacks."""

from __future__ import annotations

from collections.abc import Callable

from kcli.core.consumer.subscription import Span, Subscription
from kcli.core.future import Future
from kcli.core.types import TopicPartition

RebalanceListener = Callable[[list[TopicPartition]], None]
TopicPartitions = frozenset[TopicPartition]


class Rebalancing:
    """See ``group.member.Listener``."""

    def __init__(
        self, subscription: Subscription, commit: Callable[[TopicPartitions], Future[None] | None]
    ) -> None:
        self._subscription = subscription
        self._commit = commit
        self._on_assigned: RebalanceListener | None = None
        self._on_revoked: RebalanceListener | None = None
        self._on_lost: RebalanceListener | None = None

    def set_listeners(
        self,
        on_assigned: RebalanceListener | None,
        on_revoked: RebalanceListener | None,
        on_lost: RebalanceListener | None,
    ) -> None:
        """Sets the application's callbacks."""
        self._on_assigned, self._on_revoked, self._on_lost = on_assigned, on_revoked, on_lost or on_revoked

    def assigned(self, partitions: TopicPartitions) -> None:
        """Reads them from their committed offsets, unless the callback seeks."""
        for tp in sorted(partitions):
            # Before the callback: it may seek, and nothing is fetched until it has returned.
            self._subscription.add_partition(tp, Span())
        if self._on_assigned is not None:
            self._on_assigned(sorted(partitions))

    def revoked(self, partitions: TopicPartitions) -> None:
        """Calls the callback, which may commit; then stops reading them."""
        try:
            if self._on_revoked is not None and partitions:
                self._on_revoked(sorted(partitions))
        finally:
            self._remove(partitions)

    def lost(self, partitions: TopicPartitions) -> None:
        """Other members may read them already: nothing can be committed."""
        # Before the callback, unlike in `revoked`: it must find no position that it could commit.
        self._remove(partitions)
        if self._on_lost is not None and partitions:
            self._on_lost(sorted(partitions))

    def committing(self, partitions: TopicPartitions) -> Future[None] | None:
        """The automatic commit of their positions."""
        return self._commit(partitions)

    def _remove(self, partitions: TopicPartitions) -> None:
        for tp in partitions:
            self._subscription.remove_partition(tp)
