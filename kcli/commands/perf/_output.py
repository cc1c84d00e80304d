"""The result of a test on stdout in every format of ``-o``, and its summary on stderr."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kcli.commands.perf._kafka_lines import kafka_lines
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.options import OUTPUT_KINDS
from kcli.commands.shared.row_output import print_rows
from kcli.flows.perf.limits import latency_text
from kcli.flows.perf.result import PERCENTILES
from kcli.output.listing import DOCUMENTS, list_rows
from kcli.output.progress import counted, size_text
from kcli.output.tables import Column

OUTPUTS = (*(kind for kind in OUTPUT_KINDS if kind != "name"), "kafka")
"""The formats of tests."""

_FIGURES = ("mean", *PERCENTILES, "max")
_RATES = (
    Column("test"),
    Column("topic"),
    Column("group", wide=True),
    Column("processes", "number", wide=True),
    Column("records", "number"),
    Column("bytes", "size"),
    Column("seconds", "number"),
    Column("records_per_second", "number"),
    Column("mb_per_second", "number"),
)
_LATENCIES = tuple(
    Column(f"latency_{name}{ending}_us", "number") for ending in ("_corrected", "") for name in _FIGURES
)
_COUNTS = (
    Column("errors", "number"),
    Column("unconfirmed", "number", spare=1),
    Column("checked", "number", wide=True),
    Column("lost", "number", spare=2),
    Column("duplicated", "number", spare=2),
    Column("reordered", "number", spare=2),
    Column("warmup_records", "number", wide=True),
    Column("rebalance_seconds", "number", wide=True),
    Column("fetch_seconds", "number", wide=True),
)
_TIMES = (Column("began", "time", wide=True), Column("ended", "time", wide=True))
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
        print_rows(inv, "PerfReport", (*_RATES, *_LATENCIES, *_COUNTS, *_TIMES), [item])
    else:
        print_rows(inv, "PerfReport", (*_RATES, *_COUNTS, *_TIMES), [item])
        _print_latencies(inv, item)


def _print_latencies(inv: Invocation, item: Mapping[str, Any]) -> None:
    """A second table, where latencies were measured: the corrected ones above the raw ones."""
    rows = [
        {"latency": clock, **{f"{name}_us": item[f"latency_{name}{ending}_us"] for name in _FIGURES}}
        for clock, ending in (("corrected", "_corrected"), ("raw", ""))
    ]
    if any(row["mean_us"] is not None for row in rows):
        inv.out.text("\n")
        with list_rows(inv.out, "PerfReport", "PerfReport", _BY_CLOCK) as printed:
            for row in rows:
                printed.add(row)


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
"""How many times the rate kcli has to make, so that making records does not limit it."""


def _overhead(item: Mapping[str, Any]) -> str:
    """What the test itself cost, so that it is known whether the cluster was measured or kcli."""
    own, rate = item["overhead"], item["records_per_second"] or 0
    parts = [f"kcli used {own['cpu_seconds']:.2f} s of CPU"]
    if own["cpu_share"] is not None:
        parts[0] += f" ({own['cpu_share']:.0%} of one)"
    if own["late_p99_us"] is not None:
        parts.append(f"and handed records over at most {latency_text(own['late_p99_us'])} late (p99)")
    text = " ".join(parts)
    made = own["generator_records_per_second"]
    if not made:
        return text
    limits = made < rate * _AMPLE or (own["cpu_share"] or 0) > _BUSY * item["processes"]
    verdict = "may limit the rate: see --processes" if limits else "does not limit the rate"
    return f"{text}; without a cluster it would make {made:,.0f} records/s here, so that it {verdict}"
