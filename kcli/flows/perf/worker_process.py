"""What runs in a process of ``workers.py``: one part of a test. It ends with the parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import TypeVar

from kcli.core.errors import KcliError
from kcli.core.hooks import NO_HOOKS
from kcli.flows.perf.failure import Failure, failure_of
from kcli.flows.perf.measurement import Interval, Measurement
from kcli.flows.perf.run_context import RunContext
from kcli.flows.stop import SIGNALS

P = TypeVar("P")
READY = "ready"
"""A process says so when it is connected. The parent's messages are the part, the time of the start, and to stop."""


def work(pipe: Connection, number: int) -> None:
    """The life of a process: receives its part of a test, takes part in it, and sends what it has measured."""
    for one in SIGNALS:
        # Ctrl-C, a terminal that is closed, timeout and systemd reach all processes: the parent decides what it means.
        signal.signal(one, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        test, part = pipe.recv()
        pipe.send(_result(test, part, _WorkerContext(pipe, number)))
    except (EOFError, OSError):
        return  # the parent has ended the test


def _result(
    test: Callable[[P, RunContext], Measurement], part: P, context: _WorkerContext
) -> Measurement | Failure:
    """An error before the begin is that of the whole test; a later one leaves what the others have measured."""
    try:
        return test(part, context)
    except KcliError as error:
        failure = failure_of(error)
        return Measurement(failure=failure) if context.begun else failure


class _WorkerContext:
    """See ``RunContext``. ``begun``: whether the test has."""

    hooks = NO_HOOKS

    def __init__(self, pipe: Connection, number: int) -> None:
        self.number = number
        self.begun = False
        self._pipe = pipe
        self._stopping = False

    def begin(self) -> float:
        """Waits for the parent's word, and for the time that it names. The next one is to stop."""
        self._pipe.send(READY)
        start = float(self._pipe.recv())
        self.begun = True
        threading.Thread(target=self._wait_for_stop, daemon=True).start()
        time.sleep(max(0.0, start - time.monotonic()))
        return start

    def stopped(self) -> bool:
        """Whether the parent has received a request to stop."""
        return self._stopping

    def report(self, progress: Interval) -> None:
        """Sends it to the parent."""
        self._pipe.send(progress)

    def _wait_for_stop(self) -> None:
        with suppress(EOFError, OSError):  # the parent has gone, or has what it wants
            self._pipe.recv()
            self._stopping = True


def _end_with_parent() -> None:
    found = multiprocessing.parent_process()
    assert found is not None
    wait([found.sentinel])
    os._exit(1)
