"""A task that a loop runs again and again."""

import time
from collections.abc import Callable


class Periodic:
    """A task that is due when ``interval`` seconds have passed since its last call ended, or since the start."""

    def __init__(self, interval: float, task: Callable[[], object]) -> None:
        self._interval = interval
        self._task = task
        self._due = time.monotonic() + interval

    def is_due(self, now: float) -> bool:
        """Whether it should be run; ``now`` is the monotonic clock."""
        return now >= self._due

    def run(self) -> None:
        """Runs the task."""
        self._task()
        self._due = time.monotonic() + self._interval
