"""What was sampled last, as the loop has published it, as a whole: scrapes read it and never wait. Values only."""

from __future__ import annotations

from kcli.core.classes import dataclass
from kcli.exporter.page import Page

MISSED = 3
"""Intervals without a sample after which the figures of the last one are no longer shown."""


@dataclass(frozen=True, slots=True)
class LastSample:
    """The state after a sample. ``page`` is the page of the last sample if it succeeded, else None; ``error`` says why.

    ``read_at`` is on the monotonic clock, ``wall`` since the epoch: when the last sample that succeeded was complete.
    ``seconds`` is how long the last sample took, ``requests`` are all that were answered so far.
    """

    interval: float
    page: Page | None = None
    error: str = ""
    read_at: float | None = None
    wall: float | None = None
    seconds: float | None = None
    problems: int = 0
    samples: int = 0
    failures: int = 0
    requests: int = 0

    def age(self, now: float) -> float | None:
        """Seconds since the last sample that succeeded; None before the first."""
        return None if self.read_at is None else now - self.read_at

    def trouble(self, now: float) -> str:
        """Why there are no figures to show; empty where there are."""
        if self.error:
            return self.error
        age = self.age(now)
        if age is None:
            return "the first sample is not complete"
        longest = MISSED * max(self.interval, self.seconds or 0.0)
        if age > longest:
            return f"the last sample is {age:.0f} s old: more than {longest:.0f} s"
        return ""
