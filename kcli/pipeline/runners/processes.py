"""Runs the tasks of a job in processes of this machine, several at a time, without Spark.

A worker is a fresh interpreter (``spawn``): the parent's sockets and threads are not copied. It runs one task after the
other. One that dies takes only its task with it, which another worker begins again. A worker whose parent is gone ends.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.synchronize import Event
from typing import Any

from kcli.flows.stop import Stop
from kcli.pipeline.job import (
    ATTEMPTS,
    Job,
    Progress,
    TaskContext,
    TaskResult,
    killed_error,
    run_task,
    stopped_result,
)

_TURN = 0.2  # seconds between two looks at a request to stop
_REPORT_INTERVAL = 0.2  # seconds between two reports of progress
_PATIENCE = 10.0  # seconds for tasks to end after a request to stop
_FAILED = "failed"


class ProcessesRunner:
    """See ``Runner``; ``slots``: how many processes."""

    name = "processes"

    def __init__(self, slots: int) -> None:
        self.slots = slots

    def run(self, job: Job, *, on_progress: Callable[[Progress], None], stop: Stop) -> list[TaskResult]:
        """See ``Runner``."""
        run = _Run(job, min(self.slots, len(job.tasks)), on_progress, stop)
        try:
            return run.results()
        finally:
            run.end()

    def close(self) -> None:
        """See ``Runner``: the processes have ended with their job."""


class _Worker:
    """A process, the parent's end of its pipe, and the task that it runs (−1: none)."""

    def __init__(self, context: SpawnContext, job: Job, stopping: Event) -> None:
        self.pipe, theirs = context.Pipe()
        self.process: SpawnProcess = context.Process(target=_work, args=(theirs, job, stopping), daemon=True)
        self.process.start()
        theirs.close()
        self.task = -1
        self.done = [0, 0]


class _Run:
    def __init__(self, job: Job, slots: int, on_progress: Callable[[Progress], None], stop: Stop) -> None:
        self._job = job
        self._on_progress = on_progress
        self._stop = stop
        self._context = multiprocessing.get_context("spawn")
        self._stopping = self._context.Event()
        self._waiting = deque(range(len(job.tasks)))
        self._attempts = [0] * len(job.tasks)
        self._results: dict[int, TaskResult] = {}
        self._sums = [0, 0]
        self._workers: list[_Worker] = []
        for _ in range(slots):
            self._add_worker()

    def results(self) -> list[TaskResult]:
        """Returns when every task has a result, or the job was stopped."""
        deadline = float("inf")
        while len(self._results) < len(self._job.tasks):
            if self._stop and not self._stopping.is_set():
                self._stopping.set()
                self._waiting.clear()
                deadline = time.monotonic() + _PATIENCE
            if self._stop and (time.monotonic() >= deadline or not any(w.task >= 0 for w in self._workers)):
                break
            self._turn()
        missing = set(range(len(self._job.tasks))).difference(self._results)
        self._results |= {index: stopped_result(index, self._attempts[index]) for index in missing}
        return [self._results[index] for index in range(len(self._job.tasks))]

    def end(self) -> None:
        """Ends all processes."""
        for worker in self._workers:
            worker.pipe.close()
        for worker in self._workers:
            worker.process.join(1.0 if not self._stop else 0.0)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()

    def _add_worker(self) -> None:
        self._workers.append(_Worker(self._context, self._job, self._stopping))

    def _turn(self) -> None:
        for worker in self._workers:
            if worker.task < 0 and self._waiting:
                self._begin(worker)
        waited: dict[Any, _Worker] = {worker.pipe: worker for worker in self._workers}
        for ready in wait(list(waited), _TURN):
            worker = waited[ready]
            try:
                self._receive(worker, worker.pipe.recv())
            except (EOFError, OSError):
                self._died(worker)

    def _begin(self, worker: _Worker) -> None:
        index = self._waiting.popleft()
        attempt = self._attempts[index]
        self._attempts[index] += 1
        worker.task, worker.done = index, [0, 0]
        try:
            worker.pipe.send((index, attempt))
        except OSError:  # it is dead, which its pipe says as well
            return

    def _receive(self, worker: _Worker, message: Any) -> None:
        if isinstance(message, TaskResult):
            self._results[message.task] = message
            worker.task = -1
        elif message == _FAILED:
            self._take_back(worker)
            self._waiting.append(worker.task)
            worker.task = -1
        else:
            for at, part in enumerate(message):
                worker.done[at] += part
                self._sums[at] += part
        self._show()

    def _died(self, worker: _Worker) -> None:
        worker.process.join()
        self._workers.remove(worker)
        worker.pipe.close()
        index = worker.task
        if index >= 0:
            self._take_back(worker)
            if self._attempts[index] < ATTEMPTS:
                self._waiting.append(index)
            else:
                why = _cause(worker.process.exitcode)
                self._results[index] = TaskResult(
                    index, None, killed_error(index, why), self._attempts[index]
                )
        if not self._stop:
            self._add_worker()
        self._show()

    def _take_back(self, worker: _Worker) -> None:
        for at, part in enumerate(worker.done):
            self._sums[at] -= part

    def _show(self) -> None:
        self._on_progress(Progress(self._sums[0], self._sums[1], len(self._job.tasks), len(self._results)))


def _cause(code: int | None) -> str:
    if code is not None and code < 0:
        return f"its process was ended by {signal.Signals(-code).name}"
    return f"its process ended with exit code {code}"


# --- in the worker -------------------------------------------------------------------------------


def _work(pipe: Connection, job: Job, stopping: Event) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            index, attempt = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send(_one(pipe, job, index, attempt, stopping))


def _one(pipe: Connection, job: Job, index: int, attempt: int, stopping: Event) -> Any:
    report = _Report(pipe)
    context = TaskContext(attempt, last=attempt + 1 == ATTEMPTS, stopped=stopping.is_set, report=report.add)
    try:
        result = run_task(job, index, context)
    except Exception:  # noqa: BLE001 - a task may fail in any way, and is begun again
        return _FAILED
    report.send()
    return result


class _Report:
    """Sends progress, a few times a second."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._sums = [0, 0]
        self._next = 0.0

    def add(self, records: int, size: int) -> None:
        """Adds to what will be sent."""
        self._sums[0] += records
        self._sums[1] += size
        if time.monotonic() >= self._next:
            self.send()

    def send(self) -> None:
        """Sends what was added since the last time."""
        self._next = time.monotonic() + _REPORT_INTERVAL
        if any(self._sums):
            self._pipe.send(tuple(self._sums))
            self._sums = [0, 0]


def _end_with_parent() -> None:
    found = multiprocessing.parent_process()
    assert found is not None
    wait([found.sentinel])
    os._exit(1)
