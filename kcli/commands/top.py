"""``kcli top``: the options. What the command does is in ``_top_run.py``."""

from typing import Any

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.types import DURATION, GROUP


@command(
    "top",
    changes=False,
    outputs=(),
    examples=(
        ("kcli top", "all groups, live"),
        ("kcli top billing audit", "these groups"),
        ("kcli top --interval 5s --read-only", "nothing can be changed"),
        ("kcli top --record incident.ndjson", "keep what is seen"),
        ("kcli top --replay incident.ndjson", "play it again, without a cluster"),
    ),
)
@click.argument("names", nargs=-1, type=GROUP, metavar="[GROUP…]")
@click.option(
    "--interval", type=DURATION, default="2s", metavar="DUR", help="time between two readings  [default: 2s]"
)
@click.option("--read-only", is_flag=True, help="no key changes the cluster")
@pass_invocation
def top(inv: Invocation, /, **flags: Any) -> int:
    """Watch groups, topics and brokers live."""
    from kcli.commands._top_run import run  # loads Textual

    return run(inv, flags)
