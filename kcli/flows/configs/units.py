"""Configuration values with units, as people write and read them: ``retention.ms=7d`` is 604800000. Pure.

Kafka's values are bare numbers, and the name of a key has its unit: ``….ms``, ``….bytes``, ``….throttled.rate``. A number
without a unit is passed on as it is, as is what does not begin with a digit. Units that mean two things are refused:
``1G`` is 10⁹ or 2³⁰ bytes, ``1M`` a month or a minute.
"""

from __future__ import annotations

import re
from decimal import Decimal

from kcli.core.classes import NamedTuple

_TIMES = {"ms": 1, "seconds": 1_000, "minutes": 60_000, "hours": 3_600_000}
"""Milliseconds of the unit that a name ends with."""
_SIZE_ENDS = (".bytes", ".buffer.size")
_RATE_ENDS = (".bytes.per.second", ".throttled.rate")

_DURATIONS = {"w": 604_800_000, "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
_SIZES: dict[str, int] = {"B": 1} | {
    f"{sign}{end}": base ** (power + 1)
    for power, sign in enumerate("KMGT")
    for end, base in (("B", 1000), ("iB", 1024))
}
_ANY_CASE = {unit.lower(): size for unit, size in _SIZES.items()}

_LONGEST = (1 << 63) - 1
_MINUS_ONE = re.compile(r"(?:log\.)?retention\.(?:ms|bytes|minutes|hours)")
_GREATEST = re.compile(
    r"(?:log\.)?flush\.(?:interval\.)?ms|(?:log\.cleaner\.)?max\.compaction\.lag\.ms"
    r"|(?:log\.)?message\.timestamp\.(?:before|after|difference)\.max\.ms"
)
_AMOUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([^0-9\s.][^0-9\s.]*)")
_WITH_EXPONENT = re.compile(r"[+-]?[0-9][0-9.]*[eE][+-]?[0-9]+")
_WITH_UNIT = re.compile(r"[+-]?[0-9][0-9.]*\s*[^0-9\s._].*", re.DOTALL)

_TIME_UNITS = "w, d, h, m (minutes), s and ms, as in 7d or 1h30m"
_SIZE_UNITS = "B, KB, MB, GB, TB (powers of 1000) and KiB, MiB, GiB, TiB (powers of 1024), as in 1GiB"
_NEVER_WORD = "never"
_LIKE_NEVER = ("forever", "infinite", "infinity", "none", "unlimited")


class _Unit(NamedTuple):
    """What a key counts; ``size`` is one of it, in milliseconds or bytes."""

    is_time: bool
    name: str
    size: int = 1
    per_second: bool = False


def number_of(key: str, text: str) -> str:
    """The value of ``key`` for Kafka; ValueError with a sentence for a unit that the key does not have.

    ``never`` is the number for "no limit" of keys that have one.
    """
    word = text.strip()
    if word.lower() == _NEVER_WORD:
        return _never(key, text)
    unit = _unit_of(key)
    if unit is not None and word.lower() in _LIKE_NEVER:
        _never(key, text)
        raise ValueError(f"{text!r} is no number; no limit is {_NEVER_WORD!r}")
    if unit is None or not _WITH_UNIT.fullmatch(word):
        return text
    if unit.per_second and _WITH_EXPONENT.fullmatch(
        word
    ):  # rates may be fractions, as the default of the cleaner's is
        return text
    if unit.is_time:
        return _whole(key, word, _milliseconds(key, word), unit)
    if unit.per_second:
        word = word.removesuffix("/s").rstrip()
        if not _WITH_UNIT.fullmatch(word):
            raise ValueError(f"{text!r} has no unit of bytes: {_SIZE_UNITS}")
    return _whole(key, word, size_of(word), unit)


def size_of(text: str) -> Decimal:
    """Bytes: ``1GiB``, ``10MB``; ValueError for a unit that is none, or is ambiguous."""
    found = _AMOUNT.fullmatch(text.strip())
    amount, unit = (found[1], found[2]) if found else ("", "")
    if size := _ANY_CASE.get(unit.lower()):
        return Decimal(amount) * size
    if sign := unit.upper() if unit.upper() in ("K", "M", "G", "T") else "":
        raise ValueError(
            f"{text!r} is ambiguous: write {amount}{sign}B (powers of 1000) or {amount}{sign}iB (powers of 1024)"
        )
    raise ValueError(f"{text!r} is not a size; units are {_SIZE_UNITS}")


def with_unit(key: str, value: str | None) -> str:
    """The value as it is, and what it means where that is easier to read: ``604800000 (7 d)``."""
    meaning = _meaning(key, value or "")
    return f"{value} ({meaning})" if meaning else value or ""


def _unit_of(key: str) -> _Unit | None:
    if key.endswith(_RATE_ENDS):
        return _Unit(False, "bytes per second", per_second=True)
    if key.endswith(_SIZE_ENDS):
        return _Unit(False, "bytes")
    last = key.rpartition(".")[2]
    return _Unit(True, last.replace("ms", "milliseconds"), _TIMES[last]) if last in _TIMES else None


def _milliseconds(key: str, word: str) -> Decimal:
    total, at = Decimal(0), 0
    for part in _AMOUNT.finditer(word):
        if part.start() != at:
            break
        if part[2] == "M":
            raise ValueError(
                f"{word!r} is ambiguous: M may be months, minutes are m; units are {_TIME_UNITS}"
            )
        size = _DURATIONS.get(part[2].lower())
        if size is None:
            break
        total, at = total + Decimal(part[1]) * size, part.end()
    if at != len(word):
        raise ValueError(f"{word!r} is not a time for {key}; units are {_TIME_UNITS}")
    return total


def _whole(key: str, word: str, amount: Decimal, unit: _Unit) -> str:
    count = amount / unit.size
    if count > _LONGEST:
        raise ValueError(f"{word!r} is more than any value that Kafka has")
    if count != int(count):
        raise ValueError(f"{word!r} is no whole number of {unit.name}, which {key} counts")
    return str(int(count))


def _never(key: str, text: str) -> str:
    if _MINUS_ONE.fullmatch(key):
        return "-1"
    if _GREATEST.fullmatch(key):
        return str(_LONGEST)
    if _unit_of(key) is None:
        return text
    raise ValueError(
        f"{key} has no value for {text!r}; keys with one are retention.ms, retention.bytes, flush.ms, "
        "max.compaction.lag.ms and message.timestamp.*.max.ms"
    )


def _meaning(key: str, value: str) -> str:
    """Empty where the number says it as well."""
    unit = _unit_of(key)
    if unit is None or not re.fullmatch(r"-?[0-9]+", value):
        return ""
    number = int(value)
    if number < 0 or number == _LONGEST:
        limit = _NEVER_WORD if unit.is_time else "no limit"
        is_it = _GREATEST.fullmatch(key) if number > 0 else number == -1 and _MINUS_ONE.fullmatch(key)
        return limit if is_it else ""
    text = duration_in_units(number * unit.size) if unit.is_time else size_in_units(number)
    return f"{text}/s" if text and unit.per_second else text


def duration_in_units(milliseconds: int) -> str:
    """``7 d``, ``1 h 30 m``; empty for what is less than a second, or has more than two parts."""
    parts, rest = [], milliseconds
    for name in ("d", "h", "m", "s"):
        count, rest = divmod(rest, _DURATIONS[name])
        if count:
            parts.append(f"{count:,} {name}")
    return " ".join(parts) if not rest and len(parts) <= 2 else ""


def size_in_units(number: float) -> str:
    """``1 GiB``, ``10 MB``, ``1.5 KiB``: exact, in the unit that needs fewer digits; empty where none is shorter."""
    exact = [
        f"{number / size:.10g} {unit}"
        for unit, size in _SIZES.items()
        if size > 1 and number >= size and round(number / size, 2) * size == number
    ]
    return min(exact, key=len, default="")
