"""How long a record takes: from command to command, from each producer to one consumer, and beside Kafka's own tool.

A line says when it was written: from the stdin of a producing command to the stdout of a consuming one, 1,000 lines a
second; and 100 a second, each alone on its way, from every producer to the same consumer, which shows what the producers
differ by. ``kcli perf e2e`` beside Kafka's ``kafka-e2e-latency``: one record at a time, on a broker that has nothing else
to do and beside a load of 20 MB/s. One real broker, one partition, everything on this machine; all take turns.
``KCLI_BENCH_ROUNDS`` (5) and ``KCLI_BENCH_SECONDS`` (10, of each pair and round) choose.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import IO

from benchmarks import _kafka_tools as kafka
from benchmarks._measure import FailedRunError, create_topic, environment, machine
from benchmarks._pipes import TOOLS, Command, Tool
from benchmarks._table import Table
from kcli.sandbox.sandbox import Sandbox
from kcli.sandbox.settings import Settings

ROUNDS = int(os.environ.get("KCLI_BENCH_ROUNDS", "5"))
SECONDS = float(os.environ.get("KCLI_BENCH_SECONDS", "10"))
RATE, ALONE = 1_000, 100
"""Lines a second: many, and so few that each is alone on its way."""
TARGET_MS = 1.0
LOAD = "20MB/s"
_RECORDS, _SIZE = 5_000, 100
_WARM_UP = 2.0  # seconds whose lines do not count
_PATIENCE = 20.0  # seconds for the first line to come through, and for the last one

Pair = Callable[[str, str], tuple[Command, Command]]
"""The command lines that produce to and consume from a topic, given the bootstrap servers."""


def _of(tool: Tool) -> Pair:
    return lambda bootstrap, topic: (tool.producing(bootstrap, topic), tool.consuming(bootstrap, topic))


def _kcat_at_once(bootstrap: str, topic: str) -> tuple[Command, Command]:
    producing, consuming = _of(TOOLS["kcat"])(bootstrap, topic)
    return [*producing, "-X", "linger.ms=0"] if producing else None, consuming


def _kcli_at_once(bootstrap: str, topic: str) -> tuple[Command, Command]:
    producing, consuming = _of(TOOLS["kcli"])(bootstrap, topic)
    return [*(producing or ()), "-X", "linger.ms=0"], consuming


def _to_kcli(pair: Pair) -> Pair:
    """The producer of the pair, and kcli as the consumer."""
    return lambda bootstrap, topic: (pair(bootstrap, topic)[0], TOOLS["kcli"].consuming(bootstrap, topic))


PAIRS: dict[str, Pair] = {name: _of(tool) for name, tool in TOOLS.items()} | {
    "kcat, linger.ms=0": _kcat_at_once
}
ALONE_PAIRS: dict[str, Pair] = {
    "kcli produce": _to_kcli(_of(TOOLS["kcli"])),
    "kcli produce, linger.ms=0": _to_kcli(_kcli_at_once),
    "kcat, linger.ms=0": _to_kcli(_kcat_at_once),
    "confluent-kafka, linger.ms=0": _to_kcli(_of(TOOLS["confluent-kafka"])),
    "kafka-python": _to_kcli(_of(TOOLS["kafka-python"])),
}


def main() -> list[Table]:
    """Starts a broker, runs the rounds, prints and returns the delays."""
    print(f"machine: {machine()}", flush=True)
    sandbox = Sandbox(f"latency-{os.getpid()}")
    status = sandbox.up(Settings(port=0, ephemeral=True, die_with_parent=True))
    try:
        tables = [
            _pipes(status.bootstrap),
            _alone(status.bootstrap),
            _end_to_end(status.bootstrap, loaded=False),
            _end_to_end(status.bootstrap, loaded=True),
        ]
    finally:
        sandbox.down(delete=True)
    return tables


def _pipes(bootstrap: str) -> Table:
    found = _rounds(bootstrap, "latency", PAIRS, RATE)
    p50 = statistics.median(statistics.median(one) for one in found["kcli"])
    note = f"target: p50 of {TARGET_MS:g} ms, is {p50:.2f} ms: {'met' if p50 <= TARGET_MS else 'MISSED'}"
    title = f"from produce to consume, {RATE:,} lines a second, medians of {ROUNDS} rounds"
    return _table(title, PAIRS, found, [note])


def _alone(bootstrap: str) -> Table:
    found = _rounds(bootstrap, "alone", ALONE_PAIRS, ALONE)
    title = (
        f"a line at a time, {ALONE} a second, from each producer to kcli consume, medians of {ROUNDS} rounds"
    )
    notes = []
    own, other = (found.get(name) for name in ("kcli produce, linger.ms=0", "confluent-kafka, linger.ms=0"))
    if own and other:
        p50s = [statistics.median(map(statistics.median, rounds)) for rounds in (own, other)]
        met = "met" if p50s[0] <= p50s[1] else "MISSED"
        notes.append(f"target: no later than librdkafka, p50 is {p50s[0] - p50s[1]:+.2f} ms: {met}")
    return _table(title, ALONE_PAIRS, found, notes)


def _rounds(bootstrap: str, name: str, pairs: dict[str, Pair], rate: int) -> dict[str, list[list[float]]]:
    found: dict[str, list[list[float]]] = {}
    for number in range(ROUNDS):
        for place, (tool, pair) in enumerate(pairs.items()):
            topic = f"{name}-{number}-{place}"
            producing, consuming = pair(bootstrap, topic)
            if producing is not None and consuming is not None:
                create_topic(bootstrap, topic, 1)
                found.setdefault(tool, []).append(delays(producing, consuming, rate))
    return found


def _table(
    title: str, pairs: dict[str, Pair], found: dict[str, list[list[float]]], notes: list[str]
) -> Table:
    notes = notes + [f"{name}: not measured, it is not installed" for name in pairs if name not in found]
    rows = [_row(name, rounds) for name, rounds in found.items()]
    table = Table(title, ["", "p50 ms", "p99 ms"], rows, notes)
    print(table.plain(), flush=True)
    return table


# --- beside Kafka's tool ---------------------------------------------------------------------------------

_PERCENTILES = re.compile(r"50th = (\d+), 99th = (\d+), 99.9th = (\d+)")


def _end_to_end(bootstrap: str, *, loaded: bool) -> Table:
    """One record at a time, with nothing else on the broker, or beside a load on another topic."""
    kind = "loaded" if loaded else "idle"
    for topic in (f"e2e-{kind}", f"load-{kind}"):
        create_topic(bootstrap, topic, 1)
    found: dict[str, list[tuple[float, ...]]] = {}
    tools = {"kcli perf e2e": _kcli_e2e, "kafka-e2e-latency": _kafka_e2e}
    for _ in range(ROUNDS):
        for name, tool in tools.items():
            with _load(bootstrap, f"load-{kind}") if loaded else nullcontext():
                if (one := tool(bootstrap, f"e2e-{kind}")) is not None:
                    found.setdefault(name, []).append(one)
    rows = [
        [name, *(f"{statistics.median(column):.2f}" for column in zip(*rounds, strict=True))]
        for name, rounds in found.items()
    ]
    beside = f"beside a load of {LOAD}" if loaded else "on a broker that has nothing else to do"
    title = (
        f"{_RECORDS:,} records of {_SIZE} B end to end, one at a time, {beside}, medians of {ROUNDS} rounds"
    )
    notes = ["Kafka's tool counts whole milliseconds, and waits for the confirmation before it polls"]
    table = Table(title, ["", "p50 ms", "p99 ms", "p99.9 ms"], rows, notes)
    print(table.plain(), flush=True)
    return table


@contextmanager
def _load(bootstrap: str, topic: str) -> Iterator[None]:
    words = ("-t", topic, "--throughput", LOAD, "--record-size", "1000", "--duration", "1h")
    argv = [sys.executable, "-m", "kcli", "-b", bootstrap, "perf", "produce", *words, "-q"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, env=environment(), **quiet) as process:
        time.sleep(_WARM_UP)
        try:
            yield
        finally:
            process.terminate()


def _kcli_e2e(bootstrap: str, topic: str) -> tuple[float, ...]:
    words = ("-t", topic, "--num-records", str(_RECORDS), "--record-size", str(_SIZE), "-o", "json")
    text = _output([sys.executable, "-m", "kcli", "-b", bootstrap, "perf", "e2e", *words])
    (item,) = json.loads(text)["items"]
    return tuple(item[f"latency_{name}_us"] / 1000 for name in ("p50", "p99", "p999"))


def _kafka_e2e(bootstrap: str, topic: str) -> tuple[float, ...] | None:
    argv = kafka.tool(kafka.END_TO_END)
    if argv is None:
        return None
    words = ("--topic", topic, "--num-records", str(_RECORDS), "--producer-acks", "all")
    text = _output([*argv, "--bootstrap-server", bootstrap, *words, "--record-size", str(_SIZE)])
    match = _PERCENTILES.search(text)
    if match is None:
        raise FailedRunError(f"kafka-e2e-latency printed no percentiles: {text[-300:]}")
    return tuple(map(float, match.groups()))


def _output(argv: Sequence[str]) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=environment(), timeout=600)
    if done.returncode:
        raise FailedRunError(f"{argv[0]} ended with {done.returncode}: {done.stderr[-500:]}")
    return done.stdout


# --- from pipe to pipe -----------------------------------------------------------------------------------


def delays(producing: Sequence[str], consuming: Sequence[str], rate: int = RATE) -> list[float]:
    """Milliseconds from the write of each line to its arrival, of those written after the warm-up."""
    with _running(consuming, stdin=subprocess.DEVNULL) as consumer, _running(producing) as producer:
        assert consumer.stdout is not None
        arrivals = _Arrivals(consumer.stdout)
        assert producer.stdin is not None
        _wait_until_connected(producer.stdin, arrivals)
        begin = time.perf_counter()
        count = int(rate * (_WARM_UP + SECONDS))
        for number in range(count):
            left = begin + number / rate - time.perf_counter()
            if left > 0:
                time.sleep(left)
            counts = number >= rate * _WARM_UP
            producer.stdin.write(b"%d %d\n" % (counts, time.perf_counter_ns()))
        producer.stdin.close()
        arrivals.wait_for(int(rate * SECONDS))
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
