"""Offsets, ranges, instants and durations as people write them. Pure: ``now_ms`` and the time zone are passed in.

``parse_offset`` and ``parse_range`` read ``--offset`` and ``--to``; ``parse_instant`` reads ``--since`` and
``--until``. All raise ValueError with a sentence that says what is expected.
"""

import re
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import NamedTuple

EARLIEST_WORDS = frozenset(("earliest", "beginning", "start", "oldest"))
LATEST_WORDS = frozenset(("latest", "end", "newest"))
STORED_WORDS = frozenset(("current", "stored"))
DAY_WORDS = frozenset(("now", "today", "yesterday"))


class OffsetSpec(NamedTuple):
    """A position in every partition.

    ``kind``: ``earliest``, ``latest``, ``stored`` (the group's committed offset), ``offset`` (``value`` itself),
    ``from_start`` and ``from_end`` (``value`` records from there, ≥ 0), ``timestamp`` (``value`` in ms).
    """

    kind: str
    value: int = 0


class RangeSpec(NamedTuple):
    """From ``start`` up to, not including, ``stop``; None is open."""

    start: OffsetSpec | None
    stop: OffsetSpec | None = None


def parse_range(text: str, now_ms: int, tz: tzinfo | None = None) -> RangeSpec:
    """A position or a range of two: ``A:B``, ``A..B``, ``:B``, ``A:``, ``@T1:T2``; the end is exclusive.

    Times contain colons too, so a range of instants is split at the only colon with a position on both sides; if there
    are none or several, ValueError asks for ``..``. ``tz`` None is the system's zone.
    """
    text = text.strip()
    if ".." in text:
        start, _, stop = text.partition("..")
        return _range(_side(start, now_ms, tz), _side(_with_at(text, stop), now_ms, tz), text)
    try:
        whole = parse_offset(text, now_ms, tz)
    except ValueError:
        whole = None
    if whole is not None and not (text.startswith(":") or text.endswith(":")):
        return RangeSpec(whole)
    splits = _splits(text, now_ms, tz)
    if len(splits) == 1:
        return _range(*splits[0], text)
    if splits:
        raise ValueError(f"{text!r} can be split at more than one colon; write .. between the two ends")
    if ":" in text.strip(":") and ("@" in text or "-" in text):
        raise ValueError(
            f"{text!r} is not an offset or a time, and no colon splits it into two; write .. between the ends"
        )
    return RangeSpec(parse_offset(text, now_ms, tz))


def parse_offset(text: str, now_ms: int, tz: tzinfo | None = None) -> OffsetSpec:
    """A position: a word, ``N``, ``+N``, ``-N``, ``@instant``, an ISO date, a day word."""
    text = text.strip()
    word = text.lower()
    if word in EARLIEST_WORDS:
        return OffsetSpec("earliest")
    if word in LATEST_WORDS:
        return OffsetSpec("latest")
    if word in STORED_WORDS:
        return OffsetSpec("stored")
    if re.fullmatch(r"[0-9]+", text):
        return OffsetSpec("offset", _int64(text))
    if re.fullmatch(r"[+-][0-9]+", text):
        return OffsetSpec("from_start" if text[0] == "+" else "from_end", _int64(text[1:]))
    if text.startswith("@"):
        return OffsetSpec("timestamp", parse_instant(text, now_ms, tz))
    if word in DAY_WORDS or re.match(_DATE, text):
        return OffsetSpec("timestamp", parse_instant(text, now_ms, tz))
    raise ValueError(
        f"{text!r} is not an offset (earliest, latest, stored, N, +N, -N) or a time "
        "such as @-1h, @10:30, 2026-11-21T10:00Z"
    )


def parse_instant(text: str, now_ms: int, tz: tzinfo | None = None) -> int:
    """Milliseconds since the epoch; a leading ``@`` is allowed.

    A bare integer is an epoch in s, ms, µs or ns by its digits; ``3h`` and ``-3h`` are three hours ago,
    ``+3h`` in three hours; ``10:30`` is today; ISO dates and times without a zone are in ``tz``.
    """
    trimmed = text.strip().removeprefix("@")
    word = trimmed.lower()
    if word in DAY_WORDS:
        return _day(word, now_ms, tz)
    if re.fullmatch(r"[0-9]+", trimmed):
        return epoch_ms(trimmed)
    if re.fullmatch(_CLOCK, trimmed):
        return _ms(datetime.combine(_local(now_ms, tz).date(), _time(trimmed, text)), tz)
    if re.match(_DATE, trimmed):
        return _iso(trimmed, text, tz)
    sign = -1 if trimmed[:1] != "+" else 1
    try:
        return now_ms + sign * parse_duration_ms(
            trimmed.lstrip("+-") if trimmed[:1] in "+-" else trimmed, unit=True
        )
    except ValueError:
        if re.fullmatch(r"[+-]?[0-9.]+ ?[A-Za-z]+", trimmed):
            raise ValueError(f"{text!r} has none of the units {', '.join(_UNITS)}, as 3h (ago) has") from None
        raise ValueError(
            f"{text!r} is not a time such as 2026-11-21T10:00Z, 10:30, 3h (ago), now, today, yesterday or an epoch"
        ) from None


def has_zone(text: str) -> bool:
    """Whether an instant means the same everywhere: everything except a date or a clock time without a zone."""
    trimmed = text.strip().removeprefix("@")
    if trimmed.lower() in ("today", "yesterday") or re.fullmatch(_CLOCK, trimmed):
        return False
    return not re.match(_DATE, trimmed) or bool(re.search(_ZONE, trimmed))


def epoch_ms(digits: str) -> int:
    """An epoch in seconds (up to 11 digits), ms (14), µs (17) or ns, distinguished by the number of digits."""
    count, value = len(digits.lstrip("0")), int(digits)
    if count <= 11:
        return value * 1000
    if count <= 14:
        return value
    return value // (1000 if count <= 17 else 1_000_000)


def parse_duration_ms(text: str, *, unit: bool = False) -> int:
    """``1h30m``, ``90s``, ``2d``, ``500ms``, ``1.5h``, ``PT1H30M``; a bare number is seconds unless ``unit``."""
    trimmed = text.strip()
    if not unit and re.fullmatch(r"[0-9]+(\.[0-9]+)?", trimmed):
        return round(float(trimmed) * 1000)
    parts = _iso_duration(trimmed) if trimmed[:1] in ("P", "p") else _short_duration(trimmed)
    if parts is None:
        raise ValueError(f"{text!r} is not a duration such as 90s, 1h30m, 2d, 500ms or PT1H30M")
    return round(sum(float(count) * _UNITS[name] for count, name in parts))


class ResetPolicy(NamedTuple):
    """``auto.offset.reset``: ``kind`` is ``earliest``, ``latest``, ``none``, or ``duration`` (``back_ms`` ago)."""

    kind: str
    back_ms: int = 0


_RESETS = {
    **dict.fromkeys(("earliest", "smallest", "beginning"), "earliest"),
    **dict.fromkeys(("latest", "largest", "end"), "latest"),
    **dict.fromkeys(("none", "error"), "none"),
}
_BY_DURATION = "by_duration:"


def parse_reset(text: str) -> ResetPolicy:
    """Parses Java's values of ``auto.offset.reset``, and librdkafka's equivalents."""
    word = text.strip()
    if word.lower() in _RESETS:
        return ResetPolicy(_RESETS[word.lower()])
    if word.startswith(_BY_DURATION):
        return ResetPolicy("duration", parse_duration_ms(word.removeprefix(_BY_DURATION)))
    raise ValueError("it is none of earliest, latest, none and by_duration:DURATION")


_UNITS = {"w": 604_800_000, "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
_PART = r"([0-9]+(?:\.[0-9]+)?)(ms|[wdhms])"
_SHORT = f"(?i:{_PART})+"
_ISO = r"(?i:P(?:([0-9.]+)W)?(?:([0-9.]+)D)?(?:T(?:([0-9.]+)H)?(?:([0-9.]+)M)?(?:([0-9.]+)S)?)?)"
_DATE = r"(?i:[0-9]{4}-[0-9]{2}-[0-9]{2}(?:$|[T ]))"
_ISO_TIME = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[Tt ][0-9]{2}(?::[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?)?(?:[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)
_CLOCK = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
_ZONE = r"(?:[Zz]|[T ].*[+-][0-9]{2}(?::?[0-9]{2})?)$"


def _short_duration(text: str) -> list[tuple[str, str]] | None:
    if not re.fullmatch(_SHORT, text):
        return None
    parts = [(count, name.lower()) for count, name in re.findall(_PART, text, re.IGNORECASE)]
    names = [name for _count, name in parts]
    order = [name for name in _UNITS if name in names]
    return parts if names == order else None


def _iso_duration(text: str) -> list[tuple[str, str]] | None:
    match = re.fullmatch(_ISO, text)
    if match is None or not any(match.groups()) or text[-1] in "Tt":
        return None
    return [(count, name) for count, name in zip(match.groups(), "wdhms", strict=True) if count]


def _side(text: str, now_ms: int, tz: tzinfo | None) -> OffsetSpec | None:
    return parse_offset(text, now_ms, tz) if text.strip() else None


def _with_at(whole: str, stop: str) -> str:
    """The second end of ``@T1:T2`` is an instant too; words and +N, -N are unchanged."""
    trimmed = stop.strip()
    plain = not trimmed or trimmed[0] == "@" or re.fullmatch(r"[+-][0-9]+", trimmed)
    word = trimmed.lower() in EARLIEST_WORDS | LATEST_WORDS | STORED_WORDS
    return trimmed if plain or word or not whole.startswith("@") else "@" + trimmed


Ends = tuple[OffsetSpec | None, OffsetSpec | None]


def _splits(text: str, now_ms: int, tz: tzinfo | None) -> list[Ends]:
    """Every way to split the text at one colon into two positions."""
    found: list[Ends] = []
    for at in (index for index, sign in enumerate(text) if sign == ":"):
        start, stop = text[:at], text[at + 1 :]
        try:
            ends = _side(start, now_ms, tz), _side(_with_at(text, stop), now_ms, tz)
        except ValueError:
            continue
        kinds = {end.kind for end in ends if end is not None}
        if kinds and kinds != {"timestamp", "offset"}:  # 10:00:30 never means a time and the offset 30
            found.append(ends)
    return found


def _range(start: OffsetSpec | None, stop: OffsetSpec | None, text: str) -> RangeSpec:
    if start is None and stop is None:
        raise ValueError(f"{text!r} names neither a start nor an end")
    comparable = start is not None and stop is not None and start.kind == stop.kind
    if comparable and start and stop and start.kind in ("offset", "timestamp", "from_start"):
        backwards = start.value > stop.value
        if backwards:
            raise ValueError(f"{text!r} ends before it starts")
    return RangeSpec(start, stop)


def _int64(digits: str) -> int:
    value = int(digits) if len(digits) < 30 else 1 << 63
    if value >= 1 << 63:
        raise ValueError(f"{digits} is larger than any offset")
    return value


def _day(word: str, now_ms: int, tz: tzinfo | None) -> int:
    if word == "now":
        return now_ms
    day = _local(now_ms, tz).date() - timedelta(days=1 if word == "yesterday" else 0)
    return _ms(datetime.combine(day, time()), tz)


def _iso(trimmed: str, text: str, tz: tzinfo | None) -> int:
    if not re.fullmatch(_ISO_TIME, trimmed):
        raise ValueError(
            f"{text!r} is not a time: write 2026-11-21, 2026-11-21T10:00 or 2026-11-21T10:00:30.5Z"
        )
    try:
        return _ms(datetime.fromisoformat(trimmed.replace("z", "Z")), tz)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a time: {error}") from None


def _time(trimmed: str, text: str) -> time:
    try:
        return time.fromisoformat(trimmed.rjust(len(trimmed) + (trimmed.index(":") == 1), "0"))
    except ValueError as error:
        raise ValueError(f"{text!r} is not a time: {error}") from None


def _local(now_ms: int, tz: tzinfo | None) -> datetime:
    return (_EPOCH + timedelta(milliseconds=now_ms)).astimezone(tz)


def _ms(when: datetime, tz: tzinfo | None) -> int:
    """A time without a zone is in ``tz``; None is the system's zone, with its rules at that time."""
    if when.tzinfo is None:
        when = when.replace(tzinfo=tz) if tz is not None else when.astimezone()
    return (when - _EPOCH) // timedelta(milliseconds=1)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
