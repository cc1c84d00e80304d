"""``kcli brokers drain``: move everything away from brokers."""

import click

from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.move_watch import wait_for_moves
from kcli.commands.shared.options import option
from kcli.commands.shared.params import BROKERS, RATE, Rate, bytes_a_second
from kcli.commands.shared.usage import usage

_REMAIN = (
    "stopped watching; the partitions are still being moved, and a throttle stays until they are done:\n"
    "  the same line goes on, and removes the throttle at the end\n"
    "  kcli reassign status --watch   shows them, and removes it, too\n"
    "  kcli reassign cancel --all     cancels them"
)


@command(
    "drain",
    exits={
        6: "something is still being moved, or left on the broker; the same line goes on",
        7: "there are too few other brokers or racks, or replicas that are to stay are not in sync",
    },
    reads=("XDG_STATE_HOME",),
    examples=(
        ("kcli brokers drain 3 --throttle 50MB/s --watch", "a plan, a question; ends when nothing is left"),
        ("kcli brokers drain 3 --dry-run", "what would be moved, and what brokers would have"),
        ("kcli brokers drain 3 --leaders-only --yes", "before a restart: other brokers lead its partitions"),
        ("kcli brokers drain 3 --undo --watch", "afterwards: everything back"),
    ),
)
@click.argument("brokers", type=BROKERS, nargs=-1, required=True, metavar="ID…")
@option(
    "--throttle",
    type=RATE,
    metavar="RATE",
    help="limit what each broker sends and receives for moves, as in 50MB/s (default: no limit)",
)
@option("--watch", is_flag=True, help="wait for the end, and show how far it is")
@option("--leaders-only", is_flag=True, help="replicas stay; only other brokers lead their partitions")
@option("--disable-rack-aware", is_flag=True, help="accept that replicas of a partition get on fewer racks")
@option("--undo", is_flag=True, help="move back what drains of these brokers from this machine have moved")
@pass_invocation
def drain_brokers(
    inv: Invocation,
    brokers: tuple[tuple[int, ...], ...],
    throttle: Rate | None,
    watch: bool,
    leaders_only: bool,
    disable_rack_aware: bool,
    undo: bool,
) -> int:
    """Move everything away from brokers, so that they can be stopped for good.

    Leaders move first: a replica that is in sync on another broker becomes the preferred one, and is elected. Then
    replicas move, balanced by bytes and by count over the other brokers, with as many replicas and racks as before, and
    with --watch the leaders are balanced at the end. Partitions with another replica that is not in sync are refused,
    and the others are moved.

    Exit code 0 only if neither topics nor log directories show anything left on the brokers; what is left is named.
    Without --watch it ends when the moves have begun: exit code 6 until they are done. A run that was interrupted goes on
    with the same line. Ctrl-C ends only the watching.
    """
    from kcli.flows.brokers.drain import BrokerDrain, command_of  # clients are loaded when the command runs
    from kcli.flows.reassign.change import Moving
    from kcli.flows.reassign.restore import ReplicaRestore

    numbers = [number for some in brokers for number in some]
    _check(throttle, leaders_only=leaders_only, disable_rack_aware=disable_rack_aware, undo=undo)
    wait = (lambda admin, moving: wait_for_moves(inv, admin, moving, _REMAIN)) if watch else None
    how = Moving(inv.talk, bytes_a_second(throttle, "brokers drain"), wait)
    if undo:
        return run_change(inv, ReplicaRestore(how, command=command_of(numbers)))
    drain = BrokerDrain(numbers, how, leaders_only=leaders_only, rack_aware=not disable_rack_aware)
    return run_change(inv, drain)


def _check(throttle: Rate | None, *, leaders_only: bool, disable_rack_aware: bool, undo: bool) -> None:
    """Usage error for options that would have no effect together."""
    if leaders_only and throttle is not None:
        raise usage(
            "brokers drain: --leaders-only and --throttle exclude each other",
            why="nothing is copied where only leaders move",
            do="leave one of them out",
        )
    both = "--undo" if undo else "--leaders-only" if leaders_only else ""
    other = (
        "--leaders-only" if undo and leaders_only else "--disable-rack-aware" if disable_rack_aware else ""
    )
    if both and other:
        raise usage(
            f"brokers drain: {both} and {other} exclude each other",
            why="it moves back what the journals have" if undo else "no replica gets on another rack",
            do="leave one of them out",
        )
