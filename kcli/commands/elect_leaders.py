"""``kcli elect-leaders``: make the preferred replica of each partition its leader."""

import click

from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.params import TOPIC_PARTITIONS, TopicPartitions


@command(
    "elect-leaders",
    exits={6: "some of the partitions have no such leader", 7: "none of them has"},
    examples=(
        ("kcli elect-leaders", "after a broker has come back: a plan, and a question"),
        ("kcli elect-leaders --topic orders --yes", "one topic, in a script"),
        ("kcli elect-leaders --dry-run -o json", "which partitions are not led by their preferred replica"),
        (
            "kcli elect-leaders --topic orders:3 --unclean",
            "a partition without a leader: records may be lost",
        ),
    ),
)
@click.option(
    "-t",
    "--topic",
    "scopes",
    type=TOPIC_PARTITIONS,
    multiple=True,
    metavar="TOPIC[:LIST]",
    help="only these partitions, as in orders:0,2-4 (default: all, those of internal topics too); repeatable",
)
@click.option(
    "--unclean",
    is_flag=True,
    help="elect any replica that is alive, for partitions without a leader; records may be lost",
)
@pass_invocation
def elect_leaders(inv: Invocation, scopes: tuple[TopicPartitions, ...], unclean: bool) -> int:
    """Make the preferred replica of each partition its leader.

    The preferred leader is the first replica. It is elected where it is alive and in sync; other partitions are
    named: exit code 6, or 7 if there are no others. Nothing is moved or lost.

    With --unclean, partitions without a leader get one although it is not in sync: the records that it does not have
    are lost, so the name of the topic (of several: the word unclean) has to be typed, or --yes given. Afterwards the
    leaders are read back.
    """
    from kcli.flows.leader_elections import LeaderElection  # clients are loaded when the command runs

    named = [(scope.topic, scope.partitions) for scope in scopes]
    return run_change(inv, LeaderElection(named, unclean=unclean))
