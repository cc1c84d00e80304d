"""Handles producers that were not closed: flushed at process exit, and unusable in a forked child.

The sender is a daemon thread, which ends with the process whatever is left; and a forked child has no sender.
"""

import atexit
import os
import weakref
from typing import Any

_PATIENCE = 5.0  # seconds for flushing at process exit


_open: "weakref.WeakSet[Any]" = weakref.WeakSet()


def watch(producer: Any) -> None:
    """Watches a ``Producer`` until it is garbage-collected."""
    _open.add(producer)


def _close_all() -> None:
    for producer in list(_open):
        if producer.outstanding:
            producer.close(_PATIENCE)


def _mark_forked() -> None:
    for producer in list(_open):
        producer.forked()
    _open.clear()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_mark_forked)
