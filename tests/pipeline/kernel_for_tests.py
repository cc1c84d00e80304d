"""A kernel for tests of runners: a task says what it is to do."""

import os
import signal
import time
from pathlib import Path
from typing import Any

from kcli.core.errors import DataLossError, TimedOutError
from kcli.pipeline.job import TaskContext

NAME = "tests.pipeline.kernel_for_tests"


def run(settings: Path, task: tuple[str, int], context: TaskContext) -> dict[str, Any]:
    """``settings``: a folder, where each attempt of a task leaves a file."""
    what, number = task
    (settings / f"{number}.{context.attempt}").write_text(str(os.getpid()))
    if what == "killed always" or (what == "killed once" and context.attempt == 0):
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "raises once" and context.attempt == 0:
        raise RuntimeError("the first attempt")
    if what == "raises always":
        raise RuntimeError(f"attempt {context.attempt}")
    if what == "times out":
        raise TimedOutError("no answer", why="the broker is away", do="try again")
    if what == "loses":
        raise DataLossError("t-0: offsets 0 to 9 were removed", why="retention", do="choose a later start")
    if what == "counts, then waits":
        context.progress(number, number * 10)
        what, number = "waits", 0
    if what == "sleeps":
        time.sleep(600)
    while what == "waits" and not context.stopped():
        time.sleep(0.01)
    context.progress(number, number * 10)
    return {"topic": "t", "partition": number, "records": number, "bytes": number * 10}
