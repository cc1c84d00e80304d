"""Which hosts of a metadata response may be connected to: they are text that any broker, or anybody between, can choose.

The addresses that the user gave are always allowed. Pure.
"""

import re
from collections.abc import Callable, Collection
from fnmatch import fnmatchcase

from kcli.core.errors import AuthError, KcliError, ProtocolError, UnansweredError
from kcli.core.net.resolve import is_literal
from kcli.core.types import Node

_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME = rf"{_LABEL}(?:\.{_LABEL})*\.?"
_LONGEST = 254  # RFC 1035, with the dot of an absolute name
_SHOWN = 80

HostCheck = Callable[[Node], KcliError | None]
"""Returns why a broker of the cluster must not be connected to; None if it may be."""


def host_check(allowed: str, given: Collection[str]) -> HostCheck:
    """``allowed``: patterns of ``metadata.allowed.hosts``, empty for all hosts; ``given``: hosts named by the user."""
    patterns = [part.strip().lower() for part in allowed.split(",") if part.strip()]

    def check(node: Node) -> KcliError | None:
        if node.host in given:
            return None
        shown = node.host if len(node.host) <= _SHOWN else f"{node.host[:_SHOWN]}…"
        if not is_legal_host(node.host) or not 0 < node.port < 65_536:
            return ProtocolError(
                f"broker {node.id} advertises {shown!r} port {node.port}, which is no address",
                why="a host is a name of letters, digits, hyphens and dots, or an IP address",
                do="check advertised.listeners of that broker",
            )
        if patterns and not any(fnmatchcase(node.host.lower(), pattern) for pattern in patterns):
            return AuthError(
                f"broker {node.id} advertises {shown}, which is not allowed",
                why="metadata.allowed.hosts does not list it",
                do="add the host if it belongs to the cluster, else check advertised.listeners of that broker",
            )
        return None

    return check


def is_legal_host(host: str) -> bool:
    """Whether ``host`` is an IP address or has the form of a host name; underscores are common in containers."""
    return (
        len(host) <= _LONGEST
        and host.isascii()
        and (is_literal(host) or re.fullmatch(_NAME, host) is not None)
    )


def sasl_required(error: UnansweredError, *, encrypted: bool) -> AuthError:
    """The cause of a connection that closes at the first request after ApiVersions: most often a listener with SASL."""
    protocols = "SASL_SSL" if encrypted else "SASL_SSL or SASL_PLAINTEXT"
    return AuthError(
        f"{error.what}, its first request, of a client that does not authenticate",
        why="it responds to ApiVersions only; a listener with SASL does that to clients that do not authenticate",
        do=f"set security.protocol={protocols}, sasl.mechanism and the credentials; or use another port",
    )
