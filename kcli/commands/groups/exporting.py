"""``kcli groups export``: what groups have committed, in a file that this and other tools read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kcli.commands.groups._topics_option import topics_option, within
from kcli.commands.groups._zookeeper_option import open_zookeeper, zookeeper_option
from kcli.commands.shared.cluster import connect, open_admin, unique
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.types import GROUP
from kcli.core.clock import wall_ms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcli.commands.shared.params import TopicPartitions
    from kcli.core.admin.admin import Admin
    from kcli.flows.transfer.exporting import Export
    from kcli.flows.transfer.saved_offset import SavedOffset

OUTPUTS = ("csv", "ndjson")
FORMS = (*OUTPUTS, "zookeeper")


@command(
    "export",
    outputs=OUTPUTS,
    examples=(
        ("kcli groups export billing --file billing.csv", "as Kafka's own script writes and reads it"),
        ("kcli groups export --all --format ndjson --file all.ndjson", "all groups, with all that is known"),
        ("kcli groups export billing --with-time", "with times, for an import into another cluster"),
        ("kcli groups export billing shipping -t orders:0,2-4", "some partitions of two groups, to stdout"),
        (
            "kcli groups export --zookeeper zk1:2181/kafka --all --format ndjson",
            "what old consumers keep in ZooKeeper",
        ),
    ),
)
@click.argument("names", nargs=-1, type=GROUP, metavar="[GROUP…]")
@click.option("--all", "every", is_flag=True, help="all groups")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    help="csv is Kafka's, zookeeper the lines of its old ExportZkOffsets  [default: csv]",
)
@click.option(
    "--file", "path", metavar="PATH", help="write this file, whole or not at all, instead of stdout"
)
@click.option(
    "--with-time", "timed", is_flag=True, help="with ndjson: add the time of each first unread record"
)
@topics_option("only this topic, or some of its partitions")
@zookeeper_option("read the offsets from ZooKeeper, where old consumers keep them; no broker is asked")
@pass_invocation
def export_groups(
    inv: Invocation,
    names: tuple[str, ...],
    every: bool,
    form: str | None,
    path: str | None,
    timed: bool,
    scopes: tuple[TopicPartitions, ...],
    zookeeper: str | None,
) -> int:
    """Write what groups have committed.

    Works on running groups too; nothing is changed. csv is that of Kafka's script: topic,partition,offset for one
    GROUP, with the group in front for several and for --all. ndjson also has the cluster, topic ids, leader epochs and
    metadata, so that an import can tell whether it fits. What could not be read is reported: exit code 6.
    """
    names, form = unique(names), _form(inv, form, timed=timed, zookeeper=zookeeper is not None)
    _check_names(names, every=every)
    chosen = None if every else names
    if zookeeper is not None:
        export = _read_zookeeper(inv, zookeeper, chosen, scopes)
        _tell_missing(inv, export, chosen, scopes)
        offsets: Sequence[SavedOffset] = export.offsets
    else:
        with open_admin(inv) as admin:
            export = _read(inv, admin, chosen, scopes, with_topic_ids=form == "ndjson")
            _tell_missing(inv, export, chosen, scopes)
            offsets = _timed(inv, admin, export.offsets) if timed else export.offsets
    offsets = _fitting(inv, form, offsets)
    found = bool(offsets) or (not export.offsets and export.groups > 0 and not scopes)
    if found:
        several = every or len(names) > 1
        _write(inv, _text(form, offsets, with_group=several), path)
        if path is not None:
            _tell(inv, offsets, path)
    return inv.finish(done=found)


def _form(inv: Invocation, form: str | None, *, timed: bool, zookeeper: bool) -> str:
    """``--format``, ``-o``, or what the other flags ask for."""
    from kcli.commands.shared.usage import usage

    said = inv.out.kind
    if form is not None and said is not None and form != said:
        raise usage(
            f"groups export: --format {form} and -o {said} are two forms", why="a file has one", do="give one"
        )
    chosen = form or said or ("ndjson" if timed else "csv")
    if timed and chosen != "ndjson":
        raise usage(
            f"groups export: {chosen} has no column for times",
            why="its columns are those of Kafka's tools",
            do="--with-time --format ndjson",
        )
    if timed and zookeeper:
        raise usage(
            "groups export: --with-time and --zookeeper cannot be used together",
            why="ZooKeeper has no records, which the times are read from",
            do="import the offsets into Kafka, and export them there",
        )
    return chosen


def _check_names(names: Sequence[str], *, every: bool) -> None:
    from kcli.commands.shared.usage import usage

    if every == bool(names):
        raise usage(
            f"groups export: {'--all with names of groups' if every else 'missing argument GROUP'}",
            why="it means all groups, whatever they are called" if every else "it is required without --all",
            do="name groups, or give --all; `kcli groups list` lists the groups",
        )


def _read(
    inv: Invocation,
    admin: Admin,
    names: Sequence[str] | None,
    scopes: Sequence[TopicPartitions],
    *,
    with_topic_ids: bool,
) -> Export:
    """All that the brokers have of it."""
    from kcli.flows.transfer.exporting import export_offsets

    return export_offsets(
        admin, connect(inv, admin), names, within(scopes), at_ms=wall_ms(), with_topic_ids=with_topic_ids
    )


def _read_zookeeper(
    inv: Invocation, hosts: str, names: Sequence[str] | None, scopes: Sequence[TopicPartitions]
) -> Export:
    """All that ZooKeeper has of it."""
    from kcli.flows.transfer.zookeeper.reading import export_zookeeper

    with open_zookeeper(inv, hosts) as zookeeper:
        return export_zookeeper(zookeeper, names, within(scopes), at_ms=wall_ms())


def _tell_missing(
    inv: Invocation, export: Export, names: Sequence[str] | None, scopes: Sequence[TopicPartitions]
) -> None:
    """What could not be read, and what there is nothing of."""
    from kcli.core.errors import NotFoundError

    for error in export.errors:
        inv.failed(error)
    for name in export.empty if names is not None and not scopes else ():
        inv.talk.warn(f"group {name} has committed nothing")
    for scope in scopes if export.groups else ():
        if not any(saved.tp in scope for saved in export.offsets):
            inv.failed(NotFoundError(f"there is no committed offset of {scope} in these groups"))


def _fitting(inv: Invocation, form: str, offsets: Sequence[SavedOffset]) -> Sequence[SavedOffset]:
    """Those that the form can tell apart; the others are reported."""
    from collections import Counter

    from kcli.core.errors import KcliError
    from kcli.flows.transfer.formats.zookeeper_text import can_be_written
    from kcli.output.progress import counted

    def fits(saved: SavedOffset) -> bool:
        return can_be_written(saved.group) if form == "zookeeper" else saved.broker is None

    left = Counter(saved.group for saved in offsets if not fits(saved))
    for group, count in left.items():
        what = f"{counted(count, 'offset')} of group {group} left out"
        if form == "zookeeper":
            inv.failed(KcliError(what, why="no node of ZooKeeper can have that name", do="--format csv"))
        else:
            inv.failed(
                KcliError(
                    what,
                    why=f"Kafka 0.7 counted partitions by broker, and {form} has no place for a broker",
                    do="--format zookeeper",
                )
            )
    return [saved for saved in offsets if fits(saved)] if left else offsets


def _timed(inv: Invocation, admin: Admin, offsets: Sequence[SavedOffset]) -> Sequence[SavedOffset]:
    """With times; a partition that cannot be read is reported, and its offset is written without."""
    from kcli.core.errors import KcliError
    from kcli.flows.transfer.exporting import with_times
    from kcli.flows.transfer.first_unread import first_unread

    if not offsets:
        return offsets
    found = first_unread(admin, {(saved.tp, saved.offset) for saved in offsets})
    for told in found.values():
        if isinstance(told, KcliError):
            inv.failed(told)
    return with_times(offsets, found)


def _text(form: str, offsets: Sequence[SavedOffset], *, with_group: bool) -> str:
    if form == "csv":
        from kcli.flows.transfer.formats.kafka_csv import csv_lines

        return csv_lines(offsets, with_group=with_group)
    if form == "zookeeper":
        from kcli.flows.transfer.formats.zookeeper_text import zookeeper_lines

        return zookeeper_lines(offsets)
    from kcli.flows.transfer.formats.ndjson import ndjson_lines

    return ndjson_lines(offsets)


def _write(inv: Invocation, text: str, path: str | None) -> None:
    if path is not None:
        from kcli.flows.transfer.file import write_file

        if not inv.dry_run:
            write_file(path, text)
        return
    inv.out.shown(text)
    inv.out.flush()


def _tell(inv: Invocation, offsets: Sequence[SavedOffset], path: str) -> None:
    from kcli.output.progress import counted

    groups = counted(len({saved.group for saved in offsets}), "group")
    verb = "could write" if inv.dry_run else "wrote"
    inv.talk.note(f"{verb} {counted(len(offsets), 'committed offset')} of {groups} to {path}")
