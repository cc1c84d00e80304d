"""Ends a decompression between two steps when its thread is to stop.

A batch may legitimately decompress to gigabytes under a raised limit, and the handler of a signal only sets a flag. The
variable belongs to a context, and so to one thread: the threads that send what is already read are not interrupted.
"""

from collections.abc import Callable
from contextvars import ContextVar

from kcli.core.errors import StoppedError

stop_requested: ContextVar[Callable[[], object]] = ContextVar("stop_requested", default=lambda: False)
"""Returns something true once this thread is to stop."""


def check_stop() -> None:
    """Raises StoppedError if this thread is to stop."""
    if stop_requested.get()():
        raise StoppedError("stopped while a batch was decompressed")
