"""Parts of a reading that fail one by one: each has its errors, is kept for a while, and waits for none that is late."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError, TimedOutError, UnsupportedError

_AGAIN = 60.0
"""Seconds for which a part is kept at most that could not be read whole."""


class Read(NamedTuple):
    """``value`` is None where nothing was read, ``absent`` why brokers have no such thing. ``of`` is what it was asked
    about, ``at`` when, by the clock of the reader.
    """

    at: float
    of: object
    value: Any
    errors: Sequence[KcliError] = ()
    absent: UnsupportedError | None = None


class PartReader:
    """One thread at a time calls ``read``."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._kept: dict[str, Read] = {}

    def read(
        self,
        name: str,
        read: Callable[[], tuple[object, Sequence[KcliError]]],
        until: float,
        *,
        kept: float = 0.0,
        of: object = None,
    ) -> Read:
        """From the time before while that is no older than ``kept``. ``until``: when the parts have to be read."""
        now, known = self._clock(), self._kept.get(name)
        if (
            known is not None
            and known.of == of
            and now - known.at < min(kept, _AGAIN if known.errors else kept)
        ):
            return known
        value: object = None
        errors: Sequence[KcliError] = ()
        absent: UnsupportedError | None = None
        try:
            if now >= until:
                raise TimedOutError(
                    f"{name} was not read",
                    why="the others have taken as long as --timeout allows",
                    do="a longer --timeout gives a sample more time",
                )
            value, errors = read()
        except UnsupportedError as error:
            absent = error
        except KcliError as error:
            errors = [error]
        found = self._kept[name] = Read(now, of, value, errors, absent)
        return found
