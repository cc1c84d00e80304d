"""``kcli reassign status``: show the partitions that are being moved, or how far those of a file are."""

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option


@command(
    "status",
    exits={8: "a partition of FILE has other replicas and is not being moved"},
    examples=(
        ("kcli reassign status", "what is being moved, and how much is left"),
        ("kcli reassign status moves.json", "whether each move of the file is done"),
        ("kcli reassign status --watch", "wait for the end"),
    ),
)
@click.argument("path", required=False, metavar="[FILE]")
@option("--watch", is_flag=True, help="wait for the end, and show how far it is")
@pass_invocation
def reassignment_status(inv: Invocation, path: str | None, watch: bool) -> int:
    """Show the partitions that are being moved, or how far those of FILE are.

    When moves have finished, this also removes the throttle that `kcli reassign run` set on this machine, unless with
    --dry-run. Exit code 8 if a partition of FILE has other replicas and is not being moved.
    """
    from kcli.commands.reassign._status import status  # clients are loaded when the command runs

    return status(inv, path, watch)
