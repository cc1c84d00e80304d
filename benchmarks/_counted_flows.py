"""The flows whose calls are counted: command lines on a fake cluster, each in two sizes.

What a run costs before it reaches its data falls out of the difference between the two, and so does what its first
batches cost while methods and messages are not compiled yet (``kcli.core.classes``, ``kcli.core.protocol.steps``). The
cluster runs in this process, the counted command in one of its own.

Flows "in step" have room for one batch only: each is confirmed before the next one is read, or received before the next
one is requested. So their counts are the same on a fast and on a busy machine, and the highest that there are: where
several batches are under way, a turn of the loop moves more than one.
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

_MEGABYTE = 1_000_000
_WIDTH = 100  # bytes of a line
_FILLING = b"the quick brown fox jumps over the lazy dog and says nothing of it at all; 0123456789"

Counts = dict[str, dict[str, float]]
"""Thread → function → calls."""


@dataclass(frozen=True, slots=True)
class Flow:
    """``words`` are the command line for a size: MB of lines, or groups. Calls are counted for each ``unit``.

    ``small`` is so many that messages and classes have been compiled by then (decision 0137).
    """

    name: str
    words: Callable[[Stage, int], list[str]]
    unit: str = "batch"
    small: int = 16
    large: int = 28


class Stage:
    """The fake cluster, files of input and topics. A context manager; ``folder`` is emptied by its owner."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cluster = _cluster()
        self._topic = ""
        self._topics = 0

    def __enter__(self) -> Stage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cluster.__exit__(kind, error, trace)

    # --- what flows need -----------------------------------------------------------------------------

    def empty_topic(self) -> str:
        """A topic without records, of one partition. The batches of the last one are those of the flow."""
        self._topics += 1
        self._topic = f"topic-{self._topics}"
        self._cluster.create_topic(self._topic, 1)
        return self._topic

    def full_topic(self, megabytes: int) -> str:
        """A topic of batches of 1 MB."""
        name, batch = self.empty_topic(), _batch()
        for _ in range(megabytes):
            self._cluster.append(name, 0, batch)
        return name

    def begin_anew(self) -> None:
        """A new cluster, without topics."""
        self._cluster.close()
        self._cluster = _cluster()

    def groups(self, count: int) -> None:
        """A new cluster with so many groups, each with offsets in 20 partitions."""
        self.begin_anew()
        ManyGroups(self._cluster, count, 20, topics=1, members=0)

    def lines(self, megabytes: int, begin: str = "{} ", end: str = "", header: str = "") -> Path:
        """A file of lines of 100 bytes, below a header line."""
        path = self._folder / f"lines-{megabytes}-{len(begin)}"
        if not path.exists():
            path.write_bytes(header.encode() + b"".join(_lines(megabytes * _MEGABYTE // _WIDTH, begin, end)))
        return path

    # --- counting ------------------------------------------------------------------------------------

    def count(self, flow: Flow) -> Counts:
        """Calls a unit, by thread and function."""
        small, before = self._calls(flow, flow.small), self._units(flow, flow.small)
        large = self._calls(flow, flow.large)
        units = self._units(flow, flow.large) - before
        return {
            thread: {
                function: (calls - small.get(thread, {}).get(function, 0)) / units
                for function, calls in functions.items()
            }
            for thread, functions in large.items()
        }

    def system_calls(self, flow: Flow) -> dict[str, float]:
        """System calls a unit, by name, as strace counts them."""
        small, before = self._traced(flow, flow.small), self._units(flow, flow.small)
        large = self._traced(flow, flow.large)
        units = self._units(flow, flow.large) - before
        return {name: (calls - small[name]) / units for name, calls in large.items()}

    def _units(self, flow: Flow, size: int) -> int:
        """What the last run has moved."""
        return len(self._cluster.log(self._topic).batches) if flow.unit == "batch" else size

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


def _cluster() -> FakeCluster:
    return FakeCluster(1, deep_check=False, fetch_sessions=True, max_message_bytes=2 * _MEGABYTE)


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
            *flags,
        ]

    return words


def _consume(*flags: str) -> Callable[[Stage, int], list[str]]:
    return lambda stage, size: ["-b", stage.bootstrap, "consume", stage.full_topic(size), "-e", "-q", *flags]


def _mirror(stage: Stage, size: int) -> list[str]:
    stage.begin_anew()  # what earlier jobs have saved would be read
    topic, copy = stage.full_topic(size), stage.empty_topic()
    same = ["--from", stage.bootstrap, "--to", stage.bootstrap]
    return ["mirror", *same, "-t", topic, "--map-topic", f"{topic}={copy}", "--until-caught-up", "-q"]


def _lag(stage: Stage, size: int) -> list[str]:
    stage.groups(size)
    return ["-b", stage.bootstrap, "groups", "lag", "--by", "partition", "-o", "tsv"]


_ONE_SENT = ("-X", "buffer.memory=1000000")
_ONE_FETCHED = ("-X", "fetch.buffer.bytes=1000000")

IN_STEP = (
    Flow("produce", _produce(*_ONE_SENT)),
    Flow("produce lz4", _produce("-z", "lz4", *_ONE_SENT)),
    Flow("produce keyed", _produce("-K", ":", *_ONE_SENT, begin="user{}:")),
    Flow(
        "produce ndjson",
        _produce("-i", "ndjson", *_ONE_SENT, begin='{{"value":"{} ', end='"}'),
    ),
    Flow("produce csv", _produce("-i", "csv", *_ONE_SENT, begin="number{},", header="key,value\n")),
    Flow("consume", _consume(*_ONE_FETCHED)),
    Flow("consume ndjson", _consume("-o", "ndjson", *_ONE_FETCHED)),
    Flow("consume -f", _consume("-f", r"%t %p %o %k %s\n", *_ONE_FETCHED)),
    Flow("consume --count", _consume("--count", *_ONE_FETCHED)),
    Flow("consume --count --by partition", _consume("--count", "--by", "partition", *_ONE_FETCHED)),
    Flow("consume --select", _consume("--select", "offset,value", *_ONE_FETCHED)),
    Flow("mirror", _mirror, small=48, large=72),
    Flow("groups lag", _lag, unit="group", small=200, large=400),
)
"""Those that have a limit, in ``calls.toml``."""
AS_USUAL = (
    Flow("produce, many batches in flight", _produce()),
    Flow("consume, large fetches", _consume()),
)
"""The same with the defaults: how many batches a turn moves depends on the machine."""


def calls(counts: Counts) -> float:
    """All calls of all threads."""
    return sum(sum(functions.values()) for functions in counts.values())


def transfers(counts: Counts) -> float:
    """Calls that send to a socket or receive from one."""
    return sum(
        count
        for functions in counts.values()
        for function, count in functions.items()
        if function.startswith(("socket.send", "socket.recv"))
    )
