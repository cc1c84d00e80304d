"""``kcli produce`` and ``kcli consume`` beside kcat, kcl, the clients of Python and Kafka's own tools.

One real broker, the same file of lines, whole processes as a user starts them, every contender once per round and in
turn. What counts is records per second of client CPU and its ratio within this run; the wall clock stands beside it.
A raw sender and a raw reader, which use kcli's kernels and sockets and nothing else, say how much the rest costs.

``KCLI_BENCH_ROUNDS`` (5), ``KCLI_BENCH_MEGABYTES`` (1000) and ``KCLI_BENCH_ONLY`` (a part of a contest's name) choose.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks import _contenders as tools
from benchmarks import _kafka_tools as kafka
from benchmarks._measure import (
    Contest,
    FailedRunError,
    Run,
    create_topic,
    environment,
    machine,
    version_of,
    version_of_kcat,
)
from benchmarks._table import Table
from kcli.sandbox.sandbox import Sandbox
from kcli.sandbox.settings import Settings

ROUNDS = int(os.environ.get("KCLI_BENCH_ROUNDS", "5"))
MEGABYTES = int(os.environ.get("KCLI_BENCH_MEGABYTES", "1000"))
ONLY = os.environ.get("KCLI_BENCH_ONLY", "")
PARTITIONS = 3
RAW_SENDER, RAW_READER = "raw sender", "raw reader"
_OF_RAW = {RAW_SENDER: 0.9, RAW_READER: 1.0}  # kcli's share of the records/CPU-s that they reach
_RAW_WALL = 0.8
_PURE = {"KCLI_IMPL": "pure"}


def main() -> list[Table]:
    """Starts a broker, runs all contests, prints and returns their tables."""
    tables = []
    print(f"machine: {machine()}")
    print(f"versions: {versions()}", flush=True)
    with contests() as all_contests:
        for contest in all_contests:
            if ONLY not in contest.name:
                continue
            for _ in range(ROUNDS):
                contest.round()
            tables.append(_beside_raw(contest))
            print(tables[-1].plain(), flush=True)
    return tables


@contextmanager
def contests() -> Iterator[list[Contest]]:
    """All of them, on a broker of their own."""
    sandbox = Sandbox(f"bench-{os.getpid()}")
    status = sandbox.up(Settings(port=0, ephemeral=True, die_with_parent=True))
    try:
        with tempfile.TemporaryDirectory(prefix="kcli-bench-") as folder:
            bench = Bench(status.bootstrap, Path(folder))
            yield [*bench.produce(), *bench.consume()]
    finally:
        sandbox.down(delete=True)


class Bench:
    """The contests against one broker. Topics are made when a contest first needs them, and kept for the reading."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self._bootstrap = bootstrap
        self._folder = folder
        self._sink = ""

    def produce(self) -> list[Contest]:
        """Writing: plain, with each codec, with keys, larger records, and without the native kernels."""
        lines, count = partial(self._lines, 100), MEGABYTES * 10_000
        plain = self._producers("produce 100 B", lines, count, "none", target=8.0, everybody=True, raw=True)
        pure = tools.kcli_produce
        plain.contenders["kcli, pure Python"] = lambda: replace(
            pure(self._bootstrap, self._fresh(), lines(), count, "none"), environ=_PURE
        )
        plain.contenders["pre-built batches"] = lambda: tools.prebuilt_produce(
            self._bootstrap, self._fresh(), lines(), count
        )
        return [
            plain,
            self._producers("produce 100 B lz4", lines, count, "lz4", target=5.0, raw=True),
            self._producers("produce 100 B gzip", lines, count, "gzip", target=7.0),
            self._producers("produce 100 B snappy", lines, count, "snappy", target=2.2),
            self._producers("produce 100 B zstd", lines, count, "zstd", target=2.2),
            self._producers(
                "produce 1 KB", partial(self._lines, 1_000), MEGABYTES * 1_000, "none", target=4.5, raw=True
            ),
            self._producers(
                "produce 100 B keyed", partial(self._keyed, 100), count, "none", flags=("-K", ":")
            ),
        ]

    def consume(self) -> list[Contest]:
        """Reading to /dev/null: values, compressed, small batches, larger records, formats and filters."""
        count = MEGABYTES * 10_000
        whole = "kcli produce"
        contests = []
        plain = self._consumers("consume 100 B", count, ("c100", 100, "none", whole), target=8.0, raw=True)
        topic = partial(self._topic, "c100", 100, count, "none", whole)
        plain.contenders |= {
            "kcli, pure Python": lambda: replace(
                tools.kcli_consume(self._bootstrap, topic(), count), environ=_PURE
            ),
            "kcl": lambda: tools.kcl_consume(self._bootstrap, topic(), count),
            "kaf": lambda: tools.kaf_consume(self._bootstrap, topic(), count),
            "confluent-kafka": lambda: tools.confluent_consume(self._bootstrap, topic(), count),
            "kafka-python": lambda: tools.kafka_python_consume(self._bootstrap, topic(), count),
            "aiokafka": lambda: tools.aiokafka_consume(self._bootstrap, topic(), count),
            "Kafka's consumer perf test": lambda: tools.perf_consume(self._bootstrap, topic(), count),
            "Kafka's console consumer": lambda: tools.console_consume(self._bootstrap, topic(), count),
        }
        contests.append(plain)
        contests.append(self._consumers("consume 100 B lz4", count, ("clz4", 100, "lz4", whole), target=4.0))
        contests.append(
            self._consumers("consume 100 B in 16 KB batches", count, ("c16", 100, "none", "16"), target=5.0)
        )
        contests.append(
            self._consumers(
                "consume 1 KB", MEGABYTES * 1_000, ("c1k", 1_000, "none", whole), target=2.0, raw=True
            )
        )
        for name, own, kcats in (
            ("consume -f", ("-f", r"%t %p %o %k %s\n"), ("-f", r"%t %p %o %k %s\n")),
            ("consume -o ndjson", ("-o", "ndjson"), ("-J",)),
            ("consume --grep, one in ten", ("--grep", "v:7 "), ("-f", r"%s\n")),
        ):
            contests.append(
                self._consumers(name, count, ("c100", 100, "none", whole), target=3.0, own=own, kcats=kcats)
            )
        return contests

    def _producers(
        self,
        name: str,
        lines: partial[Path],
        count: int,
        codec: str,
        *,
        target: float | None = None,
        everybody: bool = False,
        raw: bool = False,
        flags: tuple[str, ...] = (),
    ) -> Contest:
        def run(tool: object, *more: str) -> Run | None:
            assert callable(tool)
            found: Run | None = tool(self._bootstrap, self._fresh(), lines(), count, codec, *more)
            return found

        contest = Contest(
            name,
            {
                "kcat": lambda: run(tools.kcat_produce, *flags),
                "kcli": lambda: run(tools.kcli_produce, *flags),
            },
            "kcat",
            target,
        )
        if raw:
            contest.contenders[RAW_SENDER] = lambda: tools.raw_sender(
                self._bootstrap, self._fresh(), PARTITIONS, lines(), count, codec
            )
        if everybody:
            contest.contenders |= {
                "confluent-kafka": lambda: run(tools.confluent_produce),
                "kafka-python": lambda: run(tools.kafka_python_produce),
                "aiokafka": lambda: run(tools.aiokafka_produce),
                "Kafka's producer perf test": lambda: run(tools.perf_produce),
                "Kafka's console producer": lambda: run(tools.console_produce),
            }
        return contest

    def _consumers(
        self,
        name: str,
        count: int,
        data: tuple[str, int, str, str],
        *,
        target: float,
        raw: bool = False,
        own: tuple[str, ...] = (),
        kcats: tuple[str, ...] = (),
    ) -> Contest:
        topic, width, codec, by = data
        there = partial(self._topic, topic, width, count, codec, by)
        contest = Contest(
            name,
            {
                "kcat": lambda: tools.kcat_consume(self._bootstrap, there(), count, *kcats),
                "kcli": lambda: tools.kcli_consume(self._bootstrap, there(), count, *own),
            },
            "kcat",
            target,
        )
        if raw:
            contest.contenders[RAW_READER] = lambda: tools.raw_reader(
                self._bootstrap, there(), PARTITIONS, count
            )
        return contest

    # --- files and topics ------------------------------------------------------------------------------

    def _lines(self, width: int) -> Path:
        """A file of lines of ``width`` bytes with their newline that compress about as logs do."""
        return self._file(f"lines-{width}", width, lambda number: b"%d %x " % (number, number * 0x9E3779B9))

    def _keyed(self, width: int) -> Path:
        return self._file(f"keyed-{width}", width, lambda number: b"user%d:%d " % (number % 9_973, number))

    def _file(self, name: str, width: int, begin: object) -> Path:
        path = self._folder / name
        if not path.exists():
            assert callable(begin)
            filling = b"the quick brown fox jumps over the lazy dog and says nothing of it at all; " * (
                width // 70 + 1
            )
            size = MEGABYTES * 1_000_000
            with path.open("wb") as file:
                for first in range(0, size // width, 10_000):
                    numbers = range(first, min(first + 10_000, size // width))
                    file.write(b"".join([(begin(n) + filling)[: width - 1] + b"\n" for n in numbers]))
        return path

    def _fresh(self) -> str:
        """An empty topic; the one before it goes, so that the disk does not fill up."""
        if self._sink:
            self._kcli("topics", "delete", self._sink, "--yes")
        self._sink = f"sink-{int(self._sink[5:] or 0) + 1}" if self._sink else "sink-1"
        create_topic(self._bootstrap, self._sink, PARTITIONS)
        return self._sink

    def _topic(self, name: str, width: int, count: int, codec: str, by: str) -> str:
        """A topic with ``count`` lines. ``by`` "16": in batches of at most 16 KB."""
        marker = self._folder / f"{name}.topic"
        if not marker.exists():
            create_topic(self._bootstrap, name, PARTITIONS)
            flags = ("-X", "batch.size=16384") if by == "16" else ()
            lines = self._lines(width)
            with subprocess.Popen(["head", "-n", str(count), str(lines)], stdout=subprocess.PIPE) as head:
                self._kcli("produce", name, "-z", codec, *flags, stdin=head.stdout)
            marker.touch()
        return name

    def _kcli(self, *words: str, stdin: object = None) -> None:
        argv = [sys.executable, "-m", "kcli", "-b", self._bootstrap, *words, "-q"]
        done = subprocess.run(  # type: ignore[call-overload]
            argv, check=False, stdin=stdin or subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment()
        )
        if done.returncode:
            raise FailedRunError(f"kcli {words[0]}: {done.stderr.decode()}")


def _beside_raw(contest: Contest) -> Table:
    """Its table; and how near kcli comes to what its kernels and the sockets allow."""
    table = contest.table()
    notes = list(table.notes)
    for raw, share in _OF_RAW.items():
        if raw in contest.costs and contest.kcli in contest.costs:
            cpu = contest.rate(contest.kcli) / contest.rate(raw)
            wall = contest.wall_rate(contest.kcli) / contest.wall_rate(raw)
            notes.append(
                f"target: {share:g} × {raw}, is {cpu:.2f} ×: {'met' if cpu >= share else 'MISSED'};"
                f" on the wall {_RAW_WALL:g} ×, is {wall:.2f} ×: {'met' if wall >= _RAW_WALL else 'MISSED'}"
            )
    return replace(table, notes=notes)


def _library(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _of_go(name: str) -> str:
    """Neither says a version where it is built from its sources: then that of the module is not known."""
    return (
        version_of([name, "--version"]).replace(" version", "")
        if shutil.which(name)
        else f"{name} not installed"
    )


def versions() -> str:
    """Of everything that is measured."""
    own = version_of([sys.executable, "-m", "kcli", "--version"])
    libraries = [f"{name} {_library(name)}" for name in ("confluent-kafka", "kafka-python", "aiokafka")]
    others = [f"kcat {version_of_kcat()}", *libraries, *map(_of_go, ("kcl", "kaf"))]
    return f"{own}; {', '.join(others)}; Kafka {kafka.VERSION}"
