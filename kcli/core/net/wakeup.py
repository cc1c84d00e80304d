"""A pipe that ends a wait in the selector from another thread or a signal handler."""

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
        # Guards close against wake in other threads; reentrant, as a signal handler may call wake during a wake.
        self._lock = threading.RLock()

    def fileno(self) -> int:
        """The descriptor for the selector."""
        return self._read

    def wake(self) -> None:
        """Makes the read end readable. Does nothing if the pipe is full or closed."""
        with self._lock:
            if not self._raised:
                self._raised = True
                try:  # noqa: SIM105 - three calls fewer for each batch
                    os.write(self._write, b"\0")
                except BlockingIOError:
                    pass

    def drain(self) -> None:
        """Empties the pipe, then clears the flag.

        The other order loses wakes permanently: after the flag is cleared, another thread sets it and writes, the read
        consumes that byte, and from then on the flag is set over an empty pipe. A wake between the read and the
        clearing of the flag writes nothing, but the loop is awake and checks its queues after this.
        """
        try:  # noqa: SIM105 - as in ``wake``
            os.read(self._read, 4096)
        except BlockingIOError:
            pass
        self._raised = False

    def close(self) -> None:
        """Closes both ends; later wakes do nothing, because the descriptors may have been reused by then."""
        with self._lock:
            if not self._closed:
                self._closed = self._raised = True
                os.close(self._read)
                os.close(self._write)
