"""What ``kcli top`` was asked for, and what contradicts in it."""

import os
import sys

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.usage import refuse_cluster_options, usage
from kcli.core.classes import dataclass
from kcli.output.terminal import is_terminal

SHORTEST_INTERVAL = 0.5
"""Seconds between two readings, at least."""


@dataclass(frozen=True, slots=True)
class TopOptions:
    """The command line. ``interval`` is in seconds, None without ``--interval``; ``record`` and ``replay`` are paths,
    ``at`` is a moment of the recording.
    """

    names: tuple[str, ...]
    interval: float | None
    screen: str
    record: str | None
    replay: str | None
    at: str | None
    read_only: bool


def check(inv: Invocation, asked: TopOptions) -> None:
    """Usage errors for options that do not fit together, and without a terminal."""
    if asked.interval is not None and asked.interval < SHORTEST_INTERVAL:
        raise usage(
            "top: --interval is too short",
            why=f"each reading sends requests to the brokers; the shortest interval is {SHORTEST_INTERVAL:g} s",
            do="--interval 1s",
        )
    if asked.at is not None and asked.replay is None:
        raise usage(
            "top: --at without --replay",
            why="a cluster is shown as it is now",
            do="name a recording: --replay FILE",
        )
    if asked.replay is not None:
        _check_replay(inv, asked)
    for name, stream in (("stdin", sys.stdin), ("stderr", sys.stderr)):
        if not is_terminal(stream):
            raise usage("top: needs a terminal", why=f"{name} is not one", do=_INSTEAD)
    if os.environ.get("TERM") == "dumb":
        raise usage(
            "top: needs a terminal", why="TERM=dumb: a terminal that cannot move its cursor", do=_INSTEAD
        )


def _check_replay(inv: Invocation, asked: TopOptions) -> None:
    for given, why, do in (
        (asked.record, "--record", "it would record the recording; copy the file"),
        (asked.interval, "--interval", "a recording has its own times; + and - change the speed"),
        (asked.names, "names of groups", "all that was recorded is shown; / filters"),
    ):
        if given:
            raise usage(f"top: --replay with {why}", why=do.partition(";")[0], do=do.partition("; ")[2])
    refuse_cluster_options(inv.values, "top: --replay", "--replay plays a file")


_INSTEAD = "`kcli groups lag --watch` needs none"
