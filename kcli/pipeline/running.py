"""Who sees a job that runs, and the tasks of one, run and shown."""

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from kcli.account.survey import Missing
from kcli.core.errors import KcliError
from kcli.core.hooks import Hooks
from kcli.flows.mirror import settings as mirror
from kcli.flows.stop import Stop
from kcli.output.progress import Progress as ProgressLine
from kcli.pipeline.job import Job, Progress, TaskResult
from kcli.pipeline.report import Report, report_of
from kcli.pipeline.runners.runner import Runner


class Observer(Protocol):
    """Who runs a job. ``dry_run``: nothing is written; ``hooks`` are those of all clients; ``timeout`` (seconds) is of a
    first contact, and of one call. See also ``kcli.flows.mirror.settings.Observer``.
    """

    dry_run: bool
    hooks: Hooks

    @property
    def timeout(self) -> float:
        """See above."""

    def contact(self, servers: str) -> AbstractContextManager[None]:
        """Around a first contact, which may take long."""

    def progress(self, title: str, *, total: int | None = None, unit: str = "records") -> ProgressLine:
        """Shows how far it is: ``title`` is the word of its line, such as "exported"; ``total`` as far as it is known."""

    def note(self, text: str) -> None:
        """Something that is good to know."""

    def warn(self, text: str) -> None:
        """Something that is easily overlooked."""

    def detail(self, text: str) -> None:
        """Something that only explains what follows."""

    def lacks(self, part: Missing) -> None:
        """A part of what was asked for is missing: it stands in the document, and the exit status is 6."""

    def failed(self, error: KcliError, *, partly: bool = False) -> None:
        """A part failed, and the rest continues; ``partly``: whatever its own exit code is."""


class CopyObserver(Observer, mirror.Observer, Protocol):
    """Who runs a copy to another cluster, and decides whether it begins."""

    dry_run: bool


def run_job(
    observer: Observer,
    runner: Runner,
    job: Job,
    places: Sequence[Mapping[str, Any]],
    stop: Stop,
    *,
    title: str,
    total: int | None = None,
) -> Report:
    """Runs all tasks. ``places``: see ``report_of``; ``title`` and ``total``: see ``Observer.progress``."""
    started = time.monotonic()
    with observer.progress(title, total=total) as bar:
        results = run_tasks(runner, job, stop, bar)
    return report_of(results, places, time.monotonic() - started)


def run_tasks(
    runner: Runner, job: Job, stop: Stop, bar: ProgressLine, before: tuple[int, int] = (0, 0)
) -> list[TaskResult]:
    """Runs all tasks, for a report to be made of several jobs. ``before``: records and bytes of earlier ones."""

    def show(done: Progress) -> None:
        records, size = before[0] + done.records, before[1] + done.bytes
        bar.update(records, size, tasks=done.tasks, tasks_done=done.tasks_done)

    return runner.run(job, on_progress=show, stop=stop)
