"""What filters and formats count besides what they return: taken in the processes that share a reading, and added.

They are added in the order of the batches, so the first of each kind is that of the reading.
"""

from collections.abc import Sequence
from typing import Any

from kcli.flows.filters.field_paths import FieldReader
from kcli.flows.filters.where import PLACES, Where
from kcli.output.decoding import Undecoded

_NAMES: dict[type, tuple[str, ...]] = {
    Where: (
        "not_json", "undecoded", "repeated", "failed", "unlike",
        "first", "first_repeated", "failure", "unlikeness", "unread",
    ),
    FieldReader: ("not_json", "repeated", "undecoded", "first"),
    Undecoded: ("count", "first"),
}  # fmt: skip
"""Numbers are added, of texts the first is kept, of lists the first few entries."""
_ENCODED = ("encoded",)  # of formats that have it


class Tallies:
    """``counted``: the objects of a run that count something."""

    def __init__(self, counted: Sequence[object]) -> None:
        self._places = [
            (one, name) for one in counted for name in _NAMES.get(type(one), _ENCODED) if hasattr(one, name)
        ]
        self._wheres = [one for one in counted if isinstance(one, Where)]

    def be_silent(self) -> None:
        """Nothing is warned of in this process."""
        for where in self._wheres:
            where.be_silent()

    def take(self) -> list[Any] | None:
        """What was counted since the last call; None where that is nothing."""
        found = [getattr(one, name) for one, name in self._places]
        if not any(found):
            return None
        for (one, name), value in zip(self._places, found, strict=True):
            setattr(one, name, type(value)())
        return found

    def add(self, found: Sequence[Any]) -> None:
        """Adds what ``take`` has returned in a process."""
        before = [(where, where.failure, where.unlikeness) for where in self._wheres]
        for (one, name), value in zip(self._places, found, strict=True):
            own = getattr(one, name)
            if isinstance(own, str):
                setattr(one, name, own or value)
            elif isinstance(own, list):
                own += value[: max(0, PLACES - len(own))]
            else:
                setattr(one, name, own + value)
        for where, failure, unlikeness in before:
            where.warn_since(failure, unlikeness)
