"""Runs the tasks of a job on Spark: a task of Spark for each, as ``attempt.py`` says."""

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from pyspark.accumulators import _accumulatorRegistry as ACCUMULATORS

from kcli.flows.stop import Stop
from kcli.pipeline.job import Job, Progress, TaskError, TaskResult, stopped_result, task_error
from kcli.pipeline.runners.runner import Runner
from kcli.pipeline.spark.attempt import Attempt, Results, ResultsParam
from kcli.pipeline.spark.board import Board
from kcli.pipeline.spark.probe import check_executors
from kcli.pipeline.spark.session import Session
from kcli.pipeline.spark.watching import Watched

_PATIENCE = 5.0  # seconds for tasks to end after a request to stop


def open_runner(
    *,
    master: str | None,
    local: int | None,
    conf: Mapping[str, str],
    java_home: str | None,
    note: Callable[[str], None],
    warn: Callable[[str], None],
) -> Runner:
    """A runner with a session of its own; ConfigError without a Java, or if the executors cannot run tasks."""
    session = Session(master=master, local=local, conf=conf, java_home=java_home, note=note, warn=warn)
    try:
        if not session.master.is_local:
            check_executors(session, note)
    except BaseException:
        session.close()
        raise
    return SparkRunner(session)


class SparkRunner:
    """See ``Runner``; ``session`` is ended with it."""

    name = "spark"

    def __init__(self, session: Session) -> None:
        self.session = session
        self.slots = session.slots

    def run(self, job: Job, *, on_progress: Callable[[Progress], None], stop: Stop) -> list[TaskResult]:
        """See ``Runner``."""
        if not job.tasks:
            return []
        board = Board(self.session.folder.path, len(job.tasks))
        try:
            return _Run(self.session, job, board, on_progress, stop).results()
        finally:
            board.close()

    def close(self) -> None:
        """Ends the session."""
        self.session.close()


class _Run:
    def __init__(
        self,
        session: Session,
        job: Job,
        board: Board,
        on_progress: Callable[[Progress], None],
        stop: Stop,
    ) -> None:
        self._session = session
        self._job = job
        self._board = board
        self._on_progress = on_progress
        self._stop = stop
        self._results: Results = {}

    def results(self) -> list[TaskResult]:
        """Returns when the job has ended, in whatever way."""
        context = self._session.context
        accumulator = context.accumulator(self._results, ResultsParam())
        numbered = list(enumerate(self._job.tasks))
        attempt: Callable[[Iterable[tuple[int, Any]]], Iterable[None]] = Attempt(
            self._job.kernel,
            self._job.settings,
            self._session.master.attempts,
            accumulator,
            self._board.ref,
        )
        try:
            watched: Watched[object] = Watched(
                self._session,
                lambda: context.runJob(context.parallelize(numbered, len(numbered)), attempt),
                title=f"kcli {self._job.kernel}",
            )
            try:
                self._wait(watched)
            except BaseException:
                watched.cancel()
                raise
            self._complete(self._error(watched))
            self._show()
        finally:
            ACCUMULATORS.pop(accumulator.aid, None)
        return [self._results[number] for number in range(len(numbered))]

    def _wait(self, watched: "Watched[object]") -> None:
        deadline = None
        while not watched.wait() and not watched.is_lost:
            self._show()
            if self._stop and deadline is None:
                self._board.request_stop()
                deadline = time.monotonic() + _PATIENCE
            if deadline is not None and (time.monotonic() >= deadline or not self._sees_board):
                watched.cancel()
                return

    @property
    def _sees_board(self) -> bool:
        """Whether tasks see the request to stop."""
        return self._session.master.is_local

    def _error(self, watched: "Watched[object]") -> TaskError | None:
        """Why there are tasks without a result: a job ends with an error only where Spark cannot run tasks at all."""
        if self._stop:
            return None
        error: BaseException = RuntimeError("lost")
        if not watched.is_lost:
            try:
                watched.result()
            except Exception as caught:  # noqa: BLE001 - py4j and pyspark raise anything
                error = caught
            else:
                return None
        return task_error(self._session.failure(error, "Spark ended the job"))

    def _complete(self, error: TaskError | None) -> None:
        for number in range(len(self._job.tasks)):
            if number not in self._results:
                self._results[number] = (
                    stopped_result(number) if error is None else TaskResult(number, None, error)
                )

    def _show(self) -> None:
        records = size = 0
        ended = dict(self._results)
        for number, (task_records, task_size) in enumerate(self._board.slots()):
            result = ended.get(number)
            item = (result.item if result is not None else None) or {}
            records += max(task_records, item.get("records", 0))
            size += max(task_size, item.get("bytes", 0))
        with suppress(Exception):
            self._on_progress(Progress(records, size, len(self._job.tasks), len(ended)))
