"""Connections to brokers, keyed by (node id, purpose), made on demand and made again after a failure.

Each purpose has its own connection, so that a long poll never delays anything else. Runs in the loop's thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kcli.core import cluster as parts
from kcli.core.classes import dataclass, field, fields
from kcli.core.cluster.hosts import HostCheck, host_check
from kcli.core.cluster.retry import Backoff
from kcli.core.connection.ahead import OLDEST, Expected
from kcli.core.connection.connection import Connection
from kcli.core.connection.framing import BufferPool
from kcli.core.connection.plan import Plan
from kcli.core.connection.state import NEVER
from kcli.core.errors import (
    AuthError,
    ConfigError,
    ConnectError,
    KcliError,
    NotKafkaError,
    OutcomeUnknownError,
    TooManyFilesError,
    UnsupportedError,
)
from kcli.core.future import Future
from kcli.core.hooks import Hooks
from kcli.core.net.channel import Channel
from kcli.core.net.loop import Loop
from kcli.core.net.resolve import Address, is_literal, lookup
from kcli.core.options import ClientOptions, key_of
from kcli.core.protocol.api import Request
from kcli.core.types import Node

if TYPE_CHECKING:
    import socket
    import ssl

    from kcli.core.cluster import authentication  # noqa: F401 - imported on use
    from kcli.core.connection.sasl.login import Login
    from kcli.core.net.detours import Detour, Detours

CONTROL, FETCH, PRODUCE, TRANSACTION, GROUP = "control", "fetch", "produce", "transaction", "group"
FORWARDED = "forwarded"
"""Of reads that a broker passes on to the active controller. It answers the requests of a connection in turn: while a
controller that has stopped keeps it waiting, the broker's own figures come through another one.
"""

_BEGINNINGS = (0, 1)
"""Produce and Fetch: what may go through the connection for everything else, if it is the first of its purpose."""

Key = tuple[int, str]
Connected = tuple["socket.socket", Callable[[], KcliError | None]]
"""A connection to a node that is in this process, and what says why it was ended."""
_LEGAL = host_check("", ())


@dataclass(slots=True, eq=False, repr=False)
class _Route:
    """The connection to one node for one purpose, and why the last one failed. ``has_begun``: there was a request."""

    address: _Address
    place: tuple[str, int]
    """Host and port of the address."""
    channel: Channel | None = None
    failure: KcliError | None = None
    was_ready: bool = False
    has_begun: bool = False


@dataclass(slots=True, eq=False, repr=False)
class _Address:
    """The state of a host and port: all purposes share one backoff, so that together they try a dead broker no more
    often than one would, and the buffers of large responses. ``failure``: why the last attempt to connect failed.
    ``refusal``: why it is never tried. ``expected``: what the broker is expected to offer. ``careful``: something that
    went ahead of that was never answered.
    """

    backoff: Backoff
    refusal: KcliError | None = None
    retry_at: float = 0.0
    failure: KcliError | None = None
    has_answered: bool = False
    expected: Expected | None = None
    careful: bool = False
    buffers: BufferPool = field(default_factory=BufferPool)
    routes: list[_Route] = field(default_factory=list)


class Brokers:
    """``send`` queues a request for a node; ``available`` returns whether that may be done now."""

    def __init__(
        self,
        loop: Loop,
        options: ClientOptions,
        hooks: Hooks,
        *,
        resolve: Callable[[str, int], list[Address]] = lookup,
        check_host: HostCheck = _LEGAL,
        connect: Callable[[int], Connected] | None = None,
    ) -> None:
        self._loop = loop
        self._options = options
        self._hooks = hooks
        self._resolve = resolve
        self._check_host = check_host
        self._connected = connect
        self.asks_first = False  # before anything else is sent: each step of a connection is seen for itself
        self.on_channel: Callable[[Channel], None] | None = (
            None  # an observer of connections that are being made
        )
        self._routes: dict[Key, _Route] = {}
        self._addresses: dict[tuple[str, int], _Address] = {}
        self._expected = OLDEST  # of brokers that were not contacted yet
        self._tls: ssl.SSLContext | None = None
        self._detours: Detours | None = None
        if options.map_address or options.proxy_url or options.proxy_username or options.proxy_password:
            # Only for clients that cannot reach brokers at their own addresses.
            from kcli.core.net.detours import Detours

            self._detours = Detours(options)
        self._login = _login(options, hooks)
        admissions = (self._login, self._detours.admission if self._detours is not None else None)
        self._authentications = [
            parts.authentication.Authentication(one) for one in admissions if one is not None
        ]
        if not options.security_protocol.endswith("PLAINTEXT"):
            # ssl: 10 ms that plaintext clients save
            from kcli.core.net.tls.context import tls_context, unverified

            self._tls = tls_context(options)
            if warning := unverified(options):
                hooks.log("warning", "conf", warning)

    def send(
        self,
        node: Node,
        purpose: str,
        request: Request | Plan,
        future: Future[Any],
        now: float,
        deadline: float,
    ) -> None:
        """Queues ``request``; all errors are reported through ``future``."""
        route = self._route(node, purpose)
        channel = self._usable(route)
        one = request if isinstance(request, Request) else None
        if channel is None and one is not None and one.api_key in _BEGINNINGS and one.expects_response:
            # A command that sends one request needs no connection of its own for it: with TLS and SASL that takes
            # longer than the request. Nor does one end a pause that the broker asks for (KIP-219).
            control = self._ready(node)
            if control is not None and (not route.has_begun or control.connection.is_paused(now)):
                channel = control
            route.has_begun = True
        if channel is None:
            # Before the backoff: refused credentials are reported as such by each request, not as a broker that
            # cannot be reached.
            refusal = route.address.refusal or self.refusal(now)
            if refusal is not None:
                self._loop.complete((future, None, refusal))
                return
            if now < self._retry_at(route.address):
                self._loop.complete((future, None, _not_now(node, route.address.failure or route.failure)))
                return
            channel = self._connect(node, route, now)
            if not channel.is_open:  # at once, and not by the network
                self._loop.complete((future, None, _not_now(node, channel.failure)))
                return
        channel.connection.request(request, future, now, deadline)

    def rename(self, bootstrap: Node, node: Node) -> None:
        """The bootstrap address turned out to be ``node``: its connection becomes that node's."""
        if self._detours is not None:
            self._detours.clash(node)  # it is the first that is led there
        old, new = (bootstrap.id, CONTROL), (node.id, CONTROL)
        route = self._routes.get(old)
        if route is not None and new not in self._routes and self._usable(route) is not None:
            self._routes[new] = self._routes.pop(old)
            assert route.channel is not None
            route.channel.node = route.channel.connection.node = node

    def available(self, node: Node, purpose: str, now: float) -> bool:
        """False while the node is in backoff after a failure. True if a request would fail at once with a refusal."""
        route = self._route(node, purpose)
        if self._usable(route) is not None or self.refusal(now) is not None:
            return True
        return now >= self._retry_at(route.address)

    def refusal(self, now: float) -> KcliError | None:
        """Why the brokers refuse this client, while no further connection may be made."""
        for one in self._authentications:
            if (refusal := one.refusal(now)) is not None:
                return refusal
        return None

    def retry_at(self, node: Node, purpose: str) -> float:
        """When the node's backoff is over."""
        return self._retry_at(self._route(node, purpose).address)

    def failure(self, node: Node, purpose: str) -> KcliError | None:
        """Why the last connection to the node ended, or could not be made; None once a connection is ready."""
        route = self._route(node, purpose)
        self._retry_at(route.address)
        return route.address.failure or route.failure

    def offer(self, node: Node, purpose: str) -> Any:
        """The API versions that the broker offers, once its connection is ready."""
        route = self._routes.get((node.id, purpose))
        channel = self._usable(route) if route else None
        return channel.connection.offer if channel else None

    def pending(self, node: Node, purpose: str) -> int:
        """Requests to the node that are queued or in flight."""
        route = self._routes.get((node.id, purpose))
        channel = self._usable(route) if route else None
        return channel.connection.pending if channel else 0

    def round_trip(self, node: Node, purpose: str) -> float:
        """Seconds, the shortest from a request to its response on the connection; 0 without one, or before any."""
        route = self._routes.get((node.id, purpose))
        channel = self._usable(route) if route else None
        return (
            0.0
            if channel is None or channel.connection.round_trip == NEVER
            else channel.connection.round_trip
        )

    def disconnect(self, node_id: int, purpose: str) -> None:
        """Closes the connection to a broker that is slow to respond, so that the next requests do not wait behind it."""
        route = self._routes.get((node_id, purpose))
        channel = self._usable(route) if route else None
        if channel is not None and channel.connection.pending:
            channel.close(
                ConnectError(f"the connection to {channel.node} was abandoned", why="no response in time")
            )

    def close_idle(self, now: float) -> None:
        """Closes connections that were idle for ``connections.max.idle.ms``."""
        limit = self._options.connections_max_idle_ms / 1000
        for route in self._routes.values():
            channel = route.channel
            idle = channel is not None and channel.connection.pending == 0
            if limit and idle and channel is not None and now - channel.last_used > limit:
                channel.close()

    # --- inside ------------------------------------------------------------------------------------

    def _ready(self, node: Node) -> Channel | None:
        """The node's connection for everything else, if there is one that can be used at once."""
        route = self._routes.get((node.id, CONTROL))
        channel = self._usable(route) if route is not None and route.place == (node.host, node.port) else None
        return channel if channel is not None and channel.is_ready else None

    def _route(self, node: Node, purpose: str) -> _Route:
        """The node's route at its current address; a connection to a former address is used while it lasts."""
        key = (node.id, purpose)
        route = self._routes.get(key)
        if route is not None and route.place == (node.host, node.port):
            return route
        address = self._address(node)
        if route is None or (route.address is not address and self._usable(route) is None):
            route = self._routes[key] = _Route(address, (node.host, node.port))
            address.routes.append(route)
        return route

    def _address(self, node: Node) -> _Address:
        place = (node.host, node.port)
        if place not in self._addresses:
            options = self._options
            backoff = Backoff(options.reconnect_backoff_ms / 1000, options.reconnect_backoff_max_ms / 1000)
            refusal = self._check_host(node) if node.id >= 0 else None
            if refusal is None and self._detours is not None and node.id >= 0:
                refusal = self._detours.clash(node)
            self._addresses[place] = _Address(backoff, refusal)
        return self._addresses[place]

    def _retry_at(self, address: _Address) -> float:
        """When the address may be tried again, after checking the state of all its connections."""
        for route in address.routes:
            self._usable(route)
        return address.retry_at

    def _usable(self, route: _Route) -> Channel | None:
        """The route's open channel. Records the failure of a channel that has closed since the last call."""
        channel, address = route.channel, route.address
        if channel is None:
            return None
        if channel.connection.offer is not None and not route.was_ready:
            route.was_ready = address.has_answered = True
            self._expected = address.expected = Expected(channel.connection.offer, exactly=True)
            route.failure = address.failure = None
            address.retry_at = 0.0
            address.backoff.reset()
        if channel.is_open:
            connection = channel.connection
            if connection.session.lifetime == NEVER or not connection.session_is_over(
                self._loop.now(), channel.last_used
            ):
                return channel
            channel.close()  # a broker may have ended it: that is no failure, as below
        route.channel = None
        address.careful |= channel.connection.lost_ahead
        if channel.closed_idle:  # a broker may close idle connections; that is no failure
            return None
        if route.was_ready:
            self._hooks.log("info", "proto", f"{channel.failure}; trying again")
            address.backoff.reset()  # all its connections may end at the same time: that counts as one failure
            route.failure = channel.failure
        else:
            address.failure = channel.failure
            if isinstance(channel.failure, TooManyFilesError):
                # Tried again like a broker that is away, and nothing on the way there would say what to do.
                why, do = channel.failure.why, channel.failure.do
                self._hooks.log("warning", "conf", f"a connection cannot be opened: {why}; {do}")
        # From when it closed, not from when that was noticed: a caller that has been busy for longer than the
        # pause may try at once.
        address.retry_at = max(address.retry_at, channel.closed_at + address.backoff.next())
        return None

    def _connect(self, node: Node, route: _Route, now: float) -> Channel:
        options = self._options
        setup_timeout = options.socket_connection_setup_timeout_ms / 1000
        connection = Connection(
            node,
            client_id=options.client_id,
            max_frame_bytes=options.largest_response,
            complete=self._loop.complete,
            hooks=self._hooks,
            login=self._login,
            setup_timeout=setup_timeout,
            buffers=route.address.buffers,
            expected=None
            if self._connected or self.asks_first or route.address.careful
            else route.address.expected or self._expected,
        )
        for one in self._authentications:
            # Until this connection has its outcome the others wait: a wrong password is sent once, not once per
            # broker.
            one.began(now, setup_timeout)
        channel = Channel(
            connection,
            setup_timeout=setup_timeout,
            tls=self._tls,
            send_buffer=options.send_buffer_bytes,
            receive_buffer=options.receive_buffer_bytes,
        )
        address = route.address
        if address.backoff.failures:  # the other purposes wait for the outcome of this attempt
            address.retry_at = now + address.backoff.peek()
        detour = None
        if self._detours is not None:
            channel.detour = detour = self._detours.detour(node)
        if node.id >= 0 and not address.has_answered:
            channel.explain = lambda error: self._in_vain(node, detour, error)
        route.channel, route.was_ready = channel, False
        channel.start_setup(now)
        channel.clock, channel.compute = self._loop.now, self._loop.compute
        if self.on_channel is not None:
            self.on_channel(channel)
        self._loop.add(channel)
        if self._connected is not None:
            channel.adopt(*self._connected(node.id))
        elif is_literal(node.host) if detour is None else detour.is_literal:
            channel.open(self._addresses_of(node, detour))
        else:
            self._lookup_and_open(node, channel, detour)
        return channel

    def _lookup_and_open(self, node: Node, channel: Channel, detour: Detour | None) -> None:
        def found(addresses: list[Address] | None, error: KcliError | None) -> None:
            # The setup timed out, or the client was closed, while the name was looked up.
            if not channel.is_open:
                return
            if error is not None or addresses is None:
                channel.close(error)
            else:
                channel.open(addresses)

        self._loop.run_in_thread(lambda: self._addresses_of(node, detour), found)

    def _addresses_of(self, node: Node, detour: Detour | None) -> list[Address]:
        return self._resolve(node.host, node.port) if detour is None else detour.lookup(self._resolve)

    def _in_vain(self, node: Node, detour: Detour | None, error: KcliError) -> ConnectError:
        if detour is not None:
            return advertised_in_vain(node, error, error.do)
        if self._options.map_address:
            return advertised_in_vain(node, error, f"map it too: map.address={node.address}=HOST:PORT")
        return advertised_in_vain(node, error)


def _login(options: ClientOptions, hooks: Hooks) -> Login | None:
    """None without SASL. ConfigError for options that cannot be used."""
    if not options.security_protocol.startswith("SASL"):
        _check_no_credentials(options)
        return None
    # Only for clients that authenticate.
    from kcli.core.connection.sasl.registry import OAUTHBEARER, login_of

    if options.sasl_mechanism == OAUTHBEARER:
        from kcli.core.tokens.provider import with_tokens  # only for clients with tokens

        options = with_tokens(options)
    login = login_of(options)
    if not login.encrypted:
        hooks.log(
            "warning", "auth", f"{login.mechanism} without TLS: what is sent and read can be seen and changed"
        )
    return login


def _check_no_credentials(options: ClientOptions) -> None:
    """ConfigError for credentials that would not be used: the client would connect without them."""
    for option in fields(ClientOptions):
        if option.name.startswith("sasl_") and getattr(options, option.name) != option.default:
            raise ConfigError(
                f"{key_of(option.name)} has no effect",
                why=f"security.protocol is {options.security_protocol}: the connections do not authenticate",
                do="set security.protocol=SASL_SSL (SASL_PLAINTEXT without TLS), or leave it out",
            )


def _not_now(node: Node, failure: KcliError | None) -> KcliError:
    """The error of a request that was not sent because the node is in backoff."""
    if failure is None:
        return ConnectError(f"{node} cannot be reached at the moment")
    if isinstance(failure, OutcomeUnknownError):
        return ConnectError(failure.what, why=failure.why, do=failure.do)
    return failure


_CHECK_LISTENERS = "check advertised.listeners of that broker, and that it is running"


def advertised_in_vain(node: Node, error: KcliError, do: str = _CHECK_LISTENERS) -> ConnectError:
    """Metadata names an address that was never reached: most often a listener meant for other clients."""
    return ConnectError(
        f"broker {node.id} advertises {node.address}, unreachable from here",
        why=str(error),
        do=do,
    )


def is_final(error: KcliError | None) -> bool:
    """Whether reconnecting cannot help: a certificate, a peer that is not Kafka, or an unsupported version."""
    return isinstance(error, AuthError | NotKafkaError | UnsupportedError)
