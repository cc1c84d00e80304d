"""How much may be on its way to or from a broker: what is answered in a round trip, as TCP's window has it. Pure.

What is answered in a measured time, times the round trip, is what was on its way. Twice that is allowed next: as long as
the distance is what takes the time, the double is answered in the next round trip, and the window grows with each; once
something else takes it, the application, the broker or the line, the rate no longer grows, and the window neither.

Near by there is no window: where a round trip takes less than ``FAR``, nothing is changed by it.
"""

from __future__ import annotations

FAR = 0.01
"""Seconds of a round trip from which on a broker is far away: longer than any within a data centre."""

_HEADROOM = 2


class Window:
    """``size``: bytes that may be on their way; 0 near by, and until something was answered. Times are in seconds."""

    def __init__(self) -> None:
        self.size = 0
        self._bytes = 0
        self._since = 0.0

    def answered(self, size: int, now: float, round_trip: float) -> None:
        """A response of ``size`` bytes, or to so many; ``round_trip`` is the shortest on its connection."""
        self._bytes += size
        elapsed = now - self._since
        if round_trip < FAR:
            self.size = 0
        elif elapsed >= round_trip:  # a shorter time has only what was sent together
            self.size = int(_HEADROOM * self._bytes * round_trip / elapsed)
            self._bytes, self._since = 0, now
