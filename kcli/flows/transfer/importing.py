"""What an import would commit: a new offset or a refusal for each partition, from a file and the state of the cluster.

Pure. ``import_targets`` returns the partitions of the groups in the file, ``unread_times`` the times that have to be
looked up for them, ``plan_item`` decides. Callers read the cluster and commit.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from kcli.core.admin.committed import Committed
from kcli.core.classes import dataclass, field
from kcli.core.cluster.offsets import NOT_FOUND, OffsetInfo
from kcli.core.errors import ConfigError, KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.groups.stored_offsets import forgotten
from kcli.flows.rewind.mark import keeping_mark, own_metadata
from kcli.flows.rewind.plan import RewindItem, refused_item, with_records
from kcli.flows.rewind.planning import value_or_raise
from kcli.flows.transfer.saved_offset import SavedOffset

PartitionTime = tuple[TopicPartition, int]
"""A partition and a time in ms since the epoch."""


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """``group`` replaces the group in the file; ``topics`` maps topic names in the file to names here; ``wanted`` selects
    partitions of the file, by their names there. ``by_time``: the first record that is not older than the first unread
    record was. ``clamp`` moves offsets outside of the log to its nearer end, ``force`` uses offsets of another cluster
    or topic unchanged. ``in_range``: what can be done about an offset outside of the log; ``{}`` is its nearer end.
    """

    group: str | None = None
    topics: Mapping[str, str] = field(default_factory=dict)
    wanted: Callable[[TopicPartition], bool] = lambda _tp: True
    by_time: bool = False
    clamp: bool = False
    force: bool = False
    in_range: str = "--clamp uses the {}"


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """A partition of a group here, and its offset in the file."""

    group: str
    tp: TopicPartition
    saved: SavedOffset


@dataclass(frozen=True, slots=True)
class Log:
    """A partition as it is now: the first offset, and the offset of the next record."""

    start: OffsetInfo
    end: OffsetInfo


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The state of the cluster. ``topic_ids`` are empty where brokers have none.

    ``logs`` has each partition of the targets, or its error: NotFoundError where it does not exist. ``committed`` are the
    groups' current commits, ``at_time`` the first records that are not older than the ``times``. Of share groups it is
    known how many records are ``acknowledged`` after the start offsets, which are in ``committed``.
    """

    cluster: str
    topic_ids: Mapping[str, str]
    logs: Mapping[TopicPartition, Log | KcliError]
    committed: Mapping[str, Committed] = field(default_factory=dict)
    at_time: Mapping[PartitionTime, OffsetInfo | KcliError] = field(default_factory=dict)
    acknowledged: Mapping[str, Mapping[TopicPartition, int]] = field(default_factory=dict)


class ImportRefusedError(KcliError):
    """An offset of the file does not fit the cluster, or cannot be found in it."""

    exit_code = ExitCode.REFUSED


def import_targets(offsets: Iterable[SavedOffset], request: ImportRequest) -> list[ImportTarget]:
    """The partitions of the file that are imported, sorted by group and partition.

    ConfigError where neither the file nor the user names a group, where ``group`` would merge several groups, where two
    partitions of the file would be mapped to one, for a mapped topic that is not in the file, and where nothing is
    left.
    """
    chosen = [saved for saved in offsets if request.wanted(saved.tp)]
    _check_topics(chosen, request.topics)
    _check_groups(chosen, request.group)
    found: dict[tuple[str, TopicPartition, int], ImportTarget] = {}
    for saved in chosen:
        tp = TopicPartition(request.topics.get(saved.topic, saved.topic), saved.partition)
        target = ImportTarget((saved.group or "") if request.group is None else request.group, tp, saved)
        broker = -1 if saved.broker is None else saved.broker
        other = found.setdefault((target.group, tp, broker), target)
        if other is not target:
            raise ConfigError(
                f"{tp} of group {target.group} would get two offsets",
                why=f"{other.saved.tp} and {saved.tp} are both mapped to it",
                do="correct --map-topic, or choose one of them with --topic",
            )
    return [found[key] for key in sorted(found)]


def unread_times(targets: Iterable[ImportTarget]) -> set[PartitionTime]:
    """The times that an import by time has to look up."""
    times = ((target.tp, _unread_time(target.saved)) for target in targets)
    return {(tp, ms) for tp, ms in times if ms is not None}


# --- which partitions ------------------------------------------------------------------------------------


def _check_topics(chosen: Sequence[SavedOffset], topics: Mapping[str, str]) -> None:
    if not chosen:
        raise ConfigError(
            "there is nothing to import",
            why="the file has no offsets of what --topic names",
            do="see the file",
        )
    present = {saved.topic for saved in chosen}
    missing = sorted(set(topics) - present)
    if missing:
        raise ConfigError(
            f"the file has no offsets of topic {missing[0]}, which is to be mapped",
            why=f"it has {', '.join(sorted(present)[:5])}",
            do="--map-topic NAME-IN-THE-FILE=NAME-HERE",
        )


def _check_groups(chosen: Sequence[SavedOffset], group: str | None) -> None:
    named = {saved.group for saved in chosen}
    if group is None and None in named:
        raise ConfigError(
            "the file does not name its group",
            why="its lines are topic,partition,offset",
            do="give the group with --group",
        )
    if group is not None and len(named) > 1:
        names = ", ".join(sorted("none" if name is None else name or "''" for name in named)[:5])
        raise ConfigError(
            f"{f'--group {group}' if group else '--empty-group'} would get the offsets of {len(named)} groups",
            why=f"the file has {names}",
            do=f"leave out --{'group' if group else 'empty-group'}, or split the file",
        )


# --- which offset ----------------------------------------------------------------------------------------


def plan_item(target: ImportTarget, state: ClusterState, request: ImportRequest) -> RewindItem:
    """What would be committed for a partition, or why it is refused."""
    before = state.committed.get(target.group, {}).get(target.tp)
    committed = before if isinstance(before, OffsetAndMetadata) else None
    log = state.logs[target.tp]
    try:
        if isinstance(before, KcliError):
            raise before
        if isinstance(log, KcliError):
            raise log
        find = _by_time if request.by_time else _by_offset
        offset, epoch, note = find(target, state, log, request)
    except KcliError as error:
        return refused_item(target.tp, error, committed)
    metadata = target.saved.metadata
    if metadata is None:
        metadata = own_metadata(committed) if committed is not None else ""
    new, count = keeping_mark(OffsetAndMetadata(offset, metadata, epoch), committed), 0
    if target.group in state.acknowledged:
        new = OffsetAndMetadata(offset, "", epoch)  # brokers keep no metadata with start offsets
        done = state.acknowledged[target.group].get(target.tp, 0)
        if committed is not None and committed.offset != offset:
            count, more = forgotten(committed.offset, offset, log.end.offset, done)
            note = "; ".join(filter(None, (note, more)))
    item = RewindItem(target.tp, committed, new, note, forgotten=count)
    return with_records(item, log.start.offset, log.end.offset)


def _by_offset(
    target: ImportTarget, state: ClusterState, log: Log, request: ImportRequest
) -> tuple[int, int, str]:
    """Offset, leader epoch and note."""
    saved, notes = target.saved, []
    reason = mismatch(saved, target.tp.topic, state.cluster, state.topic_ids.get(target.tp.topic))
    if reason:
        if not request.force:
            raise ImportRefusedError(
                f"{target.tp}: the offset of the file is not one of this topic",
                why=reason,
                do="--by time finds the offset by the time of its record (in a file of export --with-time); "
                "--force uses the offset unchanged",
            )
        notes.append(f"forced: {reason}")
    start, end = log.start, log.end
    if start.offset <= saved.offset <= end.offset:
        known = state.topic_ids.get(target.tp.topic) or None
        same = known is not None and known == saved.topic_id
        epoch = saved.leader_epoch if same and saved.leader_epoch is not None else -1
        return saved.offset, epoch, "; ".join(notes)
    edge, name = (start, "log start") if saved.offset < start.offset else (end, "log end")
    if not request.clamp:
        raise ImportRefusedError(
            f"{target.tp}: offset {saved.offset} is out of range",
            why=f"the log goes from {start.offset} to {end.offset}",
            do=request.in_range.format(name),
        )
    return edge.offset, edge.leader_epoch, "; ".join([*notes, f"clamped to {name}"])


def mismatch(saved: SavedOffset, topic: str, cluster: str, topic_id: str | None = None) -> str:
    """Why an offset of the file does not identify the same record here; empty if it does, or if that is not known.

    The topic id decides where both are known: a topic keeps it even in a restored cluster with a new cluster id.
    """
    if topic != saved.topic:
        return f"it is an offset of topic {saved.topic}"
    if saved.topic_id and topic_id:
        if saved.topic_id == topic_id:
            return ""
        if saved.cluster in (None, cluster):
            return f"topic {topic} was deleted and recreated since"
    if saved.cluster and cluster and saved.cluster != cluster:
        return f"the file is of cluster {saved.cluster}, this is {cluster}"
    return ""


def _by_time(
    target: ImportTarget, state: ClusterState, log: Log, _request: ImportRequest
) -> tuple[int, int, str]:
    """Offset, leader epoch and note."""
    saved, time = target.saved, _unread_time(target.saved)
    if time is None:
        if saved.drained:
            return log.end.offset, log.end.leader_epoch, "no unread records; goes to end"
        raise ImportRefusedError(
            f"{target.tp}: the file has no time for it",
            why="it is not known when the first unread record was written",
            do="export again with --with-time, or import --by offset",
        )
    found = value_or_raise(state.at_time[target.tp, time])
    note = "no unread records; goes to the first since" if saved.timestamp is None else ""
    if found.offset != NOT_FOUND:
        return found.offset, found.leader_epoch, note
    return log.end.offset, log.end.leader_epoch, "no record since; goes to end"


def _unread_time(saved: SavedOffset) -> int | None:
    """The time of the first unread record; where there was none, that of the export: later records are unread."""
    if saved.timestamp is not None:
        return saved.timestamp
    return saved.at_ms if saved.drained else None
