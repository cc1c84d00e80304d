"""``kcli quorum add-controller``: make a controller a voter."""

import click

from kcli.commands.quorum._types import CONTROLLER, DIRECTORY, ENDPOINT
from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option
from kcli.core.admin.quorum import Endpoint


@command(
    "add-controller",
    exits={
        2: "it is not known where the controller listens",
        7: "the quorum is static, or the controller does not read the metadata log, or is behind",
    },
    reads=("XDG_STATE_HOME",),
    examples=(
        ("kcli quorum add-controller 4 --endpoint controller-4:9093", "a controller that is no broker"),
        ("kcli quorum add-controller 3", "one that is a broker, too: that reports its listeners"),
        (
            "kcli quorum add-controller 4 --endpoint controller-4:9093 --dry-run",
            "only check, and show the plan",
        ),
    ),
)
@click.argument("node", type=CONTROLLER, metavar="ID")
@option(
    "--endpoint",
    "endpoints",
    type=ENDPOINT,
    multiple=True,
    metavar="[NAME://]HOST:PORT",
    help="where it listens, for each of controller.listener.names; repeatable (default: as its broker reports)",
)
@option(
    "--directory-id",
    type=DIRECTORY,
    metavar="ID",
    help="of its metadata log, as in its meta.properties (default: as the leader sees it)",
)
@pass_invocation
def add_controller(
    inv: Invocation, node: int, endpoints: tuple[Endpoint, ...], directory_id: str | None
) -> int:
    """Make a controller a voter of the quorum: one that reads the metadata log already, as an observer.

    Checked first: that the quorum is dynamic, that the controller is caught up, and that a majority of the voters will
    be. The leader connects to its endpoints before it adds it. Read back; `kcli undo` removes it again. One controller
    at a time: the change has to be committed before the next one.
    """
    from kcli.flows.quorum.voters import ControllerAddition  # clients are loaded when the command runs

    return run_change(inv, ControllerAddition(node, directory_id or "", endpoints))
