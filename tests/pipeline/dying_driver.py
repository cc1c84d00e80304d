"""``python -m tests.pipeline.dying_driver STEP FOLDER ARGUMENTS``: kcli, whose process is killed at a step of an export
to the folder. Not a test.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from kcli.__main__ import run
from kcli.pipeline.drivers import export as driver
from kcli.pipeline.manifest import PLAN


def _die(*_arguments: object, **_named: object) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def _planned(_folder: Path) -> None:
    driver.run_tasks = _die


def _some_written(folder: Path) -> None:
    def watch() -> None:
        while not any(folder.glob("topic=*/partition=*/[0-9]*")):
            time.sleep(0.01)
        _die()

    threading.Thread(target=watch, daemon=True).start()


def _all_written(_folder: Path) -> None:
    driver.finished = _die


def _committed(_folder: Path) -> None:
    unlink = os.unlink

    def removing(path: Any, **named: Any) -> None:
        if os.path.basename(path) == PLAN:
            _die()
        unlink(path, **named)

    os.unlink = removing


STEPS: dict[str, Callable[[Path], None]] = {
    "the plan is written": _planned,
    "some files are written": _some_written,
    "all files are written, the manifest is not": _all_written,
    "the manifest is written, the plan is still there": _committed,
}


if __name__ == "__main__":
    STEPS[sys.argv[1]](Path(sys.argv[2]))
    sys.exit(run(sys.argv[3:]))
