"""When which record is due, with ``--throughput``: record ``i`` at ``start + (i · processes + number) / rate``. Pure.

Whatever happens to the records before it: one that is handed over late has waited, and its latency says so (coordinated
omission). Times are seconds on the monotonic clock.
"""

from __future__ import annotations

from kcli.core.classes import dataclass

SLOT = 0.0001
"""Seconds: records that are due within one count from when the first of them was due."""
TICK = 0.001
"""Seconds: the shortest pause. A wake-up for each record would cost more CPU time than the record; what is due meanwhile
is handed over at once, late by less than this, which is in the corrected latencies and reported as lateness.
"""
_EDGE = 1e-9  # what a division in binary may lack: a record that is due now is due


@dataclass(frozen=True, slots=True)
class Schedule:
    """The records of one of ``processes``, its ``number`` from 0 on; all send ``rate`` records a second together."""

    start: float
    rate: float
    number: int = 0
    processes: int = 1

    @property
    def period(self) -> float:
        """Seconds between two records of this process."""
        return self.processes / self.rate

    def intended(self, record: int) -> float:
        """When the record is due."""
        return self.start + (record * self.processes + self.number) / self.rate

    def due(self, now: float) -> int:
        """How many records are due by ``now``, from the first one on."""
        waited = now - self.intended(0)
        return 0 if waited < 0 else int(waited / self.period + _EDGE) + 1

    def pause(self, record: int, now: float) -> float:
        """How many seconds to wait until the record is due: 0 if it is, and not less than a tick otherwise."""
        left = self.intended(record) - now
        return max(TICK, left) if left > 0 else 0.0
