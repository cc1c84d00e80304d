"""``kcli top``: the options. What the command does is in ``_top_run.py``."""

import os
import sys
from typing import Any

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import DURATION, GROUP
from kcli.commands.shared.usage import usage
from kcli.output.terminal import is_terminal

SHORTEST_INTERVAL = 0.5
"""Seconds between two readings, at least."""


@command(
    "top",
    changes=False,
    exits={2: "there is no terminal, or a usage error"},
    outputs=(),
    examples=(
        ("kcli top", "all groups, live"),
        ("kcli top billing audit", "these groups"),
        ("kcli top --screen topics --interval 5s", "begin with topics, and read less often"),
        ("kcli top --read-only", "nothing can be changed"),
        ("kcli top --record incident.ndjson", "keep what is seen"),
        ("kcli top --replay incident.ndjson", "play it again, without a cluster"),
    ),
)
@click.argument("names", nargs=-1, type=GROUP, metavar="[GROUP…]")
@click.option(
    "--interval",
    type=DURATION,
    metavar="DUR",
    help="time between two readings, at least 0.5 s  [default: 2s]",
)
@click.option(
    "--screen",
    type=click.Choice(["groups", "topics", "brokers", "events"]),
    default="groups",
    help="what is shown first  [default: groups]",
)
@click.option("--record", metavar="FILE", help="append each reading to FILE, as JSON lines")
@click.option("--replay", metavar="FILE", help="play what --record wrote, without a cluster")
@click.option("--read-only", is_flag=True, help="refuse everything that changes the cluster")
@pass_invocation
def top(inv: Invocation, /, **flags: Any) -> int:
    """Watch groups, topics and brokers live.

    The whole terminal shows what `kcli groups lag --watch` measures, with trends and events. `?` lists the keys. With
    --record all topics are read too, whatever is on the screen. --replay also plays what
    `kcli groups lag --record` wrote.
    """
    _check(inv, flags)
    from kcli.commands._top_run import run  # not for --help

    return run(inv, flags)


def _check(inv: Invocation, flags: dict[str, Any]) -> None:
    """Options that do not fit together, and a terminal."""
    if flags["interval"] is not None and flags["interval"] < SHORTEST_INTERVAL:
        raise usage(
            "top: --interval is too short",
            why=f"each reading sends requests to the brokers; the shortest interval is {SHORTEST_INTERVAL:g} s",
            do="--interval 1s",
        )
    if flags["replay"] is not None:
        _check_replay(inv, flags)
    for name, stream in (("stdin", sys.stdin), ("stderr", sys.stderr)):
        if not is_terminal(stream):
            raise usage("top: needs a terminal", why=f"{name} is not one", do=_INSTEAD)
    if os.environ.get("TERM") == "dumb":
        raise usage(
            "top: needs a terminal", why="TERM=dumb: a terminal that cannot move its cursor", do=_INSTEAD
        )


def _check_replay(inv: Invocation, flags: dict[str, Any]) -> None:
    for given, why, do in (
        (flags["record"], "--record", "it would record the recording; copy the file"),
        (flags["interval"], "--interval", "a recording has its own times; + and - change the speed"),
        (flags["names"], "names of groups", "all that was recorded is shown; / filters"),
    ):
        if given:
            raise usage(f"top: --replay with {why}", why=do.partition(";")[0], do=do.partition("; ")[2])
    for name in _OF_CLUSTERS:
        if getattr(inv.values, name):
            option = f"--{name.replace('_', '-')}"
            raise usage(
                f"top: --replay with {option}",
                why=f"--replay plays a file and contacts no cluster, so {option} has no effect",
                do=f"leave out --replay or {option}",
            )


_INSTEAD = "`kcli groups lag --watch` needs none"
_OF_CLUSTERS = (
    "bootstrap_server", "command_config", "command_property", "profile", "client_id", "timeout",
    "allow_plaintext_secrets",
)  # fmt: skip
