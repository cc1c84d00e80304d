"""What was read of a cluster, and what of it is missing: by name where the name is known, else by place. Pure.

A fan-out returns a survey: what was asked for is what was read and what is missing, so nothing claims to be all that is
not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError

T = TypeVar("T")


class Missing(NamedTuple):
    """A part of what was asked for that could not be read.

    ``what`` names it as far as it is known, ``where`` is the broker or the partitions that it is at, empty where that is
    not known; ``error`` is why.
    """

    what: str
    where: str
    error: KcliError

    @classmethod
    def of(cls, error: KcliError, what: str = "") -> Missing:
        """The part that the error names, else ``what``, else what has failed."""
        return cls(error.part or what or error.what, error.place, error)

    @property
    def why(self) -> str:
        """The cause, or what failed where the error has no other."""
        return self.error.why or self.error.what

    @property
    def code(self) -> int:
        """The exit code where nothing else was read."""
        return int(self.error.exit_code)

    def entry(self) -> dict[str, object]:
        """As in the ``missing`` of a document."""
        return {"what": self.what, "where": self.where or None, "why": self.why, "code": self.code}


class Survey(NamedTuple, Generic[T]):
    """``items``, a collection, could be read, ``missing`` could not."""

    items: T
    missing: Sequence[Missing] = ()

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing
