"""Values of configuration keys, read as brokers do: ``.5`` is ``0.5``, ``TRUE`` is ``true``. Pure.

A broker keeps the text that was set, and describes what it has read from it (``ConfigDef.parseType`` and
``convertToString``), so that a value may be described otherwise than it was written.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcli.core.admin.configs import ConfigEntry

_NUMBERS = ("int", "short", "long", "double", "")
_BOOLEANS = ("boolean", "")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_DOUBLE = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?")


def same_value(kind: str, value: str | None, other: str) -> bool:
    """Whether two values of a key mean the same. ``kind`` is its type, empty where the broker does not report it."""
    if value is None:
        return False
    if kind == "list":
        return set(list_words(value)) == set(list_words(other))
    left, right = value.strip(), other.strip()
    if left == right:
        return True
    if kind in _BOOLEANS and left.lower() == right.lower() and left.lower() in ("true", "false"):
        return True
    return (
        kind in _NUMBERS and _number(kind, left) is not None and _number(kind, left) == _number(kind, right)
    )


def is_written_alike(value: str, other: str) -> bool:
    """Whether texts differ in blanks and in upper and lower case only, as where a broker has its own form of a word."""
    return "".join(value.split()).casefold() == "".join(other.split()).casefold()


def is_valid(kind: str, value: str) -> bool:
    """Whether a broker can read the value of a key of this type at all."""
    text = value.strip()
    if kind == "boolean":
        return text.lower() in ("true", "false")
    return kind not in _NUMBERS or not kind or _number(kind, text) is not None


def list_words(value: str | None) -> list[str]:
    """The elements of a list, in order."""
    return [word for part in (value or "").split(",") if (word := part.strip())]


def own_values(entries: list[ConfigEntry] | None) -> dict[str, str | None] | None:
    """What is set on the described resource itself, by key; None if that is unknown."""
    if entries is None:
        return None
    return {entry.name: entry.value for entry in sorted(entries, key=_name) if not entry.is_default}


def _name(entry: ConfigEntry) -> str:
    return entry.name


def _number(kind: str, text: str) -> Decimal | float | None:
    """The number that a broker reads; whole ones exactly, others rounded to a double as Java does."""
    if _WHOLE.fullmatch(text) and kind != "double":
        return Decimal(text)
    if kind in ("double", "") and _DOUBLE.fullmatch(text):
        return float(text.rstrip("dDfF"))
    return float(text) if kind in ("double", "") and text.lstrip("+-") in ("NaN", "Infinity") else None
