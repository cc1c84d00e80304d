"""Marks of silence between records, for a person who watches them come: ``── 3m12s later, 14:05:11 ──``."""

import time
from collections.abc import Callable

from kcli.output.progress import duration_text

SHORTEST = 5.0
"""Seconds without a record that are marked."""


class GapMarks:
    """Called before records are shown. ``say`` gets a mark when none were for ``SHORTEST`` seconds; ``clock`` returns
    seconds, ``wall`` those since the epoch.
    """

    def __init__(
        self,
        say: Callable[[str], object],
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._say, self._clock, self._wall = say, clock, wall
        self._before: tuple[float, float] | None = None

    def __call__(self) -> None:
        """Marks what was silent since the call before; nothing precedes the first records."""
        now = self._clock(), self._wall()
        before, self._before = self._before, now
        if before is not None and now[0] - before[0] >= SHORTEST:
            then, today = time.localtime(now[1]), time.localtime(before[1])
            day = "" if then[:3] == today[:3] else "%Y-%m-%d "
            self._say(
                f"── {duration_text(now[0] - before[0])} later, {time.strftime(f'{day}%H:%M:%S', then)} ──"
            )
