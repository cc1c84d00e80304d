"""What Spark runs for a task of a job: one attempt, in a Python worker of an executor.

Its result travels in an accumulator, which reaches the driver when the task ends, also if the job is aborted later;
Spark adds that of a task once, however many copies of it ran. An error that another attempt may not have is raised, and
Spark repeats the task; Spark allows one failure more than there are attempts, and this last one runs nothing: it reports
that the processes of all others died.
"""

from collections.abc import Iterable
from typing import Any

from pyspark import TaskContext as SparkTask
from pyspark.accumulators import Accumulator, AccumulatorParam

from kcli.core.classes import dataclass
from kcli.pipeline.job import Job, TaskContext, TaskResult, killed_error, run_task, stopped_result
from kcli.pipeline.spark.board import BoardRef, Slot, open_slot
from kcli.pipeline.spark.worker_process import spare_imports

Results = dict[int, TaskResult]


class ResultsParam(AccumulatorParam[Results]):
    """Joins the results of tasks; the first of a task counts."""

    def zero(self, value: Results) -> Results:  # noqa: ARG002 - pyspark's signature
        """The empty accumulator: no results."""
        return {}

    def addInPlace(self, value1: Results, value2: Results) -> Results:  # noqa: N802 - pyspark's name
        """Adds ``value2`` to ``value1``."""
        for task, result in value2.items():
            value1.setdefault(task, result)
        return value1


@dataclass(frozen=True, slots=True)
class Attempt:
    """The function of a Spark task: its elements are (number of the task, task)."""

    kernel: str
    settings: Any
    attempts: int
    results: "Accumulator[Results]"
    board: BoardRef

    def __call__(self, tasks: Iterable[tuple[int, Any]]) -> Iterable[None]:
        spare_imports()
        spark = SparkTask.get()
        attempt = spark.attemptNumber() if spark is not None else 0
        for number, task in tasks:
            slot = open_slot(self.board, number)
            try:
                self.results.add({number: self._result(number, task, attempt, slot)})
            finally:
                if slot is not None:
                    slot.close()
        return ()

    def _result(self, number: int, task: Any, attempt: int, slot: Slot | None) -> TaskResult:
        if slot is not None and slot.stopped():
            return stopped_result(number, attempt)
        if attempt >= self.attempts:
            why = "the Python process or the executor that ran it ended each time"
            return TaskResult(number, None, killed_error(number, why), self.attempts)
        context = TaskContext(
            attempt,
            last=attempt + 1 == self.attempts,
            stopped=slot.stopped if slot is not None else bool,
            report=slot.add if slot is not None else None,
        )
        # Of the job's tasks an executor gets this one only.
        return run_task(Job(self.kernel, self.settings, (task,)), 0, context)._replace(task=number)
