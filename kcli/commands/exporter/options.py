"""What ``kcli exporter`` was asked for, and what contradicts in it."""

from dataclasses import dataclass

from kcli.commands.shared.serving import Serving
from kcli.commands.shared.usage import usage

SHORTEST, LONGEST = 1.0, 3_600.0
"""Seconds between two samples."""


@dataclass(frozen=True, slots=True)
class ExporterOptions:
    """The command line. ``groups`` and ``topics`` are regular expressions, ``interval`` is in seconds."""

    groups: str | None
    topics: str | None
    time: str
    interval: float
    max_series: int
    serving: Serving


def check(asked: ExporterOptions) -> None:
    """Usage errors."""
    if not SHORTEST <= asked.interval <= LONGEST:
        raise usage(
            "exporter: --interval must be from 1s to 1h",
            why="each sample sends requests to the brokers"
            if asked.interval < SHORTEST
            else "older figures are of no use to an alert",
            do="--interval 15s",
        )
    asked.serving.check("exporter")
