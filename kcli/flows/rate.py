"""``--rate``: a token bucket that fills steadily; and tasks that a loop runs again and again. Both are pure but for the
clock; ``wait`` can be interrupted by a stop.
"""

import select
import time
from collections.abc import Callable

from kcli.flows.stop import Stop

_SLICE = 0.1  # seconds' worth of tokens that may be spent at once


class TokenBucket:
    """``rate`` tokens per second; tokens that are unused for a tenth of a second are lost."""

    def __init__(self, rate: float, now: float) -> None:
        self.rate = rate
        self.most = max(1.0, rate * _SLICE)
        self._level = self.most
        self._at = now

    def take_tokens(self, amount: float, now: float) -> float:
        """Removes tokens; returns how many seconds to wait before using them. The level may become negative."""
        self._level = min(self.most, self._level + (now - self._at) * self.rate) - amount
        self._at = now
        return max(0.0, -self._level / self.rate)


def wait(seconds: float, stop: Stop) -> None:
    """Waits until the time is over or a stop is requested."""
    if seconds > 0:
        poller = select.poll()
        poller.register(stop.fileno(), select.POLLIN)
        poller.poll(round(seconds * 1000))


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
