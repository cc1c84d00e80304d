"""The session of Spark that the tests of a process share; it ends with the run."""

from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from kcli.pipeline.spark.runner import SparkRunner
from kcli.pipeline.spark.session import Session


@contextmanager
def shared_runner() -> Iterator[SparkRunner]:
    """A runner with two slots. No process of it is left."""
    runner = SparkRunner(Session(local=2))
    processes = [psutil.Process(runner.session.jvm_pid)]
    try:
        yield runner
        processes += processes[0].children(recursive=True)
    finally:
        runner.close()
    _, alive = psutil.wait_procs(processes, timeout=10)
    assert not alive
