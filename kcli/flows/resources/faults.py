"""What is wrong with files: all of it, each with its place, as one error."""

from __future__ import annotations

from collections.abc import Iterable

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError
from kcli.flows.resources.resource import Place
from kcli.output.progress import counted


class Fault(NamedTuple):
    """``what`` is wrong at ``place``, ``why``, and what to ``do``; the latter two may be empty."""

    place: Place
    what: str
    why: str = ""
    do: str = ""

    @property
    def error(self) -> ConfigError:
        """``topics.yaml:7:15: spec.partitions …``."""
        return ConfigError(f"{place_text(self.place)}: {self.what}", why=self.why, do=self.do)


class FilesError(ConfigError):
    """All that is wrong with files (``faults``); nothing was sent."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(sorted(dict.fromkeys(faults), key=lambda fault: fault.place))
        if len(self.faults) == 1:
            (only,) = self.faults
            super().__init__(only.error.what, why=only.why, do=only.do)
            return
        files = len({fault.place.file for fault in self.faults})
        super().__init__(
            f"{counted(len(self.faults), 'error')} in {counted(files, 'file')}", why="nothing was sent"
        )
        self.each = tuple(fault.error for fault in self.faults)


def place_text(place: Place) -> str:
    """``FILE:LINE:COLUMN``, or the file where all of it is meant."""
    return str(place) if place.line else place.file
