"""``kcli quorum remove-controller``: remove a controller from the voters."""

import click

from kcli.commands.quorum._types import CONTROLLER, DIRECTORY
from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option


@command(
    "remove-controller",
    exits={
        1: "there is no such controller",
        7: "the quorum is static, or it is the only voter, or too few of the others are caught up",
    },
    reads=("XDG_STATE_HOME",),
    examples=(
        ("kcli quorum remove-controller 3", "after a plan and a question"),
        ("kcli quorum remove-controller 3 --dry-run", "would a majority be left?"),
        ("kcli quorum remove-controller 3 --yes", "in a script"),
    ),
)
@click.argument("node", type=CONTROLLER, metavar="ID")
@option("--directory-id", type=DIRECTORY, metavar="ID", help="only if its metadata log is in this directory")
@pass_invocation
def remove_controller(inv: Invocation, node: int, directory_id: str | None) -> int:
    """Remove a controller from the voters of the quorum: it becomes an observer, until it is stopped.

    Refused where a majority of the voters that are left would not be caught up: then nothing could be committed. The
    active controller steps down when it is removed. Read back; `kcli undo` adds it again, as long as it runs with the
    same directory. Where controllers have controller.quorum.auto.join.enable=true, stop it before, or it joins again.
    """
    from kcli.flows.quorum.voters import ControllerRemoval  # clients are loaded when the command runs

    return run_change(inv, ControllerRemoval(node, directory_id or ""))
