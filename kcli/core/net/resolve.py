"""Host names to socket addresses. A lookup can block for seconds, so it runs on the loop's worker thread."""

import ipaddress
import socket
from dataclasses import dataclass
from typing import Any

from kcli.core.errors import ConnectError


@dataclass(frozen=True, slots=True)
class Address:
    """What ``socket.socket`` and ``connect`` take."""

    family: int
    target: tuple[Any, ...]


def is_literal(host: str) -> bool:
    """Whether ``host`` is an IP address and needs no lookup."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def lookup(host: str, port: int) -> list[Address]:
    """All addresses of ``host`` in the order of the system's preference; ConnectError when there is none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ConnectError(
            f"cannot resolve {host}",
            why=str(error.strerror if isinstance(error, OSError) else error),
            do="check the name, or the resolver of this machine",
        ) from None
    return [Address(family, target) for family, _, _, _, target in found]
