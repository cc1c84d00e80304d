"""``kcli groups import``: commit the offsets of a file."""

import click

from kcli.commands.groups._options import single_partitions, topics_option, zookeeper_option
from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.confirm import may_be_agreed
from kcli.commands.shared.context import Invocation, pass_invocation, stdin_is_terminal
from kcli.commands.shared.options import GROUP, option
from kcli.commands.shared.params import TOPIC_MAP, TopicPartitions
from kcli.commands.shared.usage import usage

BY = ("offset", "time")


@command(
    "import",
    exits={
        6: "the offsets of some partitions are not set",
        7: "a group has members, or the offsets are of another cluster or topic",
    },
    reads=("XDG_STATE_HOME",),
    examples=(
        (
            "kcli groups import all.ndjson --dry-run",
            "the plan for all groups of the file; nothing is changed",
        ),
        (
            "kcli groups import billing.csv --group billing",
            "Kafka's csv of one group does not contain its name",
        ),
        ("kcli groups import all.ndjson --by time", "in another cluster, of an export --with-time"),
        (
            "kcli groups import b.ndjson --group copy --map-topic orders=orders.v2 --by time",
            "for another topic",
        ),
        (
            "kcli groups import --zookeeper zk1:2181/kafka old.txt",
            "for consumers that store offsets in ZooKeeper",
        ),
    ),
)
@click.argument("path", metavar="FILE")
@option(
    "--group",
    type=GROUP,
    metavar="GROUP",
    help="commit the offsets for this group instead of the one in the file",
)
@option("--empty-group", is_flag=True, help="commit the offsets for the group whose name is empty")
@option(
    "--map-topic",
    "mapped",
    type=TOPIC_MAP,
    multiple=True,
    metavar="A=B",
    help="use topic B for topic A of the file; repeatable",
)
@option(
    "--by",
    type=click.Choice(BY),
    default=BY[0],
    help="how to find the new position (default: offset)",
)
@topics_option("only this topic of the file, or some of its partitions")
@option("--clamp", is_flag=True, help="move offsets outside the log to its nearer end")
@option("--force", is_flag=True, help="use offsets of another cluster or topic unchanged")
@zookeeper_option("set the offsets in ZooKeeper, for old consumers; the previous ones are stored in a file")
@pass_invocation
def import_offsets(
    inv: Invocation,
    /,
    path: str,
    group: str | None,
    empty_group: bool,
    mapped: tuple[tuple[str, str], ...],
    by: str,
    scopes: tuple[TopicPartitions, ...],
    clamp: bool,
    force: bool,
    zookeeper: str | None,
) -> int:
    """Commit the offsets of a file: an export, a csv of Kafka's script, or a file of kcl, rpk or kafka-utils.

    Shows a plan first, stores the previous offsets for `kcli groups rewind GROUP --undo`, and verifies every
    partition afterwards.

    The groups must have no members; they need not exist. FILE - is stdin. With --zookeeper the offsets are set in
    ZooKeeper, for consumers that store them there.

    An offset identifies the same record only in the same topic: a partition is refused where the file is of another
    cluster or topic, or where the offset is outside of the log. --by time finds the record by its time. A topic that
    was deleted and recreated since is recognised by its id, which exports in ndjson have, and csv and the files of
    other tools do not.
    """
    if by == "time" and (clamp or force):
        raise usage(
            f"groups import: --by time and --{'clamp' if clamp else 'force'} cannot be used together",
            why="a time is found in any cluster and topic, and within the log",
            do="give one of them",
        )
    if zookeeper is not None and (by == "time" or clamp):
        raise usage(
            f"groups import: {'--by time' if by == 'time' else '--clamp'} and --zookeeper cannot be used together",
            why="ZooKeeper has no logs",
            do="give one of them",
        )
    if empty_group and group is not None:
        raise usage(
            "groups import: --group and --empty-group cannot be used together",
            why="each says for which group the offsets are committed",
            do="give one of them",
        )
    if empty_group:
        group = ""
    topics: dict[str, str] = {}
    for name, here in mapped:
        if topics.setdefault(name, here) != here:
            raise usage(
                f"groups import: topic {name} is mapped twice",
                why=f"to {topics[name]} and {here}",
                do="give one --map-topic for it",
            )
    # Clients are loaded when the command runs.
    from kcli.flows.transfer.change import offset_import, read_import

    if path == "-" and stdin_is_terminal():
        inv.talk.note("reading offsets from the terminal; end with Ctrl-D …")
    file = read_import(
        path,
        group,
        topics,
        {str(part): part.__contains__ for part in single_partitions(scopes)},
        of_brokers=zookeeper is not None,
        by_time=by == "time",
        clamp=clamp,
        force=force,
    )
    if zookeeper is not None:
        from kcli.commands.groups._zookeeper import import_into_zookeeper  # needs an extra

        return import_into_zookeeper(inv, zookeeper, file)
    return run_change(
        inv,
        offset_import(
            file,
            inv.cluster_name,
            partial_file=bool(scopes),
            again=inv.yes,
            dry=inv.dry_run or not may_be_agreed(inv),
        ),
    )
