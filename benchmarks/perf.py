"""``kcli perf`` beside Kafka's own perf tools, on one broker and one topic: do the figures agree, and what does it cost?

The tools take turns, each with the same rate, size, acks, linger and batch size, and a warm-up that does not count, so
that the start of a JVM is in no figure. ``KCLI_BENCH_ROUNDS`` (3) and ``KCLI_BENCH_SECONDS`` (10, of each run) choose.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import _kafka_tools as kafka
from benchmarks._contenders import prebuilt_produce
from benchmarks._injected_delay import injected_delay
from benchmarks._measure import FailedRunError, create_topic, environment, machine
from benchmarks._table import Table
from kcli.sandbox.sandbox import Sandbox
from kcli.sandbox.settings import Settings

ROUNDS = int(os.environ.get("KCLI_BENCH_ROUNDS", "3"))
SECONDS = int(os.environ.get("KCLI_BENCH_SECONDS", "10"))
RATE, SIZE = 500, 100
_WARM_UP = 5 * RATE
_ALIKE = ("acks=all", "linger.ms=5", "batch.size=16384", "enable.idempotence=true")
_TOPIC, _END_TO_END, _SINK = "perf", "perf-e2e", "perf-sink"
_FULL_SPEED = 3_000_000  # records
_TARGET = 0.8
_RAW_SENDER = (
    sys.executable,
    "-c",
    """
import sys, time
from pathlib import Path
from benchmarks._raw_sender import main
wall, cpu = time.monotonic(), time.process_time()
main(sys.argv[1], sys.argv[2], 1, Path(sys.argv[3]), "none")
print(time.monotonic() - wall, time.process_time() - cpu)
""",
)

Figures = Mapping[str, float]
Tool = Callable[[str], Figures | None]
"""Runs once against these bootstrap servers; None where it is not here to be measured."""

_PRODUCED = re.compile(
    r"steady state records sent, ([\d.]+) records/sec \(([\d.]+) MB/sec\), ([\d.]+) ms avg latency, "
    r"([\d.]+) ms max latency, (\d+) ms 50th, (\d+) ms 95th, (\d+) ms 99th"
)
_END = re.compile(r"Avg latency: ([\d.]+) ms\s+Percentiles: 50th = (\d+), 99th = (\d+)")


def main() -> Sequence[Table]:
    """Starts a broker, runs the rounds, prints and returns the tables."""
    print(f"machine: {machine()}", flush=True)
    sandbox = Sandbox(f"perf-{os.getpid()}")
    status = sandbox.up(Settings(port=0, ephemeral=True, die_with_parent=True))
    try:
        for topic in (_TOPIC, _END_TO_END, _SINK):
            create_topic(status.bootstrap, topic, 1)
        tables = [
            _agreement(f"perf produce, {RATE:,} records of {SIZE} B a second", status.bootstrap, PRODUCERS),
            _agreement("perf consume, the records of these runs", status.bootstrap, CONSUMERS),
            _agreement(f"perf e2e, one record of {SIZE} B at a time", status.bootstrap, END_TO_END),
            _overhead(status.bootstrap),
            injected_delay(_perf),
        ]
    finally:
        sandbox.down(delete=True)
    for table in tables:
        print(table.plain(), flush=True)
    return tables


def _agreement(title: str, bootstrap: str, tools: Mapping[str, Tool]) -> Table:
    """Medians of the rounds, with their range."""
    found: dict[str, list[Figures]] = {name: [] for name in tools}
    for _ in range(ROUNDS):
        for name, tool in tools.items():
            figures = tool(bootstrap)
            if figures is not None:
                found[name].append(figures)
    measured = {name: rounds for name, rounds in found.items() if rounds}
    heads = list(next(iter(measured.values()))[0])
    rows = [
        [name, *(_shown([one[head] for one in rounds]) for head in heads)]
        for name, rounds in measured.items()
    ]
    absent = [f"{name}: not measured, it is not installed" for name in tools if name not in measured]
    return Table(f"{title}: medians of {ROUNDS} rounds", ["", *heads], rows, absent)


def _shown(values: Sequence[float]) -> str:
    low, middle, high = min(values), statistics.median(values), max(values)
    return (
        f"{middle:,.4g} ({low:,.4g}–{high:,.4g})"
        if middle < 1000
        else f"{middle:,.0f} ({low:,.0f}–{high:,.0f})"
    )


# --- kcli --------------------------------------------------------------------------------------------


def _perf(bootstrap: str, *words: str) -> dict[str, Any]:
    argv = [sys.executable, "-m", "kcli", "-b", bootstrap, "perf", *words, "-q", "-o", "json"]
    found: dict[str, Any] = json.loads(_output(argv))["items"][0]
    return found


def _produce(bootstrap: str) -> Figures:
    count = RATE * SECONDS + _WARM_UP
    flags = [flag for pair in _ALIKE for flag in ("-X", pair)]
    item = _perf(
        bootstrap, "produce", "-t", _TOPIC, "--num-records", str(count), "--warmup-records", str(_WARM_UP),
        "--throughput", str(RATE), "--record-size", str(SIZE), *flags,
    )  # fmt: skip
    return {
        "records/s": item["records_per_second"],
        "MiB/s": item["bytes"] / item["seconds"] / (1 << 20),
        **{
            f"{name} ms": item[f"latency_{name}_corrected_us"] / 1000
            for name in ("mean", "p50", "p95", "p99")
        },
    }


def _consume(bootstrap: str) -> Figures:
    item = _perf(bootstrap, "consume", "-t", _TOPIC, "-g", f"perf-{os.urandom(4).hex()}")
    fetching = item["fetch_seconds"]
    return {
        "records": item["records"],
        "MiB": item["bytes"] / (1 << 20),
        "records/s without rebalance": item["records"] / fetching,
        "rebalance s": item["rebalance_seconds"],
    }


def _end_to_end(bootstrap: str) -> Figures:
    item = _perf(
        bootstrap, "e2e", "-t", _END_TO_END, "--num-records", "1000", "--record-size", str(SIZE),
        "--warmup-records", "100",
    )  # fmt: skip
    return {f"{name} ms": item[f"latency_{name}_corrected_us"] / 1000 for name in ("mean", "p50", "p99")}


# --- Kafka's tools -----------------------------------------------------------------------------------


def _kafka_produce(bootstrap: str) -> Figures | None:
    count = RATE * SECONDS + _WARM_UP
    flags = [flag for pair in _ALIKE for flag in ("--command-property", pair)]
    text = _tool(
        kafka.PRODUCER_PERF, "--bootstrap-server", bootstrap, "--topic", _TOPIC, "--num-records", str(count),
        "--warmup-records", str(_WARM_UP), "--throughput", str(RATE), "--record-size", str(SIZE), *flags,
    )  # fmt: skip
    if text is None:
        return None
    match = _PRODUCED.search(text)
    if match is None:
        raise FailedRunError(f"ProducerPerformance printed no line: {text[-300:]}")
    rate, megabytes, mean, _, p50, p95, p99 = map(float, match.groups())
    return {
        "records/s": rate,
        "MiB/s": megabytes,
        "mean ms": mean,
        "p50 ms": p50,
        "p95 ms": p95,
        "p99 ms": p99,
    }


def _kafka_consume(bootstrap: str) -> Figures | None:
    flags = ("--num-records", str(_end_of_topic(bootstrap)), "--timeout", "20000")
    text = _tool(kafka.CONSUMER_PERF, "--bootstrap-server", bootstrap, "--topic", _TOPIC, *flags)
    if text is None:
        return None
    values = text.splitlines()[-1].split(", ")
    return {
        "records": float(values[4]),
        "MiB": float(values[2]),
        "records/s without rebalance": float(values[9]),
        "rebalance s": float(values[6]) / 1000,
    }


def _kafka_end_to_end(bootstrap: str) -> Figures | None:
    text = _tool(
        kafka.END_TO_END, "--bootstrap-server", bootstrap, "--topic", _END_TO_END, "--num-records", "1000",
        "--producer-acks", "all", "--record-size", str(SIZE),
    )  # fmt: skip
    match = _END.search(text) if text is not None else None
    return (
        None
        if match is None
        else dict(zip(("mean ms", "p50 ms", "p99 ms"), map(float, match.groups()), strict=True))
    )


PRODUCERS: Mapping[str, Tool] = {"kcli perf produce": _produce, "kafka-producer-perf-test": _kafka_produce}
CONSUMERS: Mapping[str, Tool] = {"kcli perf consume": _consume, "kafka-consumer-perf-test": _kafka_consume}
END_TO_END: Mapping[str, Tool] = {"kcli perf e2e": _end_to_end, "kafka-e2e-latency": _kafka_end_to_end}


def _end_of_topic(bootstrap: str) -> int:
    argv = [sys.executable, "-m", "kcli", "-b", bootstrap, "topics", "offsets", _TOPIC, "-o", "json"]
    return sum(item["offsets"] for item in json.loads(_output(argv))["items"])


def _tool(main_class: str, *words: str) -> str | None:
    java = kafka.tool(main_class)
    return None if java is None else _output([*java, *words])


def _output(argv: Sequence[str]) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=environment(), timeout=600)
    if done.returncode:
        raise FailedRunError(f"{argv[0]} ended with {done.returncode}: {done.stderr[-500:]}")
    return done.stdout


# --- what kcli itself costs --------------------------------------------------------------------------


def _overhead(bootstrap: str) -> Table:
    """At full speed through one connection, beside the least that encodes and sends lines, and beside a sender of
    prepared batches, which encodes nothing. Starts do not count.
    """
    raw: list[tuple[float, float]] = []
    prepared: list[tuple[float, float]] = []
    own: list[tuple[float, float]] = []
    made = 0.0
    words = ("-t", _SINK, "--num-records", str(_FULL_SPEED), "--record-size", str(SIZE))
    with tempfile.TemporaryDirectory(prefix="kcli-bench-") as folder:
        lines = Path(folder) / "lines"
        lines.write_bytes((b"x" * SIZE + b"\n") * _FULL_SPEED)
        for _ in range(ROUNDS):
            seconds, cpu = map(float, _output([*_RAW_SENDER, bootstrap, _SINK, str(lines)]).split())
            raw.append((_FULL_SPEED / seconds, _FULL_SPEED / cpu))
            argv = prebuilt_produce(bootstrap, _SINK, lines, _FULL_SPEED).argv
            records, seconds, cpu = map(float, _output(argv).split())
            prepared.append((records / seconds, records / cpu))
            item = _perf(bootstrap, "produce", *words)
            own.append((item["records_per_second"], item["records"] / item["overhead"]["cpu_seconds"]))
            made = item["overhead"]["generator_records_per_second"]
    ratio, cpus = _ratios(own, raw)
    rows = [
        [name, _shown([one[0] for one in rounds]), _shown([one[1] for one in rounds])]
        for name, rounds in (
            ("raw sender", raw),
            ("sender of prepared batches", prepared),
            ("kcli perf produce", own),
        )
    ]
    notes = [
        f"target: {_TARGET:g} × the records/s of the raw sender, is {ratio:.2f} × (of its records/CPU-s {cpus:.2f} ×): "
        + ("met" if ratio >= _TARGET else "MISSED"),
        "of the sender of prepared batches {:.2f} × the records/s, {:.2f} × the records/CPU-s".format(
            *_ratios(own, prepared)
        ),
        f"kcli perf makes {made:,.0f} records/s without sending them",
    ]
    return Table(
        f"full speed, {_FULL_SPEED / 1e6:g} M records of {SIZE} B",
        ["", "records/s", "records/CPU-s"],
        rows,
        notes,
    )


def _ratios(own: Sequence[tuple[float, float]], other: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Of the medians of both figures."""
    wall, cpu = (
        statistics.median(one[at] for one in own) / statistics.median(one[at] for one in other)
        for at in (0, 1)
    )
    return wall, cpu
