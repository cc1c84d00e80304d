"""The offsets of groups, committed ones and start offsets of share groups, read for a file: all that can be read, and an
error for everything that cannot.

With the first unread record of each partition, by one small read, all at once. It is the record that a read_committed
reader would get first: records of aborted transactions, markers and compacted offsets are skipped. A partition with an
open transaction is not drained: the first record of the transaction counts.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

from kcli.account.survey import Missing
from kcli.core.admin.admin import Admin
from kcli.core.admin.groups import GroupListing
from kcli.core.admin.topics import TopicInfo
from kcli.core.classes import dataclass, replace
from kcli.core.errors import KcliError
from kcli.core.names import is_own_group, unknown_group
from kcli.core.types import GroupPartition, OffsetAndMetadata, TopicPartition
from kcli.flows.groups.description import SHARE
from kcli.flows.groups.first_records import PartitionOffset, first_unread_records
from kcli.flows.groups.nearest import nearest_text
from kcli.flows.groups.offsets import log_ends
from kcli.flows.groups.stored_offsets import read_offsets
from kcli.flows.rewind.mark import own_metadata
from kcli.flows.transfer.formats.kafka_csv import csv_lines
from kcli.flows.transfer.formats.ndjson import ndjson_lines
from kcli.flows.transfer.formats.recognise import comments
from kcli.flows.transfer.formats.zookeeper_text import can_be_written, zookeeper_lines
from kcli.flows.transfer.saved_offset import SavedOffset
from kcli.output.progress import counted


@dataclass(frozen=True, slots=True)
class Unread:
    """``timestamp`` in ms, None where there is no record, or one of a format without timestamps.

    ``drained``: there is no record to read now, also where the offset is beyond the end of the log.
    """

    timestamp: int | None
    drained: bool


DRAINED = Unread(None, drained=True)


def first_unread(
    admin: Admin, offsets: Collection[PartitionOffset]
) -> dict[PartitionOffset, Unread | KcliError]:
    """The first record from each offset on, or why it is not known."""
    found: dict[PartitionOffset, Unread | KcliError] = {}
    logs = log_ends(admin, {tp for tp, _offset in offsets}, stable=True)
    begins: dict[PartitionOffset, PartitionOffset] = {}
    for tp, offset in offsets:
        log = logs[tp]
        if log.start is None or log.end is None:
            found[tp, offset] = KcliError(f"the records of {tp} cannot be read", why=log.note or "")
        elif max(offset, log.start) >= log.end:
            found[tp, offset] = DRAINED
        else:
            begins[tp, offset] = (tp, max(offset, log.start))
    records = first_unread_records(admin, set(begins.values()), logs)
    for asked, begin in begins.items():
        record = records[begin]
        if record is None:
            found[asked] = DRAINED
        elif isinstance(record, KcliError):
            found[asked] = record
        else:
            found[asked] = Unread(record.timestamp if record.timestamp >= 0 else None, drained=False)
    return found


@dataclass(frozen=True, slots=True)
class Export:
    """``offsets`` by group, topic, partition. ``empty``: groups that exist but have no commits among those requested;
    ``missing``: what could not be read, ``unread`` the partitions of which it is a commit; ``groups`` counts those whose
    commits could be. ``unsure``: it is not known that each group has a coordinator. ``left_out``: share groups.
    """

    offsets: tuple[SavedOffset, ...]
    groups: int
    empty: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    unsure: bool = False
    left_out: tuple[str, ...] = ()
    unread: frozenset[TopicPartition] = frozenset()


def export_offsets(
    admin: Admin,
    cluster: str,
    names: Sequence[str] | None,
    wanted: Callable[[TopicPartition], bool],
    *,
    at_ms: int,
    all_known: bool,
    internal: bool = False,
) -> Export:
    """The offsets of these groups (None: of all) for the partitions that are ``wanted``; groups may have members.

    Without names kcli's own groups are left out, unless ``internal``; and share groups, unless ``all_known`` fields are
    written: a file without types would make other groups of them. ``all_known`` includes topic ids. Each group's offsets
    come from one response of its coordinator; those of different groups are of different times. NotFoundError is among
    the errors for a group that does not exist. ``at_ms`` is now.
    """
    listing = admin.list_groups() if names is None else None
    types: dict[str, str] = {}
    left_out: list[str] = []
    if listing is not None:
        rows = [row for row in listing.groups if internal or not is_own_group(row.group_id)]
        types = {row.group_id: row.type for row in rows}
        left_out = [name for name, kind in types.items() if kind == SHARE and not all_known]
        names = [name for name in types if name not in left_out]
    shares = {name for name, kind in types.items() if kind == SHARE}
    committed = read_offsets(admin, dict.fromkeys(names or ()), shares)
    missing = [Missing.of(error) for error in listing.missing] if listing is not None else []
    empty = [name for name, commits in committed.items() if commits == {}]
    if empty and listing is None:
        listed = admin.list_groups()
        types = {row.group_id: row.type for row in listed.groups}
        shares = {name for name in empty if types.get(name) == SHARE}
        committed |= read_offsets(admin, dict.fromkeys(shares), shares)
        absent = _absent(empty, listed)
        missing += (Missing.of(error, f"group {name}") for name, error in absent.items())
        committed = {name: commits for name, commits in committed.items() if name not in absent}
    missing += [
        Missing.of(error, f"group {name}")
        for name, error in committed.items()
        if isinstance(error, KcliError)
    ]
    chosen = {
        name: {tp: commit for tp, commit in commits.items() if commit is not None and wanted(tp)}
        for name, commits in sorted(committed.items())
        if not isinstance(commits, KcliError)
    }
    unread = [
        (tp, Missing(f"the commit of {GroupPartition(name, tp)}", str(tp), error))
        for name, rows in chosen.items()
        for tp, error in rows.items()
        if isinstance(error, KcliError)
    ]
    missing += [part for _tp, part in unread]
    ids = _topic_ids(admin, chosen, missing) if all_known else {}
    return Export(
        tuple(
            SavedOffset(
                tp.topic,
                tp.partition,
                commit.offset,
                group=name,
                leader_epoch=commit.leader_epoch if commit.leader_epoch >= 0 else None,
                metadata=own_metadata(commit),
                cluster=cluster or None,
                topic_id=ids.get(tp.topic),
                at_ms=at_ms,
                group_type=types.get(name) or None,
            )
            for name, rows in chosen.items()
            for tp, commit in sorted(rows.items())
            if isinstance(commit, OffsetAndMetadata)
        ),
        len(chosen),
        tuple(name for name, rows in chosen.items() if not rows),
        tuple(missing),
        listing is not None and listing.unsure,
        tuple(left_out),
        frozenset(tp for tp, _part in unread),
    )


def with_times(
    admin: Admin, offsets: Sequence[SavedOffset], lacks: Callable[[Missing], object]
) -> tuple[SavedOffset, ...]:
    """With the time of the first unread record, where that is known; ``lacks`` gets each that cannot be read."""
    found = first_unread(admin, {(saved.tp, saved.offset) for saved in offsets}) if offsets else {}
    for (tp, offset), unread in found.items():
        if isinstance(unread, KcliError):
            lacks(Missing(f"the time of {tp}@{offset}", str(tp), unread))
    return tuple(
        replace(saved, timestamp=unread.timestamp, drained=unread.drained)
        if isinstance(unread := found[saved.tp, saved.offset], Unread)
        else saved
        for saved in offsets
    )


def representable(
    form: str, offsets: Sequence[SavedOffset], lacks: Callable[[Missing], object]
) -> tuple[SavedOffset, ...]:
    """The offsets that the format can represent; ``lacks`` gets those of each group that it cannot."""
    if form == "zookeeper":
        why, do = "ZooKeeper has no node with that name", "--format csv"
        kept = tuple(saved for saved in offsets if can_be_written(saved.group))
    else:
        why = f"Kafka 0.7 counted partitions by broker, and {form} has no column for a broker"
        do = "--format zookeeper"
        kept = tuple(saved for saved in offsets if saved.broker is None)
    left_out = Counter(saved.group for saved in offsets)
    left_out.subtract(Counter(saved.group for saved in kept))
    for group, count in left_out.items():
        if count:
            lacks(
                Missing.of(KcliError(f"{counted(count, 'offset')} of group {group} left out", why=why, do=do))
            )
    return kept


def file_text(
    form: str,
    offsets: Sequence[SavedOffset],
    missing: Sequence[Mapping[str, object]],
    warning: str,
    *,
    with_group: bool,
) -> str:
    """The content of the file, which begins with what is missing in it; ``warning``: why there may be more groups."""
    if form == "ndjson":
        return ndjson_lines(offsets, missing, warning)
    lines = csv_lines(offsets, with_group=with_group) if form == "csv" else zookeeper_lines(offsets)
    return comments(missing, warning) + lines


def _absent(names: Sequence[str], listing: GroupListing) -> dict[str, KcliError]:
    """The groups without commits that do not exist."""
    types = {row.group_id: row.type for row in listing.groups}
    found: dict[str, KcliError] = {}
    for name in names:
        if name not in types and listing.is_partial:
            found[name] = listing.missing[0]
        elif name not in types:
            found[name] = unknown_group(name, nearest_text(name, types))
    return found


def _topic_ids(
    admin: Admin, chosen: Mapping[str, Mapping[TopicPartition, object]], missing: list[Missing]
) -> dict[str, str | None]:
    """By name. An id that cannot be read is an error, except from brokers without topic ids."""
    topics = sorted({tp.topic for rows in chosen.values() for tp in rows})
    described = admin.describe_topics(topics) if topics else {}
    missing += [
        Missing.of(error, f"the id of topic {name}")
        for name, error in described.items()
        if isinstance(error, KcliError)
    ]
    return {name: info.topic_id or None for name, info in described.items() if isinstance(info, TopicInfo)}
