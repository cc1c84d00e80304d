"""What a handshake asks of its caller: send a request, or run a function that takes long. The caller owns the socket,
the clock and the threads.
"""

from collections.abc import Callable
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.protocol.api import Request


class Send(NamedTuple):
    """Send ``request`` in exactly this version and resume with its response. ``last``: if it is accepted the handshake is
    over, so that requests may follow it.
    """

    request: Request
    version: int
    last: bool = False


class Ahead(NamedTuple):
    """Send ``request`` in exactly this version and resume at once; an ``Await`` is for its response."""

    request: Request
    version: int


class Await(NamedTuple):
    """Resume with the next response to what went ahead."""


class Compute(NamedTuple):
    """Run ``fn`` in the worker thread and resume with its result; an error that it raises is raised here."""

    fn: Callable[[], Any]
