"""``kcli groups export``: what groups have committed, in a file that this and other tools read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kcli.commands._cluster import connect, open_admin, unique
from kcli.commands._command import command
from kcli.commands._context import Invocation, pass_invocation
from kcli.commands._params import GROUP
from kcli.commands.groups._topics_option import topics_option, within
from kcli.core.clock import wall_ms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcli.commands._params import TopicPartitions
    from kcli.core.admin.admin import Admin
    from kcli.flows.transfer.exporting import Export
    from kcli.flows.transfer.saved_offset import SavedOffset

FORMS = ("csv", "ndjson")


@command(
    "export",
    outputs=FORMS,
    examples=(
        ("kcli groups export billing --file billing.csv", "as Kafka's own script writes and reads it"),
        ("kcli groups export --all --format ndjson --file all.ndjson", "all groups, with all that is known"),
        ("kcli groups export billing --with-time", "with times, for an import into another cluster"),
        ("kcli groups export billing shipping -t orders:0,2-4", "some partitions of two groups, to stdout"),
    ),
)
@click.argument("names", nargs=-1, type=GROUP, metavar="[GROUP…]")
@click.option("--all", "every", is_flag=True, help="all groups")
@click.option("--format", "form", type=click.Choice(FORMS), help="csv is Kafka's  [default: csv]")
@click.option(
    "--file", "path", metavar="PATH", help="write this file, whole or not at all, instead of stdout"
)
@click.option("--with-time", "timed", is_flag=True, help="ndjson with the time of each first unread record")
@topics_option("only this topic, or some of its partitions")
@pass_invocation
def export_groups(
    inv: Invocation,
    names: tuple[str, ...],
    every: bool,
    form: str | None,
    path: str | None,
    timed: bool,
    scopes: tuple[TopicPartitions, ...],
) -> int:
    """Write what groups have committed.

    Works on running groups too; nothing is changed. csv is that of Kafka's script: topic,partition,offset for one
    GROUP, with the group in front for several and for --all. ndjson also has the cluster, topic ids, leader epochs and
    metadata, so that an import can tell whether it fits. What could not be read is reported: exit code 6.
    """
    names, form = unique(names), _form(inv, form, timed=timed)
    _check_names(names, every=every)
    with open_admin(inv) as admin:
        export = _exported(inv, admin, None if every else names, scopes, with_topic_ids=form == "ndjson")
        offsets = _timed(inv, admin, export.offsets) if timed else export.offsets
    found = bool(export.offsets) or (export.groups > 0 and not scopes)
    if found:
        several = every or len(names) > 1
        _write(inv, _text(form, offsets, with_group=several), path)
        if path is not None:
            _tell(inv, offsets, path)
    return inv.finish(done=found)


def _form(inv: Invocation, form: str | None, *, timed: bool) -> str:
    """``--format``, ``-o``, or what the other flags ask for."""
    from kcli.commands._exit import usage

    said = inv.out.kind
    if form is not None and said is not None and form != said:
        raise usage(
            f"groups export: --format {form} and -o {said} are two forms", why="a file has one", do="give one"
        )
    chosen = form or said or ("ndjson" if timed else "csv")
    if timed and chosen == "csv":
        raise usage(
            "groups export: csv has no column for times",
            why="its columns are those of Kafka's script",
            do="--with-time --format ndjson",
        )
    return chosen


def _check_names(names: Sequence[str], *, every: bool) -> None:
    from kcli.commands._exit import usage

    if every == bool(names):
        raise usage(
            "groups export: which groups?",
            why="--all and names of groups were given" if every else "none was named",
            do="name them, or give --all; `kcli groups list` shows what there is",
        )


def _exported(
    inv: Invocation,
    admin: Admin,
    names: Sequence[str] | None,
    scopes: Sequence[TopicPartitions],
    *,
    with_topic_ids: bool,
) -> Export:
    """All that can be read; the rest is reported."""
    from kcli.core.errors import NotFoundError
    from kcli.flows.transfer.exporting import export_offsets

    export = export_offsets(
        admin, connect(inv, admin), names, within(scopes), at_ms=wall_ms(), with_topic_ids=with_topic_ids
    )
    for error in export.errors:
        inv.failed(error)
    for name in export.empty if names is not None and not scopes else ():
        inv.talk.warn(f"group {name} has committed nothing")
    for scope in scopes if export.groups else ():
        if not any(saved.where in scope for saved in export.offsets):
            inv.failed(NotFoundError(f"there is no committed offset of {scope} in these groups"))
    return export


def _timed(inv: Invocation, admin: Admin, offsets: Sequence[SavedOffset]) -> Sequence[SavedOffset]:
    """With times; a partition that cannot be read is reported, and its offset is written without."""
    from kcli.core.errors import KcliError
    from kcli.flows.transfer.exporting import with_times
    from kcli.flows.transfer.first_unread import first_unread

    if not offsets:
        return offsets
    found = first_unread(admin, {(saved.where, saved.offset) for saved in offsets})
    for told in found.values():
        if isinstance(told, KcliError):
            inv.failed(told)
    return with_times(offsets, found)


def _text(form: str, offsets: Sequence[SavedOffset], *, with_group: bool) -> str:
    if form == "csv":
        from kcli.flows.transfer.formats.kafka_csv import csv_lines

        return csv_lines(offsets, with_group=with_group)
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
