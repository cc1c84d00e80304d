"""Planned changes of configurations as text and as rows. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kcli.commands._config_flags import WORDS
from kcli.commands._config_resources import shown_name
from kcli.core.admin.configs import ConfigResource
from kcli.flows.config_changes import HIDDEN, PlannedChange, ReadOnlyKeyError
from kcli.output.progress import counted
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column

_STATUS = Column("status")


def columns(named: str, *, status: bool) -> list[Column]:
    """The columns of a plan, or of a report with ``status``; ``named`` is the key of the first."""
    found = [
        Column(named, wide=named == "topic"),
        Column("key"),
        Column("change", spare=2),
        Column("old", "prose"),
        Column("old_source", spare=1),
        Column("new", "prose"),
        Column("new_source", spare=1),
        Column("note", "prose"),
    ]
    return [*found[:-1], _STATUS, found[-1]] if status else found


def row(named: str, planned: PlannedChange) -> dict[str, Any]:
    """A row of the plan; values of secrets are unknown."""
    return {
        named: shown_name(planned.resource),
        "key": planned.change.name,
        "change": WORDS[planned.change.op],
        "old": planned.old,
        "old_source": planned.old_source,
        "new": None if planned.error is not None else planned.new,
        "new_source": None if planned.error is not None else planned.new_source,
        "sensitive": planned.sensitive,
        "note": _note(planned) or None,
    }


def plan_lines(resource: ConfigResource, rows: Iterable[PlannedChange], count: int) -> list[str]:
    """The plan of a resource for people; ``count`` is the number of its changes."""
    return [f"Alter {visible_line(str(resource))}: {counted(count, 'change')}.", *map(_line, rows)]


def _line(planned: PlannedChange) -> str:
    key = planned.change.name
    old = "not set"
    if planned.old is not None or planned.sensitive:
        old = f"{_shown(planned, planned.old)} ({planned.old_source})"
    if note := _note(planned):
        return visible_line(f"  {key}: {old}, {note}")
    if planned.new is None and not planned.sensitive:
        return visible_line(f"  {key}: {old} → the default")  # one that a unit of another key implies
    return visible_line(f"  {key}: {old} → {_shown(planned, planned.new)} ({planned.new_source})")


def _shown(planned: PlannedChange, value: str | None) -> str:
    if planned.sensitive:
        return HIDDEN
    return value or "(empty)"


def _note(planned: PlannedChange) -> str:
    if isinstance(planned.error, ReadOnlyKeyError):
        return "refused: read-only"
    return "refused" if planned.error is not None else planned.note
