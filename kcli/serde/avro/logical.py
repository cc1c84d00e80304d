"""Avro's logical types: exact text for values that the plain type only numbers. Pure.

Decimals never become floats; times keep the digits of their type. A number outside of the calendar stays a number, and
numbers are accepted as input too, so nothing is lost.
"""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from kcli.core.classes import dataclass

_EPOCH = datetime(1970, 1, 1)
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_TIME = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?")
_STAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ]((?!24)\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?(Z|[+-]\d\d:?\d\d)?", re.IGNORECASE
)
_MAX_PRECISION = 4_000  # digits; Python refuses to print integers with more than 4300


@dataclass(frozen=True, slots=True)
class Logical:
    """``show`` converts the plain value (int, str or bytes) to JSON, ``read`` is the inverse; raises ValueError."""

    show: Callable[[Any], Any]
    read: Callable[[Any], Any]


def logical_of(node: dict[str, Any]) -> Logical | None:
    """The logical type of a schema; None if it has none that is known and valid (Avro ignores invalid ones)."""
    kind, logical = node["type"], node.get("logicalType")
    if logical == "decimal" and kind in ("bytes", "fixed"):
        return _decimal(node)
    if logical == "uuid":
        if kind == "string":
            return Logical(lambda text: text, _read_uuid_text)
        if kind == "fixed" and node["size"] == 16:
            return Logical(lambda data: str(UUID(bytes=data)), lambda text: UUID(_read_uuid_text(text)).bytes)
    if logical == "duration" and kind == "fixed" and node["size"] == 12:
        return Logical(_show_duration, _read_duration)
    return _TIMES.get((kind, str(logical)))


def _decimal(node: dict[str, Any]) -> Logical | None:
    precision, scale = node.get("precision"), node.get("scale", 0)
    if not isinstance(precision, int) or not isinstance(scale, int) or not 0 <= scale <= precision:
        return None
    if not 0 < precision <= _MAX_PRECISION:
        return None
    size = node["size"] if node["type"] == "fixed" else 0
    return Logical(
        lambda data: _show_decimal(data, scale), lambda value: _read_decimal(value, precision, scale, size)
    )


def _show_decimal(data: bytes, scale: int) -> str:
    if len(data) > _MAX_PRECISION // 3:
        raise ValueError(f"a decimal of {len(data)} bytes")
    unscaled = int.from_bytes(data, "big", signed=True)
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    sign = "-" if unscaled < 0 else ""
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}" if scale else sign + digits


def _read_decimal(value: Any, precision: int, scale: int, size: int) -> bytes:
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        raise ValueError('a decimal is a string such as "12.50", or a number')
    try:
        number = Decimal(repr(value) if isinstance(value, float) else value)
    except (InvalidOperation, ValueError):
        raise ValueError(f"{str(value)[:40]!r} is no decimal") from None
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError("a decimal is finite")
    shift = exponent + scale
    if number and len(digits) + shift > precision:
        raise ValueError(f"it has more than {precision} digits")
    if number and (-shift >= len(digits) or any(digits[shift:] if shift < 0 else ())):
        raise ValueError(f"it has more than {scale} digits behind the point")
    unscaled = int(Decimal((sign, digits, shift))) if number else 0
    width = size or (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    try:
        return unscaled.to_bytes(width, "big", signed=True)
    except OverflowError:
        raise ValueError(f"it does not fit {size} bytes") from None


def _show_date(days: int) -> Any:
    try:
        return date.fromordinal(_EPOCH_DAY + days).isoformat()
    except (ValueError, OverflowError):
        return days


def _read_date(value: Any) -> int:
    if _is_int(value):
        return int(value)
    try:
        return int(date.fromisoformat(value).toordinal()) - _EPOCH_DAY
    except (ValueError, TypeError):
        raise ValueError('a date is a string such as "2026-11-21", or the days since 1970') from None


def _time(digits: int) -> Logical:
    unit: int = 10**digits

    def show(count: int) -> Any:
        seconds, rest = divmod(count, unit)
        if not 0 <= seconds < 86_400:
            return count
        return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{rest:0{digits}d}"

    def read(value: Any) -> int:
        if _is_int(value):
            return int(value)
        found = _TIME.fullmatch(value) if isinstance(value, str) else None
        if not found or int(found[1]) > 23 or int(found[2]) > 59 or int(found[3] or 0) > 59:
            raise ValueError('a time is a string such as "10:30:00.123", or a number')
        seconds = int(found[1]) * 3600 + int(found[2]) * 60 + int(found[3] or 0)
        return seconds * unit + _fraction(found[4], digits)

    return Logical(show, read)


def _stamp(digits: int, *, local: bool) -> Logical:
    unit: int = 10**digits
    zone = "" if local else "Z"

    def show(count: int) -> Any:
        seconds, rest = divmod(count, unit)
        try:
            when = _EPOCH + timedelta(seconds=seconds)
        except OverflowError:
            return count
        return f"{when.isoformat()}.{rest:0{digits}d}{zone}"

    def read(value: Any) -> int:
        if _is_int(value):
            return int(value)
        found = _STAMP.fullmatch(value) if isinstance(value, str) else None
        if not found or bool(found[4]) == local:
            zoned = "without a zone" if local else "with its zone"
            raise ValueError(
                f'a timestamp is a string such as "2026-11-21T10:30:00.123{zone}", {zoned}, or a number'
            )
        try:
            when = datetime.fromisoformat(f"{found[1]}T{found[2]}{(found[4] or '').upper()}")
        except ValueError as error:
            raise ValueError(f"{value!r}: {error}") from None
        seconds: int = (when - (_EPOCH if local else _EPOCH.replace(tzinfo=UTC))) // timedelta(seconds=1)
        return seconds * unit + _fraction(found[3], digits)

    return Logical(show, read)


def _fraction(text: str | None, digits: int) -> int:
    text = text or ""
    if text[digits:].strip("0"):
        raise ValueError(f"it has more than {digits} digits behind the second")
    return int(text[:digits].ljust(digits, "0"))


def _read_uuid_text(value: Any) -> str:
    try:
        UUID(value)
    except (ValueError, TypeError, AttributeError):
        raise ValueError("it is no UUID") from None
    return str(value)


def _show_duration(data: bytes) -> dict[str, int]:
    parts = (int.from_bytes(data[at : at + 4], "little") for at in (0, 4, 8))
    return dict(zip(("months", "days", "millis"), parts, strict=True))


def _read_duration(value: Any) -> bytes:
    if not isinstance(value, dict) or set(value) != {"months", "days", "millis"}:
        raise ValueError("a duration is an object with months, days and millis")
    parts = [value[part] for part in ("months", "days", "millis")]
    if not all(_is_int(part) and 0 <= part < 1 << 32 for part in parts):
        raise ValueError("months, days and millis are whole numbers of 32 bits")
    return b"".join(part.to_bytes(4, "little") for part in parts)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_TIMES: dict[tuple[str, str], Logical] = {
    ("int", "date"): Logical(_show_date, _read_date),
    ("int", "time-millis"): _time(3),
    ("long", "time-micros"): _time(6),
    ("long", "timestamp-millis"): _stamp(3, local=False),
    ("long", "timestamp-micros"): _stamp(6, local=False),
    ("long", "timestamp-nanos"): _stamp(9, local=False),
    ("long", "local-timestamp-millis"): _stamp(3, local=True),
    ("long", "local-timestamp-micros"): _stamp(6, local=True),
    ("long", "local-timestamp-nanos"): _stamp(9, local=True),
}
