"""``kcli mirror`` in the process of the test: a run to its end, or one in a thread that the test stops. Not a test.

A process of its own costs half a second of imports; only tests of signals and kills need one.
"""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

import pytest

from kcli.core.group.lease import GroupLease
from kcli.core.hooks import NO_HOOKS
from kcli.core.options import ConsumerOptions
from kcli.flows.mirror.job.lease import Instance, lease_group, this_instance
from kcli.flows.mirror.job.state import JobId
from kcli.flows.mirror.job.store import STATE
from kcli.flows.stop import Stop
from tests.fake.cluster import FakeCluster
from tests.fault.producing import PATIENCE
from tests.run import Done
from tests.run import kcli_as_set_up as command

Row = dict[str, Any]


def arguments(source: FakeCluster, target: FakeCluster, *more: str) -> list[str]:
    """A mirror of job ``j``; the topics are those of ``more``, else ``t``."""
    topics = () if {"-t", "--topic"} & set(more) else ("-t", "t")
    job = [] if "--job" in more else ["--job", "j"]
    return ["mirror", "--from", source.bootstrap, "--to", target.bootstrap, *job, *topics, *more]


def mirrored(source: FakeCluster, target: FakeCluster, *more: str) -> Done:
    """Copies what is there now."""
    return command(*arguments(source, target, "--until-caught-up", "-o", "json", *more))


class Running:
    """A command in a thread."""

    def __init__(self, *arguments: str) -> None:
        self._arguments = arguments
        self._done: Done | None = None
        self._thread = Thread(target=self._run)
        self.stops: list[Stop] = []

    def _run(self) -> None:
        self._done = command(*self._arguments)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """As Ctrl-C does."""
        for stop in self.stops:
            if not stop:
                stop.request(signal.SIGINT)

    @property
    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return self._thread.is_alive()

    def join(self, seconds: float) -> None:
        """Waits for its end, but not longer than that."""
        self._thread.join(seconds)

    def done(self) -> Done:
        """The result, when it has ended by itself or by ``stop``."""
        self._thread.join(PATIENCE)
        assert self._done is not None, "the mirror did not end"
        return self._done


@contextmanager
def running(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Iterator[Running]:
    """Starts a command; it is stopped at the end of the block if it still runs.

    A range that ends behind the log is waited for: so a run has a time in which its clusters change, and then an end
    with an exit code.
    """
    made = Running(*arguments)

    def stop() -> Stop:
        made.stops.append(Stop())
        return made.stops[-1]

    monkeypatch.setattr("kcli.commands.mirror.copying.Stop", stop)
    made.start()
    try:
        yield made
    finally:
        made.stop()
        made.join(PATIENCE)


@contextmanager
def instance_of(cluster: FakeCluster, job: JobId) -> Iterator[Instance]:
    """An instance that has the lease of the job on the cluster, and does nothing with it."""
    me = this_instance()._replace(pid=1, place="")  # of which nobody can say that it is dead
    options = ConsumerOptions(
        bootstrap_servers=cluster.bootstrap,
        client_id=me.client_id,
        session_timeout_ms=9_000,
        heartbeat_interval_ms=200,
    )
    lease = GroupLease(options, lease_group(job), STATE, NO_HOOKS)
    lease.start()
    try:
        until(lambda: lease.term)
        yield me
    finally:
        lease.close()


def until(condition: Callable[[], Any]) -> None:
    """Waits for a state of a cluster."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "the state was not reached"
        time.sleep(0.01)


def stored(cluster: FakeCluster, topic: str, partition: int = 0) -> list[Any]:
    """The committed records as readers see them, without their offsets."""
    log = cluster.log(topic, partition)
    return [(r.key, r.value, r.headers, r.timestamp) for r in log.records(committed=True)]


def values(cluster: FakeCluster, topic: str, partition: int = 0) -> list[bytes | None]:
    """The committed values."""
    return cluster.log(topic, partition).values(committed=True)
