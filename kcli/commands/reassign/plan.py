"""``kcli reassign plan``: plan which replicas to move."""

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import TOPIC, CountType, option
from kcli.commands.shared.params import BROKERS


@command(
    "plan",
    examples=(
        ("kcli reassign plan --topic orders moves.json", "balance a topic over all brokers"),
        ("kcli reassign plan --brokers 1,2,3 > moves.json", "drain the other brokers, of all topics"),
        ("kcli reassign plan --topic orders --replication-factor 3 moves.json", "more replicas, or fewer"),
        ("kcli reassign plan -o json", "the moves with their bytes, for scripts"),
    ),
)
@option(
    "-t",
    "--topic",
    "topics",
    type=TOPIC,
    multiple=True,
    metavar="TOPIC",
    help="only this topic (default: all, internal ones too); repeatable",
)
@option(
    "--brokers",
    type=BROKERS,
    metavar="LIST",
    help="the brokers that are to have the replicas, as in 1,2,3 (default: all that are alive)",
)
@option(
    "--replication-factor",
    type=CountType(1, 32767),
    metavar="N",
    help="the number of replicas of each partition (default: as it is)",
)
@option("--disable-rack-aware", is_flag=True, help="place replicas as if all brokers were in one rack")
@click.argument("path", required=False, metavar="[FILE]")
@pass_invocation
def plan_reassignment(
    inv: Invocation,
    topics: tuple[str, ...],
    brokers: tuple[int, ...] | None,
    replication_factor: int | None,
    disable_rack_aware: bool,
    path: str | None,
) -> int:
    """Plan which replicas to move: balanced, spread over racks, and as few as possible.

    Writes a file for `kcli reassign run`, in the format of kafka-reassign-partitions.sh, to FILE or stdout. A FILE
    that exists is replaced if it is such a plan; any other only with --yes (otherwise exit code 7).

    The moves, their bytes and what each broker has before and after go to stderr. Nothing is changed. The partitions
    of the plan are balanced over the brokers, replicas and preferred leaders each to within 1 where the racks permit
    it. A balanced cluster has an empty plan. Racks are ignored, with a warning, if a broker has none.
    """
    from kcli.commands.reassign._planning import plan  # clients are loaded when the command runs

    return plan(inv, topics, brokers, replication_factor, path, rack_aware=not disable_rack_aware)
