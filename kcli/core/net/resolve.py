"""Resolves host names to socket addresses. A lookup can block for seconds, so it runs in the loop's worker thread."""

import _socket as socket  # all of `socket` that is used here, without its enumerations
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConnectError


class Address(NamedTuple):
    """The arguments of ``socket.socket`` and ``connect``. ``beyond``: the address that a proxy there is to connect to."""

    family: int
    target: tuple[Any, ...]
    beyond: str = ""


def is_literal(host: str) -> bool:
    """Whether ``host`` is an IP address and needs no lookup."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host.partition("%")[0])
        except (OSError, ValueError):
            continue
        return True
    return False


def certified_name(host: str) -> str:
    """``host`` as certificates have it: without an IPv6 zone, and without the dot that ends an absolute name."""
    return host.partition("%")[0] if is_literal(host) else host.removesuffix(".")


def lookup(host: str, port: int) -> list[Address]:
    """All addresses of ``host`` in the system's order of preference; ConnectError if there is none."""
    try:
        # As bytes: a str would load the IDNA tables, which costs more than all lookups.
        name = host.encode("ascii") if host.isascii() else host
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ConnectError(
            f"cannot resolve {host}",
            why=str(error.strerror if isinstance(error, OSError) else error),
            do="check the name, and DNS resolution on this machine",
        ) from None
    return [Address(family, target) for family, _, _, _, target in found]
