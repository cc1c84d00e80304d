"""Values of configuration keys, compared as brokers do: ``0.50`` is ``0.5``, ``TRUE`` is ``true``. Pure."""

import re
from decimal import Decimal

_NUMBERS = ("int", "short", "long", "double", "")
_BOOLEANS = ("boolean", "")
_NUMBER = r"[+-]?[0-9]{1,30}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?"


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
    return kind in _NUMBERS and _number(left) is not None and _number(left) == _number(right)


def list_words(value: str | None) -> list[str]:
    """The elements of a list, in order."""
    return [word for part in (value or "").split(",") if (word := part.strip())]


def _number(text: str) -> Decimal | None:
    return Decimal(text) if re.fullmatch(_NUMBER, text) else None
