"""A pipe that ends a wait in the selector from another thread or a signal handler."""

import contextlib
import os
import threading


class Wakeup:
    """``wake`` may be called from anywhere, any number of times; the loop's thread drains."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        self._raised = False
        self._closed = False
        # Between close and wake of two threads; reentrant, for a signal handler may wake in the middle of a wake.
        self._lock = threading.RLock()

    def fileno(self) -> int:
        """What the selector watches."""
        return self._read

    def wake(self) -> None:
        """Makes the read end readable; a full pipe is awake already, a closed one is nobody's."""
        with self._lock:
            if not self._raised:
                self._raised = True
                with contextlib.suppress(BlockingIOError):
                    os.write(self._write, b"\0")

    def drain(self) -> None:
        """Empties the pipe, then lets the flag fall.

        The other order loses wakes for ever: flag down, another thread raises it and writes, the read swallows
        that byte, and from then on the flag says "awake" over an empty pipe. A wake that comes between the read
        and the flag writes nothing, but the loop is awake and looks at its queues after this.
        """
        with contextlib.suppress(BlockingIOError):
            os.read(self._read, 4096)
        self._raised = False

    def close(self) -> None:
        """Closes both ends; later wakes do nothing, for the descriptors may be somebody else's by then."""
        with self._lock:
            if not self._closed:
                self._closed = self._raised = True
                os.close(self._read)
                os.close(self._write)
