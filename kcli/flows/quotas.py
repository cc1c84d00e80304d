"""Client quotas as users write them: entities, keys, values with units; and planned changes. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

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


def parse_plain(text: str, unit: str) -> float:
    """``50``, ``50%`` or ``12.5/s``; ValueError with a sentence."""
    amount = text.strip().removesuffix("%" if unit == PERCENT else "/s").strip()
    if not _NUMBER.fullmatch(amount):
        example = "50 or 12.5%" if unit == PERCENT else "10 or 10/s"
        raise ValueError(f"{text!r} is not a number such as {example}")
    if unit == CONNECTIONS and "." in amount:
        raise ValueError(f"{text!r} is not a whole number")
    return float(amount)


@dataclass(frozen=True, slots=True)
class QuotaChange:
    """A change of one key; None: not set."""

    key: str
    old: float | None
    new: float | None

    @property
    def has_effect(self) -> bool:
        """Whether anything changes."""
        return self.old != self.new


def planned(before: Mapping[str, float], changes: Mapping[str, float | None]) -> list[QuotaChange]:
    """What each change does."""
    return [QuotaChange(key, before.get(key), new) for key, new in changes.items()]


def not_applied(plan: list[QuotaChange], after: Mapping[str, float]) -> list[QuotaChange]:
    """The changes that the values read back do not show."""
    return [change for change in plan if after.get(change.key) != change.new]
