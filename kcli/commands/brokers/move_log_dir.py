"""``kcli brokers move-log-dir``: move replicas of a broker to another of its log directories."""

import click

from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.move_watch import wait_for_directories
from kcli.commands.shared.options import CountType, option
from kcli.commands.shared.params import (
    RATE,
    TOPIC_PARTITIONS,
    Rate,
    TopicPartitions,
    bytes_a_second,
)
from kcli.commands.shared.usage import usage


@command(
    "move-log-dir",
    exits={6: "something is still being moved, or was not moved; the same line goes on"},
    reads=("XDG_STATE_HOME",),
    examples=(
        (
            "kcli brokers move-log-dir 1 --from /disk1 --to /disk2 --watch",
            "empty a disk, and wait for the end",
        ),
        ("kcli brokers move-log-dir 1 --from /disk1 --to /disk2 -t orders:0,2-4", "only these partitions"),
        ("kcli brokers move-log-dir 1 --from /disk1 --to /disk2 --throttle 50MB/s", "with a limit"),
    ),
)
@click.argument("broker", type=CountType(0), metavar="ID")
@option("--from", "source", required=True, metavar="DIR", help="the log directory that replicas leave")
@option("--to", "target", required=True, metavar="DIR", help="the log directory that they are to have")
@option(
    "-t",
    "--topic",
    "scopes",
    type=TOPIC_PARTITIONS,
    multiple=True,
    metavar="TOPIC[:LIST]",
    help="only these partitions, as in orders:0,2-4 (default: all that are there); repeatable",
)
@option(
    "--throttle",
    type=RATE,
    metavar="RATE",
    help="limit what the broker copies, as in 50MB/s (default: no limit)",
)
@option("--watch", is_flag=True, help="wait for the end, and show how far it is")
@pass_invocation
def move_log_dir(
    inv: Invocation,
    broker: int,
    source: str,
    target: str,
    scopes: tuple[TopicPartitions, ...],
    throttle: Rate | None,
    watch: bool,
) -> int:
    """Move replicas of a broker to another of its log directories.

    The broker copies each replica, and uses the copy when it has caught up; the partition goes on meanwhile. DIR is
    written as in log.dirs of the broker; `kcli brokers describe ID` shows them.

    Exit code 0 only if DescribeLogDirs shows the replicas where they are to be. Without --watch it ends when the moves
    have begun: exit code 6 until they are done. A run that was interrupted goes on with the same line, and `kcli undo`
    moves the replicas back. The throttle is removed when the moves are done, by the same line or `kcli reassign status`.
    """
    from kcli.flows.brokers.move_log_dir import LogDirMove  # clients are loaded when the command runs
    from kcli.flows.reassign.change import Moving

    if source == target:
        raise usage(
            "brokers move-log-dir: --from and --to name the same directory",
            why=f"both are {source}",
            do="name another directory of the broker with --to",
        )
    wait = (lambda admin, moving: wait_for_directories(inv, admin, broker, moving)) if watch else None
    how = Moving(inv.talk, bytes_a_second(throttle, "brokers move-log-dir"), wait)
    named = [(scope.topic, scope.partitions) for scope in scopes]
    return run_change(inv, LogDirMove(broker, source, target, named, how))
