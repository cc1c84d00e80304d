"""Sends the requests of a transaction, one at a time, each to its coordinator, with growing pauses after failures.

Runs in the sender's thread. When a request times out, its connection is closed: an InitProducerId queued after a stuck
EndTxn would arrive during the next transaction and abort it. Tested in ``tests/fault/test_transactions.py`` (P14).
"""

from collections.abc import Callable
from typing import Any

from kcli.core.cluster.brokers import TRANSACTION
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.coordinators import Coordinators, KeyType
from kcli.core.cluster.retry import Backoff
from kcli.core.errors import KcliError
from kcli.core.future import Future
from kcli.core.options import ProducerOptions
from kcli.core.protocol.api import Request

_FIRST_WAIT = 0.02  # seconds; a coordinator still completing the last transaction needs a few ms

Key = tuple[KeyType, str]


class CoordinatorRequests:
    """``not_before`` is when the next request may be sent."""

    def __init__(self, cluster: Cluster, options: ProducerOptions) -> None:
        self.not_before = 0.0
        self._cluster = cluster
        self._coordinators = Coordinators(cluster)
        self._backoff = Backoff(_FIRST_WAIT, options.retry_backoff_max_ms / 1000)
        self._awaited: object | None = None
        self._asked = -1

    @property
    def pending(self) -> bool:
        """Whether a response, or a lookup, is awaited."""
        return self._awaited is not None

    def find_node(self, key: Key, now: float, failed: Callable[[KcliError], None]) -> int | None:
        """The coordinator's node id if a request can be sent to it now; otherwise looks it up, or sets ``not_before``."""
        node_id = self._coordinators.known(*key)
        if node_id is None:
            lookup = self._awaited = self._coordinators.find(*key)
            lookup.on_done(lambda future: self._found(future, failed))
            return None
        node = self._cluster.view.nodes.get(node_id)
        if node is not None and not self._cluster.brokers.available(node, TRANSACTION, now):
            self.not_before = self._cluster.brokers.retry_at(node, TRANSACTION)
            return None
        return node_id

    def send(self, request: Request, node_id: int, respond: Callable[[Future[Any]], None]) -> None:
        """Sends ``request``; calls ``respond`` unless the response comes after ``abandon``."""
        answer = self._awaited = self._cluster.send(request, node_id, purpose=TRANSACTION)
        self._asked = node_id
        answer.on_done(lambda future: respond(future) if self._is_awaited(future) else None)

    def abandon(self, *, disconnect: bool) -> None:
        """Ignores the response that is awaited. ``disconnect``: nothing may be queued behind an unresponsive broker."""
        if self._awaited is not None and disconnect:
            self._cluster.brokers.disconnect(self._asked, TRANSACTION)
        self._awaited = None

    def forget_coordinator(self, key: Key) -> None:
        """Another broker may be the coordinator now."""
        self._coordinators.forget(*key)

    def pause(self) -> None:
        """The next request waits, longer after each failure."""
        self.not_before = self._cluster.loop.now() + self._backoff.next()

    def reset_pause(self) -> None:
        """A request succeeded, or a call begins."""
        self._backoff.reset()
        self.not_before = 0.0

    def _found(self, future: Future[int], failed: Callable[[KcliError], None]) -> None:
        if self._is_awaited(future) and isinstance(future.error, KcliError):
            failed(future.error)

    def _is_awaited(self, future: Future[Any]) -> bool:
        # The call that waited for it was given up: its state has moved on, and the next request may be under
        # way.
        if self._awaited is not future:
            return False
        self._awaited = None
        return True
