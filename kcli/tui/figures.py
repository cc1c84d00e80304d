"""Numbers, durations and courses as the screen shows them. Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

from kcli.flows.lag.pace import Trend
from kcli.flows.lag.partition_lag import INTERPOLATED
from kcli.output.progress import duration_text

UNKNOWN = "–"
_BARS = "▁▂▃▄▅▆▇█"
_LARGE = 10_000_000


def count(number: int | None) -> str:
    """``812,410``; from ten millions on ``12.3 M``."""
    if number is None:
        return UNKNOWN
    return f"{number:,}" if number < _LARGE else short(number)


def offset(number: int | None) -> str:
    """All digits."""
    return UNKNOWN if number is None else f"{number:,}"


def short(number: float | None) -> str:
    """At most six columns: ``950``, ``3.1 k``, ``48.2 k``, ``1.31 M``."""
    if number is None:
        return UNKNOWN
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            value = number / size
            places = 2 if value < 10 else 1 if value < 100 else 0
            return f"{value:.{places}f} {unit}"
    return f"{number:.0f}" if number >= 10 or number == round(number) else f"{number:.1f}"


def at_least(text: str, *, partial: bool) -> str:
    """``≥3.1 k`` where some is not known; nothing is not a figure then."""
    if not partial or text == UNKNOWN:
        return text
    return UNKNOWN if text == "0" else f"≥{text}"


def per_second(number: float | None) -> str:
    """``12,400``, ``0.5``: for a column whose title has the unit."""
    if number is None:
        return UNKNOWN
    return short(number) if number >= _LARGE or number < 10 else f"{number:,.0f}"


def rate(per_second: float | None) -> str:
    """``3.1 k/s``."""
    return UNKNOWN if per_second is None else f"{short(per_second)}/s"


def age(seconds: float | None, method: str) -> str:
    """``≈12m04s`` where it is not from a record."""
    if seconds is None:
        return UNKNOWN
    return ("≈" if method == INTERPOLATED and seconds else "") + duration_text(seconds)


def ago(seconds: float | None) -> str:
    """``2h05m ago``."""
    return UNKNOWN if seconds is None else f"{duration_text(seconds)} ago"


def time_to_drain(trend: Trend) -> str:
    """How long until nothing is unread; ``growing`` where the lag grows. Not known where it does neither: rates that
    differ by less than a hundredth are those of a group that reads what is written.
    """
    if trend.net is not None and abs(trend.net) < (trend.produced or 0) / 100:
        return UNKNOWN
    if trend.eta is not None:
        return duration_text(trend.eta)
    return "growing" if trend.net is not None and trend.net > 0 else UNKNOWN


def outlook(trend: Trend) -> str:
    """``ETA 3m20s``, ``lag grows``; empty where neither is known."""
    left = time_to_drain(trend)
    return {UNKNOWN: "", "growing": "lag grows"}.get(left, f"ETA {left}")


def course(values: Sequence[float | None], width: int, *, calm: float = 0) -> str:
    """A sparkline: the last value of each of ``width`` equal parts, from the least to the largest.

    Blank where nothing is known; a course that does not change is drawn in the middle, or at the bottom if it is 0. What
    changes by less than a fifth does not look like a mountain range, and neither does what is less than ``calm``.
    """
    if not values or width <= 0:
        return " " * max(0, width)
    shown = _sampled(values, width)
    known = [value for value in shown if value is not None]
    if not known:
        return " " * width
    low, high = min(known), max(known)
    if high < calm:
        low, high = 0, calm
    if low < high and high - low < high / 5:
        low, high = (low + high) / 2 - high / 10, (low + high) / 2 + high / 10
    text = "".join(" " if value is None else _bar(value, low, high) for value in shown)
    return text.rjust(width)


def clock(at_ms: int, utc_offset: int | None = None) -> str:
    """The time of day, here or ``utc_offset`` seconds east of Greenwich."""
    return moment(at_ms, utc_offset).strftime("%H:%M:%S")


def date_and_clock(at_ms: int, utc_offset: int | None = None) -> str:
    """``2026-11-21 09:14:03``."""
    return moment(at_ms, utc_offset).strftime("%Y-%m-%d %H:%M:%S")


def moment(at_ms: int, utc_offset: int | None = None) -> datetime:
    """The date and time, here or ``utc_offset`` seconds east of Greenwich."""
    zone = None if utc_offset is None else timezone(timedelta(seconds=utc_offset))
    return datetime.fromtimestamp(at_ms / 1000, zone)


def chart(values: Sequence[float | None], width: int, height: int) -> list[str]:
    """Bars from the bottom up, as many rows as ``height``, from 0 to the largest value; the latest at the right."""
    shown = _sampled(values, max(0, width))
    largest = max((value for value in shown if value is not None), default=0) or 1
    eighths = [0 if value is None else round(value / largest * height * 8) for value in shown]
    rows = []
    for row in range(height - 1, -1, -1):
        text = "".join(_BARS[min(8, left) - 1] if (left := one - 8 * row) > 0 else " " for one in eighths)
        rows.append(text.rjust(width))
    return rows


def _sampled(values: Sequence[float | None], width: int) -> list[float | None]:
    if len(values) <= width:
        return list(values)
    return [values[(index + 1) * len(values) // width - 1] for index in range(width)]


def _bar(value: float, low: float, high: float) -> str:
    if high == low:
        return _BARS[3] if high else _BARS[0]
    return _BARS[round((value - low) / (high - low) * (len(_BARS) - 1))]
