"""``kcli quorum describe``: show the quorum of the controllers."""

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import DURATION, LIKE_A_DURATION, AttachedOption, option


@command(
    "describe",
    examples=(
        ("kcli quorum describe", "leader, epoch, majority; each replica, and how far it is behind"),
        ("kcli quorum describe -o wide", "directory ids, too"),
        ("kcli quorum describe --watch", "repeat every two seconds"),
        ("kcli quorum describe -b controller1:9093", "by a controller, where no broker is left"),
        ("kcli quorum describe -o json", "for scripts"),
    ),
)
@option(
    "-w",
    "--watch",
    cls=AttachedOption,
    bare="2s",
    looks=LIKE_A_DURATION,
    type=DURATION,
    metavar="[=DUR]",
    help="repeat every 2 s, or every DUR",
)
@pass_invocation
def describe_quorum(inv: Invocation, watch: float | None) -> int:
    """Show the quorum of the controllers: the leader, the voters and the observers, and how far each is behind.

    The leader is the active controller, and all times are by its clock. A voter or observer is behind where it has lacked
    something of the leader's log for 5 seconds or more. A majority of the voters has to be caught up, or the metadata of
    the cluster cannot be changed. Brokers are observers, unless they are controllers as well.

    A quorum is dynamic where voters can be added and removed (kraft.version 1, Kafka 3.9 and later); then they have
    directory ids. Times need Kafka 3.4, endpoints 3.9. With ZooKeeper, and before Kafka 3.3, exit code 7.

    Where no broker is left, -b may name controllers (Kafka 3.7).
    """
    from kcli.commands.quorum._describing import (  # clients are loaded when the command runs
        describe,
        watching,
    )

    return describe(inv) if watch is None else watching(inv, watch)
