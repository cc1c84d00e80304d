"""``kcli groups export``: write committed offsets of groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kcli.account.survey import Missing
from kcli.commands.groups._options import (
    empty_group_option,
    internal_option,
    selected,
    single_partitions,
    topics_option,
    with_empty_group,
    zookeeper_option,
)
from kcli.commands.shared.cluster import connect, no_groups, open_admin, unique, warn_of_hidden
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import GROUP, option
from kcli.commands.shared.params import TopicPartitions
from kcli.commands.shared.usage import usage
from kcli.core.clock import wall_ms
from kcli.core.errors import NotFoundError
from kcli.output.progress import counted

if TYPE_CHECKING:  # loaded when the command runs
    from kcli.flows.transfer.exporting import Export

OUTPUTS = ("csv", "ndjson")
FORMS = (*OUTPUTS, "zookeeper")


@command(
    "export",
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
@option("--all", "every", is_flag=True, help="all groups")
@empty_group_option()
@internal_option()
@option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    help="csv is Kafka's, zookeeper the lines of its old ExportZkOffsets (default: csv)",
)
@option("--file", "path", metavar="FILE", help="write this file instead of stdout; it is replaced atomically")
@option("--with-time", "timed", is_flag=True, help="with ndjson: add the time of each first unread record")
@topics_option("only this topic, or some of its partitions")
@zookeeper_option("read the offsets from ZooKeeper, where old consumers store them; no broker is contacted")
@pass_invocation
def export_groups(
    inv: Invocation,
    /,
    names: tuple[str, ...],
    every: bool,
    empty_group: bool,
    internal: bool,
    form: str | None,
    path: str | None,
    timed: bool,
    scopes: tuple[TopicPartitions, ...],
    zookeeper: str | None,
) -> int:
    """Write committed offsets of groups.

    Works on groups with members too; nothing is changed. csv is the format of Kafka's script: topic,partition,offset
    for one GROUP, preceded by the group for several and for --all. ndjson adds the cluster, topic ids, types of groups,
    leader epochs and metadata, so that an import can check whether it fits. Of share groups these are the start offsets;
    --all has them in ndjson only. What cannot be read is reported: exit code 6.
    """
    names = with_empty_group(names, empty_group)
    if every == bool(names):
        raise usage(
            f"groups export: {'--all with names of groups' if every else 'missing argument GROUP'}",
            why="--all means all groups, whatever their names" if every else "it is required without --all",
            do="name groups, or give --all; `kcli groups list` lists the groups",
        )
    form = _form(inv, form, timed=timed, zookeeper=zookeeper is not None)
    # Clients and formats are loaded when the command runs.
    from kcli.flows.transfer import exporting, file

    groups, warning = None if every else unique(names), ""
    if zookeeper is not None:
        from kcli.commands.groups._zookeeper import read_offsets  # needs an optional extra, kazoo

        export = read_offsets(inv, zookeeper, groups, selected(scopes))
        _report_missing(inv, export, groups, scopes)
        offsets = export.offsets
    else:
        with open_admin(inv) as admin:
            export = exporting.export_offsets(
                admin,
                connect(inv, admin),
                groups,
                selected(scopes),
                at_ms=wall_ms(),
                all_known=form == "ndjson",
                internal=internal,
            )
            _report_missing(inv, export, groups, scopes)
            if export.left_out:
                inv.talk.warn(
                    f"{counted(len(export.left_out), 'share group')} left out, since {form} has no types of groups: name "
                    "them, or use --format ndjson"
                )
            if every:
                warning = warn_of_hidden(inv, admin, "groups", unsure=export.unsure)
            offsets = exporting.with_times(admin, export.offsets, inv.lacks) if timed else export.offsets
    offsets = exporting.representable(form, offsets, inv.lacks)
    done = bool(offsets) or (not export.offsets and export.groups > 0 and not scopes)
    if done:
        text = exporting.file_text(
            form, offsets, inv.missing, warning, with_group=groups is None or len(groups) > 1
        )
        if path is None:
            inv.out.shown(text)
            inv.out.flush()
        else:
            if not inv.dry_run:
                file.write_file(path, text)
            of = counted(len({saved.group for saved in offsets}), "group")
            verb = "would write" if inv.dry_run else "wrote"
            inv.talk.note(f"{verb} {counted(len(offsets), 'committed offset')} of {of} to {path}")
    elif groups is None and not export.groups:
        inv.talk.note(no_groups(None, partial=bool(export.missing)))
    return inv.finish(done=done)


def _report_missing(
    inv: Invocation, export: Export, names: Sequence[str] | None, scopes: Sequence[TopicPartitions]
) -> None:
    """Reports what could not be read, and names and partitions without committed offsets."""
    for part in export.missing:
        inv.lacks(part)
    for name in export.empty if names is not None and not scopes else ():
        inv.talk.warn(f"group {name} has no committed offsets")
    found = {*(saved.tp for saved in export.offsets), *export.unread}
    for scope in single_partitions(scopes) if export.groups else ():
        if not any(tp in scope for tp in found):
            inv.lacks(
                Missing.of(
                    NotFoundError(
                        f"there is no committed offset of {scope} in these groups",
                        why="none of them has committed there",
                        do="check --topic, or leave it out: then all offsets are exported",
                    )
                )
            )


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
