"""The result of a test on stdout in every format of ``-o``, and its summary on stderr."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kcli.commands.perf.kafka_lines import kafka_lines
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.options import REPORT_KINDS
from kcli.commands.shared.row_output import print_rows
from kcli.flows.perf.limits import latency_text
from kcli.flows.perf.result import PERCENTILES
from kcli.output.listing import DOCUMENTS, list_rows
from kcli.output.progress import counted, size_text
from kcli.output.tables import Column

OUTPUTS = (*REPORT_KINDS, "kafka")
"""The formats of tests."""

_FIGURES = ("mean", *PERCENTILES, "max")
_RATES = (
    Column("test", values=("produce", "consume", "e2e"), meaning="Which test."),
    Column("topic"),
    Column("group", wide=True, meaning="Name of the group; null without one."),
    Column("processes", "number", wide=True, values="count", meaning="How many processes measured."),
    Column("records", "number", values="count", meaning="Records that were confirmed or read."),
    Column("bytes", "size", values="count", meaning="Bytes of their keys and values."),
    Column("seconds", "number", values="amount", meaning="How long it took."),
    Column("records_per_second", "number"),
    Column("mb_per_second", "number"),
)
_LATENCIES = tuple(
    Column(
        f"latency_{name}{ending}_us",
        "number",
        values="number?" if name == "mean" else "count?",
        meaning=f"Latency {since} in microseconds: {name}; null where it was not measured.",
    )
    for ending, since in (("_corrected", "from the intended time"), ("", "of requests"))
    for name in _FIGURES
)
_COUNTS = (
    Column("errors", "number", values="count", meaning="Records or requests that failed."),
    Column(
        "unconfirmed",
        "number",
        spare=1,
        meaning="Records of unknown outcome; null where there are none by nature.",
    ),
    Column(
        "checked", "number", wide=True, meaning="Records whose integrity was checked; null without a check."
    ),
    Column("lost", "number", spare=2, meaning="Records that were confirmed and not found."),
    Column("duplicated", "number", spare=2, meaning="Records that were found more than once."),
    Column("reordered", "number", spare=2, meaning="Records out of order."),
    Column("warmup_records", "number", wide=True, values="count", meaning="Records before the measurement."),
    Column(
        "rebalance_seconds",
        "number",
        wide=True,
        values="amount?",
        meaning="Seconds until the group had its partitions; null without one.",
    ),
    Column(
        "fetch_seconds",
        "number",
        wide=True,
        values="amount?",
        meaning="Seconds of reading without those of joining; null where nothing was read.",
    ),
)
_TIMES = (
    Column("began", "time", wide=True, meaning="When it began."),
    Column("ended", "time", wide=True, meaning="When it ended."),
)
FURTHER = (
    Column("errors_by_kind", values="counts", meaning="The same by kind."),
    Column("configuration", values="object", meaning="Options of the clients, by Kafka's names."),
    Column("versions", values="object", meaning="Versions of kcli, Python and Kafka."),
    Column("host", values="object", meaning="The machine."),
    Column(
        "overhead",
        values="object",
        inner=(
            Column("cpu_seconds", values="amount", meaning="CPU that kcli used."),
            Column("cpu_share", values="amount?", meaning="The same as a share of one CPU."),
            Column(
                "generator_records_per_second",
                values="number?",
                meaning="Records a second that kcli makes without sending them.",
            ),
            Column(
                "late_p99_us",
                values="number?",
                meaning="How late records were handed over, in microseconds: p99.",
            ),
        ),
        meaning="What the measurement itself cost.",
    ),
    Column("interval_seconds", values="amount", meaning="Length of an interval."),
    Column(
        "intervals",
        values="objects",
        inner=(
            Column("at_seconds", values="amount", meaning="Its beginning."),
            Column("seconds", values="amount", meaning="Its length."),
            Column("records", values="count", meaning="Records."),
            Column("bytes", values="count", meaning="Bytes."),
            Column("errors", values="count", meaning="Errors."),
            Column("cpu_seconds", values="amount", meaning="CPU that kcli used."),
            Column("latency_p50_us", values="count?", meaning="Corrected latency, in microseconds."),
            Column("latency_p99_us", values="count?", meaning="Corrected latency, in microseconds."),
            Column("latency_max_us", values="count?", meaning="Corrected latency, in microseconds."),
            Column("histogram_us", values="pairs", meaning="Corrected latencies: value and count."),
        ),
        meaning="The course of the measurement.",
    ),
    Column(
        "histogram_raw_us", values="pairs", meaning="Latencies of requests: value in microseconds, and count."
    ),
    Column(
        "histogram_corrected_us",
        values="pairs",
        meaning="Latencies from the intended time: value in microseconds, and count.",
    ),
)
FIGURES = (*_RATES, *_LATENCIES, *_COUNTS, *_TIMES)
_KINDS = {column.key: column.kind for column in _TIMES}
_BY_CLOCK = (Column("latency"), *(Column(f"{name}_us", "number") for name in _FIGURES))


def print_result(inv: Invocation, item: Mapping[str, Any], cluster: str | None) -> None:
    """Prints the item of ``result.perf_item``."""
    form = inv.out.list_kind()
    if form == "kafka":
        inv.out.text("".join(f"{line}\n" for line in kafka_lines(item, headers=inv.out.headers)))
        inv.out.flush()
    elif form in DOCUMENTS:
        columns = [Column(key, _KINDS.get(key, "text")) for key in item]
        print_rows(inv, "PerfReport", columns, [item], cluster, item="PerfReport")
    elif form in ("tsv", "csv"):
        print_rows(inv, "PerfReport", FIGURES, [item])
    else:
        print_rows(inv, "PerfReport", (*_RATES, *_COUNTS, *_TIMES), [item])
        _print_latencies(inv, item)


def _print_latencies(inv: Invocation, item: Mapping[str, Any]) -> None:
    """A second table, where latencies were measured: the corrected ones above the raw ones."""
    rows = [
        {"latency": clock, **{f"{name}_us": _whole(item[f"latency_{name}{ending}_us"]) for name in _FIGURES}}
        for clock, ending in (("corrected", "_corrected"), ("raw", ""))
    ]
    if any(row["mean_us"] is not None for row in rows):
        inv.out.text("\n")
        with list_rows(inv.out, "PerfReport", "PerfReport", _BY_CLOCK) as printed:
            for row in rows:
                printed.add(row)


def _whole(micros: float | None) -> int | None:
    return None if micros is None else round(micros)


def said(inv: Invocation, item: Mapping[str, Any]) -> list[str]:
    """What is said of a result on stderr: all of it, or what the table above does not show on the same terminal."""
    tables = inv.out.list_kind() in ("table", "wide") and inv.out.isatty and inv.talk.isatty
    return remarks(item) if tables else summary(item)


def summary(item: Mapping[str, Any]) -> list[str]:
    """The result in a few lines for a person."""
    rate, megabytes = item["records_per_second"] or 0, item["mb_per_second"] or 0
    what = {"consume": "read", "e2e": "received"}.get(item["test"], "confirmed")
    if what == "confirmed" and item["configuration"].get("acks") == "0":
        what = "sent, not confirmed (acks=0)"
    lines = [
        f"{counted(item['records'], 'record')} {what} ({size_text(item['bytes'])}) in {item['seconds']:.1f} s: "
        f"{rate:,.0f} records/s, {megabytes:,.2f} MB/s"
    ]
    for clock, ending in (("latency from the intended time", "_corrected"), ("latency of requests", "")):
        if item[f"latency_mean{ending}_us"] is not None:
            lines.append(f"{clock}: {_figures(item, ending)}")
    return [*lines, *remarks(item)]


def remarks(item: Mapping[str, Any]) -> list[str]:
    """What was checked, what is not in the figures, and what the test itself cost."""
    lines = []
    if item["checked"] is not None:
        found = ", ".join(f"{item[name]:,} {name}" for name in ("lost", "duplicated", "reordered"))
        lines.append(f"{counted(item['checked'], 'record')} checked: {found}")
    if item["warmup_records"]:
        lines.append(f"not in these figures: {counted(item['warmup_records'], 'record')} of the warm-up")
    lines.append(_overhead(item))
    return lines


def _figures(item: Mapping[str, Any], ending: str) -> str:
    names: Sequence[str] = ("p50", "p95", "p99", "p999", "max")
    return ", ".join(f"{name} {latency_text(item[f'latency_{name}{ending}_us'])}" for name in names)


_BUSY = 0.9
"""The share of a CPU from which on a process of kcli may limit the rate."""
_AMPLE = 2.0
"""How many times the rate values have to be made, so that making them does not limit it."""


def _overhead(item: Mapping[str, Any]) -> str:
    """What the test itself cost, so that it is known whether the cluster was measured or kcli."""
    own, rate = item["overhead"], item["records_per_second"] or 0
    parts = [f"kcli used {own['cpu_seconds']:.2f} s of CPU"]
    if own["cpu_share"] is not None:
        parts[0] += f" ({own['cpu_share']:.0%} of one)"
    if own["late_p99_us"] is not None:
        parts.append(f"and handed records over at most {latency_text(own['late_p99_us'])} late (p99)")
    text = " ".join(parts)
    if own["cpu_seconds"]:
        text += f"; {counted(round(item['records'] / own['cpu_seconds']), 'record')} for each second of CPU"
    made = own["generator_records_per_second"]
    if not made:
        return text
    limits = made < rate * _AMPLE or (own["cpu_share"] or 0) > _BUSY * item["processes"]
    return f"{text}; kcli {'may limit the rate: see --processes' if limits else 'does not limit the rate'}"
