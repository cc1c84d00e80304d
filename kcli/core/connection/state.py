"""The states of a connection and their transitions, as a table."""

from enum import Enum


class State(Enum):
    """CONNECTING until the transport (with TLS) is connected; HANDSHAKE until the broker has reported its versions."""

    CONNECTING = "connecting"
    HANDSHAKE = "handshake"
    READY = "ready"
    CLOSED = "closed"


class Event(Enum):
    """What can happen to a connection."""

    CONNECTED = "connected"
    HANDSHAKE_DONE = "handshake done"
    CLOSE = "close"


TABLE: dict[tuple[State, Event], State] = {
    (State.CONNECTING, Event.CONNECTED): State.HANDSHAKE,
    (State.HANDSHAKE, Event.HANDSHAKE_DONE): State.READY,
    (State.CONNECTING, Event.CLOSE): State.CLOSED,
    (State.HANDSHAKE, Event.CLOSE): State.CLOSED,
    (State.READY, Event.CLOSE): State.CLOSED,
    (State.CLOSED, Event.CLOSE): State.CLOSED,
}
