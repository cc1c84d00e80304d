"""The two clocks: one that never steps, for deadlines, and the wall clock, for record timestamps.

Decision logic never reads a clock; it is passed ``now``. Only the outer layer (loops, commands) calls these.
"""

import time

monotonic = time.monotonic
"""Seconds on a clock that is not affected by changes of the system's time."""


_SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def since_boot() -> float:
    """Seconds on a clock like ``monotonic`` that goes on while the machine is suspended, where the system has one."""
    return time.clock_gettime(_SINCE_BOOT)


wall = time.time
"""Seconds since the epoch: when a token expires."""


def wall_ms() -> int:
    """Milliseconds since the epoch: Kafka's record timestamps."""
    return time.time_ns() // 1_000_000
