"""What the tests of ``kcli pipeline mirror`` share: a job between two fake clusters. Not a test."""

import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import pytest

from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import id_bytes
from kcli.core.types import TopicPartition
from kcli.flows.mirror.job.group_position import Position, group_name, read_positions
from kcli.flows.stop import Stop
from kcli.pipeline.cluster_ref import ClusterRef
from kcli.pipeline.job import Job, TaskResult
from kcli.pipeline.kernels.copy import CopySettings, CopyTask
from kcli.pipeline.plan import Slice
from kcli.pipeline.runners.processes import ProcessesRunner
from kcli.pipeline.runners.runner import Runner
from tests.fake.cluster import FakeCluster
from tests.fault.mirror_command import Running
from tests.fault.producing import PATIENCE
from tests.run import Done
from tests.run import kcli_as_set_up as command

JOB = "j"


def arguments(source: FakeCluster, target: FakeCluster, *more: str) -> list[str]:
    """A job named ``j``; the topics are those of ``more``, else ``t``."""
    sides = ["--from", source.bootstrap, "--to", target.bootstrap, "--job", JOB]
    topics = [] if "-t" in more else ["-t", "t"]
    runner = [] if "--runner" in more else ["--runner", "inline"]
    return ["pipeline", "mirror", *sides, *topics, *runner, "-o", "json", *more]


def mirror(source: FakeCluster, target: FakeCluster, *more: str) -> tuple[Done, Any]:
    """Runs the command; the report is None where it printed none."""
    done = command(*arguments(source, target, *more))
    return done, json.loads(done.out) if done.out else None


def ref(cluster: FakeCluster) -> ClusterRef:
    return ClusterRef({"bootstrap_servers": cluster.bootstrap, "request_timeout_ms": 5_000}, {}, {}, {})


def settings(source: FakeCluster, target: FakeCluster, **values: Any) -> CopySettings:
    wanted = {"run": "run", "exactly_once": True, "interval": 0.05, "patience": 20.0}
    return CopySettings(ref(source), ref(target), "source", JOB, **{**wanted, **values})


def tasks(source: FakeCluster, topic: str = "t", *partitions: int) -> tuple[CopyTask, ...]:
    """From the start to the end of these partitions of the source."""
    return tuple(
        CopyTask(
            Slice(topic, id_bytes(topic_id(source, topic)), n, 0, source.log(topic, n).end_offset),
            TopicPartition(topic, n),
            len(partitions),
        )
        for n in partitions
    )


def topic_id(cluster: FakeCluster, topic: str) -> str:
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        found = admin.describe_topics([topic])[topic]
        assert not isinstance(found, Exception)
        return found.topic_id


def position(target: FakeCluster, tp: TopicPartition, source_cluster: str = "source") -> Position | None:
    with Admin(bootstrap_servers=target.bootstrap) as admin:
        return read_positions(admin, group_name(JOB, source_cluster)).get(tp)


@contextmanager
def following(
    monkeypatch: pytest.MonkeyPatch, source: FakeCluster, target: FakeCluster, *more: str
) -> Iterator[Running]:
    """The command with ``--continuous``, in a thread; it is stopped at the end of the block if it still runs."""
    made = Running(*arguments(source, target, "--continuous", "--slice", "200ms", *more))

    def stop() -> Stop:
        made.stops.append(Stop())
        return made.stops[-1]

    monkeypatch.setattr("kcli.commands.pipeline.mirror.Stop", stop)
    made.start()
    try:
        yield made
    finally:
        made.stop()
        made.join(PATIENCE)


class Run:
    """A job in a thread, in one process at a time, whose worker the test kills."""

    def __init__(self, job: Job, runner: Callable[[int], Runner] = ProcessesRunner) -> None:
        self._results: list[TaskResult] = []
        self.stop = Stop()
        self._thread = threading.Thread(
            target=lambda: self._results.extend(
                runner(1).run(job, on_progress=lambda _done: None, stop=self.stop)
            )
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        """A job that has not ended is stopped: its runner ends the worker."""
        if self._thread.is_alive():
            self.stop.request()
            self._thread.join()

    def worker(self) -> int:
        """The process id of the worker."""
        (child,) = multiprocessing.active_children()
        assert child.pid is not None
        return child.pid

    def kill(self) -> None:
        """SIGKILL to the worker."""
        os.kill(self.worker(), signal.SIGKILL)

    def results(self) -> Sequence[TaskResult]:
        """What the runner returned."""
        self._thread.join(PATIENCE)
        assert self._results, "the job did not end"
        return self._results
