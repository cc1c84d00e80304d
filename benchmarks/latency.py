"""From the stdin of a producing command to the stdout of a consuming one: kcli beside others, 1,000 lines a second.

A line says when it was written. One real broker, one partition, everything on this machine; the pairs take turns.
``KCLI_BENCH_ROUNDS`` (5) and ``KCLI_BENCH_SECONDS`` (10, of each pair and round) choose.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO

from benchmarks._measure import FailedRunError, create_topic, environment, machine
from benchmarks._pipes import TOOLS, Command, Tool
from benchmarks._table import Table
from kcli.sandbox.sandbox import Sandbox
from kcli.sandbox.settings import Settings

ROUNDS = int(os.environ.get("KCLI_BENCH_ROUNDS", "5"))
SECONDS = float(os.environ.get("KCLI_BENCH_SECONDS", "10"))
RATE = 1_000
TARGET_MS = 1.0
_WARM_UP = 2.0  # seconds whose lines do not count
_PATIENCE = 20.0  # seconds for the first line to come through, and for the last one

Pair = Callable[[str, str], tuple[Command, Command]]
"""The command lines that produce to and consume from a topic, given the bootstrap servers."""


def _of(tool: Tool) -> Pair:
    return lambda bootstrap, topic: (tool.producing(bootstrap, topic), tool.consuming(bootstrap, topic))


def _kcat_at_once(bootstrap: str, topic: str) -> tuple[Command, Command]:
    producing, consuming = _of(TOOLS["kcat"])(bootstrap, topic)
    return [*producing, "-X", "linger.ms=0"] if producing else None, consuming


PAIRS: dict[str, Pair] = {name: _of(tool) for name, tool in TOOLS.items()} | {
    "kcat, linger.ms=0": _kcat_at_once
}


def main() -> list[Table]:
    """Starts a broker, runs the rounds, prints and returns the delays."""
    print(f"machine: {machine()}", flush=True)
    found: dict[str, list[list[float]]] = {}
    sandbox = Sandbox(f"latency-{os.getpid()}")
    status = sandbox.up(Settings(port=0, ephemeral=True, die_with_parent=True))
    try:
        for number in range(ROUNDS):
            for place, (name, pair) in enumerate(PAIRS.items()):
                topic = f"latency-{number}-{place}"
                producing, consuming = pair(status.bootstrap, topic)
                if producing is not None and consuming is not None:
                    create_topic(status.bootstrap, topic, 1)
                    found.setdefault(name, []).append(delays(producing, consuming))
    finally:
        sandbox.down(delete=True)
    p50 = statistics.median(statistics.median(one) for one in found["kcli"])
    notes = [f"target: p50 of {TARGET_MS:g} ms, is {p50:.2f} ms: {'met' if p50 <= TARGET_MS else 'MISSED'}"]
    notes += [f"{name}: not measured, it is not installed" for name in PAIRS if name not in found]
    title = f"from produce to consume, {RATE:,} lines a second, medians of {ROUNDS} rounds"
    table = Table(
        title, ["", "p50 ms", "p99 ms"], [_row(name, rounds) for name, rounds in found.items()], notes
    )
    print(table.plain())
    return [table]


def delays(producing: Sequence[str], consuming: Sequence[str]) -> list[float]:
    """Milliseconds from the write of each line to its arrival, of those written after the warm-up."""
    with _running(consuming, stdin=subprocess.DEVNULL) as consumer, _running(producing) as producer:
        assert consumer.stdout is not None
        arrivals = _Arrivals(consumer.stdout)
        assert producer.stdin is not None
        _wait_until_connected(producer.stdin, arrivals)
        begin = time.perf_counter()
        count = int(RATE * (_WARM_UP + SECONDS))
        for number in range(count):
            left = begin + number / RATE - time.perf_counter()
            if left > 0:
                time.sleep(left)
            counts = number >= RATE * _WARM_UP
            producer.stdin.write(b"%d %d\n" % (counts, time.perf_counter_ns()))
        producer.stdin.close()
        arrivals.wait_for(int(RATE * SECONDS))
        return arrivals.delays


class _Arrivals:
    """Reads lines in a thread of its own and notes their delays."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.seen = 0
        self.delays: list[float] = []
        self._stream = stream
        threading.Thread(target=self._read, daemon=True).start()

    def wait_for(self, count: int) -> None:
        """FailedRunError when so many did not come in time."""
        deadline = time.monotonic() + _PATIENCE
        while len(self.delays) < count:
            if time.monotonic() > deadline:
                raise FailedRunError(f"{len(self.delays)} of {count} lines came through")
            time.sleep(0.05)

    def _read(self) -> None:
        rest, descriptor = b"", self._stream.fileno()
        while data := os.read(descriptor, 1 << 16):
            now = time.perf_counter_ns()
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self.seen += 1
                counts, at = line.split()
                if counts == b"1":
                    self.delays.append((now - int(at)) / 1e6)


def _wait_until_connected(stdin: IO[bytes], arrivals: _Arrivals) -> None:
    """Both ends are there when a line has come through: a consumer that begins at the end misses the first ones.

    Many at a time: kcat reads its input in blocks, and sends nothing before one is full.
    """
    deadline = time.monotonic() + _PATIENCE
    while not arrivals.seen:
        if time.monotonic() > deadline:
            raise FailedRunError("no line came through")
        stdin.write(b"0 0\n" * 2_000)
        time.sleep(0.2)


@contextmanager
def _running(argv: Sequence[str], stdin: int = subprocess.PIPE) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(argv, stdin=stdin, stdout=subprocess.PIPE, bufsize=0, env=environment()) as process:
        try:
            yield process
        finally:
            process.terminate()


def _row(name: str, rounds: list[list[float]]) -> list[str]:
    def median_of(share: float) -> float:
        return statistics.median(sorted(one)[int(share * (len(one) - 1))] for one in rounds)

    return [name, f"{median_of(0.5):.2f}", f"{median_of(0.99):.2f}"]


if __name__ == "__main__":
    main()
