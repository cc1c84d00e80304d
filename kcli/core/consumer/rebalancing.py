"""What a rebalance does to the consumer: partitions come and go, the application's callbacks are called."""

from __future__ import annotations

from collections.abc import Callable

from kcli.core.consumer.subscription import Span, Subscription
from kcli.core.future import Future
from kcli.core.types import TopicPartition

RebalanceListener = Callable[[list[TopicPartition]], None]
Places = frozenset[TopicPartition]


class Rebalancing:
    """See ``group.member.Listener``."""

    def __init__(self, subscription: Subscription, commit: Callable[[Places], Future[None] | None]) -> None:
        self._subscription = subscription
        self._commit = commit
        self._on_assigned: RebalanceListener | None = None
        self._on_revoked: RebalanceListener | None = None
        self._on_lost: RebalanceListener | None = None

    def listen(
        self,
        on_assigned: RebalanceListener | None,
        on_revoked: RebalanceListener | None,
        on_lost: RebalanceListener | None,
    ) -> None:
        """The application's callbacks from now on."""
        self._on_assigned, self._on_revoked, self._on_lost = on_assigned, on_revoked, on_lost or on_revoked

    def assigned(self, places: Places) -> None:
        """They are read from their committed offsets on, unless the callback seeks."""
        for where in sorted(places):
            self._subscription.add(where, Span())
        if self._on_assigned is not None:
            self._on_assigned(sorted(places))

    def revoked(self, places: Places) -> None:
        """The callback may commit; then they are read no more."""
        try:
            if self._on_revoked is not None and places:
                self._on_revoked(sorted(places))
        finally:
            self._forget(places)

    def lost(self, places: Places) -> None:
        """Others may read them already: nothing can be committed."""
        self._forget(places)
        if self._on_lost is not None and places:
            self._on_lost(sorted(places))

    def committing(self, places: Places) -> Future[None] | None:
        """The automatic commit of what was consumed of them."""
        return self._commit(places)

    def _forget(self, places: Places) -> None:
        for where in places:
            self._subscription.remove(where)
