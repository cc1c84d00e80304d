"""A delay of which the truth is known: a fake cluster holds each produce request, ``kcli perf`` measures it from outside.

Each test runs with two delays, and what is compared is by how much its percentiles differ: a round trip costs something
besides, and costs more on a processor that was idle meanwhile, as it is with any delay. ``kcli`` is a process of its own.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks._table import Table
from kcli.core.protocol.messages.produce import ProduceRequest
from tests.fake.cluster import FakeCluster

DELAYS = (0.010, 0.020)  # seconds
RECORDS = 1_000
TARGET_MS = 1.0
_TOPIC = "delay"
# A broker answers the requests of a connection one after the other: at this rate none waits for the one before.
_TESTS = {
    "produce, 40 a second": ("produce", "--throughput", "40", "-X", "linger.ms=0"),
    "e2e, one at a time": ("e2e",),
    "e2e, 40 a second": ("e2e", "--throughput", "40"),
}
_SHARES = {"p50": 0.50, "p99": 0.99}

Measure = Callable[..., Mapping[str, Any]]
"""Runs ``kcli perf`` with these bootstrap servers and words; returns the item of its report."""


def injected_delay(measure: Measure) -> Table:
    """By how much percentiles differ with the two delays, beside the difference as the cluster has measured it."""
    rows, worst = [], 0.0
    for name, words in _TESTS.items():
        with FakeCluster(1, topics={_TOPIC: 1}) as cluster:
            (base, truth_before), (found, truth) = (_run(cluster, words, measure, delay) for delay in DELAYS)
        cells = []
        for percentile, share in _SHARES.items():
            true = (_percentile(truth, share) - _percentile(truth_before, share)) * 1000
            for ending in ("_corrected", ""):
                key = f"latency_{percentile}{ending}_us"
                off = (found[key] - base[key]) / 1000 - true
                worst = max(worst, abs(off))
                cells.append(f"{true:.2f} {off:+.2f}")
        rows.append([name, *cells])
    notes = [
        f"target: within {TARGET_MS:g} ms of what was injected, is {worst:.2f} ms: "
        + ("met" if worst <= TARGET_MS else "MISSED"),
        "the difference as the cluster measured it, and by how much kcli's differs; a busy machine delays both",
    ]
    heads = ["", *(f"{percentile} {kind}, ms" for percentile in _SHARES for kind in ("corrected", "raw"))]
    short, long = (f"{delay * 1000:g}" for delay in DELAYS)
    return Table(f"{long} instead of {short} ms injected into each produce request", heads, rows, notes)


def _percentile(samples: Sequence[float], share: float) -> float:
    return sorted(samples)[round(share * (len(samples) - 1))]


def _run(
    cluster: FakeCluster, words: Sequence[str], measure: Measure, delay: float
) -> tuple[Mapping[str, Any], list[float]]:
    """The item, and how long the requests were held."""
    held: list[float] = []

    async def hold(_request: Any) -> None:
        began = time.monotonic()
        await asyncio.sleep(delay)
        held.append(time.monotonic() - began)

    cluster.heal()
    cluster.intercept(ProduceRequest, hold)
    verb, *more = words
    flags = ("-t", _TOPIC, "--num-records", str(RECORDS), "--warmup-records", str(RECORDS // 10))
    return measure(cluster.bootstrap, verb, *flags, *more), held[RECORDS // 10 :]
