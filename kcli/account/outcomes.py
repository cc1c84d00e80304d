"""What becomes of everything that was asked for, and the exit code that follows from it.

A scope is fixed before work begins, and nothing leaves it: each item ends in exactly one outcome, so the items asked for
are those done, unchanged, refused, failed and unknown, or read and missing. Exit code 0 means that none of them has an
error.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from enum import StrEnum
from typing import Generic, TypeVar

from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode, worst

K = TypeVar("K", bound=Hashable)


class Outcome(StrEnum):
    """The ``status`` of an item. In a plan it is planned, unchanged or refused, in a report anything but planned."""

    PLANNED = "planned"
    DONE = "done"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
    FAILED = "failed"
    UNKNOWN = "unknown"
    READ = "read"
    MISSING = "missing"


GOOD = frozenset((Outcome.PLANNED, Outcome.DONE, Outcome.UNCHANGED, Outcome.READ))
"""Those of items that are as they were asked for; of a plan those that will be."""


class Settled(NamedTuple):
    """How an item ended. ``error`` is set for all outcomes but the good ones."""

    outcome: Outcome
    error: KcliError | None = None


class Account(Generic[K]):
    """The items that were asked for, in the user's order. ``parts``: they are parts of one thing, such as the partitions
    of a topic, so that what failed of it is 6 where another was done, whatever the error.
    """

    def __init__(self, scope: Iterable[K] = (), *, parts: bool = False) -> None:
        self._settled: dict[K, Settled | None] = dict.fromkeys(scope)
        self._parts = parts
        self._whole: set[K] = set()

    def add(self, item: K) -> None:
        """Adds what was found to be in the scope during the work; before it is worked on."""
        self._settled.setdefault(item)

    def settle(
        self, item: K, outcome: Outcome, error: KcliError | None = None, *, whole: bool = False
    ) -> None:
        """Ends an item, once. KeyError if it was not asked for, ValueError if it has ended. ``whole``: see ``Change``."""
        if self._settled[item] is not None:
            raise ValueError(f"{item} has ended as {self._settled[item]}, and now as {outcome}")
        if (error is None) != (outcome in GOOD):
            raise ValueError(f"{item} ended as {outcome} with the error {error!r}")
        self._settled[item] = Settled(outcome, error)
        if whole:
            self._whole.add(item)

    @property
    def settled(self) -> Mapping[K, Settled]:
        """How each item ended; ValueError if one has not."""
        left = [item for item, end in self._settled.items() if end is None]
        if left:
            raise ValueError(f"what became of these is not said: {left}")
        return {item: end for item, end in self._settled.items() if end is not None}

    @property
    def anything_good(self) -> bool:
        """Whether any item is as it was asked for."""
        return any(end.outcome in GOOD for end in self.settled.values())

    @property
    def partly(self) -> bool:
        """Whether errors count as 6 whatever their own codes."""
        done = (Outcome.READ, Outcome.PLANNED, Outcome.DONE) if self._parts else (Outcome.READ,)
        return any(end.outcome in done for end in self.settled.values())

    def exit_code(self) -> int:
        """The exit code; ValueError if an item has not ended. A read that got something and misses something is 6."""
        partly = self.partly
        codes = {
            ExitCode.PARTLY if partly and item not in self._whole else end.error.exit_code
            for item, end in self.settled.items()
            if end.error is not None
        }
        return worst(codes, done=self.anything_good)
