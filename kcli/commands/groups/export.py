"""``kcli groups export``: the options. What the command does is in ``_export_run.py``."""

from typing import Any

import click

from kcli.commands.groups._options import (
    empty_group_option,
    internal_option,
    topics_option,
    with_empty_group,
    zookeeper_option,
)
from kcli.commands.shared.cluster import unique
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import GROUP
from kcli.commands.shared.usage import usage

OUTPUTS = ("csv", "ndjson")
FORMS = (*OUTPUTS, "zookeeper")


@command(
    "export",
    changes=False,
    outputs=OUTPUTS,
    examples=(
        ("kcli groups export billing --file billing.csv", "as Kafka's own script writes and reads it"),
        ("kcli groups export --all --format ndjson --file all.ndjson", "all groups, with all known fields"),
        ("kcli groups export billing --with-time", "with times, for an import into another cluster"),
        ("kcli groups export billing shipping -t orders:0,2-4", "some partitions of two groups, to stdout"),
        (
            "kcli groups export --zookeeper zk1:2181/kafka --all --format ndjson",
            "offsets that old consumers store in ZooKeeper",
        ),
    ),
)
@click.argument("names", nargs=-1, type=GROUP, metavar="[GROUP…]")
@click.option("--all", "every", is_flag=True, help="all groups")
@empty_group_option()
@internal_option()
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    help="csv is Kafka's, zookeeper the lines of its old ExportZkOffsets  [default: csv]",
)
@click.option(
    "--file", "path", metavar="PATH", help="write this file instead of stdout; it is replaced atomically"
)
@click.option(
    "--with-time", "timed", is_flag=True, help="with ndjson: add the time of each first unread record"
)
@topics_option("only this topic, or some of its partitions")
@zookeeper_option("read the offsets from ZooKeeper, where old consumers store them; no broker is contacted")
@pass_invocation
def export_groups(
    inv: Invocation,
    /,
    names: tuple[str, ...],
    every: bool,
    form: str | None,
    empty_group: bool,
    **flags: Any,
) -> int:
    """Write committed offsets of groups.

    Works on groups with members too; nothing is changed. csv is the format of Kafka's script: topic,partition,offset
    for one GROUP, preceded by the group for several and for --all. ndjson adds the cluster, topic ids, leader epochs
    and metadata, so that an import can check whether it fits. What cannot be read is reported: exit code 6.
    """
    names = with_empty_group(names, empty_group)
    if every == bool(names):
        raise usage(
            f"groups export: {'--all with names of groups' if every else 'missing argument GROUP'}",
            why="--all means all groups, whatever their names" if every else "it is required without --all",
            do="name groups, or give --all; `kcli groups list` lists the groups",
        )
    form = _form(inv, form, timed=flags["timed"], zookeeper=flags["zookeeper"] is not None)
    from kcli.commands.groups._export_run import run  # clients are loaded when the command runs

    return run(inv, None if every else unique(names), form, **flags)


def _form(inv: Invocation, form: str | None, *, timed: bool, zookeeper: bool) -> str:
    """``--format``, ``-o``, or the default."""
    output = inv.out.kind
    if form is not None and output is not None and form != output:
        raise usage(
            f"groups export: --format {form} and -o {output} are two formats",
            why="a file has one format",
            do="give one of them",
        )
    chosen = form or output or ("ndjson" if timed else "csv")
    if timed and chosen != "ndjson":
        raise usage(
            f"groups export: {chosen} has no column for times",
            why="its columns are those of Kafka's tools",
            do="--with-time --format ndjson",
        )
    if timed and zookeeper:
        raise usage(
            "groups export: --with-time and --zookeeper cannot be used together",
            why="times are read from records, and ZooKeeper has none",
            do="import the offsets into Kafka, and export them there",
        )
    return chosen
