"""What ``kcli groups export`` does."""

from collections import Counter
from collections.abc import Sequence

from kcli.account.survey import Missing
from kcli.commands.groups._options import selected
from kcli.commands.shared.cluster import connect, no_groups, open_admin, warn_of_hidden
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.params import TopicPartitions
from kcli.core.admin.admin import Admin
from kcli.core.clock import wall_ms
from kcli.core.errors import KcliError, NotFoundError
from kcli.flows.transfer.exporting import Export, export_offsets, first_unread, with_times
from kcli.flows.transfer.file import write_file
from kcli.flows.transfer.formats.kafka_csv import csv_lines
from kcli.flows.transfer.formats.ndjson import ndjson_lines
from kcli.flows.transfer.formats.recognise import comments
from kcli.flows.transfer.formats.zookeeper_text import can_be_written, zookeeper_lines
from kcli.flows.transfer.saved_offset import SavedOffset
from kcli.output.progress import counted


def run(
    inv: Invocation,
    names: Sequence[str] | None,
    form: str,
    *,
    path: str | None,
    timed: bool,
    internal: bool,
    scopes: Sequence[TopicPartitions],
    zookeeper: str | None,
) -> int:
    """The exit status. ``names`` None: all groups; ``path`` None: stdout."""
    warning = ""
    if zookeeper is not None:
        from kcli.commands.groups._zookeeper_run import read_offsets  # needs an optional extra, kazoo

        export = read_offsets(inv, zookeeper, names, selected(scopes))
        _report_missing(inv, export, names, scopes)
        offsets: Sequence[SavedOffset] = export.offsets
    else:
        with open_admin(inv) as admin:
            cluster, with_ids = connect(inv, admin), form == "ndjson"
            export = export_offsets(
                admin,
                cluster,
                names,
                selected(scopes),
                at_ms=wall_ms(),
                with_topic_ids=with_ids,
                internal=internal,
            )
            _report_missing(inv, export, names, scopes)
            if names is None:
                warning = warn_of_hidden(inv, admin, "groups", unsure=export.unsure)
            offsets = _with_times(inv, admin, export.offsets) if timed else export.offsets
    offsets = _representable(inv, form, offsets)
    done = bool(offsets) or (not export.offsets and export.groups > 0 and not scopes)
    if done:
        text = _text(inv, form, offsets, warning, with_group=names is None or len(names) > 1)
        if path is None:
            inv.out.shown(text)
            inv.out.flush()
        else:
            if not inv.dry_run:
                write_file(path, text)
            groups = counted(len({saved.group for saved in offsets}), "group")
            verb = "would write" if inv.dry_run else "wrote"
            inv.talk.note(f"{verb} {counted(len(offsets), 'committed offset')} of {groups} to {path}")
    elif names is None and not export.groups:
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
    for scope in scopes if export.groups else ():
        if not any(saved.tp in scope for saved in export.offsets):
            inv.lacks(
                Missing.of(
                    NotFoundError(
                        f"there is no committed offset of {scope} in these groups",
                        why="none of them has committed there",
                        do="check --topic, or leave it out: then all offsets are exported",
                    )
                )
            )


def _representable(inv: Invocation, form: str, offsets: Sequence[SavedOffset]) -> Sequence[SavedOffset]:
    """The offsets that the format can represent; the others are reported."""
    if form == "zookeeper":
        why, do = "ZooKeeper has no node with that name", "--format csv"
        kept = [saved for saved in offsets if can_be_written(saved.group)]
    else:
        why = f"Kafka 0.7 counted partitions by broker, and {form} has no column for a broker"
        do = "--format zookeeper"
        kept = [saved for saved in offsets if saved.broker is None]
    left_out = Counter(saved.group for saved in offsets)
    left_out.subtract(Counter(saved.group for saved in kept))
    for group, count in left_out.items():
        if count:
            error = KcliError(f"{counted(count, 'offset')} of group {group} left out", why=why, do=do)
            inv.lacks(Missing.of(error))
    return kept


def _with_times(inv: Invocation, admin: Admin, offsets: Sequence[SavedOffset]) -> Sequence[SavedOffset]:
    """With times; a partition that cannot be read is reported, and its offset is written without a time."""
    if not offsets:
        return offsets
    found = first_unread(admin, {(saved.tp, saved.offset) for saved in offsets})
    for (tp, offset), unread in found.items():
        if isinstance(unread, KcliError):
            inv.lacks(Missing(f"the time of {tp}@{offset}", str(tp), unread))
    return with_times(offsets, found)


def _text(
    inv: Invocation, form: str, offsets: Sequence[SavedOffset], warning: str, *, with_group: bool
) -> str:
    """The content of the file, which begins with what is missing in it; ``warning``: why there may be more groups."""
    if form == "ndjson":
        return ndjson_lines(offsets, inv.missing, warning)
    lines = csv_lines(offsets, with_group=with_group) if form == "csv" else zookeeper_lines(offsets)
    return comments(inv.missing, warning) + lines
