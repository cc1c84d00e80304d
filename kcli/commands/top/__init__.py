"""``kcli top``: its options. What the command does is in ``run.py``."""

from typing import Any

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import DURATION, GROUP, option
from kcli.commands.shared.params import RECORDED_TIME
from kcli.commands.top.options import TopOptions, check


@command(
    "top",
    exits={2: "there is no terminal, or a usage error"},
    reads=("COLORFGBG",),
    outputs=(),
    examples=(
        ("kcli top", "all groups, live"),
        ("kcli top billing audit", "these groups"),
        ("kcli top --screen topics --interval 5s", "begin with topics, and read less often"),
        ("kcli top --read-only", "nothing can be changed"),
        ("kcli top --record incident.ndjson", "keep what is seen"),
        ("kcli top --replay incident.ndjson", "play it again, without a cluster"),
        ("kcli top --replay incident.ndjson --at 02:13", "what it was like then"),
    ),
)
@click.argument("names", nargs=-1, type=GROUP, metavar="[GROUP…]")
@option(
    "--interval",
    type=DURATION,
    metavar="DUR",
    help="time between two readings, at least 0.5 s (default: 2s)",
)
@option(
    "--screen",
    type=click.Choice(["groups", "topics", "brokers", "quorum", "transactions", "mirrors", "events"]),
    default="groups",
    help="what is shown first (default: groups)",
)
@option("--record", metavar="FILE", help="append each reading to FILE, as JSON lines")
@option("--replay", metavar="FILE", help="play what --record wrote, without a cluster")
@option(
    "--at",
    type=RECORDED_TIME,
    metavar="TIME",
    help="with --replay: open it at this time, paused, as in 02:13",
)
@option("--read-only", is_flag=True, help="refuse everything that changes the cluster")
@pass_invocation
def top(inv: Invocation, /, **given: Any) -> int:
    """Watch groups, topics, brokers, transactions and mirrors live.

    The whole terminal shows what `kcli groups lag --watch` measures, with trends and events. `?` lists the keys. With
    --record everything that has a screen is read, whatever is on it. --replay also plays what
    `kcli groups lag --record` wrote.
    """
    asked = TopOptions(**given)
    check(inv, asked)
    from kcli.commands.top.run import run  # not for --help

    return run(inv, asked)
