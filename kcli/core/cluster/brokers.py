"""Connections to brokers, keyed by (node id, purpose), made on demand and made again after a failure.

Different purposes have different connections, so that a long poll never delays anything else. Runs in the
loop's thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kcli.core.cluster.retry import Backoff
from kcli.core.connection.connection import Connection
from kcli.core.connection.state import State
from kcli.core.errors import AuthError, ConnectError, KcliError, NotKafkaError, OutcomeUnknownError
from kcli.core.future import Future
from kcli.core.hooks import Hooks
from kcli.core.net.channel import Channel
from kcli.core.net.loop import Loop
from kcli.core.net.resolve import Address, is_literal, lookup
from kcli.core.options import ClientOptions
from kcli.core.protocol.api import Request
from kcli.core.types import Node

if TYPE_CHECKING:
    import ssl

CONTROL, FETCH, PRODUCE, TRANSACTION = "control", "fetch", "produce", "transaction"

Key = tuple[int, str]


@dataclass(slots=True)
class _Route:
    """What is known about reaching one node for one purpose."""

    backoff: Backoff
    channel: Channel | None = None
    retry_at: float = 0.0
    failure: KcliError | None = None
    was_ready: bool = field(default=False)


class Brokers:
    """``send`` queues a request for a node; ``available`` says whether that may be done now."""

    def __init__(
        self,
        loop: Loop,
        options: ClientOptions,
        hooks: Hooks,
        *,
        resolve: Callable[[str, int], list[Address]] = lookup,
    ) -> None:
        self._loop = loop
        self._options = options
        self._hooks = hooks
        self._resolve = resolve
        self._routes: dict[Key, _Route] = {}
        self._tls: ssl.SSLContext | None = None
        if options.security_protocol != "PLAINTEXT":
            from kcli.core.net.tls import tls_context

            self._tls = tls_context(options)

    def send(self, node: Node, purpose: str, request: Request, future: Future[Any], deadline: float) -> None:
        """Queues ``request``; errors come back through ``future`` like everything else."""
        now = self._loop.now()
        route = self._route(node.id, purpose)
        channel = self._usable(route)
        if channel is None:
            if now < route.retry_at:
                self._loop.complete((future, None, _not_now(node, route.failure)))
                return
            channel = self._connect(node, route, now)
        channel.connection.request(request, future, now, deadline)

    def rename(self, bootstrap: Node, node: Node) -> None:
        """The bootstrap address turned out to be ``node``: its connection serves for it from now on."""
        old, new = (bootstrap.id, CONTROL), (node.id, CONTROL)
        route = self._routes.get(old)
        if route is not None and new not in self._routes and self._usable(route) is not None:
            self._routes[new] = self._routes.pop(old)
            assert route.channel is not None
            route.channel.node = route.channel.connection.node = node

    def available(self, node: Node, purpose: str, now: float) -> bool:
        """False while the node is in backoff after a failure."""
        route = self._routes.get((node.id, purpose))
        return route is None or self._usable(route) is not None or now >= route.retry_at

    def retry_at(self, node: Node, purpose: str) -> float:
        """When the node's backoff is over."""
        route = self._routes.get((node.id, purpose))
        return route.retry_at if route is not None else 0.0

    def failure(self, node: Node, purpose: str) -> KcliError | None:
        """Why the last connection to the node ended, None when it did not."""
        route = self._routes.get((node.id, purpose))
        return route.failure if route is not None and self._usable(route) is None else None

    def offer(self, node: Node, purpose: str) -> Any:
        """What the broker offers, once its connection is ready."""
        route = self._routes.get((node.id, purpose))
        channel = self._usable(route) if route else None
        return channel.connection.offer if channel else None

    def pending(self, node: Node, purpose: str) -> int:
        """Requests that wait or are in flight to the node."""
        route = self._routes.get((node.id, purpose))
        channel = self._usable(route) if route else None
        return channel.connection.pending if channel else 0

    def close_idle(self, now: float) -> None:
        """Closes the connections on which nothing has moved for ``connections.max.idle.ms``."""
        limit = self._options.connections_max_idle_ms / 1000
        for route in self._routes.values():
            channel = route.channel
            idle = channel is not None and channel.connection.pending == 0
            if limit and idle and channel is not None and now - channel.last_used > limit:
                channel.close()

    # --- inside ------------------------------------------------------------------------------------

    def _route(self, node_id: int, purpose: str) -> _Route:
        key = (node_id, purpose)
        if key not in self._routes:
            options = self._options
            backoff = Backoff(options.reconnect_backoff_ms / 1000, options.reconnect_backoff_max_ms / 1000)
            self._routes[key] = _Route(backoff)
        return self._routes[key]

    def _usable(self, route: _Route) -> Channel | None:
        """The route's open channel. Notes the failure of one that has closed since the last look."""
        channel = route.channel
        if channel is None:
            return None
        if channel.is_open:
            if channel.connection.state is State.READY and not route.was_ready:
                route.was_ready = True
                route.backoff.reset()
            return channel
        route.channel = None
        if channel.closed_idle:  # a broker may close what nobody uses; that is no failure
            route.failure, route.retry_at = None, 0.0
        else:
            if route.was_ready:
                self._hooks.log("info", "proto", f"{channel.failure}; trying again")
            route.failure = channel.failure
            route.retry_at = channel.closed_at + route.backoff.next()
        return None

    def _connect(self, node: Node, route: _Route, now: float) -> Channel:
        options = self._options
        connection = Connection(
            node,
            client_id=options.client_id,
            max_frame_bytes=options.receive_message_max_bytes,
            complete=self._loop.complete,
            hooks=self._hooks,
        )
        channel = Channel(
            connection,
            setup_timeout=options.socket_connection_setup_timeout_ms / 1000,
            tls=self._tls,
            send_buffer=options.send_buffer_bytes,
            receive_buffer=options.receive_buffer_bytes,
        )
        route.channel, route.was_ready = channel, False
        channel.start_setup(now)
        channel.clock = self._loop.now
        self._loop.add(channel)
        if is_literal(node.host):
            channel.open(self._resolve(node.host, node.port))
        else:
            self._lookup_and_open(node, channel)
        return channel

    def _lookup_and_open(self, node: Node, channel: Channel) -> None:
        def found(addresses: list[Address] | None, error: KcliError | None) -> None:
            if not channel.is_open:
                return
            if error is not None or addresses is None:
                channel.close(error)
            else:
                channel.open(addresses)

        self._loop.run_in_thread(lambda: self._resolve(node.host, node.port), found)


def _not_now(node: Node, failure: KcliError | None) -> KcliError:
    """The error of a request that was not sent because the node is in backoff."""
    if failure is None:
        return ConnectError(f"{node} is not reachable at the moment")
    if isinstance(failure, OutcomeUnknownError):
        return ConnectError(failure.what, why=failure.why, do=failure.do)
    return failure


def is_final(error: KcliError | None) -> bool:
    """Whether connecting again cannot help: a certificate, or a peer that is not Kafka."""
    return isinstance(error, AuthError | NotKafkaError)
