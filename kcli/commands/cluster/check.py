"""``kcli cluster check``: whether the cluster is well, and whether a broker may be stopped."""

from kcli.commands.brokers._types import BROKER
from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import DURATION, REPORT_KINDS, TOPIC, CountType, option


@command(
    "check",
    exits={
        1: "a topic of --topic, or a node of --if-stopped, does not exist",
        3: "the cluster cannot be reached",
        6: "no check failed, but one could not be made: a broker that is there did not answer",
        8: "a check failed, or the time of --wait is over",
    },
    outputs=REPORT_KINDS,
    examples=(
        ("kcli cluster check", "a line for each check; exit code 0 or 8"),
        ("kcli cluster check --brokers 3 -q", "for monitoring: nothing is printed where all is well"),
        ("kcli cluster check --if-stopped 2", "what the stop of broker 2 would make unavailable"),
        (
            "kcli cluster check --if-stopped 2 --wait 10m && systemctl restart kafka",
            "restart it when it is safe, or not at all",
        ),
        (
            "kcli cluster check --watch",
            "a rolling restart: says which broker may be stopped, one after another",
        ),
    ),
)
@options(
    "What is demanded",
    option("--brokers", type=CountType(1), metavar="N", help="at least N brokers are online"),
    option(
        "--max-under-replicated",
        type=CountType(0),
        default=0,
        metavar="N",
        help="at most N partitions have replicas that are not in sync (default: 0)",
    ),
    option(
        "--topic",
        "topics",
        type=TOPIC,
        multiple=True,
        metavar="TOPIC",
        help="check the partitions of this topic only (repeatable)",
    ),
    option("--strict", is_flag=True, help="a warning is a failure"),
)
@options(
    "Restarts",
    option(
        "--if-stopped",
        "stopped",
        type=BROKER,
        multiple=True,
        metavar="ID",
        help="foresee the stop of this broker or controller (repeatable: of all of them together)",
    ),
    option("--wait", type=DURATION, metavar="DUR", help="check again until all is well, for at most DUR"),
    option(
        "--watch",
        is_flag=True,
        help="a rolling restart of all brokers, or of those of --if-stopped in this order",
    ),
)
@pass_invocation
def check_cluster(
    inv: Invocation,
    /,
    brokers: int | None,
    max_under_replicated: int,
    topics: tuple[str, ...],
    strict: bool,
    stopped: tuple[int, ...],
    wait: float | None,
    watch: bool,
) -> int:
    """Check whether the cluster is well, and whether a broker may be stopped.

    Checked are the quorum, brokers, partitions that are offline, under-replicated or below min.insync.replicas, the
    coordinators of all groups and transactional ids, log directories, hanging transactions, preferred leaders and
    reassignments. A broker that is down is a failure; what is only at its limit, or being changed, is a warning.

    A warning means that just enough replicas are in sync, a transaction is open for long, a leader is not the preferred
    one, or replicas are being moved. A check is unknown where a broker that is there did not answer.

    With --if-stopped further lines foresee what would be without the broker, if it is stopped in order: partitions
    without a leader, or that refuse acks=all; groups and transactional ids without a coordinator; the majority of the
    controllers. They fail for what would become worse. The rules of the controller are applied to what it reports: the
    ISR, eligible leader replicas, min.insync.replicas, unclean elections. A line says where replicas are catching up,
    and change what is foreseen as soon as they are in sync.

    --watch waits until a broker may be stopped, prints "safe to stop 2", waits until it was stopped and is back and in
    sync, and goes on to the next; it ends with 0 after the last. It stops and starts nothing itself. With --wait each of
    its waits for the cluster takes at most DUR.
    """
    from kcli.commands.cluster._checking import check, watching  # clients are loaded when the command runs
    from kcli.flows.health.checks import Demand

    demand = Demand(
        brokers, max_under_replicated, tuple(dict.fromkeys(topics)), tuple(dict.fromkeys(stopped)), strict
    )
    return watching(inv, demand, wait) if watch else check(inv, demand, wait)
