"""How a client reaches a broker that it cannot reach at its own address: elsewhere (``map.address``), through a proxy
(``proxy.url``), or both: then the proxy connects to the mapped address. Loaded by clients with one of these options.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kcli.core.errors import ConfigError, ConnectError
from kcli.core.net.resolve import Address, is_literal

if TYPE_CHECKING:
    from kcli.core.connection.admission import Admission
    from kcli.core.net.address_map import AddressMap
    from kcli.core.net.proxy import Proxy, Tunnel
    from kcli.core.options import ClientOptions
    from kcli.core.types import Node

Resolve = Callable[[str, int], list[Address]]


class Detour:
    """The way of one connection. ``via`` is added to the broker's address in messages."""

    def __init__(
        self, host: str, port: int, via: str, proxy: Proxy | None, admission: Admission | None
    ) -> None:
        self.via = via
        self.admission = admission
        self.proxy = proxy
        self._host, self._port = host, port

    @property
    def advice(self) -> str:
        """What to do where no connection is made."""
        if self.proxy is not None:
            return "check proxy.url, and that the proxy is running"
        return "check map.address, and that the tunnel is open"

    @property
    def is_literal(self) -> bool:
        """Whether no name has to be looked up."""
        names = [self._host] if self.proxy is None else [self.proxy.host]
        if self.proxy is not None and self.proxy.scheme == "socks5":
            names.append(self._host)
        return all(map(is_literal, names))

    def lookup(self, resolve: Resolve) -> list[Address]:
        """The addresses to connect to. For socks5, the broker's name is looked up here as well, and all its addresses are
        tried. ConnectError says which option the name is from.
        """
        proxy = self.proxy
        if proxy is None:
            return _looked_up(resolve, self._host, self._port, "map.address")
        hosts = [self._host]
        if proxy.scheme == "socks5" and not is_literal(self._host):
            hosts = [str(one.target[0]) for one in resolve(self._host, self._port)]
        there = _looked_up(resolve, proxy.host, proxy.port, "proxy.url")
        return [one._replace(beyond=host) for host in hosts for one in there]

    def tunnel(self, address: Address) -> Tunnel | None:
        """The exchange with the proxy at ``address``, for each connection a new one. Raises what the proxy has refused
        the login with, unless this connection may try it again.
        """
        if self.proxy is None:
            return None
        if self.admission is not None:
            self.admission.begin()
        from kcli.core.net.proxy import Tunnel  # loaded with the options

        return Tunnel(self.proxy, address.beyond, self._port, self.admission)


def _looked_up(resolve: Resolve, host: str, port: int, option: str) -> list[Address]:
    try:
        return resolve(host, port)
    except ConnectError as error:
        raise ConnectError(f"{error.what}, which {option} names", why=error.why, do=error.do) from None


class Detours:
    """``detour`` returns that of a broker, None where it is connected to as usual. ConfigError for the options."""

    def __init__(self, options: ClientOptions) -> None:
        self._map: AddressMap | None = None
        if options.map_address:
            from kcli.core.net.address_map import AddressMap  # clients have one of both, mostly

            self._map = AddressMap(options.map_address)
        from kcli.core.net.proxy import proxy_of  # as above

        self._proxy = proxy_of(options)
        # A router chooses the broker by the name in the handshake of TLS; nothing else tells which one is meant.
        self._routed = not options.security_protocol.endswith("PLAINTEXT")
        self._led_to: dict[tuple[str, int], Node] = {}
        self.admission: Admission | None = None
        """Whether the proxy accepts the login, if it gets one."""
        if self._proxy is not None and self._proxy.username:
            from kcli.core.connection.admission import Admission  # only with a login

            self.admission = Admission()

    def clash(self, node: Node) -> ConfigError | None:
        """Why a broker cannot be where its address is mapped to: another one is."""
        mapped = self._map.target(node.host, node.port) if self._map is not None else None
        if mapped is None or self._routed:
            return None
        other = self._led_to.setdefault(mapped, node)
        if other.id == node.id or other.address == node.address:  # replaced by one with another id
            return None
        where = node._replace(id=-1, host=mapped[0], port=mapped[1]).address
        return ConfigError(
            f"map.address leads to {where} both for broker {other.id} and for broker {node.id}",
            why=f"they are two, {other.address} and {node.address}, and without TLS nothing says which one is meant",
            do=f"map each to an address of its own, as in map.address={node.address}=HOST:PORT",
        )

    def detour(self, node: Node) -> Detour | None:
        mapped = self._map.target(node.host, node.port) if self._map is not None else None
        if mapped is None and self._proxy is None:
            return None
        host, port = mapped or (node.host, node.port)
        via = f" at {node._replace(id=-1, host=host, port=port).address} (map.address)" if mapped else ""
        if self._proxy is not None:
            via += f" through the proxy {self._proxy}"
        return Detour(host, port, via, self._proxy, self.admission)
