"""``kcli groups describe``: show members, assignments and offsets of groups."""

import click

from kcli.commands.groups._options import TYPES, empty_group_option, internal_option, with_empty_group
from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import GROUP, OUTPUT_KINDS, CountType, option
from kcli.commands.shared.usage import usage

WITH_RECORDS = ("table", "wide", "plain", "json", "ndjson", "yaml")
"""The formats in which --peek can show records."""


@command(
    "describe",
    exits={1: "none of the named groups exists", 6: "some of the named groups do not exist"},
    outputs=(*OUTPUT_KINDS, "kafka"),
    examples=(
        ("kcli groups describe billing", "its offset and the member that reads, for each partition"),
        ("kcli groups describe billing --members -o wide", "members with assignments and subscriptions"),
        ("kcli groups describe --match 'bill*' --state", "a line for each group"),
        ("kcli groups describe billing --peek 2", "the last record read and the next one, by partition"),
        ("kcli groups describe counts --tasks", "of a Kafka Streams application: its tasks, with their lag"),
        ("kcli groups describe work --config", "how brokers treat a share group"),
        ("kcli groups describe billing -o kafka", "the columns of kafka-consumer-groups.sh"),
    ),
)
@click.argument("names", nargs=-1, type=GROUP, metavar="[GROUP…]")
@options(
    "What to show",
    option("--members", is_flag=True, help="only the members"),
    option("--offsets", is_flag=True, help="only the offsets, a line for each partition"),
    option("--state", is_flag=True, help="only a line for each group"),
    option("--tasks", is_flag=True, help="of streams groups: only their tasks, with lag and member"),
    option("--topology", is_flag=True, help="of streams groups: only their subtopologies and topics"),
    option("--config", is_flag=True, help="only the configuration, a line for each key of its type"),
    option("--peek", type=CountType(1, 1000), metavar="N", help="show N records around each commit"),
)
@options(
    "Which groups",
    option("--match", metavar="GLOB", help="all groups whose names match this shell pattern"),
    option("--all", "every", is_flag=True, help="all groups"),
    option(
        "--type",
        "types",
        type=TYPES,
        metavar="TYPE[,…]",
        help="with --all or --match: only groups of these types",
    ),
    empty_group_option(),
    internal_option(),
)
@pass_invocation
def describe_groups(
    inv: Invocation,
    /,
    names: tuple[str, ...],
    members: bool,
    offsets: bool,
    state: bool,
    tasks: bool,
    topology: bool,
    config: bool,
    match: str | None,
    every: bool,
    types: str | None,
    empty_group: bool,
    internal: bool,
    peek: int | None,
) -> int:
    """Show members, assignments and offsets of groups.

    Lag is the log end offset minus the committed offset; of a share group COMMITTED is its start offset, and the lag what
    the broker reports. Commit times are read from __consumer_offsets with -o wide,
    and with -v in the formats for programs; a time is unknown where finding it takes more than 5 seconds or 16 MiB.

    Streams groups have a topology and tasks, too. The lag of a task is the sum of what is unread of its partitions.
    """
    names = with_empty_group(names, empty_group)
    sections = (
        ("members", members),
        ("offsets", offsets),
        ("state", state),
        ("config", config),
        ("tasks", tasks),
        ("topology", topology),
    )
    chosen = [name for name, wanted in sections if wanted]
    section = chosen[0] if chosen else None
    if len(chosen) > 1:
        raise usage(
            f"groups describe: --{chosen[0]} and --{chosen[1]} together",
            why="each shows one part only",
            do="leave both out to show members and offsets",
        )
    if not (names or every or match is not None):
        raise usage(
            "groups describe: missing argument GROUP",
            why="it is required without --match and --all",
            do="name groups, or use --match GLOB or --all",
        )
    if every and (names or match is not None):
        raise usage(
            f"groups describe: --all with {'names of groups' if names else '--match'}",
            why="--all means all groups, whatever their names",
            do=f"leave out --all, or {'the names' if names else '--match'}",
        )
    if types is not None and not (every or match is not None):
        raise usage(
            "groups describe: --type with names of groups only",
            why="it chooses among all groups, or those that --match names",
            do="leave out --type, or give --all or --match GLOB",
        )
    if section in ("config", "tasks", "topology") and inv.out.list_kind() == "kafka":
        raise usage(
            f"groups describe: --{section} with -o kafka",
            why="that is the text of Kafka's scripts, which have no such table",
            do="leave out -o kafka",
        )
    if peek is not None and section not in (None, "offsets"):
        raise usage(
            f"groups describe: --peek with --{section}",
            why=f"records are shown with offsets, which --{section} leaves out",
            do=f"leave out --{section}",
        )
    if peek is not None and inv.out.list_kind() not in WITH_RECORDS:
        raise usage(
            f"groups describe: --peek with -o {inv.out.list_kind()}",
            why="that format has one kind of line, and cannot contain records",
            do="use -o table, plain or json",
        )
    from kcli.commands.groups._describing import Describing  # clients are loaded when the command runs

    chosen_types = types.split(",") if types else []
    return Describing(inv, names, section, peek).run(match, chosen_types, every=every, internal=internal)
