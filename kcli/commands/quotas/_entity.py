"""The entity that the options of ``kcli quotas`` name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kcli.commands.shared.options import option
from kcli.commands.shared.usage import usage
from kcli.core.admin.quotas import CLIENT_ID, IP, USER
from kcli.flows.quotas.values import name_of

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = {USER: "--user", CLIENT_ID: "--client-id", IP: "--ip"}


def entity_options(function: F) -> F:
    """The options that name what a quota is for."""
    for decorate in (
        option("--ip", "ip", metavar="ADDRESS", help="an IP address; only connection_creation_rate"),
        option("--client-id", "of_client_id", metavar="ID", help="clients with this client.id"),
        option("--user", "user", metavar="NAME", help="an authenticated user; '<default>': those without quotas"),
    ):  # fmt: skip
        function = decorate(function)
    return function


def entity_parts(verb: str, user: str | None, client_id: str | None, ip: str | None) -> dict[str, str | None]:
    """Type → name, None for the default; of the options that are given."""
    given = {
        kind: text for kind, text in ((USER, user), (CLIENT_ID, client_id), (IP, ip)) if text is not None
    }
    for kind, text in given.items():
        if not text:
            raise usage(
                f"quotas {verb}: {_OPTIONS[kind]} is empty",
                why="perhaps a variable is not set",
                do=f"{_OPTIONS[kind]} '<default>' is the default, for those without quotas of their own",
            )
    if IP in given and len(given) > 1:
        raise usage(
            f"quotas {verb}: --ip together with {' and '.join(_OPTIONS[k] for k in given if k != IP)}",
            why="the quota of an address limits connections, which brokers accept before they know user or client id",
            do="use a command for --ip, and one for the others",
        )
    return {kind: name_of(text) for kind, text in given.items()}
