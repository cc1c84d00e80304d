"""``kcli topics create``: create topics."""

import click

from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import TOPIC, CountType, option
from kcli.commands.shared.params import Word, check_topic_name, config_option
from kcli.commands.shared.usage import usage
from kcli.commands.shared.words import parse_assignment
from kcli.core.types import TopicSpec

_MOST_PARTITIONS = (1 << 31) - 1


@command(
    "create",
    exits={7: "the topic exists already"},
    examples=(
        ("kcli topics create orders --partitions 12", "the broker's default replication factor"),
        (
            "kcli topics create orders --config retention.ms=7d --if-not-exists",
            "no error when it already exists",
        ),
        (
            "kcli topics create orders.v2 --like orders --partitions 24",
            "the other settings of an existing topic",
        ),
        ("kcli topics create orders --partitions 12 --dry-run", "only check the request"),
    ),
)
@click.argument("names", nargs=-1, required=True, metavar="TOPIC…")
@option(
    "--partitions",
    type=CountType(1, _MOST_PARTITIONS),
    metavar="N",
    help="number of partitions (default: the broker's); more than 10,000 require --confirm NAME",
)
@option(
    "--replication-factor",
    type=CountType(1, 32767),
    metavar="N",
    help="replicas of each partition (default: the broker's)",
)
@option(
    "--assignment",
    type=Word("assignment of replicas", parse_assignment),
    metavar="ID:ID,…",
    help="the brokers of each partition's replicas, the preferred leader first, as in 1:2,2:3 (default: the broker "
    "places them)",
)
@config_option("configuration of the topic; repeatable")
@option(
    "--like",
    type=TOPIC,
    metavar="TOPIC",
    help="partitions, replication factor and configuration of an existing topic, where they are not given",
)
@option("--if-not-exists", is_flag=True, help="a topic that already exists is not an error")
@pass_invocation
def create_topics(
    inv: Invocation,
    names: tuple[str, ...],
    partitions: int | None,
    replication_factor: int | None,
    assignment: tuple[tuple[int, ...], ...] | None,
    configs: tuple[tuple[str, str], ...],
    like: str | None,
    if_not_exists: bool,
) -> int:
    """Create topics.

    All TOPICs get the same number of partitions and the same configuration. Numbers may have units, as in
    retention.ms=7d and segment.bytes=1GiB, and `never` is no limit. --like copies what is set on a topic itself, but
    not its records or ACLs; --partitions, --replication-factor and --config override it.

    With --assignment the brokers choose nothing: there is a partition for each part between commas.

    Exit code 7 where one exists; with --if-not-exists only where it differs from what is requested. A topic is created
    once all brokers show its partitions with leaders; exit code 6 where they do not within --timeout. With -o, shows
    what became of each.
    """
    from kcli.flows.topics.create import TopicCreation  # clients are loaded when the command runs

    for name in (*names, *([like] if like is not None else ())):
        check_topic_name(name, "topics create")
    if assignment:
        given = "--partitions" if partitions else "--replication-factor" if replication_factor else ""
        if given:
            raise usage(
                f"topics create: {given} with --assignment",
                why="an assignment says how many partitions and replicas there are",
                do="leave one of them out",
            )
        partitions, replication_factor = len(assignment), len(assignment[0])
    specs = [
        TopicSpec(name, partitions or -1, replication_factor or -1, dict(configs), assignment or ())
        for name in dict.fromkeys(names)
    ]
    return run_change(inv, TopicCreation(specs, may_exist=if_not_exists, dry_run=inv.dry_run, like=like))
