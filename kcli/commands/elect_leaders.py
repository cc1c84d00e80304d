"""``kcli elect-leaders``: make the preferred replica of each partition its leader."""

from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option
from kcli.commands.shared.params import TOPIC_PARTITIONS, TopicPartitions, partitions_option
from kcli.commands.shared.usage import usage


@command(
    "elect-leaders",
    exits={6: "some of the partitions have no such leader", 7: "none of them has"},
    examples=(
        ("kcli elect-leaders", "after a broker has come back: a plan, and a question"),
        ("kcli elect-leaders --topic orders -p 0,2 --yes", "two partitions of a topic, in a script"),
        (
            "kcli elect-leaders --from-file partitions.json",
            "the partitions that a file of Kafka's script names",
        ),
        ("kcli elect-leaders --dry-run -o json", "which partitions are not led by their preferred replica"),
        (
            "kcli elect-leaders --topic orders:3 --unclean",
            "a partition without a leader: records may be lost",
        ),
    ),
)
@option(
    "-t",
    "--topic",
    "scopes",
    type=TOPIC_PARTITIONS,
    multiple=True,
    metavar="TOPIC[:LIST]",
    help="only these partitions, as in orders:0,2-4 (default: all, those of internal topics too); repeatable",
)
@partitions_option("only these partitions of --topic, as in 0,2,5-7")
@option(
    "--from-file",
    metavar="FILE",
    help="the partitions of a file of kafka-leader-election.sh; - is stdin",
)
@option(
    "--unclean",
    is_flag=True,
    help="elect any replica that is alive, for partitions without a leader; records may be lost",
)
@pass_invocation
def elect_leaders(
    inv: Invocation,
    scopes: tuple[TopicPartitions, ...],
    partitions: tuple[int, ...] | None,
    from_file: str | None,
    unclean: bool,
) -> int:
    """Make the preferred replica of each partition its leader.

    The preferred leader is the first replica. It is elected where it is alive and in sync, or eligible (ELR, Kafka
    4.0); other partitions are named: exit code 6, or 7 if there are no others. Nothing is moved or lost.

    With --unclean, partitions without a leader get one although it is not in sync: the records that it does not have
    are lost, so the name of the topic (of several: the word unclean) has to be typed, or --yes given. Who would lead is
    what the controller decides by: a replica that is in sync or eligible, else the last known leader, else any that is
    alive. Afterwards the leaders are read back.

    The file has the form {"partitions": [{"topic": "orders", "partition": 1}]}.
    """
    from kcli.flows.leader_elections import (  # clients are loaded when the command runs
        LeaderElection,
        Scope,
        read_election_file,
    )

    if partitions is not None and not scopes:
        raise usage(
            "elect-leaders: -p without --topic",
            why="partitions are numbered within a topic",
            do="name it: --topic orders -p 0,2",
        )
    if from_file is not None and scopes:
        raise usage(
            "elect-leaders: --from-file with --topic",
            why="the file names the partitions",
            do="leave one of them out",
        )
    named: list[Scope] = [
        (scope.topic, partitions if scope.partitions is None else scope.partitions) for scope in scopes
    ]
    if from_file is not None:
        named = read_election_file(from_file)
    return run_change(inv, LeaderElection(named, unclean=unclean))
