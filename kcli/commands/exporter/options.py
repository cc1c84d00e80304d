"""What ``kcli exporter`` was asked for, and what contradicts in it."""

from collections.abc import Sequence

from kcli.commands.shared.serving import Serving
from kcli.commands.shared.usage import nearest, usage
from kcli.core.classes import dataclass
from kcli.exporter.collectors import choice
from kcli.exporter.collectors.choice import WORDS, chosen

SHORTEST, LONGEST = 1.0, 3_600.0
"""Seconds between two samples."""

_NARROWED = {
    "groups": (choice.GROUPS,),
    "topics": (choice.GROUPS, choice.TOPICS, choice.BROKERS, choice.TRANSACTIONS, choice.CONFIGS),
    "time": (choice.GROUPS,),
}
"""The collectors that obey an option; without any of them it would be ignored."""


@dataclass(frozen=True, slots=True)
class ExporterOptions:
    """The command line. ``profiles`` are those after the name of the command. ``groups`` and ``topics`` are regular
    expressions, ``interval`` is in seconds.
    """

    profiles: Sequence[str]
    collect: str
    groups: str | None
    topics: str | None
    time: str | None
    interval: float
    max_series: int
    textfile: str | None
    serving: Serving

    @property
    def lag_time(self) -> str:
        """How lag in time is found."""
        return self.time or "estimate"

    @property
    def collectors(self) -> frozenset[str]:
        """Those of ``collect``, which was checked."""
        return chosen(self.collect)


def check(asked: ExporterOptions) -> None:
    """Usage errors."""
    try:
        chosen(asked.collect)
    except ValueError as error:
        near = nearest(str(error), WORDS)
        raise usage(
            f"exporter: --collect has {str(error)!r}, which is no collector",
            why=f"there are {', '.join(WORDS)}",
            do=f"did you mean {near}?" if near else "--collect default,log-dirs",
        ) from None
    for name, some in _NARROWED.items():
        if getattr(asked, name) is not None and asked.collectors.isdisjoint(some):
            raise usage(
                f"exporter: --{name} with --collect {asked.collect}",
                why=f"it is for {', '.join(some)} only",
                do=f"leave out --{name}, or add {some[0]} to --collect",
            )
    if not SHORTEST <= asked.interval <= LONGEST:
        raise usage(
            "exporter: --interval must be from 1s to 1h",
            why="each sample sends requests to the brokers"
            if asked.interval < SHORTEST
            else "older figures are of no use to an alert",
            do="--interval 15s",
        )
    if asked.textfile is not None and (flag := asked.serving.given):
        raise usage(
            f"exporter: {flag} beside --textfile",
            why="a page that is written once is not served",
            do=f"leave out {flag}, or --textfile",
        )
    asked.serving.check("exporter")
