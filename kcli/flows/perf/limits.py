"""``--fail-if 'p99>50ms'``: conditions on the figures of a report under which a test counts as failed. Pure.

METRIC OP VALUE; OP is one of > >= < <=. Latencies are those from the intended time; ``raw_`` before the name means the
ones from when the request was sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from operator import ge, gt, le, lt
from typing import Any

from kcli.core.classes import dataclass
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.near_names import near_names
from kcli.core.positions import parse_duration_ms

_PARTS = re.compile(r"\s*([A-Za-z_0-9]+)\s*(<=|>=|<|>)\s*(\S.*?)\s*")
_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)(?:/s)?")
_FACTORS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_LATENCY = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(us|µs|μs|ms|s)")
_MICROS = {"us": 1, "µs": 1, "μs": 1, "ms": 1000, "s": 1_000_000}  # µ is in Unicode twice

_LATENCIES = ("p50", "p95", "p99", "p999", "max", "mean")
KEYS: Mapping[str, str] = {
    **{name: f"latency_{name}_corrected_us" for name in _LATENCIES},
    **{f"raw_{name}": f"latency_{name}_us" for name in _LATENCIES},
    "rate": "records_per_second",
    "mb": "mb_per_second",
    "errors": "errors",
    "lost": "lost",
    "duplicated": "duplicated",
    "reordered": "reordered",
    "unconfirmed": "unconfirmed",
}
"""The metrics, with the keys of a report in which they are."""
_PER_SECOND = frozenset(("rate", "mb"))
_INTEGRITY = frozenset(("lost", "duplicated", "reordered"))


class LimitError(KcliError):
    """A condition of ``--fail-if`` is true."""

    exit_code = ExitCode.CHECK

    def __init__(self, test: str, text: str) -> None:
        super().__init__(
            f"perf {test}: --fail-if {text}",
            why="the condition is true: exit status 8 says so to scripts",
            do="find out what has changed, or change the condition",
        )


@dataclass(frozen=True, slots=True)
class Limit:
    """A condition as it was written, and what it means: ``value`` has the unit of the report's key."""

    text: str
    metric: str
    operator: str
    value: float

    def exceeded_by(self, figure: float) -> bool:
        """Whether the condition is true, so that the test has failed."""
        return _OPERATORS[self.operator](figure, self.value)


def parse_limit(text: str) -> Limit:
    """ValueError with a sentence if it is no condition."""
    metric, operator, value = split_condition(text, KEYS, "p99>50ms, rate<100k or errors>0")
    return Limit(text.strip(), metric, operator, _value(metric, value))


def split_condition(text: str, metrics: Mapping[str, object], examples: str) -> tuple[str, str, str]:
    """Metric, operator and value of a condition; ValueError if there is no such metric."""
    match = _PARTS.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a condition such as {examples}")
    metric = match[1].lower()
    if metric not in metrics:
        near = near_names(metric, metrics)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise ValueError(f"{match[1]!r} is not measured{hint}; there are {', '.join(metrics)}")
    return metric, match[2], match[3]


def _value(metric: str, text: str) -> float:
    if KEYS[metric].startswith("latency_"):
        return _microseconds(text)
    match = _NUMBER.fullmatch(text)
    if metric not in _PER_SECOND and text.endswith("/s"):
        match = None  # a number of records, however long the test was
    unit = match[2].lower() if match else ""
    if match and metric == "mb" and unit in ("b", "kb", "mb", "gb"):
        return float(match[1]) * _FACTORS[unit[:-1]] / 10**6
    if match is None or unit not in _FACTORS or (metric == "mb" and unit):
        unit = (
            "megabytes a second such as 100 or 1.5GB/s" if metric == "mb" else "a number such as 100 or 10k"
        )
        raise ValueError(f"{metric} is {unit}, not {text!r}")
    return float(match[1]) * _FACTORS[unit]


def _microseconds(text: str) -> float:
    """A unit is required: 50 could be milliseconds, as in Kafka's tools, or microseconds, as in the report."""
    match = _LATENCY.fullmatch(text)
    if match:
        return float(match[1]) * _MICROS[match[2]]
    try:
        return parse_duration_ms(text, unit=True) * 1000
    except ValueError:
        raise ValueError(f"{text!r} is not a latency such as 500us, 50ms or 1.5s") from None


def unmeasured(limit: Limit, test: str, *, checked: bool) -> str | None:
    """Why a test will not measure what is limited; None if it will. ``checked``: whether records are compared."""
    if test == "consume" and (KEYS[limit.metric].startswith("latency_") or limit.metric == "unconfirmed"):
        return "perf consume measures rates; perf produce and perf e2e measure latencies"
    if limit.metric in _INTEGRITY and not checked:
        return "the records are not checked in this run"
    return None


def exceeded(limits: Sequence[Limit], item: Mapping[str, Any]) -> list[str]:
    """A sentence for each limit that is exceeded, or whose figure is missing in the report."""
    found = []
    for limit in limits:
        figure = item[KEYS[limit.metric]]
        if figure is None:
            why = "the records were not checked" if limit.metric in _INTEGRITY else "no record was"
            found.append(f"{limit.text}: it was not measured, since {why}")
        elif limit.exceeded_by(figure):
            found.append(f"{limit.text}: it is {shown(limit.metric, figure)}")
    return found


def shown(metric: str, figure: float) -> str:
    """A figure of a metric, in the units in which limits are written."""
    if not KEYS[metric].startswith("latency_"):
        return f"{figure:,.1f} MB/s" if metric == "mb" else f"{figure:,.0f}"
    return latency_text(figure)


def latency_text(micros: float) -> str:
    """``850 µs``, ``12.3 ms``, ``1.25 s``."""
    if micros < 1000:
        return f"{micros:.0f} µs"
    if micros < 999_950:
        return f"{micros / 1000:.{1 if micros < 100_000 else 0}f} ms"
    return f"{micros / 1e6:.2f} s"
