"""Runs the tasks of a job one after the other in this process: for small jobs, and to debug a kernel."""

from collections.abc import Callable

from kcli.flows.stop import Stop
from kcli.pipeline.job import (
    ATTEMPTS,
    Job,
    Progress,
    TaskContext,
    TaskResult,
    run_task,
    stopped_result,
)


class InlineRunner:
    """See ``Runner``."""

    name = "inline"
    slots = 1

    def run(self, job: Job, *, on_progress: Callable[[Progress], None], stop: Stop) -> list[TaskResult]:
        """See ``Runner``."""
        results: list[TaskResult] = []
        done = [0, 0]

        def report(records: int, size: int) -> None:
            done[0] += records
            done[1] += size
            on_progress(Progress(done[0], done[1], len(job.tasks), len(results)))

        for index in range(len(job.tasks)):
            results.append(_attempt(job, index, report, stop))
            report(0, 0)
        return results

    def close(self) -> None:
        """See ``Runner``: nothing was started."""


def _attempt(job: Job, index: int, report: Callable[[int, int], None], stop: Stop) -> TaskResult:
    attempt = 0
    while not stop:
        last = attempt + 1 == ATTEMPTS
        counted = [0, 0]

        def count(records: int, size: int, counted: list[int] = counted) -> None:
            counted[0] += records
            counted[1] += size
            report(records, size)

        try:
            return run_task(job, index, TaskContext(attempt, last=last, stopped=stop.__bool__, report=count))
        except Exception:  # noqa: BLE001 - a task may fail in any way, and is begun again
            report(-counted[0], -counted[1])
            attempt += 1
    return stopped_result(index, attempt)
