"""Metrics and events are reported through callbacks; the core imports no logging library.

The client proposal asks for this: a library reports through its API, and its user chooses how to log.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kcli.core.classes import dataclass, field

Event = Callable[..., None]


def _ignore(*_args: Any, **_fields: Any) -> None:
    """The default of every hook."""


def _contained(event: Event) -> Event:
    """Suppresses a listener's errors: they must not end the thread that calls it."""

    def call(*args: Any, **fields: Any) -> None:
        with suppress(Exception):
            event(*args, **fields)

    return call


@dataclass(slots=True, eq=False, repr=False)
class Hooks:
    """Callables that the clients call, from the thread that runs their loop; they must not block or raise.

    ``log(level, area, message)``: level is ``"warning"``, ``"note"``, ``"info"`` or ``"debug"``; area is one of
    ``proto``, ``auth``, ``fetch``, ``group``, ``conf``. ``missing(error)``: a part of what was asked for is not there,
    and the rest is read. ``wire(direction, node, correlation_id, api, version, size)``: one call
    per request (``"→"``) and response (``"←"``), for ``--debug=proto``; size in bytes, without the 4 bytes of the
    frame's length.
    """

    log: Event = field(default=_ignore)
    wire: Event | None = None
    missing: Event = field(default=_ignore)

    def __post_init__(self) -> None:
        if self.log is not _ignore:
            self.log = _contained(self.log)
        if self.missing is not _ignore:
            self.missing = _contained(self.missing)
        if self.wire is not None:
            self.wire = _contained(self.wire)


NO_HOOKS = Hooks()
