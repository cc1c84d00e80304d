"""What every way to run a job offers."""

from collections.abc import Callable
from typing import Protocol

from kcli.flows.stop import Stop
from kcli.pipeline.job import Job, Progress, TaskResult


class Runner(Protocol):
    """``name`` is the value of ``--runner``; ``slots``: how many tasks run at a time."""

    name: str
    slots: int

    def run(self, job: Job, *, on_progress: Callable[[Progress], None], stop: Stop) -> list[TaskResult]:
        """A result for each task, in the order of the tasks, whatever happens to them.

        After a request to stop, tasks in progress end early; those that did not end have ``stopped_result``.
        """
        ...

    def close(self) -> None:
        """Ends what was started for this runner."""
        ...
