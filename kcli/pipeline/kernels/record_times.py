"""Counts what a topic would do with the records of a file of an export, before they are sent."""

from typing import Any

from kcli.core.classes import NamedTuple, dataclass
from kcli.flows.topics.lifetime import Terms
from kcli.pipeline.job import StoppedTaskError, TaskContext
from kcli.pipeline.manifest import ExportedFile
from kcli.pipeline.store.urls import open_store


@dataclass(frozen=True, slots=True)
class TimesSettings:
    """``folder``: see ``canonical``; the same where the tasks run."""

    folder: str
    format: str


class TimesTask(NamedTuple):
    """The records of a file at offsets from ``start`` on, for a topic with such terms."""

    topic: str
    file: ExportedFile
    start: int
    terms: Terms


def run(settings: TimesSettings, task: TimesTask, context: TaskContext) -> dict[str, Any]:
    """``tally``: of the topic. ConfigError for a file that cannot be read."""
    from kcli.pipeline.file_times import tally_file  # pyarrow: an extra

    def check() -> None:
        if context.stopped():
            raise StoppedTaskError("the job was stopped before the records were counted")

    store = open_store(settings.folder)
    tally = tally_file(store, task.file, settings.format, task.start, task.terms, check)
    context.progress(tally.records, 0)
    return {"topic": task.topic, "records": tally.records, "bytes": 0, "tally": tally}
