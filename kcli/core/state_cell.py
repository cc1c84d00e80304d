"""A state, the table of what events do to it, and the one setter that tells what changed and why."""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Generic, TypeVar

S = TypeVar("S", bound=Enum)
E = TypeVar("E", bound=Enum)


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
        """Itself, telling ``report`` of each change from now on."""
        self._report = report
        return self

    def allows(self, event: E) -> bool:
        """Whether the table has the event for the present state."""
        return (self.state, event) in self._table

    def apply(self, event: E, why: str = "") -> None:
        """Moves to the state that the table gives; IllegalEventError where it gives none."""
        old = self.state
        new = self._table.get((old, event))
        if new is None:
            raise IllegalEventError(f"{event.value} while {old.value}: {why}")
        self.state = new
        if new is not old and self._report is not None:
            self._report(old, new, why)
