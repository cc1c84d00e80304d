"""``python -m tests.pipeline.dying_table STEP ARGUMENTS``: kcli, whose process is killed at a step of an export to a
table, or so many milliseconds after it has begun to look at tables. Not a test.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn

from kcli.__main__ import run
from kcli.pipeline.drivers import table_export as driver
from kcli.pipeline.kernels import table as kernel
from kcli.pipeline.manifest import Documents
from kcli.pipeline.tables.delta import OneDeltaTable
from kcli.pipeline.tables.iceberg import OneIcebergTable

_TABLES = (OneDeltaTable, OneIcebergTable)


def _die(*_arguments: object, **_named: object) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def _instead(owners: tuple[Any, ...], name: str) -> Callable[[], None]:
    return lambda: [setattr(owner, name, _die) for owner in owners] and None


def _after(owner: Any, name: str) -> None:
    call = getattr(owner, name)

    def dying(*arguments: Any, **named: Any) -> NoReturn:
        call(*arguments, **named)
        _die()

    setattr(owner, name, dying)


def _committed() -> None:
    for owner in _TABLES:
        _after(owner, "commit")


STEPS: dict[str, Callable[[], Any]] = {
    "there is no table yet": _instead(_TABLES, "create"),
    "the table is there, the plan is not": _instead((Documents,), "save"),
    "the plan is written": _instead((driver,), "run_tasks"),
    "a file is written": lambda: _after(kernel, "_found"),
    "all files are written, none is in the table": _instead(_TABLES, "commit"),
    "the files are in the table, the plan is still there": _committed,
}


def _at(seconds: float) -> None:
    prepare = driver.TableExport.prepare

    def prepared(self: Any) -> None:
        def wait() -> None:
            time.sleep(seconds)
            _die()

        threading.Thread(target=wait, daemon=True).start()
        prepare(self)

    driver.TableExport.prepare = prepared  # type: ignore[method-assign]


if __name__ == "__main__":
    step = sys.argv[1]
    if step in STEPS:
        STEPS[step]()
    else:
        _at(int(step) / 1000)
    sys.exit(run(sys.argv[2:]))
