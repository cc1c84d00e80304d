"""The flows whose calls are counted: command lines on a fake cluster, each in two sizes.

What a run costs before it reaches its data falls out of the difference between the two. The cluster runs in this
process, the counted command in one of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from benchmarks._measure import FailedRunError, environment
from kcli.core.records.builder import BatchBuilder
from tests.fake.cluster import FakeCluster
from tests.fake.many_groups import ManyGroups

PARTITIONS = 1
_MEGABYTE = 1_000_000
_WIDTH = 100  # bytes of a line
_FILLING = b"the quick brown fox jumps over the lazy dog and says nothing of it at all; 0123456789"

Counts = dict[str, dict[str, float]]
"""Thread → function → calls."""


@dataclass(frozen=True, slots=True)
class Flow:
    """``words`` are the command line for a size, which is ``small`` or ``large`` and counted in ``unit``."""

    name: str
    words: Callable[[Stage, int], list[str]]
    unit: str = "MB"
    small: int = 10
    large: int = 30


class Stage:
    """The fake cluster, files of input and topics. A context manager; ``folder`` is emptied by its owner."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cluster = FakeCluster(1, deep_check=False, fetch_sessions=True, max_message_bytes=2 * _MEGABYTE)
        self._topics = 0

    def __enter__(self) -> Stage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cluster.__exit__(kind, error, trace)

    # --- what flows need -----------------------------------------------------------------------------

    def empty_topic(self) -> str:
        """A topic without records."""
        self._topics += 1
        name = f"topic-{self._topics}"
        self._cluster.create_topic(name, PARTITIONS)
        return name

    def full_topic(self, megabytes: int) -> str:
        """A topic of batches of 1 MB, in turn in its partitions."""
        name, batch = self.empty_topic(), _batch()
        for number in range(megabytes):
            self._cluster.append(name, number % PARTITIONS, batch)
        return name

    def groups(self, count: int) -> None:
        """So many groups, each with offsets in 20 partitions; those of the call before are the first of them."""
        ManyGroups(self._cluster, count, 20, topics=1, members=0)

    def lines(self, megabytes: int, begin: str = "{} ", end: str = "") -> Path:
        """A file of lines of 100 bytes."""
        path = self._folder / f"lines-{megabytes}-{len(begin)}"
        if not path.exists():
            path.write_bytes(b"".join(_lines(megabytes * _MEGABYTE // _WIDTH, begin, end)))
        return path

    # --- counting ------------------------------------------------------------------------------------

    def count(self, flow: Flow) -> Counts:
        """Calls a unit, by thread and function."""
        small, large = (self._calls(flow, size) for size in (flow.small, flow.large))
        units = flow.large - flow.small
        return {
            thread: {
                function: (calls - small.get(thread, {}).get(function, 0)) / units
                for function, calls in functions.items()
            }
            for thread, functions in large.items()
        }

    def system_calls(self, flow: Flow) -> dict[str, float]:
        """System calls a unit, by name, as strace counts them."""
        small, large = (self._traced(flow, size) for size in (flow.small, flow.large))
        units = flow.large - flow.small
        return {name: (calls - small[name]) / units for name, calls in large.items()}

    def _calls(self, flow: Flow, size: int) -> dict[str, dict[str, int]]:
        report = self._folder / "calls.json"
        self._run([sys.executable, "-m", "benchmarks._counted", str(report)], flow, size)
        found: dict[str, dict[str, int]] = json.loads(report.read_text())
        return found

    def _traced(self, flow: Flow, size: int) -> Counter[str]:
        report = self._folder / "strace.txt"
        self._run(["strace", "-f", "-c", "-o", str(report), sys.executable, "-m", "kcli"], flow, size)
        found: Counter[str] = Counter()
        for line in report.read_text().splitlines():
            fields = line.split()
            if len(fields) >= 5 and fields[3].isdigit() and fields[-1] != "total":
                found[fields[-1]] = int(fields[3])
        return found

    def _run(self, runner: list[str], flow: Flow, size: int) -> None:
        argv = [*runner, *flow.words(self, size)]
        done = subprocess.run(
            argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(), check=False
        )
        if done.returncode:
            raise FailedRunError(f"{flow.name} ended with {done.returncode}: {done.stderr.decode()[-500:]}")

    @property
    def bootstrap(self) -> str:
        """The address of the broker."""
        return self._cluster.bootstrap


def _lines(count: int, begin: str, end: str) -> list[bytes]:
    last = end.encode() + b"\n"
    return [(begin.format(n).encode() + _FILLING)[: _WIDTH - len(last)] + last for n in range(count)]


def _batch() -> bytes:
    builder = BatchBuilder(room=_MEGABYTE)
    builder.append_lines([line[:-1] for line in _lines(_MEGABYTE // _WIDTH, "{} ", "")], 0, 1_700_000_000_000)
    return b"".join(builder.wire())


def _produce(*flags: str, **text: str) -> Callable[[Stage, int], list[str]]:
    def words(stage: Stage, size: int) -> list[str]:
        return [
            "-b",
            stage.bootstrap,
            "produce",
            stage.empty_topic(),
            str(stage.lines(size, **text)),
            "-q",
            "-X",
            "buffer.memory=1000000",
            *flags,
        ]

    return words


def _consume(*flags: str) -> Callable[[Stage, int], list[str]]:
    return lambda stage, size: [
        "-b",
        stage.bootstrap,
        "consume",
        stage.full_topic(size),
        "-e",
        "-q",
        "-X",
        "fetch.max.bytes=1000000",
        *flags,
    ]


def _mirror(stage: Stage, size: int) -> list[str]:
    topic, copy = stage.full_topic(size), stage.empty_topic()
    same = ["--from", stage.bootstrap, "--to", stage.bootstrap]
    return ["mirror", *same, "-t", topic, "--map-topic", f"{topic}={copy}", "--until-caught-up", "-q"]


def _lag(stage: Stage, size: int) -> list[str]:
    stage.groups(size)
    return ["-b", stage.bootstrap, "groups", "lag", "--by", "partition", "-o", "tsv"]


FLOWS = (
    Flow("produce", _produce()),
    Flow("produce lz4", _produce("-z", "lz4")),
    Flow("produce keyed", _produce("-K", ":", begin="user{}:")),
    Flow("produce ndjson", _produce("-i", "ndjson", begin='{{"value":"{} ', end='"}'), small=2, large=4),
    Flow("consume", _consume()),
    Flow("consume ndjson", _consume("-o", "ndjson")),
    Flow("consume -f", _consume("-f", r"%t %p %o %k %s\n")),
    Flow("mirror", _mirror),
    Flow("groups lag", _lag, unit="group", small=100, large=300),
)
