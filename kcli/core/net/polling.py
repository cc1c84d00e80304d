"""Waits for events of many descriptors: ``select.epoll`` itself, or the same on a selector where a system has none.

A wait is made for every batch, and Python's selector around epoll calls six functions of its own for each. No channel
is known here: the loop keeps what a descriptor stands for. ``Wakeup`` ends a wait from another thread or a signal
handler.
"""

import os
import select
import threading
from typing import Protocol

READ, WRITE = 1, 4  # EPOLLIN, EPOLLOUT


class Poll(Protocol):
    """The part of ``select.epoll`` that the loop uses. ``poll`` may add further bits for errors and hang-ups."""

    def register(self, fd: int, events: int, /) -> None: ...

    def modify(self, fd: int, events: int, /) -> None: ...

    def unregister(self, fd: int, /) -> None: ...

    def poll(self, timeout: float | None, /) -> list[tuple[int, int]]: ...

    def close(self) -> None: ...


def open_poll() -> Poll:
    """The poll object for this system."""
    if hasattr(select, "epoll"):
        return select.epoll()
    return SelectorPoll()


class SelectorPoll:
    """The interface of ``select.epoll`` on the best selector that the system has."""

    def __init__(self) -> None:
        import selectors  # only for systems without epoll

        self._selector = selectors.DefaultSelector()
        self._bits = ((READ, selectors.EVENT_READ), (WRITE, selectors.EVENT_WRITE))

    def register(self, fd: int, events: int, /) -> None:
        """Watches the descriptor."""
        self._selector.register(fd, self._translated(events))

    def modify(self, fd: int, events: int, /) -> None:
        """Changes the events that a watched descriptor is watched for."""
        self._selector.modify(fd, self._translated(events))

    def unregister(self, fd: int, /) -> None:
        """Stops watching the descriptor."""
        self._selector.unregister(fd)

    def poll(self, timeout: float | None, /) -> list[tuple[int, int]]:
        """The descriptors that are ready, with their events; an empty list after ``timeout`` seconds."""
        found = self._selector.select(timeout)
        return [(key.fd, sum(bit for bit, own in self._bits if own & events)) for key, events in found]

    def close(self) -> None:
        """Releases the selector."""
        self._selector.close()

    def _translated(self, events: int) -> int:
        return sum(own for bit, own in self._bits if bit & events)


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
