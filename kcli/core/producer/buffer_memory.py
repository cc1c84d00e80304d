"""The memory of a producer's records (``buffer.memory``): counted, and waited for by callers.

Guarded by the accumulator's lock. The lock is a plain one: it is acquired without executing Python code, where Ctrl-C
could leave it locked permanently.
"""

import threading
from collections.abc import Callable

from kcli.core.errors import BufferFullError, ClosedError, KcliError
from kcli.core.producer.waiters import Waiters

_SLICE = 0.2  # seconds between a waiter's checks for an interrupt


class BufferMemory:
    """``used`` bytes of ``size`` belong to records that are neither confirmed nor failed. Times are in seconds."""

    def __init__(self, lock: threading.Lock, size: int, max_block: float, now: Callable[[], float]) -> None:
        self.used = 0
        self.waiters = 0
        self.closed: KcliError | None = None
        self._waiters = Waiters(lock)
        self._lock = lock
        self.size = size
        # wakes waiters only below this, so that they can add several batches
        self._roomy = size - size // 4
        self._max_block = max_block
        self._now = now
        self._interrupted = False

    def wait_for_room(self) -> None:
        """Returns when there is room for records; BufferFullError after ``max_block`` seconds. Acquires the lock."""
        with self._lock:
            if self.used < self.size or self.closed is not None:
                self.refuse_if_closed()
                return
            deadline = self._now() + self._max_block
            self.waiters += 1  # last: an interrupt finds the try entered
            try:
                while not self._waiters.wait_for(self._has_room, min(_SLICE, self._max_block)):
                    if self._now() < deadline:
                        continue
                    raise BufferFullError(
                        f"no room for more records after {self._max_block:g} s",
                        why=f"{self.used:,} bytes wait for their confirmation (buffer.memory)",
                        do="check that the brokers respond; --debug=proto shows their responses",
                    )
            finally:
                self.waiters -= 1
            if self._interrupted and self.used >= self.size:
                raise ClosedError("stopped while waiting for memory", why="records waited to be confirmed")
            self.refuse_if_closed()

    def interrupt(self) -> None:
        """Makes threads that wait for room raise ClosedError. Safe inside a signal handler.

        The handler may have interrupted the thread that holds the lock, so it acquires none; waiters check the flag at
        least every ``_SLICE`` seconds.
        """
        self._interrupted = True

    def release(self, size: int) -> None:
        """Frees ``size`` bytes; wakes threads that wait for room, if there is enough."""
        self.used -= size
        if self._waiters.waiting:
            self._waiters.wake()

    def close(self, error: KcliError) -> None:
        """Waiting callers, and later ones, get ``error``."""
        self.closed = error
        self._waiters.wake()

    def refuse_if_closed(self) -> None:
        """Raises the error of ``close``."""
        if self.closed is not None:
            raise ClosedError(self.closed.what, why=self.closed.why, do=self.closed.do)

    def _has_room(self) -> bool:
        return self.used < self._roomy or self.closed is not None or self._interrupted
