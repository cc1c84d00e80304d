"""Waits for events of many descriptors: ``select.epoll`` itself, or the same on a selector where a system has none.

A wait is made for every batch, and Python's selector around epoll calls six functions of its own for each. No channel
is known here: the loop keeps what a descriptor stands for.
"""

import select
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
