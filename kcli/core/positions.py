"""Offsets, ranges, instants and durations as people write them. Pure: ``now_ms`` and the time zone are passed in.

``parse_offset`` and ``parse_range`` read ``--offset`` and ``--to``; ``read_instant`` reads ``--since`` and
``--until``. All raise ValueError with a sentence that says what is expected.
"""

import re
from datetime import UTC, datetime, time, timedelta, tzinfo

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError

EARLIEST_WORDS = frozenset(("earliest", "beginning", "start", "oldest"))
LATEST_WORDS = frozenset(("latest", "end", "newest"))
STORED_WORDS = frozenset(("current", "stored"))
DAY_WORDS = frozenset(("now", "today", "yesterday"))
SPECIAL_WORDS = {
    "max-timestamp": -3,
    "earliest-local": -4,
    "latest-tiered": -5,
    "earliest-pending-upload": -6,
}
"""The offsets that only brokers can find, and what a request has in the place of a timestamp (``cluster/offsets.py``)."""
SPECIAL_NAMES = {value: word for word, value in SPECIAL_WORDS.items()}


class OffsetSpec(NamedTuple):
    """A position in every partition.

    ``kind``: ``earliest``, ``latest``, ``stored`` (the group's committed offset), ``offset`` (``value`` itself),
    ``from_start`` and ``from_end`` (``value`` records from there, ≥ 0), ``timestamp`` (``value`` in ms, ``note`` as of
    ``Instant``), ``special`` (``value`` is one of those of ``SPECIAL_WORDS``).
    """

    kind: str
    value: int = 0
    note: str = ""

    @property
    def listed(self) -> int | None:
        """What brokers are asked for (ListOffsets): a timestamp or a special offset; None where the ends of a log do."""
        return self.value if self.kind in ("timestamp", "special") else None


class RangeSpec(NamedTuple):
    """A range from ``start`` up to, not including, ``stop``; None leaves a side open."""

    start: OffsetSpec | None
    stop: OffsetSpec | None = None

    @property
    def times(self) -> tuple[int | None, int | None]:
        """The times between which it is, in ms since the epoch, the second exclusive; None where no time limits it."""
        since, until = (end.value if end is not None and end.kind == "timestamp" else None for end in self)
        return since, until


class Instant(NamedTuple):
    """``ms`` since the epoch. ``note`` is a sentence on a local time that is not exactly one instant, else empty."""

    ms: int
    note: str = ""


class FarInstantError(ValueError):
    """A bare number would be a time of another century."""


def parse_range(text: str, now_ms: int, tz: tzinfo | None = None) -> RangeSpec:
    """A position or a range of two: ``A:B``, ``A..B``, ``:B``, ``A:``, ``@T1:T2``; the end is exclusive. ``start+N`` is
    ``+N``, ``end-N`` is ``-N``.

    Times contain colons too, so a range of instants is split at the only colon with a position on both sides; if there
    are none or several, ValueError asks for ``..``. ``tz`` None is the system's zone.
    """
    text = text.strip()
    if ".." in text:
        start, _, stop = text.partition("..")
        return _range(_side(start, now_ms, tz), _side(_with_at(text, stop), now_ms, tz), text)
    try:
        whole = _position(text, now_ms, tz)
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
    if inclusive := re.fullmatch(r"([0-9]+)-([0-9]+)", text):
        first, last = (_int64(digits) for digits in inclusive.groups())
        if first <= last:
            raise ValueError(
                f"{text!r} is not a range: write {first}:{last + 1} for offsets {first} to {last}, the end is excluded"
            )
    try:
        return RangeSpec(_position(text, now_ms, tz))
    except ValueError as error:
        if text.startswith("@") or re.match(_DATE, text):
            raise
        raise ValueError(f"{error}, or a range A:B, A: or :B, which excludes B") from None


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
    if word in SPECIAL_WORDS:
        return OffsetSpec("special", SPECIAL_WORDS[word])
    if re.fullmatch(r"[0-9]+", text):
        return OffsetSpec("offset", _int64(text))
    if re.fullmatch(r"[+-][0-9]+", text):
        return OffsetSpec("from_start" if text[0] == "+" else "from_end", _int64(text[1:]))
    if text.startswith("@") or word in DAY_WORDS or re.match(_DATE, text):
        return OffsetSpec("timestamp", *read_instant(text, now_ms, tz))
    raise ValueError(
        f"{text!r} is not an offset (earliest, latest, stored, N, +N, -N) or a time "
        "such as @-1h, @10:30, 2026-11-21T10:00Z"
    )


def parse_instant(text: str, now_ms: int, tz: tzinfo | None = None) -> int:
    """``read_instant`` in milliseconds since the epoch."""
    return read_instant(text, now_ms, tz).ms


def read_instant(text: str, now_ms: int, tz: tzinfo | None = None) -> Instant:
    """An instant; a leading ``@`` is allowed.

    A bare integer is an epoch in s, ms, µs or ns by its digits, at most 100 years from now; ``3h`` and ``-3h`` are three
    hours ago, ``+3h`` in three hours; ``10:30`` is today; ISO dates and times without a zone are in ``tz``. Of a local
    time that is there twice the first one is taken, and of one that is skipped what the clock shows instead. What is
    before 1970 is 1970: requests have other meanings for negative timestamps (-1 is the end).
    """
    found = _instant(text, now_ms, tz)
    if found.ms >= 0:
        return found
    return Instant(0, f"{text.strip()} is before 1970-01-01T00:00Z, where timestamps begin, which was taken")


def _instant(text: str, now_ms: int, tz: tzinfo | None) -> Instant:
    trimmed = text.strip().removeprefix("@")
    word = trimmed.lower()
    if word in DAY_WORDS:
        return _day(word, now_ms, tz)
    if re.fullmatch(r"[0-9]+", trimmed):
        return Instant(_near(trimmed, now_ms))
    if re.fullmatch(_CLOCK, trimmed):
        return _placed(datetime.combine(_local(now_ms, tz).date(), _time(trimmed, text)), tz)
    if re.match(_DATE, trimmed):
        return _iso(trimmed, text, tz)
    sign = -1 if trimmed[:1] != "+" else 1
    try:
        ago = parse_duration_ms(trimmed.lstrip("+-") if trimmed[:1] in "+-" else trimmed, unit=True)
        return Instant(now_ms + sign * ago)
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
    value = int(digits)
    match _unit(digits):
        case "s":
            return value * 1000
        case "ms":
            return value
        case "µs":
            return value // 1000
    return value // 1_000_000


def _unit(digits: str) -> str:
    count = len(digits.lstrip("0"))
    return "s" if count <= 11 else "ms" if count <= 14 else "µs" if count <= 17 else "ns"


def _near(digits: str, now_ms: int) -> int:
    count = len(digits.lstrip("0"))
    ms = epoch_ms(digits) if count <= 24 else now_ms + 2 * _CENTURY_MS
    if abs(ms - now_ms) <= _CENTURY_MS:
        return ms
    year = f"is in the year {1970 + ms // _YEAR_MS}" if count <= 24 else "is larger than any time"
    raise FarInstantError(
        f"{digits if count <= 24 else digits[:24] + '…'} has {count} digits, so it was taken as {_unit(digits)}, and "
        f"{year}, more than 100 years away; the times of these years have 10 digits in s, 13 in ms, 16 in µs and 19 in ns"
    )


def check_times(
    spec: RangeSpec, now_ms: int, where: str, *, since: str, until: str = "--until", start: str = ""
) -> None:
    """ConfigError for a range of time that cannot have a record; ``since`` and ``until`` are what named its ends."""
    first, last = (end.value if end is not None and end.kind == "timestamp" else None for end in spec)
    if first is not None and last is not None and last < first:
        raise ConfigError(
            f"{where}: {until} is before {start or since}",
            why="there is nothing between them: 3h is three hours ago, +3h in three hours",
            do="exchange the two times",
        )
    if first is not None and first > now_ms:
        raise ConfigError(
            f"{where}: {since} is in the future",
            why="no record is that new: 3h is three hours ago, +3h in three hours",
            do="give a time before now; `kcli consume TOPIC --offset latest` begins with what arrives"
            if since[:1] == "-"
            else "",
        )


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
_DATE = r"(?i:[0-9]{4}-[0-9]{2}-[0-9]{2}(?:$|[TZ ]))"
# No hour is 24: to Python it is midnight from 3.14 on, and before an error.
_ISO_TIME = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[Zz]|[Tt ](?!24)[0-9]{2}(?::[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?)?(?:[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)
_CLOCK = r"(?!24)[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
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
    return _position(text, now_ms, tz) if text.strip() else None


def _position(text: str, now_ms: int, tz: tzinfo | None) -> OffsetSpec:
    """A position of a range, in which ``+N`` counts from the start: so it may be written ``start+N``, and ``end-N``."""
    anchored = re.fullmatch(r"\s*([a-z]+)([+-])([0-9]+)\s*", text.lower())
    if anchored is not None:
        word, sign, number = anchored.groups()
        if word in EARLIEST_WORDS and sign == "+":
            return OffsetSpec("from_start", _int64(number))
        if word in LATEST_WORDS and sign == "-":
            return OffsetSpec("from_end", _int64(number))
    return parse_offset(text, now_ms, tz)


def _with_at(whole: str, stop: str) -> str:
    """The second end of ``@T1:T2`` is an instant too; words and +N, -N are unchanged."""
    trimmed = stop.strip()
    plain = not trimmed or trimmed[0] == "@" or re.fullmatch(r"[a-zA-Z]*[+-][0-9]+", trimmed)
    word = trimmed.lower() in EARLIEST_WORDS | LATEST_WORDS | STORED_WORDS | SPECIAL_WORDS.keys()
    return trimmed if plain or word or not whole.startswith("@") else "@" + trimmed


Ends = tuple[OffsetSpec | None, OffsetSpec | None]


def _splits(text: str, now_ms: int, tz: tzinfo | None) -> list[Ends]:
    """Every way to split the text at one colon into two positions."""
    found: list[Ends] = []
    far: FarInstantError | None = None
    for at in (index for index, sign in enumerate(text) if sign == ":"):
        start, stop = text[:at], text[at + 1 :]
        try:
            ends = _side(start, now_ms, tz), _side(_with_at(text, stop), now_ms, tz)
        except FarInstantError as error:
            far = error
            continue
        except ValueError:
            continue
        kinds = {end.kind for end in ends if end is not None}
        if kinds and kinds != {"timestamp", "offset"}:  # 10:00:30 never means a time and the offset 30
            found.append(ends)
    if far is not None and not found:
        raise far
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


def _day(word: str, now_ms: int, tz: tzinfo | None) -> Instant:
    if word == "now":
        return Instant(now_ms)
    day = _local(now_ms, tz).date() - timedelta(days=1 if word == "yesterday" else 0)
    return _placed(datetime.combine(day, time()), tz)


def _iso(trimmed: str, text: str, tz: tzinfo | None) -> Instant:
    if not re.fullmatch(_ISO_TIME, trimmed):
        raise ValueError(
            f"{text!r} is not a time: write 2026-11-21, 2026-11-21Z, 2026-11-21T10:00 or 2026-11-21T10:00:30.5Z"
        )
    try:
        whole = re.sub(r"^([0-9-]{10})Z$", r"\1T00:00Z", trimmed.upper())  # of a date, Python reads no zone
        return _placed(datetime.fromisoformat(whole), tz)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} is not a time: {error}") from None


def _time(trimmed: str, text: str) -> time:
    try:
        return time.fromisoformat(trimmed.rjust(len(trimmed) + (trimmed.index(":") == 1), "0"))
    except ValueError as error:
        raise ValueError(f"{text!r} is not a time: {error}") from None


def _local(now_ms: int, tz: tzinfo | None) -> datetime:
    return (_EPOCH + timedelta(milliseconds=now_ms)).astimezone(tz)


def _placed(when: datetime, tz: tzinfo | None) -> Instant:
    """A time without a zone is in ``tz``; None is the system's zone, with its rules at that time.

    Its two readings (PEP 495) differ where clocks are changed: the first is later if they skip it.
    """
    ms, other = (_ms(when.replace(fold=fold), tz) for fold in (0, 1))
    if ms == other:
        return Instant(ms)
    taken = _local(ms, tz).isoformat()
    if ms < other:
        return Instant(
            ms, f"the local time {when} is there twice, as clocks are set back: the first, {taken}, was taken"
        )
    return Instant(ms, f"the local time {when} does not exist, as clocks are set forward: {taken} was taken")


def _ms(when: datetime, tz: tzinfo | None) -> int:
    if when.tzinfo is None and tz is None:  # astimezone() would take a skipped time for an earlier one
        return round(when.replace(microsecond=0).timestamp()) * 1000 + when.microsecond // 1000
    if when.tzinfo is None:
        when = when.replace(tzinfo=tz)
    return (when - _EPOCH) // timedelta(milliseconds=1)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_YEAR_MS = 31_556_952_000
_CENTURY_MS = 100 * _YEAR_MS
