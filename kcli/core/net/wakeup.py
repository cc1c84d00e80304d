"""A pipe that ends a wait in the selector from another thread or a signal handler."""

import contextlib
import os
import signal


class Wakeup:
    """``wake`` may be called from anywhere, any number of times; the loop's thread drains."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        self._raised = False

    def fileno(self) -> int:
        """What the selector watches."""
        return self._read

    @property
    def write_fd(self) -> int:
        """The end to write to, for ``signal.set_wakeup_fd``."""
        return self._write

    def wake(self) -> None:
        """Makes the read end readable; a full pipe is awake already."""
        if not self._raised:
            self._raised = True
            with contextlib.suppress(BlockingIOError):
                os.write(self._write, b"\0")

    def drain(self) -> None:
        """Empties the pipe. The flag falls first, so that a wake in between is not lost."""
        self._raised = False
        with contextlib.suppress(BlockingIOError):
            os.read(self._read, 4096)

    def close(self) -> None:
        """Closes both ends."""
        os.close(self._read)
        os.close(self._write)


@contextlib.contextmanager
def woken_by_signals(wakeup: Wakeup):  # type: ignore[no-untyped-def]
    """While inside, a signal ends the loop's wait at once. Main thread only."""
    before = signal.set_wakeup_fd(wakeup.write_fd, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
