"""``kcli sandbox status``: show all sandboxes, running or not."""

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import SANDBOX


@command(
    "status",
    exits={7: "a newer kcli has started the sandbox"},
    reads=("XDG_STATE_HOME",),
    examples=(
        ("kcli sandbox status", "all of them"),
        ("kcli sandbox status default -o json", "with the pid, memory and log file of every node"),
    ),
)
@click.argument("name", required=False, type=SANDBOX, metavar="[NAME]")
@pass_invocation
def status(inv: Invocation, name: str | None) -> int:
    """Show all sandboxes, running or not."""
    from kcli.commands.sandbox._statuses import print_status  # not for --help

    return print_status(inv, name)
