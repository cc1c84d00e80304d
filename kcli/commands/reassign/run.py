"""``kcli reassign run``: move replicas as a file says."""

import click

from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation, stdin_is_terminal
from kcli.commands.shared.move_watch import wait_for_moves
from kcli.commands.shared.options import option
from kcli.commands.shared.params import RATE, Rate, bytes_a_second


@command(
    "run",
    examples=(
        (
            "kcli reassign run moves.json --throttle 50MB/s --watch",
            "after a question: move, wait, remove the throttle",
        ),
        ("kcli reassign run moves.json --dry-run", "only check the file, and show the moves"),
        ("kcli reassign plan --topic orders | kcli reassign run - --yes", "plan and run, in a script"),
    ),
)
@click.argument("path", metavar="FILE")
@option(
    "--throttle",
    type=RATE,
    metavar="RATE",
    help="limit what each broker sends and receives for moves, as in 50MB/s (default: no limit)",
)
@option(
    "--disallow-replication-factor-change",
    is_flag=True,
    help="refuse a partition that would have more or fewer replicas",
)
@option("--watch", is_flag=True, help="wait for the end, and show how far it is")
@pass_invocation
def run_reassignment(
    inv: Invocation, path: str, throttle: Rate | None, disallow_replication_factor_change: bool, watch: bool
) -> int:
    """Move replicas as FILE says; - is stdin.

    FILE is that of `kcli reassign plan` or of kafka-reassign-partitions.sh. Nothing is moved if it names a topic,
    partition or broker that does not exist, or a partition that is being moved already: exit code 7.

    The throttle is set as Kafka's script does, throttles that exist are kept. It is removed when the moves are done:
    at the end with --watch, else by `kcli reassign status`. Ctrl-C ends only the watching. The replicas before are
    saved in a file that `kcli reassign run` takes to go back.
    """
    from kcli.flows.reassign.change import Moving  # clients are loaded when the command runs
    from kcli.flows.reassign.run import ReassignmentRun

    rate = bytes_a_second(throttle, "reassign run")
    if path == "-" and stdin_is_terminal():
        inv.talk.note("reading the plan from the terminal; end with Ctrl-D …")
    wait = (lambda admin, moving: wait_for_moves(inv, admin, moving)) if watch else None
    how = Moving(inv.talk, rate, wait)
    return run_change(inv, ReassignmentRun(path, how, same_factor=disallow_replication_factor_change))
