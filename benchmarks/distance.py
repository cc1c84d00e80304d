"""Throughput over distance: ``kcli``, kcat and Kafka's tools beside each other, with answers held for 0, 50 and 200 ms.

Two real brokers, each behind a ``_delaying_proxy``; a topic of 4 partitions of 100-byte records; whole processes, in
turn. MB per second of the clock on the wall: of the whole run, and without the time that the same command needs for one
record, which is the start and its round trips. The largest resident size is listed beside them.

``KCLI_BENCH_ROUNDS`` (3), ``KCLI_BENCH_MEGABYTES`` (300), ``KCLI_BENCH_DELAYS`` (0,50,200; ms), ``KCLI_BENCH_ONLY`` (a
part of a contender's name). TCP's windows are not part of it: see the proxy.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path

from benchmarks import _contenders as tools
from benchmarks import _kafka_tools as kafka
from benchmarks._delaying_proxy import DelayingProxy
from benchmarks._measure import Cost, Run, create_topic, environment, machine, measure, version_of_kcat
from benchmarks._table import Table
from kcli.sandbox.ports import ANY, choose_ports, is_port_free
from kcli.sandbox.sandbox import Sandbox
from kcli.sandbox.settings import Settings

ROUNDS = int(os.environ.get("KCLI_BENCH_ROUNDS", "3"))
MEGABYTES = int(os.environ.get("KCLI_BENCH_MEGABYTES", "300"))
DELAYS = [int(text) for text in os.environ.get("KCLI_BENCH_DELAYS", "0,50,200").split(",")]
ONLY = os.environ.get("KCLI_BENCH_ONLY", "")
PARTITIONS = 4
TARGET = 0.8
"""The rate with the longest delay, as a share of that with the first, without the start."""

_WIDTH = 100
_NUMBERS = count(1)
_PIPE = "set -o pipefail; kcat -C -b {source} -t {topic} -e -q -o beginning | kcat -P -b {target} -t {copy}"


class FarBroker:
    """A sandbox whose address is that of its proxy; ``close`` removes it."""

    def __init__(self, name: str) -> None:
        (port,) = choose_ports(1, ANY, is_port_free, rng=random.Random())
        self.proxy = DelayingProxy(port)
        self.bootstrap = f"127.0.0.1:{self.proxy.port}"
        self._sandbox = Sandbox(f"bench-{name}-{os.getpid()}")
        extra = {"advertised.listeners": f"PLAINTEXT://{self.bootstrap}"}
        self._sandbox.up(Settings(port=port, ephemeral=True, die_with_parent=True, extra=extra))

    def close(self) -> None:
        """Stops the broker and the proxy."""
        self._sandbox.down(delete=True)
        self.proxy.close()


Make = Callable[[bool], Run]
"""The run of a contender: of everything, or (False) of one record."""


@dataclass(slots=True)
class Contender:
    """A command, whose answers of ``far`` are held. ``costs``: by the delay in ms, of everything and of one record."""

    name: str
    far: Sequence[DelayingProxy]
    make: Make
    costs: dict[tuple[int, bool], list[Cost]] = field(default_factory=dict)

    def round(self, delay: int) -> None:
        """Everything and one record, once, with answers held for ``delay`` ms."""
        for whole in (True, False):
            run = self.make(whole)  # creates topics: with nothing held
            for proxy in self.far:
                proxy.delay = delay / 1_000
            try:
                cost = measure(run)
                self.costs.setdefault((delay, whole), []).append(cost)
                what = f"{MEGABYTES} MB" if whole else "one record"
                print(
                    f"{self.name}, {delay} ms, {what}: {cost.wall:.2f} s, {cost.resident_mb:.0f} MB",
                    flush=True,
                )
            finally:
                for proxy in self.far:
                    proxy.delay = 0.0

    def rate(self, delay: int, *, start: bool) -> float:
        """MB per second, the median of the rounds; ``start``: with the time for one record."""
        seconds = self._seconds(delay, whole=True) - (0.0 if start else self._seconds(delay, whole=False))
        return MEGABYTES / max(1e-3, seconds)

    def _seconds(self, delay: int, *, whole: bool) -> float:
        return statistics.median(cost.wall for cost in self.costs[delay, whole])

    def row(self) -> list[str]:
        """Its cells."""
        rates = [self.rate(delay, start=start) for start in (True, False) for delay in DELAYS]
        cpu = [statistics.median(cost.cpu for cost in self.costs[delay, True]) for delay in DELAYS]
        resident = max(cost.resident_mb for costs in self.costs.values() for cost in costs)
        shares = f"{self.share:.2f}", "/".join(f"{one:.2f}" for one in cpu), f"{resident:.0f}"
        return [self.name, *(f"{rate:.0f}" for rate in rates), *shares]

    @property
    def share(self) -> float:
        """Of the rate with the first delay, what is left with the last one."""
        return self.rate(DELAYS[-1], start=False) / self.rate(DELAYS[0], start=False)


def main() -> list[Table]:
    """Starts two brokers, runs all contenders with all delays, prints and returns the table."""
    print(f"machine: {machine()}")
    print(f"versions: kcat {version_of_kcat()}", flush=True)
    brokers = [FarBroker("source"), FarBroker("target")]
    try:
        with tempfile.TemporaryDirectory(prefix="kcli-bench-") as folder:
            bench = Bench(*brokers, Path(folder))
            contenders = [one for one in bench.contenders() if ONLY in one.name]
            for _ in range(ROUNDS):
                for delay in DELAYS:
                    for contender in contenders:
                        contender.round(delay)
        table = _table(contenders)
        print(table.plain(), flush=True)
        return [table]
    finally:
        for broker in brokers:
            broker.close()


class Bench:
    """The contenders. Topics that are written are deleted before the next one is made: the disk must not fill up."""

    def __init__(self, source: FarBroker, target: FarBroker, folder: Path) -> None:
        self._source, self._target = source, target
        self._copy = ""
        self._lines = {True: folder / "lines", False: folder / "line"}
        self._topics = {True: "all", False: "one"}
        line = b"x" * (_WIDTH - 1) + b"\n"
        self._records = {True: MEGABYTES * 1_000_000 // _WIDTH, False: 1}
        for whole, path in self._lines.items():
            with path.open("wb") as file:
                file.writelines(line * 1_000 for _ in range(self._records[whole] // 1_000))
                file.write(line * (self._records[whole] % 1_000))
            create_topic(source.bootstrap, self._topics[whole], PARTITIONS)
            self._kcli(source.bootstrap, "produce", self._topics[whole], str(path))

    def contenders(self) -> list[Contender]:
        """kcli and, where they are installed, kcat and Kafka's tools."""
        source, target = self._source, self._target
        rows: list[tuple[str, FarBroker, Make]] = [
            ("consume", source, partial(self._consume, tools.kcli_consume)),
            ("produce", target, partial(self._produce, tools.kcli_produce)),
            ("mirror, far source", source, self._mirror),
            ("mirror, far target", target, self._mirror),
            (
                "mirror --exactly-once, far source",
                source,
                lambda whole: self._mirror(whole, "--exactly-once"),
            ),
            (
                "mirror --exactly-once, far target",
                target,
                lambda whole: self._mirror(whole, "--exactly-once"),
            ),
        ]
        if shutil.which("kcat") is not None:
            rows += [
                ("kcat consume", source, partial(self._consume, tools.kcat_consume)),
                ("kcat produce", target, partial(self._produce, tools.kcat_produce)),
                ("kcat -C | kcat -P, far source", source, self._kcat_pipe),
                ("kcat -C | kcat -P, far target", target, self._kcat_pipe),
            ]
        if kafka.tool(kafka.CONSUMER_PERF) is not None:
            rows += [
                ("Kafka's consumer-perf-test", source, partial(self._consume, tools.perf_consume)),
                ("Kafka's producer-perf-test", target, partial(self._produce, tools.perf_produce)),
            ]
        return [Contender(name, [broker.proxy], make) for name, broker, make in rows]

    def _what(self, whole: bool) -> tuple[str, int]:
        return self._topics[whole], self._records[whole]

    def _mirror(self, whole: bool, *flags: str) -> Run:
        topic, copy = self._topics[whole], self._fresh()
        clusters = ["--from", self._source.bootstrap, "--to", self._target.bootstrap]
        words = [*clusters, "-t", topic, "--map-topic", f"{topic}={copy}", "--job", copy, "--until-caught-up"]
        argv = [sys.executable, "-m", "kcli", "mirror", *words, "--yes", "-q", *flags]
        return Run(argv, self._records[whole])

    def _consume(self, tool: Callable[[str, str, int], Run | None], whole: bool) -> Run:
        run = tool(self._source.bootstrap, *self._what(whole))
        assert run is not None
        return run

    def _produce(self, tool: Callable[[str, str, Path, int, str], Run | None], whole: bool) -> Run:
        lines, records = self._lines[whole], self._records[whole]
        run = tool(self._target.bootstrap, self._fresh(), lines, records, "none")
        assert run is not None
        return run

    def _kcat_pipe(self, whole: bool) -> Run:
        topic, records = self._what(whole)
        ends = {"source": self._source.bootstrap, "target": self._target.bootstrap}
        return Run(["bash", "-c", _PIPE.format(**ends, topic=topic, copy=self._fresh())], records)

    def _fresh(self) -> str:
        if self._copy:
            self._kcli(self._target.bootstrap, "topics", "delete", self._copy, "--yes")
        self._copy = f"copy-{next(_NUMBERS)}"
        create_topic(self._target.bootstrap, self._copy, PARTITIONS)
        return self._copy

    def _kcli(self, bootstrap: str, *words: str) -> None:
        argv = [sys.executable, "-m", "kcli", "-b", bootstrap, *words, "-q"]
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, env=environment())


def _table(contenders: Sequence[Contender]) -> Table:
    heads = ["", *(f"{delay} ms" for delay in DELAYS), *(f"{delay} ms*" for delay in DELAYS)]
    notes = [f"MB/s of {MEGABYTES} MB; * without the start; share: of {DELAYS[-1]} ms* to {DELAYS[0]} ms*"]
    notes += [
        f"target: {TARGET:g} of {one.name}, is {one.share:.2f}: {'met' if one.share >= TARGET else 'MISSED'}"
        for one in contenders
        if "kcat" not in one.name and "Kafka" not in one.name
    ]
    rows = [one.row() for one in contenders]
    return Table("throughput over distance", [*heads, "share", "CPU s", "resident MB"], rows, notes)


if __name__ == "__main__":
    main()
