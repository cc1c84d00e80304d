"""How much may be read on the side: records around a commit, records that tell when a commit was made."""

import time


class Budget:
    """Bytes and seconds, whichever are used up first; seconds count from its making."""

    def __init__(self, size: int, seconds: float) -> None:
        self._left = size
        self._end = time.monotonic() + seconds

    def took(self, size: int) -> None:
        """So many bytes were read."""
        self._left -= size

    @property
    def spent(self) -> bool:
        """Whether nothing more is to be read."""
        return self._left <= 0 or self.seconds <= 0

    @property
    def seconds(self) -> float:
        """Those that are left."""
        return max(0.0, self._end - time.monotonic())
