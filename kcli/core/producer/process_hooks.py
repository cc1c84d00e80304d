"""Producers that nobody closed: flushed at the end of the process, and unusable in a forked child.

The sender is a daemon thread, which ends with the process whatever it still has; and a fork has no sender at all.
"""

import atexit
import os
import weakref
from typing import Protocol

_PATIENCE = 5.0  # seconds for what is left at the end of the process


class Closable(Protocol):
    """What is watched: a producer."""

    @property
    def outstanding(self) -> int:
        """Records that nobody has confirmed."""
        ...

    def close(self, timeout: float | None) -> None:
        """Sends what is left."""

    def forked(self) -> None:
        """This is a copy in another process: whatever is asked of it must fail."""


_open: "weakref.WeakSet[Closable]" = weakref.WeakSet()


def watch(producer: Closable) -> None:
    """From now on; until it is garbage."""
    _open.add(producer)


def _close_all() -> None:
    for producer in list(_open):
        if producer.outstanding:
            producer.close(_PATIENCE)


def _tell_all() -> None:
    for producer in list(_open):
        producer.forked()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_tell_all)
