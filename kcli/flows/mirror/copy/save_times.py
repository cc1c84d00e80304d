"""When the positions of a copy are saved. Pure: times are seconds of the monotonic clock.

Every interval, and after so many bytes. In the first interval of a run oftener: as soon as anything is confirmed, and
then each time it has lasted twice as long. Without that a process that is killed again and again in its first second, by
a hasty probe, would copy all of that second again each time; so it keeps about half of what it has copied.
"""

_FIRST_PAUSE = 0.05  # seconds after the first position
_BYTES = 32_000_000  # sent since a position was saved: then another one is
_COMMIT_TIMES = 10  # two saved positions are at least so many times as far apart as the commit of one takes
_LONGEST_STRETCH = 10.0  # seconds


class SaveTimes:
    """``by_volume``: after many bytes as well, which limits what a kill leaves to be stored twice."""

    def __init__(self, interval: float, now: float, *, by_volume: bool) -> None:
        self._interval = interval
        self._by_volume = by_volume
        self._saved_at = now  # later than it was, where the next one has to wait
        self._first_at: float | None = None  # when the first position after records of this run was saved
        self._sent = 0

    def sent(self, size: int) -> None:
        """So many bytes were sent."""
        self._sent += size

    def is_due(self, now: float, *, confirmed: bool) -> bool:
        """Whether positions are to be saved. ``confirmed``: whether anything was in this run."""
        seconds = now - self._saved_at
        if self._first_at is None:
            return confirmed or seconds >= self._interval
        if seconds >= self._interval or (self._by_volume and seconds >= 0 and self._sent >= _BYTES):
            return True
        return seconds >= _FIRST_PAUSE and seconds >= self._saved_at - self._first_at

    def begin(self, now: float, *, confirmed: bool) -> None:
        """Positions are being saved."""
        self._saved_at, self._sent = now, 0
        if confirmed and self._first_at is None:
            self._first_at = now

    def end(self, began: float, now: float) -> None:
        """They are, by a commit that began at ``began``.

        To a target that is far away it takes several round trips, in which nothing is read: the next one is later in
        proportion. At a fixed interval, one that is shorter than the commit, hardly anything else would be done.
        """
        longer = 0.0
        if self._first_at is not None and now - self._first_at >= self._interval:
            longer = min(_COMMIT_TIMES * (now - began), _LONGEST_STRETCH) - self._interval
        self._saved_at = now + max(0.0, longer)
