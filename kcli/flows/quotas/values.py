"""Client quotas as users write and see them: entities, keys, values with units. Pure."""

from __future__ import annotations

import re
from typing import Any

from kcli.core.admin.quotas import CLIENT_ID, IP, USER, QuotaEntity
from kcli.flows.configs.units import size_in_units, size_of
from kcli.output.tables import Column

DEFAULT = "<default>"
"""How the default of a type is written; one that is really called so is written ``\\<default>``."""

_ESCAPED = re.compile(r"\\+" + re.escape(DEFAULT))

BYTES, PERCENT, MUTATIONS, CONNECTIONS = "bytes/s", "%", "mutations/s", "connections/s"
UNITS = {
    "producer_byte_rate": BYTES,
    "consumer_byte_rate": BYTES,
    "request_percentage": PERCENT,
    "controller_mutation_rate": MUTATIONS,
    "connection_creation_rate": CONNECTIONS,
}
KEYS_OF_IPS = ("connection_creation_rate",)
KEYS_OF_CLIENTS = tuple(key for key in UNITS if key not in KEYS_OF_IPS)

ENTITY = (
    Column("user", "prose", meaning="The user, <default>, or null: the quota is not by user."),
    Column("client_id", "prose", meaning="The client id, <default>, or null: the quota is not by client id."),
    Column("ip", meaning="The IP address, <default>, or null: the quota is not by address."),
)

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def name_of(text: str) -> str | None:
    """The name that a user wrote; None for the default."""
    if text == DEFAULT:
        return None
    return text[1:] if _ESCAPED.fullmatch(text) else text


def spelling(name: str | None) -> str:
    """What to write for the name."""
    if name is None:
        return DEFAULT
    return "\\" + name if name == DEFAULT or _ESCAPED.fullmatch(name) else name


def number_text(value: float) -> str:
    """``1048576`` or ``12.5``."""
    return str(int(value)) if value.is_integer() else repr(value)


def parse_bytes(text: str) -> float:
    """``1048576``, ``10MB/s`` or ``1MiB``; ValueError with a sentence."""
    amount = text.strip().removesuffix("/s").strip()
    return float(amount if _NUMBER.fullmatch(amount) else round(size_of(amount)))


def rate_in_units(key: str, value: float) -> str:
    """``10 MB/s`` of a quota in bytes; empty where the number says it as well."""
    text = size_in_units(value) if UNITS.get(key) == BYTES else ""
    return f"{text}/s" if text else ""


def parse_plain(text: str, unit: str) -> float:
    """``50``, ``50%`` or ``12.5/s``; ValueError with a sentence."""
    amount = text.strip().removesuffix("%" if unit == PERCENT else "/s").strip()
    if not _NUMBER.fullmatch(amount):
        example = "50 or 12.5%" if unit == PERCENT else "10 or 10/s"
        raise ValueError(f"{text!r} is not a number such as {example}")
    if unit == CONNECTIONS and "." in amount:
        raise ValueError(f"{text!r} is not a whole number")
    return float(amount)


def entity_row(entity: QuotaEntity) -> dict[str, Any]:
    """The columns of an entity; None for a type that it lacks."""
    names = {kind: spelling(name) for kind, name in entity.parts}
    return {"user": names.get(USER), "client_id": names.get(CLIENT_ID), "ip": names.get(IP)}


def shown_number(value: float | None) -> float | int | None:
    """As it is shown: whole numbers without a point."""
    return int(value) if value is not None and value.is_integer() else value
