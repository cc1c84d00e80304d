"""How the code of a test knows when to begin and when to stop, whether it runs in this process or in one of several."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from kcli.core.hooks import NO_HOOKS, Hooks
from kcli.flows.perf.measurement import Interval
from kcli.flows.stop import Stop


class RunContext(Protocol):
    """``number``: of this process, from 0 on. ``hooks``: for the clients of the test."""

    number: int
    hooks: Hooks

    def begin(self) -> float:
        """Called once when everything is connected: returns when the test begins, on the monotonic clock, the same for
        all processes."""
        ...

    def stopped(self) -> bool:
        """Whether the test is to end before it is done."""
        ...

    def report(self, progress: Interval) -> None:
        """Adds to the progress what was measured since the last call."""
        ...


class OwnContext:
    """The test runs in this process alone. Until it begins a signal ends the process, whatever it is connecting to."""

    number = 0

    def __init__(
        self, stop: Stop, on_progress: Callable[[Interval], object], hooks: Hooks = NO_HOOKS
    ) -> None:
        self.hooks = hooks
        self._stop = stop
        self._on_progress = on_progress

    def begin(self) -> float:
        """See ``RunContext``."""
        self._stop.install()
        return time.monotonic()

    def stopped(self) -> bool:
        """See ``RunContext``."""
        return bool(self._stop)

    def report(self, progress: Interval) -> None:
        """See ``RunContext``."""
        self._on_progress(progress)
