"""The progress of a test: from the first measured record on its figures, before it how long the warm-up lasts."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from kcli.commands.perf._progress import Reporting
from kcli.commands.shared.context import Invocation
from kcli.flows.perf.measurement import Interval
from kcli.output.progress import counted

_LOOK = 0.1  # seconds: tests report about so often


class Shown:
    """``lines`` is to be entered for the length of the test. ``left``: what a second signal leaves undone, after the
    number of records so far. ``total``: how many will come after the warm-up, None: not known.
    """

    def __init__(
        self, inv: Invocation, test: str, flags: Mapping[str, Any], *, total: int | None, left: str
    ) -> None:
        self.lines = Reporting(
            inv, test, total=total, duration=flags["duration"], every=flags["reporting_interval"]
        )
        self._left = left
        self._warms_up = flags["warmup_records"] > 0
        self._first: float | None = None
        self._began: float | None = None
        self._records = 0

    def add(self, interval: Interval) -> None:
        """What was measured since the last call."""
        now = time.monotonic()
        self._records += interval.records
        if self._began is None and (interval.records or interval.errors):
            self._began = now - _LOOK
        if self._began is not None:
            self.lines.add(interval, now - self._began)
        elif self._warms_up:
            self._first = now if self._first is None else self._first
            self.lines.warming_up(now - self._first)

    def unconfirmed(self) -> str:
        """At a second signal."""
        return f"{counted(self._records, 'record')} {self._left}"
