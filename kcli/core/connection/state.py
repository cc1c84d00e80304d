"""The states of a connection and their transitions, as a table; and its session: until when the broker accepts requests
without a new authentication (KIP-368). Pure: given ``now``.
"""

from __future__ import annotations

from _random import Random  # what `random` is made of; that computes tables when it is imported
from typing import TYPE_CHECKING

from kcli.core.state_cell import TableKey

if TYPE_CHECKING:
    from kcli.core.connection.sasl.login import Login


class State(TableKey):
    """CONNECTING until the transport (with TLS) is connected; HANDSHAKE until the broker has reported its versions and
    accepted the client; CONNECTING again where what went ahead of the versions does not suit them. Before a session
    ends (KIP-368) the connection is DRAINING, until what is in flight has its responses, then REAUTHENTICATING.
    """

    CONNECTING = "connecting"
    HANDSHAKE = "handshake"
    READY = "ready"
    DRAINING = "draining"
    REAUTHENTICATING = "re-authenticating"
    CLOSED = "closed"


ESTABLISHED = frozenset({State.READY, State.DRAINING, State.REAUTHENTICATING})
"""The states after the first handshake."""


class Event(TableKey):
    """What can happen to a connection."""

    CONNECTED = "connected"
    HANDSHAKE_DONE = "handshake done"
    AGAIN = "again"
    SESSION_ENDS = "session ends"
    DRAINED = "drained"
    CLOSE = "close"


TABLE: dict[tuple[State, Event], State] = {
    (State.CONNECTING, Event.CONNECTED): State.HANDSHAKE,
    (State.HANDSHAKE, Event.HANDSHAKE_DONE): State.READY,
    (State.HANDSHAKE, Event.AGAIN): State.CONNECTING,
    (State.READY, Event.SESSION_ENDS): State.DRAINING,
    (State.DRAINING, Event.DRAINED): State.REAUTHENTICATING,
    (State.REAUTHENTICATING, Event.HANDSHAKE_DONE): State.READY,
    (State.CONNECTING, Event.CLOSE): State.CLOSED,
    (State.HANDSHAKE, Event.CLOSE): State.CLOSED,
    (State.READY, Event.CLOSE): State.CLOSED,
    (State.DRAINING, Event.CLOSE): State.CLOSED,
    (State.REAUTHENTICATING, Event.CLOSE): State.CLOSED,
    (State.CLOSED, Event.CLOSE): State.CLOSED,
}


NEVER = float("inf")
_CHANCE = Random()
_EARLIEST, _LATEST = 0.85, 0.95
"""The part of a session after which it is renewed, as in Java's client: at random, so that connections take turns."""


class Session:
    """``lifetime`` in seconds; from ``renew_at`` on, the next request is preceded by an authentication."""

    __slots__ = ("lifetime", "login", "renew_at")

    def __init__(self, login: Login | None) -> None:
        self.login = login
        self.renew_at = NEVER
        self.lifetime = NEVER

    def begin(self, now: float, lifetime: float) -> None:
        """A broker accepted the client for ``lifetime`` seconds."""
        self.lifetime = lifetime
        part = _EARLIEST + (_LATEST - _EARLIEST) * _CHANCE.random()
        self.renew_at = now + lifetime * part
