"""What the tests of state machines share: one event in one state, as its table has it. Not a test."""

from collections.abc import Mapping
from enum import Enum
from typing import TypeVar

import pytest

from kcli.core.state_cell import IllegalEventError, StateCell

S = TypeVar("S", bound=Enum)
E = TypeVar("E", bound=Enum)


def check_event(table: Mapping[tuple[S, E], S], state: S, event: E, expected: S | None) -> None:
    """``expected`` is the state that follows; None where the event is refused and changes nothing."""
    cell = StateCell(state, table)
    assert cell.allows(event) is (expected is not None)
    if expected is None:
        with pytest.raises(IllegalEventError):
            cell.apply(event)
    else:
        cell.apply(event)
    assert cell.state is (expected or state)
