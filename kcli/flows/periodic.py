"""A task that a loop runs again and again."""

import time
from collections.abc import Callable


class Periodic:
    """Calls ``task`` when ``interval`` seconds have passed since its last call ended, or since the start."""

    def __init__(self, interval: float, task: Callable[[], object]) -> None:
        self._interval = interval
        self._task = task
        self._due = time.monotonic() + interval

    def run_if_due(self, now: float) -> None:
        """Called by the loop; ``now`` is the monotonic clock."""
        if now >= self._due:
            self._task()
            self._due = time.monotonic() + self._interval
