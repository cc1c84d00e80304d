"""What the fault tests of networks share: what was said, what it cost, other ways to start. Not a test."""

import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kcli.core import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.hooks import Hooks
from kcli.core.net.loop import Loop
from kcli.core.types import TopicPartition
from tests.fake.cluster import FakeCluster
from tests.run import environment


class Heard:
    """Everything that a client says through its hooks, as (time, level, text)."""

    def __init__(self) -> None:
        self.lines: list[tuple[float, str, str]] = []
        self.hooks = Hooks(log=self._note)

    def _note(self, level: str, _area: str, text: str) -> None:
        self.lines.append((time.monotonic(), level, text))

    def said(self, *levels: str) -> list[str]:
        """The texts of these levels; those of ``warning`` and ``info`` reach users."""
        return [text for _, level, text in self.lines if level in levels]

    def failed_connects(self, address: str) -> list[float]:
        """When a try to connect to an address came to nothing."""
        return [at for at, _, text in self.lines if address in text and "connecting → closed" in text]


class Calls:
    """Calls of functions, Python's and C's, in the thread that owns a loop: its cost, however busy the machine is.

    From now on, until the loop's ``close`` or ``end``. A loop that waits makes none.
    """

    def __init__(self, loop: Loop) -> None:
        self.count = 0
        self._loop = loop
        self._set(self._note)

    def end(self) -> int:
        """How many there were."""
        self._set(None)
        return self.count

    def _set(self, note: Callable[..., None] | None) -> None:
        if self._loop._owner == threading.get_ident():
            sys.setprofile(note)
        else:
            self._loop.call_threadsafe(lambda: sys.setprofile(note))

    def _note(self, _frame: object, event: str, _what: object) -> None:
        self.count += event in {"call", "c_call"}


def soon(condition: Callable[[], object], what: str, timeout: float = 120.0) -> None:
    """Waits for something that only the client knows of; what a cluster or a proxy sees, they can wait for themselves."""
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, f"waited {timeout:g} s for {what}"
        time.sleep(0.01)


def peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def read(cluster: FakeCluster, topic: str, partitions: int = 1, **options: object) -> list[bytes | None]:
    """All values, partition by partition, as kcli's consumer finds them."""
    with Consumer(**{"bootstrap_servers": cluster.bootstrap, **options}) as consumer:  # type: ignore[arg-type]
        ends = {TopicPartition(topic, p): cluster.log(topic, p).end_offset for p in range(partitions)}
        consumer.assign({tp: Span(0, end) for tp, end in ends.items()})
        found: dict[int, list[bytes | None]] = {p: [] for p in range(partitions)}
        while not consumer.done:
            for record in consumer.records(10):
                found[record.partition].append(record.value)
    return [value for values in found.values() for value in values]


@contextmanager
def closed_port() -> Iterator[int]:
    """A loopback port at which connecting is refused for as long as the block lasts."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        yield reserved.getsockname()[1]


def kcli_after(code: str, *arguments: str, timeout: float = 60.0) -> "subprocess.CompletedProcess[bytes]":
    """Runs kcli in a process in which ``code`` was run first: for what a test cannot do to a network."""
    start = f"{code}\nimport sys\nfrom kcli.__main__ import main\nmain()"
    return subprocess.run(
        [sys.executable, "-c", start, *arguments],
        capture_output=True,
        timeout=timeout,
        env=environment(),
        check=False,
    )
