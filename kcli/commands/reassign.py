"""``kcli reassign``: its verbs and options. What they do is in ``_reassign_plan_run.py`` and its neighbours."""

from typing import Any

import click

from kcli.commands.shared.command import group
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.params import BROKERS, RATE
from kcli.commands.shared.types import TOPIC, CountType

_WATCH = click.option("--watch", is_flag=True, help="wait for the end, and show how far it is")


@group(
    "reassign",
    examples=(
        ("kcli reassign plan --topic orders moves.json", "balance a topic over all brokers"),
        ("kcli reassign run moves.json --throttle 50MB/s --watch", "move it, and wait for the end"),
    ),
)
def reassign() -> None:
    """Move replicas of partitions to other brokers, and change how many there are."""


@reassign.command(
    "plan",
    changes=False,
    examples=(
        ("kcli reassign plan --topic orders moves.json", "balance a topic over all brokers"),
        ("kcli reassign plan --brokers 1,2,3 > moves.json", "drain the other brokers, of all topics"),
        ("kcli reassign plan --topic orders --replication-factor 3 moves.json", "more replicas, or fewer"),
        ("kcli reassign plan -o json", "the moves with their bytes, for scripts"),
    ),
)
@click.option(
    "-t",
    "--topic",
    "topics",
    type=TOPIC,
    multiple=True,
    metavar="TOPIC",
    help="only this topic (default: all, internal ones too); repeatable",
)
@click.option(
    "--brokers",
    type=BROKERS,
    metavar="1,2,3",
    help="the brokers that are to have the replicas (default: all that are alive)",
)
@click.option(
    "--replication-factor",
    type=CountType(1, 32767),
    metavar="N",
    help="the number of replicas of each partition (default: as it is)",
)
@click.argument("path", required=False, metavar="[FILE]")
@pass_invocation
def plan_reassignment(inv: Invocation, /, **flags: Any) -> int:
    """Plan which replicas to move: balanced, spread over racks, and as few as possible.

    Writes a file for `kcli reassign run`, in the format of kafka-reassign-partitions.sh, to FILE or stdout. A FILE
    that exists is replaced if it is such a plan; any other only with --yes (otherwise exit code 7).

    The moves, their bytes and what each broker has before and after go to stderr. Nothing is changed. The partitions
    of the plan are balanced over the brokers, replicas and preferred leaders each to within 1 where the racks permit
    it. A balanced cluster has an empty plan. Racks are ignored, with a warning, if a broker has none.
    """
    from kcli.commands._reassign_plan_run import plan  # clients are loaded when the command runs

    return plan(inv, **flags)


@reassign.command(
    "run",
    changes=True,
    examples=(
        (
            "kcli reassign run moves.json --throttle 50MB/s --watch",
            "asks, moves, waits, removes the throttle",
        ),
        ("kcli reassign run moves.json --dry-run", "only check the file, and show the moves"),
        ("kcli reassign plan --topic orders | kcli reassign run - --yes", "plan and run, in a script"),
    ),
)
@click.argument("path", metavar="FILE")
@click.option(
    "--throttle",
    type=RATE,
    metavar="50MB/s",
    help="limit what each broker sends and receives for moves (default: no limit)",
)
@_WATCH
@pass_invocation
def run_reassignment(inv: Invocation, /, **flags: Any) -> int:
    """Move replicas as FILE says; - is stdin.

    FILE is that of `kcli reassign plan` or of kafka-reassign-partitions.sh. Nothing is moved if it names a topic,
    partition or broker that does not exist, or a partition that is being moved already: exit code 7.

    The throttle is set as Kafka's script does, throttles that exist are kept. It is removed when the moves are done:
    at the end with --watch, else by `kcli reassign status`. Ctrl-C ends only the watching. The replicas before are
    saved in a file that `kcli reassign run` takes to go back.
    """
    from kcli.commands._reassign_run import run  # clients are loaded when the command runs

    return run(inv, **flags)


@reassign.command(
    "status",
    changes=False,
    exits={8: "a partition of FILE has other replicas and is not being moved"},
    examples=(
        ("kcli reassign status", "what is being moved, and how much is left"),
        ("kcli reassign status moves.json", "whether each move of the file is done"),
        ("kcli reassign status --watch", "wait for the end"),
    ),
)
@click.argument("path", required=False, metavar="[FILE]")
@_WATCH
@pass_invocation
def reassignment_status(inv: Invocation, /, **flags: Any) -> int:
    """Show the partitions that are being moved, or how far those of FILE are.

    When moves have finished, this also removes the throttle that `kcli reassign run` set on this machine, unless with
    --dry-run. Exit code 8 if a partition of FILE has other replicas and is not being moved.
    """
    from kcli.commands._reassign_status_run import status  # clients are loaded when the command runs

    return status(inv, **flags)


@reassign.command(
    "cancel",
    changes=True,
    examples=(
        ("kcli reassign cancel --topic orders", "shows what would be cancelled, and asks"),
        ("kcli reassign cancel --all --yes", "all that is being moved, in a script"),
    ),
)
@click.option(
    "-t",
    "--topic",
    "topics",
    type=TOPIC,
    multiple=True,
    metavar="TOPIC",
    help="the partitions of this topic; repeatable",
)
@click.option("--all", "every", is_flag=True, help="all partitions that are being moved")
@pass_invocation
def cancel_reassignment(inv: Invocation, /, **flags: Any) -> int:
    """Cancel moves in progress: partitions keep the replicas that they had before.

    What was copied so far is dropped. The throttle that `kcli reassign run` set on this machine is removed.
    """
    from kcli.commands._reassign_cancel_run import cancel  # clients are loaded when the command runs

    return cancel(inv, **flags)
