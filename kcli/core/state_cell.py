"""A state, its transition table, and the only setter, which reports each change and its reason."""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from kcli.core.classes import Enum


class TableKey(Enum):
    """The base of states and events."""


S = TypeVar("S", bound=TableKey)
E = TypeVar("E", bound=TableKey)


class IllegalEventError(RuntimeError):
    """An event that the state does not allow: a defect of kcli, not of the peer."""


class StateCell(Generic[S, E]):
    """``report(old, new, why)`` is called after each change."""

    __slots__ = ("_report", "_table", "state")

    def __init__(
        self, initial: S, table: Mapping[tuple[S, E], S], report: Callable[[S, S, str], None] | None = None
    ) -> None:
        self.state = initial
        self._table = table
        self._report = report

    def reporting(self, report: Callable[[S, S, str], None]) -> "StateCell[S, E]":
        """Sets ``report``, which is called after each change from now on; returns the cell."""
        self._report = report
        return self

    def allows(self, event: E) -> bool:
        """Whether the table has the event for the current state."""
        return (self.state, event) in self._table

    def apply(self, event: E, why: str = "") -> None:
        """Moves to the state in the table; IllegalEventError if there is none."""
        old = self.state
        if (old, event) not in self._table:
            raise IllegalEventError(f"{event.value} while {old.value}: {why}")
        new = self._table[old, event]
        self.state = new
        if new is not old and self._report is not None:
            self._report(old, new, why)
