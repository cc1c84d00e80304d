"""A process with a session of Spark that stays warm, and the CPU of its process tree for one job at a time.

The JVM, Python workers and processes that kcli starts are children of the host, so the CPU of its tree is that of the
whole client. A job is a function of ``_jobs.py`` that is called with the session.
"""

from __future__ import annotations

import multiprocessing
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import psutil

from benchmarks._measure import Cost, FailedRunError

SLOTS = 2
_SETTLE = 0.3  # seconds in which the JVM ends what belongs to a job: compiling, cleaning
_END = 60.0  # seconds


class Done(NamedTuple):
    """What a job cost, and the number that it returned: records, or rows."""

    cost: Cost
    count: int


class Host:
    """``profile`` and ``conf``: those of the session. ``call`` runs a job to its end."""

    def __init__(self, profile: str, conf: Mapping[str, str]) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, profile, dict(conf)))
        self._process.start()
        theirs.close()
        self._receive("the session of Spark")

    def call(self, job: Callable[..., int], **values: Any) -> Done:
        """Raises FailedRunError with the job's traceback."""
        assert self._process.pid is not None
        before, started = tree_cpu(self._process.pid), time.monotonic()
        self._pipe.send((job, values))
        count = self._receive(job.__name__)
        wall = time.monotonic() - started
        time.sleep(_SETTLE)
        return Done(Cost(tree_cpu(self._process.pid) - before, wall), count)

    def close(self) -> None:
        """Ends the session and the process."""
        self._pipe.close()
        self._process.join(_END)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _receive(self, what: str) -> int:
        try:
            found = self._pipe.recv()
        except EOFError:
            raise FailedRunError(f"{what}: its process ended") from None
        if isinstance(found, str):
            raise FailedRunError(f"{what}: {found}")
        return int(found)


def tree_cpu(pid: int) -> float:
    """Seconds of user and system time of a process, its descendants, and those of them that have ended."""
    root = psutil.Process(pid)
    total = 0.0
    for process in (root, *root.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def _serve(pipe: Connection, profile: str, conf: Mapping[str, str]) -> None:
    """Runs in the process: until the other end of the pipe is closed."""
    from kcli.pipeline.spark.session import Session

    with suppress(EOFError, KeyboardInterrupt), Session(local=SLOTS, conf=conf, profile=profile) as session:
        pipe.send(0)
        while True:
            job, values = pipe.recv()
            try:
                pipe.send(job(session, **values))
            except Exception:  # noqa: BLE001 - py4j and pyspark raise anything
                pipe.send(traceback.format_exc())
