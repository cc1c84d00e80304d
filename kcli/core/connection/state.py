"""The states of a connection and their transitions, as a table."""

from kcli.core.state_cell import TableKey


class State(TableKey):
    """CONNECTING until the transport (with TLS) is connected; HANDSHAKE until the broker has reported its versions and
    accepted the client. Before a session ends (KIP-368) the connection is DRAINING, until what is in flight has its
    responses, then REAUTHENTICATING.
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
    SESSION_ENDS = "session ends"
    DRAINED = "drained"
    CLOSE = "close"


TABLE: dict[tuple[State, Event], State] = {
    (State.CONNECTING, Event.CONNECTED): State.HANDSHAKE,
    (State.HANDSHAKE, Event.HANDSHAKE_DONE): State.READY,
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
