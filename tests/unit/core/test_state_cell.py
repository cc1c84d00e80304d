"""The one setter of a state: what the table gives, and a report of what changed."""

from enum import Enum

import pytest

from kcli.core.state_cell import IllegalEventError, StateCell


class Light(Enum):
    RED = "red"
    GREEN = "green"


class Signal(Enum):
    GO = "go"
    STAY = "stay"


TABLE = {(Light.RED, Signal.GO): Light.GREEN, (Light.RED, Signal.STAY): Light.RED}


def test_an_event_moves_to_the_state_of_the_table_and_reports_it() -> None:
    seen: list[tuple[Light, Light, str]] = []
    cell = StateCell(Light.RED, TABLE, lambda *change: seen.append(change))
    cell.apply(Signal.GO, "the way is free")
    assert cell.state is Light.GREEN
    assert seen == [(Light.RED, Light.GREEN, "the way is free")]


def test_staying_in_a_state_is_not_reported() -> None:
    seen: list[object] = []
    cell = StateCell(Light.RED, TABLE, lambda *change: seen.append(change))
    cell.apply(Signal.STAY)
    assert (cell.state, seen) == (Light.RED, [])


def test_an_event_that_the_table_does_not_know_is_refused_and_changes_nothing() -> None:
    cell = StateCell(Light.GREEN, TABLE)
    with pytest.raises(IllegalEventError, match="go while green: again"):
        cell.apply(Signal.GO, "again")
    assert cell.state is Light.GREEN
