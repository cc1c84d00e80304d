"""``kcli exporter``: samples and scrapes of many groups, and its memory over many samples. A fake cluster; one process.

``KCLI_BENCH_GROUPS`` (2000) groups have committed in 20 partitions each; a tenth of them reads on between samples. CPU
time is that of the thread that takes samples, which is all that a sample costs; a scrape is timed from connecting to the
last byte. ``KCLI_BENCH_SAMPLES`` (1000) samples for the memory are taken with 50 groups, half of which read on.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.client import HTTPConnection
from multiprocessing.connection import Connection
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from benchmarks._measure import machine
from kcli.core.admin.admin import Admin
from kcli.core.clock import wall_ms
from kcli.core.hooks import Hooks
from kcli.core.options import ClientOptions
from kcli.exporter.address import Address
from kcli.exporter.exposition import CLASSIC, OPENMETRICS, document
from kcli.exporter.health import ClusterSite
from kcli.exporter.last_sample import LastSample
from kcli.exporter.metrics import OF_PARTITIONS
from kcli.exporter.page import Pages
from kcli.exporter.server import Server
from kcli.flows.lag.sample import Wanted
from kcli.flows.monitor.ages import Lookups
from kcli.flows.monitor.board import Board
from kcli.flows.monitor.cluster_reading import View
from kcli.flows.monitor.latencies import Latencies
from kcli.flows.monitor.monitor import Monitor
from tests.fake.cluster import FakeCluster
from tests.fake.many_groups import ManyGroups

(COMMITTED,) = (one for one in OF_PARTITIONS if one.name == "kcli_group_committed_offset")
GROUPS = int(os.environ.get("KCLI_BENCH_GROUPS", "2_000"))
SAMPLES = int(os.environ.get("KCLI_BENCH_SAMPLES", "1_000"))
PARTITIONS, FEW, ROUNDS = 20, 50, 5
CPU_TARGET, SCRAPE_TARGET, GROWTH_TARGET = 2.0, 0.2, 0.05
_MIB = 1 << 20


def main() -> None:
    """Measures, and prints what is met."""
    print(f"machine: {machine()}", flush=True)
    with _cluster(FEW) as (bootstrap, brokers):
        _memory(bootstrap, brokers)  # first: later, growth would fit into what large pages have left free
    for how in ("off", "estimate"):
        with _cluster(GROUPS) as (bootstrap, brokers):
            _cost(bootstrap, brokers, how)


class _Exporter:
    """What the loop of the exporter does, step by step."""

    def __init__(self, admin: Admin, latencies: Latencies, how: str) -> None:
        self._monitor = Monitor(admin, latencies, Wanted(), lookups=Lookups(100_000, 0))
        self._board, self._pages = Board(), Pages(1_000_000)
        self._view = View(time=how, topics=True, all_timed=True)
        self.state = LastSample(3600)

    def sample(self, at_ms: int | None = None) -> float:
        """Seconds of CPU. ``at_ms``: as if it were taken then."""
        before = time.thread_time()
        reading = self._monitor.read(self._view)
        if at_ms is not None:
            reading = replace(reading, sample=reading.sample._replace(at_ms=at_ms))
        page = self._pages.of(self._board.add(reading))
        self.state = LastSample(3600, page, read_at=time.monotonic(), wall=time.time(), seconds=0.0)
        return time.thread_time() - before


@contextmanager
def _exporter(bootstrap: str, how: str) -> Iterator[_Exporter]:
    latencies = Latencies(Hooks())
    with Admin(ClientOptions(bootstrap_servers=bootstrap), latencies.hooks, timeout=60) as admin:
        yield _Exporter(admin, latencies, how)


def _cost(bootstrap: str, brokers: Connection, how: str) -> None:
    with _exporter(bootstrap, how) as exporter:
        cpu = []
        for _ in range(ROUNDS):
            _move(brokers, GROUPS // 10)
            cpu.append(exporter.sample())
        assert exporter.state.page is not None
        text = exporter.state.page.text
        size = sum(map(len, document(OPENMETRICS, text.parts(OPENMETRICS))))
        print(
            f"{GROUPS:,} groups × {PARTITIONS} partitions, --time {how}: {text.samples:,} samples, {size:,} bytes"
        )
        _judge("  a sample and its page, s of CPU", max(cpu), CPU_TARGET)
        server = Server(Address("127.0.0.1", 0), ClusterSite({"": lambda: exporter.state}))
        server.start()
        for encoding in ("identity", "gzip"):
            took = [_scrape(server.address, encoding) for _ in range(20)]
            _judge(f"  a scrape ({encoding}), s, median of 20", statistics.median(took), SCRAPE_TARGET)
            print(f"    slowest {max(took):.3f}", flush=True)
        server.close()
        if how == "off":
            _library(text.samples)


def _library(samples: int) -> None:
    """What prometheus_client needs for as many samples, at each scrape."""

    class Some(Collector):
        def collect(self) -> Iterator[GaugeMetricFamily]:
            family = GaugeMetricFamily(COMMITTED.name, COMMITTED.text, labels=COMMITTED.labels)
            for number in range(samples):
                family.add_metric((f"group-{number // 120:05}", "topic-001", str(number % 20)), number)
            yield family

    registry = CollectorRegistry()
    registry.register(Some())
    before = time.process_time()
    generate_latest(registry)
    print(
        f"  prometheus_client's generate_latest for as many samples: {time.process_time() - before:.2f} s of CPU"
    )


def _memory(bootstrap: str, brokers: Connection) -> None:
    with _exporter(bootstrap, "estimate") as exporter:
        sizes, began = [], wall_ms()
        for number in range(SAMPLES):
            if number % 10 == 0:
                _move(brokers, FEW // 2)
            exporter.sample(began + 15_000 * number)  # what is kept for a minute, or five, is of few samples
            if number % (SAMPLES // 10) == SAMPLES // 10 - 1:
                gc.collect()
                sizes.append(_resident())
        print(f"memory over {SAMPLES:,} samples, MiB: {', '.join(f'{size / _MIB:.1f}' for size in sizes)}")
        _judge("  growth in the second half", sizes[-1] / sizes[len(sizes) // 2] - 1, GROWTH_TARGET)


def _judge(what: str, value: float, target: float) -> None:
    print(f"{what}: {value:.3f}, target {target:g}: {'met' if value <= target else 'MISSED'}", flush=True)


def _scrape(address: Address, encoding: str) -> float:
    before = time.monotonic()
    connection = HTTPConnection(address.host, address.port, timeout=10)
    connection.request("GET", "/metrics", headers={"Accept": CLASSIC, "Accept-Encoding": encoding})
    body = connection.getresponse().read()
    took = time.monotonic() - before
    connection.close()
    assert len(body) > 10_000
    return took


def _resident() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) << 10
    raise OSError("no VmRSS")


@contextmanager
def _cluster(groups: int) -> Iterator[tuple[str, Connection]]:
    """In a process of its own; a number sent to it lets so many groups read on."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs, groups), daemon=True)
    process.start()
    try:
        yield ours.recv(), ours
    finally:
        ours.send(None)
        process.join(10)


def _serve(commands: Connection, groups: int) -> None:
    with FakeCluster() as cluster:
        many = ManyGroups(cluster, groups, PARTITIONS)
        commands.send(cluster.bootstrap)
        while (count := commands.recv()) is not None:
            many.move(commits=count)
            commands.send(True)


def _move(brokers: Connection, count: int) -> None:
    brokers.send(count)
    brokers.recv()
