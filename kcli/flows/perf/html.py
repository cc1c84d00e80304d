"""The report of a test as one HTML page with plots: what was measured, where, and with which configuration. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from kcli.flows.perf.limits import Limit, exceeded, latency_text
from kcli.flows.perf.result import PERCENTILES
from kcli.output.html_page import Axis, Point, from_zero, html_page, html_table, line_plot, of_powers, text
from kcli.output.progress import counted, size_text
from kcli.output.tables import time_text

_MOST_POINTS = 900  # as many as the plot has pixels
_NINES = ((1, "0 %"), (2, "50 %"), (10, "90 %"), (100, "99 %"), (1_000, "99.9 %"), (10_000, "99.99 %"))
_LARGEST = {"mean": "mean", **{name: name for name in PERCENTILES}, "max": "max"}


def perf_page(item: Mapping[str, Any], limits: Sequence[Limit], cluster: str | None) -> str:
    """``item``: of ``result.perf_item``."""
    when = "" if item["began"] is None else f", {time_text(item['began'])}"
    title = f"kcli perf {item['test']}: {item['topic']}"
    return html_page(title, f"Cluster {cluster or 'unknown'}{when}", "".join(_sections(item, limits)))


def _sections(item: Mapping[str, Any], limits: Sequence[Limit]) -> Iterator[str]:
    yield html_table(("", ""), _facts(item))
    if limits:
        yield "<h2>Limits</h2>\n" + html_table(("condition", "result"), _limits(item, limits))
    steps = _steps(item["intervals"])
    if steps:
        yield "<h2>Rate</h2>\n" + _rate_plot(steps)
    if item["latency_mean_corrected_us"] is not None:
        yield "<h2>Latency</h2>\n" + _NOTE + html_table(_heads(), _latencies(item))
        if steps:
            yield "<h3>Over time, from the intended time</h3>\n" + _latency_plot(steps)
        yield "<h3>Distribution</h3>\n" + _distribution(item)
    if item["errors_by_kind"]:
        rows = [(text(kind), f"{count:,}") for kind, count in item["errors_by_kind"].items()]
        yield "<h2>Errors</h2>\n" + html_table(("error", "#records"), rows)
    for name in ("configuration", "versions", "host"):
        if item[name]:
            rows = [(text(key), f"<code>{text(str(value))}</code>") for key, value in item[name].items()]
            yield f"<h2>{name.capitalize()}</h2>\n" + html_table(("", ""), rows)


_NOTE = (
    '<p class="note">Corrected: from when a record was to be sent, whatever has held it up. Raw: from when its request '
    "left. A stall that keeps records from being sent is in the former only.</p>\n"
)


def _facts(item: Mapping[str, Any]) -> list[tuple[str, str]]:
    own = item["overhead"]
    rows = [
        ("Records", f"{item['records']:,} ({size_text(item['bytes'])}) in {item['seconds']:.1f} s"),
        ("Rate", f"{item['records_per_second'] or 0:,.0f} records/s, {item['mb_per_second'] or 0:,.2f} MB/s"),
        ("Warm-up, not measured", counted(item["warmup_records"], "record")),
        ("Group", item["group"] or ""),
        ("Processes", f"{item['processes']}"),
        ("Failed records", f"{item['errors']:,}"),
        ("Unconfirmed", _count(item["unconfirmed"])),
        ("Records checked", _count(item["checked"])),
        ("Lost, duplicated, reordered", _integrity(item)),
        ("Rebalance", _seconds(item["rebalance_seconds"])),
        ("CPU time of kcli", f"{own['cpu_seconds']:.2f} s"),
        ("Records made without sending", _count(own["generator_records_per_second"], " a second")),
        ("Handed over late (p99)", "" if own["late_p99_us"] is None else latency_text(own["late_p99_us"])),
    ]
    return [(text(name), text(value)) for name, value in rows if value]


def _count(number: float | None, unit: str = "") -> str:
    return "" if number is None else f"{number:,.0f}{unit}"


def _seconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.3f} s"


def _integrity(item: Mapping[str, Any]) -> str:
    if item["checked"] is None:
        return ""
    return ", ".join(f"{item[name]:,}" for name in ("lost", "duplicated", "reordered"))


def _limits(item: Mapping[str, Any], limits: Sequence[Limit]) -> Iterator[tuple[str, str]]:
    for limit in limits:
        failed = exceeded([limit], item)
        verdict = f'<span class="bad">failed: {text(failed[0])}</span>' if failed else "passed"
        yield f"<code>{text(limit.text)}</code>", verdict


def _heads() -> tuple[str, ...]:
    return ("", *(f"#{name}" for name in _LARGEST))


def _latencies(item: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for clock, ending in (("corrected", "_corrected"), ("raw", "")):
        values = [item[f"latency_{name}{ending}_us"] for name in _LARGEST]
        yield clock, *("–" if value is None else text(latency_text(value)) for value in values)


# --- plots -------------------------------------------------------------------------------------------


def _steps(intervals: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Intervals, several as one where there are more than can be seen; of percentiles the largest of them."""
    size = -(-len(intervals) // _MOST_POINTS) or 1
    return [_step(intervals[at : at + size]) for at in range(0, len(intervals), size)]


def _step(several: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    seconds = sum(one["seconds"] for one in several)
    found: dict[str, Any] = {
        "at": several[0]["at_seconds"] + seconds / 2,
        "rate": sum(one["records"] for one in several) / seconds if seconds else 0.0,
    }
    for name in ("p50", "p99", "max"):
        values = [one[f"latency_{name}_us"] for one in several if one[f"latency_{name}_us"] is not None]
        found[name] = max(values, default=None)
    return found


def _rate_plot(steps: Sequence[Mapping[str, Any]]) -> str:
    points = [(step["at"], step["rate"]) for step in steps]
    up = from_zero("records/s", max(rate for _, rate in points), lambda rate: f"{rate:,.10g}")
    return line_plot(_time_axis(steps), up, [("records confirmed or read", points)])


def _latency_plot(steps: Sequence[Mapping[str, Any]]) -> str:
    lines: list[tuple[str, list[Point]]] = [
        (name, [(step["at"], step[name]) for step in steps]) for name in ("p50", "p99", "max")
    ]
    values = [value for _, points in lines for _, value in points if value is not None]
    up = of_powers("latency", min(values, default=1), max(values, default=1), latency_text)
    return line_plot(_time_axis(steps), up, lines)


def _time_axis(steps: Sequence[Mapping[str, Any]]) -> Axis:
    end = steps[-1]["at"]
    axis = from_zero("seconds", end, lambda seconds: f"{seconds:,.10g}")
    return Axis(axis.title, [tick for tick in axis.ticks if tick[0] <= end], end=end)


def _distribution(item: Mapping[str, Any]) -> str:
    """By how many of the records a latency is exceeded: one in two, in ten, in a hundred, and so on."""
    lines = [(name, _curve(item[f"histogram_{name}_us"])) for name in ("corrected", "raw")]
    values = [value for _, points in lines for _, value in points if value is not None]
    rarest = max(place for _, points in lines for place, _ in points)
    ticks = [tick for tick in _NINES if tick[0] <= rarest * 10]
    up = of_powers("latency", min(values), max(values), latency_text)
    return line_plot(Axis("share of the records that are not slower", ticks, logarithmic=True), up, lines)


def _curve(rows: Sequence[Sequence[int]]) -> list[Point]:
    """(1 / the share that is slower or equal, latency) of each bucket, thinned out to what can be seen."""
    total = sum(count for _, count in rows)
    before = accumulate((count for _, count in rows), initial=0)
    points: list[Point] = [
        (total / (total - slower), float(max(1, bucket)))
        for (bucket, _), slower in zip(rows, before, strict=False)
    ]
    size = -(-len(points) // _MOST_POINTS) or 1
    return [*points[:-1:size], *points[-1:]]
