"""Finds a group's coordinator: looked up, kept until refuted, looked up again with growing pauses.

Each thread that sends to the coordinator has its own link, over its own cluster. Only ``wait`` blocks.

A coordinator may die while no request is in flight to it: then only metadata, which no longer lists it, shows
this. A link that waited for its node to be listed again would wait for its restart
(``tests/unit/core/group/test_coordinator_link.py``).
"""

from __future__ import annotations

from typing import Any

from kcli.core.classes import dataclass
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.coordinators import Coordinators, KeyType
from kcli.core.cluster.metadata import ClusterView
from kcli.core.cluster.retry import Backoff, classify_error
from kcli.core.error_codes import REQUEST_TIMED_OUT
from kcli.core.errors import BrokerError, ConnectError, KcliError
from kcli.core.future import Future
from kcli.core.types import Node


@dataclass(frozen=True, slots=True)
class Seen:
    """What another thread knows: the brokers, and which of them is the coordinator."""

    view: ClusterView
    coordinator: Node | None = None


class CoordinatorLink:
    """``node`` returns the coordinator or begins to look it up; ``error`` is why it has not been found so far."""

    def __init__(self, cluster: Cluster, group_id: str) -> None:
        self._cluster = cluster
        self._group_id = group_id
        self._coordinators = Coordinators(cluster)
        self._backoff = Backoff.of_requests(cluster.options)
        self._lookup: Future[int] | None = None
        self._not_before = 0.0
        self._learned: Seen | None = None
        self.error: KcliError | None = None

    @property
    def wake_at(self) -> float:
        """When to call ``node`` again, unless the loop reports something earlier."""
        return self._not_before if self._lookup is None else float("inf")

    def node(self, now: float) -> Node | None:
        """The coordinator if it is known; otherwise a lookup is under way, or will be at ``wake_at``.

        Raises errors that are not retriable: no permission for the group, an invalid group id.
        """
        if self._lookup is not None and self._lookup.done:
            lookup, self._lookup = self._lookup, None
            self._looked_up(lookup, now)
        known = self._coordinators.known(KeyType.GROUP, self._group_id)
        if known is not None:
            node = self._cluster.view.nodes.get(known)
            if node is None:  # it died while idle, or metadata does not list it yet
                self._cluster.request_refresh()
                self._coordinators.forget(KeyType.GROUP, self._group_id)
                self._not_before = now + self._backoff.next()
                self.error = ConnectError(f"the coordinator, node {known}, is not among the brokers")
            return node
        if self._lookup is None and now >= self._not_before:
            self._lookup = self._coordinators.find(KeyType.GROUP, self._group_id)
        return None

    def wait(self, deadline: float) -> Node | None:
        """Runs the loop until the coordinator is known; None at the deadline. Raises the errors of ``node``."""
        loop = self._cluster.loop
        while (node := self.node(loop.now())) is None and loop.now() < deadline:
            self._cluster.poll(max(0.0, min(self.wake_at, deadline) - loop.now()))
        return node

    def looked_up(self) -> Future[int] | None:
        """The lookup that is under way, for callers that wait for it."""
        return self._lookup

    def learn(self, seen: Seen) -> None:
        """Adopts what another thread has found out since the last call."""
        if seen is self._learned:
            return
        self._learned = seen
        self._cluster.view = seen.view
        if seen.coordinator is not None:
            self._coordinators.learn(KeyType.GROUP, {self._group_id: seen.coordinator.id})

    def refuted(self, error: BaseException, now: float) -> bool:
        """Handles an error of a request to the coordinator; True if the coordinator has moved or is unavailable."""
        if not is_coordinator_error(error):
            return False
        if isinstance(error, KcliError):
            self.error = error
        known = self._coordinators.known(KeyType.GROUP, self._group_id)
        if known is None and self._lookup is None and now < self._not_before:
            return True  # several requests were in flight to it: that counts as one failure
        # The pause grows with each failure: while no broker is the coordinator (an election of its partition of
        # __consumer_offsets), FindCoordinator may name the same broker again and again.
        self._coordinators.forget(KeyType.GROUP, self._group_id)
        self._not_before = now + self._backoff.next()
        return True

    def confirmed(self) -> None:
        """The broker has responded as the coordinator."""
        self._backoff.reset()
        self.error = None

    def _looked_up(self, lookup: Future[Any], now: float) -> None:
        error = lookup.error
        if error is None:
            self._not_before = 0.0
        elif not isinstance(error, KcliError) or not classify_error(error).retriable:
            raise error
        else:
            self.error = error
            self._not_before = now + self._backoff.next()


def is_coordinator_error(error: BaseException) -> bool:
    """Whether the broker is not the coordinator, or cannot be reached to say so."""
    if isinstance(error, BrokerError):
        # REQUEST_TIMED_OUT: it cannot write to its log, like a coordinator that was replaced.
        return classify_error(error).refresh == "coordinator" or error.code == REQUEST_TIMED_OUT
    return isinstance(error, ConnectError)
