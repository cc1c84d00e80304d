"""How long something lasted in this process, on a machine that other processes keep busy. Not a test.

A test that asserts an upper bound asks whether something waits that must not. A thread that is ready to run and has no
processor waits too, for what the test does not judge: ``lasted`` leaves that out, by what Linux counts for each thread
(``schedstat``). Elsewhere it is the time that went by.
"""

import time
from pathlib import Path
from typing import Self

_THREADS = Path("/proc/self/task")


class Moment(float):
    """A reading of the monotonic clock."""

    queued: float
    """Seconds until then in which threads of this process were ready and did not run."""

    @classmethod
    def now(cls) -> Self:
        found = cls(time.monotonic())
        found.queued = _queued()
        return found


def lasted(since: Moment) -> float:
    """Seconds since then, but those in which a thread of this process waited for a processor."""
    queued = _queued() - since.queued
    return time.monotonic() - since - max(0.0, queued)


def _queued() -> float:
    found = 0
    for file in _THREADS.glob("*/schedstat"):
        try:
            found += int(file.read_text().split()[1])
        except (OSError, IndexError):  # a thread that has ended; no such account
            continue
    return found / 1e9
