"""The members of one cell as processes, and the ledger of what they say that they have read."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kcli.sandbox.java import find_java
from tests.chaos.rewind_ledger.cells import Cell
from tests.chaos.rewind_ledger.judge import Run
from tests.integration.members import compiled
from tests.kafka import Kafka

_JAVA = Path(__file__).with_name("RewindMember.java")
_JAVA_ASSIGNORS = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}
_QUICK_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx128m")
_RESTARTS = 10
_PAUSE = 2.0  # seconds before a member that has ended by itself is started again


class Ledger:
    """What all members of a cell have read, their commits, and when the long batch began. Guarded by its lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: dict[int, list[Run]] = {}
        self._owned: dict[str, frozenset[int]] = {}
        self._commits: dict[str, float] = {}
        self.long_since: list[float] = []
        self.lines: list[str] = []

    def hear(self, reader: str, line: str) -> None:
        """A line of a member's output."""
        what, *words = line.split() or [""]
        with self._lock:
            if what == "read":
                numbers = list(map(int, words[1:]))
                for partition, first, end in zip(*[iter(numbers)] * 3, strict=True):
                    self._runs.setdefault(partition, []).append(Run(first, end, float(words[0]), reader))
            elif what == "owned":
                self._owned[reader] = frozenset(map(int, words[1:]))
            elif what == "commit":
                self._commits[reader] = float(words[0])
            elif what == "long":
                self.long_since.append(float(words[0]))
            self.lines.append(f"{reader} {line.rstrip()}")

    def ended(self, reader: str) -> None:
        """That process is no more."""
        with self._lock:
            self._owned.pop(reader, None)

    def runs(self, partition: int) -> list[Run]:
        with self._lock:
            return list(self._runs.get(partition, ()))

    def last(self, partition: int) -> float:
        """When it was read last; 0: never."""
        return max((run.at for run in self.runs(partition)), default=0.0)

    def position(self, partition: int) -> int:
        return max((run.end for run in self.runs(partition)), default=0)

    def committed_at(self, reader: str) -> float:
        """When that member has committed last by itself; 0: never."""
        with self._lock:
            return self._commits.get(reader, 0.0)

    def owners(self) -> dict[str, frozenset[int]]:
        with self._lock:
            return dict(self._owned)


class Process:
    """One process of a member. ``ended`` says whether it is no more."""

    def __init__(self, arguments: list[str], reader: str, ledger: Ledger) -> None:
        self.reader = reader
        self._ledger = ledger
        self._process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        self.errors: list[str] = []
        self._threads = [
            threading.Thread(target=self._listen, args=(self._process.stdout,), daemon=True),
            threading.Thread(target=self._keep, args=(self._process.stderr,), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def signal(self, number: int) -> None:
        if not self.ended:
            self._process.send_signal(number)

    def ask(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def end(self) -> None:
        """At once; returns when everything that it said was heard."""
        self.signal(signal.SIGKILL)
        self._process.wait()
        for thread in self._threads:
            thread.join()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()

    def _listen(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._ledger.hear(self.reader, line)
        self._ledger.ended(self.reader)

    def _keep(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.errors.append(line.rstrip())
            del self.errors[:-20]


class Team:
    """The members of a cell by their number. A member that ends by itself is started again, as a supervisor would."""

    def __init__(self, kafka: Kafka, cell: Cell, topic: str, group: str) -> None:
        self.ledger = Ledger()
        self._kafka, self._cell, self._topic, self._group = kafka, cell, topic, group
        self._now: dict[int, Process] = {}
        self._all: list[Process] = []
        self._starts: dict[int, int] = {}
        self._wanted: set[int] = set()
        self._again_at: dict[int, float] = {}
        self.notes: list[str] = []

    def start(self, number: int) -> None:
        """A new process for this member."""
        self._starts[number] = self._starts.get(number, 0) + 1
        self._wanted.add(number)
        reader = f"{number}.{self._starts[number]}"
        one = Process(self._arguments(number), reader, self.ledger)
        self._now[number] = one
        self._all.append(one)

    def join(self) -> int:
        """One more member; its number."""
        number = max(self._starts) + 1
        self.start(number)
        return number

    def signal(self, number: int, which: signal.Signals) -> None:
        if which in (signal.SIGKILL, signal.SIGTERM):
            self._wanted.discard(number)
        self._now[number].signal(which)

    def ask_for_long_batch(self, number: int, seconds: float) -> None:
        self._now[number].ask(f"long {seconds}")

    def reader(self, number: int) -> str:
        """The name of that member's process in the ledger."""
        return self._now[number].reader

    @property
    def alive(self) -> list[int]:
        """Members that run and are to."""
        return [number for number in sorted(self._wanted) if not self._now[number].ended]

    def supervise(self) -> None:
        """Starts again what has ended by itself: a static member is refused until its session before is over.

        AssertionError: it will not run.
        """
        for number in sorted(self._wanted):
            one = self._now[number]
            if not one.ended:
                self._again_at.pop(number, None)
            elif now() >= self._again_at.setdefault(number, now() + _PAUSE):
                self._again_at.pop(number)
                self.notes.append(f"member {one.reader} ended: {' | '.join(one.errors[-2:])}")
                assert self._starts[number] < _RESTARTS, self.notes[-1]
                self.start(number)

    def end(self) -> None:
        """All of them, at once."""
        self._wanted.clear()
        for one in self._all:
            one.signal(signal.SIGKILL)
        for one in self._all:
            one.end()

    def _arguments(self, number: int) -> list[str]:
        cell = self._cell
        client = cell.clients[number % len(cell.clients)]
        client_id = "app" if cell.same_client_id else f"app-{number}"
        instance_id = f"{self._group}-{number}" if cell.static else ""
        if client == "java":
            return self._java(client_id, instance_id)
        wishes = {
            "client": client,
            "bootstrap": self._kafka.bootstrap,
            "topic": self._topic,
            "group": self._group,
            "client_id": client_id,
            "instance_id": instance_id,
            **{key: getattr(cell, key) for key in _SHARED},
        }
        return [sys.executable, "-m", "tests.chaos.rewind_ledger.member", json.dumps(wishes)]

    def _java(self, client_id: str, instance_id: str) -> list[str]:
        cell = self._cell
        folder, jars = compiled(self._kafka.version, _JAVA)
        options: dict[str, Any] = {
            "bootstrap.servers": self._kafka.bootstrap,
            "group.id": self._group,
            "client.id": client_id,
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": cell.auto_ms,
            "enable.auto.commit": "true" if cell.habit == "auto" else "false",
            "max.poll.records": 5_000,
            "metadata.max.age.ms": 5_000,
        }
        if instance_id:
            options["group.instance.id"] = instance_id
        if cell.assignor:
            kind = f"org.apache.kafka.clients.consumer.{_JAVA_ASSIGNORS[cell.assignor]}"
            options |= {"partition.assignment.strategy": kind, "session.timeout.ms": cell.session_ms}
            options["heartbeat.interval.ms"] = cell.heartbeat_ms
        else:
            options["group.protocol"] = "consumer"
        return [
            *(find_java().path, *_QUICK_JVM, "-cp", f"{folder}:{jars}", "RewindMember"),
            *(self._topic, cell.habit, str(int(cell.busy * 1000))),
            *(f"{key}={value}" for key, value in options.items()),
        ]


_SHARED = ("assignor", "habit", "auto_ms", "busy", "session_ms", "heartbeat_ms")


def now() -> float:
    """The clock of the ledger."""
    return time.monotonic()
