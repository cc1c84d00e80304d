"""The entity that the options of ``kcli quotas`` name, and quotas as rows."""

from __future__ import annotations

from typing import Any

from kcli.commands.shared.usage import usage
from kcli.core.admin.quotas import CLIENT_ID, IP, USER, QuotaEntity
from kcli.flows.quotas import UNITS, name_of, spelling
from kcli.output.tables import Column

ENTITY = (Column("user", "prose"), Column("client_id", "prose"), Column("ip"))

_OPTIONS = {USER: "--user", CLIENT_ID: "--client-id", IP: "--ip"}


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


def entity_row(entity: QuotaEntity) -> dict[str, Any]:
    """The columns of an entity; None for a type that it lacks."""
    names = {kind: spelling(name) for kind, name in entity.parts}
    return {"user": names.get(USER), "client_id": names.get(CLIENT_ID), "ip": names.get(IP)}


def number(value: float | None) -> float | int | None:
    """As it is shown: whole numbers without a point."""
    return int(value) if value is not None and value.is_integer() else value


def unit(key: str) -> str | None:
    """``bytes/s``; None for a key that this version does not know."""
    return UNITS.get(key)
