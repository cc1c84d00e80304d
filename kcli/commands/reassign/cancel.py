"""``kcli reassign cancel``: cancel moves in progress."""

from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import TOPIC, option
from kcli.commands.shared.usage import usage


@command(
    "cancel",
    examples=(
        ("kcli reassign cancel --topic orders", "after a plan and a question"),
        ("kcli reassign cancel --all --yes", "all that is being moved, in a script"),
    ),
)
@option(
    "-t",
    "--topic",
    "topics",
    type=TOPIC,
    multiple=True,
    metavar="TOPIC",
    help="the partitions of this topic; repeatable",
)
@option("--all", "every", is_flag=True, help="all partitions that are being moved")
@pass_invocation
def cancel_reassignment(inv: Invocation, topics: tuple[str, ...], every: bool) -> int:
    """Cancel moves in progress: partitions keep the replicas that they had before.

    What was copied so far is dropped. The throttle that `kcli reassign run` set on this machine is removed.
    """
    from kcli.flows.reassign.cancel import ReassignmentCancel  # clients are loaded when the command runs

    if every == bool(topics):
        raise usage(
            "reassign cancel: "
            + ("--topic and --all exclude each other" if every else "what is to be cancelled is not said"),
            why="--all cancels the moves of all topics" if every else "it is required",
            do="write --topic TOPIC, or --all; `kcli reassign status` shows what is being moved",
        )
    return run_change(inv, ReassignmentCancel(topics, inv.talk))
