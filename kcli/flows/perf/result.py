"""A measurement as the item of a PerfReport: every key is always there, null where it was not measured. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcli.core.classes import dataclass, field
from kcli.flows.perf.histogram import Histogram
from kcli.flows.perf.measurement import Interval, Measurement

PERCENTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99, "p999": 0.999}
"""The percentiles of a report, by their names in it."""
MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Run:
    """What is known of a run besides its figures. ``test``: ``produce``, ``consume`` or ``e2e``.

    ``configuration`` has the options of the clients that were set or matter, by Kafka's names; ``versions`` and ``host``
    are those of ``surroundings.py``. ``generator_records_per_second``: of making values without sending them.
    """

    test: str
    topic: str
    group: str | None = None
    processes: int = 1
    configuration: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, Any] = field(default_factory=dict)
    host: Mapping[str, Any] = field(default_factory=dict)
    generator_records_per_second: float | None = None


def perf_item(run: Run, measured: Measurement) -> dict[str, Any]:
    """The item; latencies are whole microseconds, ``mb`` is 10^6 bytes."""
    seconds = measured.seconds
    return {
        "test": run.test,
        "topic": run.topic,
        "group": run.group,
        "processes": run.processes,
        **figures(measured),
        "errors": measured.errors.total(),
        "errors_by_kind": dict(measured.errors.most_common()),
        "unconfirmed": None if run.test == "consume" else measured.unconfirmed,
        **_integrity(measured),
        "warmup_records": measured.warmup_records,
        "rebalance_seconds": None if run.group is None else round(measured.rebalance_seconds, 6),
        "fetch_seconds": round(measured.fetch_seconds, 6) if run.test == "consume" else None,
        "began": _time(measured.began),
        "ended": _time(measured.ended),
        "configuration": dict(run.configuration),
        "versions": dict(run.versions),
        "host": dict(run.host),
        "overhead": {
            "cpu_seconds": round(measured.cpu_seconds, 6),
            "cpu_share": round(measured.cpu_seconds / seconds, 4) if seconds else None,
            "generator_records_per_second": run.generator_records_per_second,
            "late_p99_us": measured.lateness.percentile(0.99),
        },
        "interval_seconds": measured.interval_seconds,
        "intervals": _intervals(measured),
        "histogram_raw_us": measured.raw.rows(),
        "histogram_corrected_us": measured.corrected.rows(),
    }


def figures(measured: Measurement) -> dict[str, Any]:
    """Amounts, rates and latencies, by their keys in the item."""
    seconds = measured.seconds
    return {
        "records": measured.records,
        "bytes": measured.bytes,
        "seconds": round(seconds, 6),
        "records_per_second": _rate(measured.records, seconds, 1),
        "mb_per_second": _rate(measured.bytes / MEGABYTE, seconds, 3),
        **_latencies(measured.raw, ""),
        **_latencies(measured.corrected, "_corrected"),
    }


def _latencies(histogram: Histogram, ending: str) -> dict[str, Any]:
    """``latency_p50_us``, or with the ending ``_corrected``: ``latency_p50_corrected_us``."""
    mean = histogram.mean
    values = dict(zip(PERCENTILES, histogram.percentiles(list(PERCENTILES.values())), strict=True))
    found = {"mean": None if mean is None else round(mean, 1), **values}
    found["max"] = histogram.largest if histogram.total else None
    return {f"latency_{name}{ending}_us": value for name, value in found.items()}


def _integrity(measured: Measurement) -> dict[str, int | None]:
    found = measured.integrity
    names = ("checked", "lost", "duplicated", "reordered")
    return {name: None if found is None else getattr(found, name) for name in names}


def _intervals(measured: Measurement) -> list[dict[str, Any]]:
    """Without gaps from the first to the last: an interval in which nothing happened is one, too."""
    length, last = measured.interval_seconds, max(measured.intervals, default=-1)
    return [
        _interval(
            measured.intervals.get(number, Interval(number)),
            number * length,
            min(length, max(0.0, measured.seconds - number * length)) if number == last else length,
        )
        for number in range(last + 1)
    ]


def _interval(interval: Interval, at: float, seconds: float) -> dict[str, Any]:
    """``histogram_us`` is of the corrected latencies, within 1 %: those of several intervals can be added."""
    p50, p99 = interval.latencies.percentiles((0.50, 0.99))
    return {
        "at_seconds": round(at, 3),
        "seconds": round(seconds, 6),
        "records": interval.records,
        "bytes": interval.bytes,
        "errors": interval.errors,
        "cpu_seconds": round(interval.cpu_seconds, 6),
        "latency_p50_us": p50,
        "latency_p99_us": p99,
        "latency_max_us": interval.latencies.largest if interval.latencies.total else None,
        "histogram_us": interval.latencies.coarse_rows(),
    }


def _rate(amount: float, seconds: float, digits: int) -> float | None:
    return round(amount / seconds, digits) if seconds else None


def _time(seconds: float) -> int | None:
    """Milliseconds since 1970: ``Column("began", "time")`` writes them as RFC 3339."""
    return round(seconds * 1000) if seconds else None
