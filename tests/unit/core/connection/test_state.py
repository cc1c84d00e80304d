"""The table of a connection's life: every event in every state."""

import itertools

import pytest

from kcli.core.connection.state import TABLE, Event, State
from tests.unit.core.state_tables import check_event

EXPECTED = {
    (State.CONNECTING, Event.CONNECTED): State.HANDSHAKE,
    (State.CONNECTING, Event.HANDSHAKE_DONE): None,
    (State.CONNECTING, Event.CLOSE): State.CLOSED,
    (State.HANDSHAKE, Event.CONNECTED): None,
    (State.HANDSHAKE, Event.HANDSHAKE_DONE): State.READY,
    (State.HANDSHAKE, Event.CLOSE): State.CLOSED,
    (State.READY, Event.CONNECTED): None,
    (State.READY, Event.HANDSHAKE_DONE): None,
    (State.READY, Event.CLOSE): State.CLOSED,
    (State.CLOSED, Event.CONNECTED): None,
    (State.CLOSED, Event.HANDSHAKE_DONE): None,
    (State.CLOSED, Event.CLOSE): State.CLOSED,
    (State.DRAINING, Event.CONNECTED): None,
    (State.DRAINING, Event.HANDSHAKE_DONE): None,
    (State.DRAINING, Event.CLOSE): State.CLOSED,
    (State.REAUTHENTICATING, Event.CONNECTED): None,
    (State.REAUTHENTICATING, Event.HANDSHAKE_DONE): State.READY,
    (State.REAUTHENTICATING, Event.CLOSE): State.CLOSED,
    (State.CONNECTING, Event.SESSION_ENDS): None,
    (State.HANDSHAKE, Event.SESSION_ENDS): None,
    (State.READY, Event.SESSION_ENDS): State.DRAINING,
    (State.DRAINING, Event.SESSION_ENDS): None,
    (State.REAUTHENTICATING, Event.SESSION_ENDS): None,
    (State.CLOSED, Event.SESSION_ENDS): None,
    (State.CONNECTING, Event.DRAINED): None,
    (State.HANDSHAKE, Event.DRAINED): None,
    (State.READY, Event.DRAINED): None,
    (State.DRAINING, Event.DRAINED): State.REAUTHENTICATING,
    (State.CONNECTING, Event.AGAIN): None,
    (State.HANDSHAKE, Event.AGAIN): State.CONNECTING,
    (State.READY, Event.AGAIN): None,
    (State.DRAINING, Event.AGAIN): None,
    (State.REAUTHENTICATING, Event.AGAIN): None,
    (State.CLOSED, Event.AGAIN): None,
    (State.REAUTHENTICATING, Event.DRAINED): None,
    (State.CLOSED, Event.DRAINED): None,
}


def test_every_pair_is_judged() -> None:
    assert set(EXPECTED) == set(itertools.product(State, Event))
    assert set(TABLE) == {pair for pair, new in EXPECTED.items() if new is not None}


@pytest.mark.parametrize(("state", "event"), EXPECTED)
def test_event_in_state(state: State, event: Event) -> None:
    check_event(TABLE, state, event, EXPECTED[state, event])
