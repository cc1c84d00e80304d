"""Limits for auxiliary reads: records around a commit, records that show when a commit was made."""

import time


class Budget:
    """Bytes and seconds, whichever are used up first; seconds count from its creation."""

    def __init__(self, size: int, seconds: float) -> None:
        self._left = size
        self._end = time.monotonic() + seconds

    def took(self, size: int) -> None:
        """Records that this many bytes were read."""
        self._left -= size

    @property
    def spent(self) -> bool:
        """Whether nothing more may be read."""
        return self._left <= 0 or self.seconds <= 0

    @property
    def seconds(self) -> float:
        """The remaining seconds."""
        return max(0.0, self._end - time.monotonic())
