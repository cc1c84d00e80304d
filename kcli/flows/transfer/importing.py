"""What an import would commit: a new offset or a refusal for each partition, from a file and the state of the cluster.

Pure. ``aims`` returns the partitions of the groups in the file, ``times`` the times that have to be looked up for them,
``plan_import`` decides. Callers read the cluster and commit.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kcli.core.admin.committed import Committed
from kcli.core.cluster.offsets import NOT_FOUND, OffsetInfo
from kcli.core.errors import ConfigError, KcliError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.rewind.mark import keeping_mark, own_metadata
from kcli.flows.transfer.saved_offset import OffsetFile, SavedOffset

Moment = tuple[TopicPartition, int]
"""A partition and a time in ms since the epoch."""


@dataclass(frozen=True, slots=True)
class Wish:
    """The user's request.

    ``group`` replaces the group in the file; ``topics`` maps topic names in the file to names here; ``wanted`` selects
    partitions of the file, by their names there. ``by_time``: the first record that is not older than the first unread
    record was. ``clamp`` moves offsets outside of the log to its nearer end, ``force`` uses offsets of another cluster
    or topic unchanged.
    """

    group: str | None = None
    topics: Mapping[str, str] = field(default_factory=dict)
    wanted: Callable[[TopicPartition], bool] = lambda _where: True
    by_time: bool = False
    clamp: bool = False
    force: bool = False


@dataclass(frozen=True, slots=True)
class Aim:
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
class Here:
    """The state of the cluster. ``topic_ids`` are empty where brokers have none.

    ``logs`` has each partition of the aims, or its error: NotFoundError where it does not exist. ``committed`` are the
    groups' current commits, ``at_time`` the first records that are not older than the ``times``.
    """

    cluster: str
    topic_ids: Mapping[str, str]
    logs: Mapping[TopicPartition, Log | KcliError]
    committed: Mapping[str, Committed] = field(default_factory=dict)
    at_time: Mapping[Moment, OffsetInfo | KcliError] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImportItem:
    """One partition. ``new`` None: ``refusal`` says why nothing is to be committed."""

    group: str
    tp: TopicPartition
    committed: OffsetAndMetadata | None
    new: OffsetAndMetadata | None
    note: str = ""
    refusal: KcliError | None = None


class ImportRefusedError(KcliError):
    """An offset of the file does not fit the cluster, or cannot be found in it."""

    exit_code = 7


def aims(file: OffsetFile, wish: Wish) -> list[Aim]:
    """The aims of the file, sorted by group and partition.

    ConfigError where neither the file nor the user names a group, where ``group`` would merge several groups, where two
    partitions of the file would be mapped to one, for a mapped topic that is not in the file, and where nothing is
    left.
    """
    chosen = [saved for saved in file.offsets if wish.wanted(saved.tp)]
    _check_topics(chosen, wish.topics)
    group_of = _groups(chosen, wish.group)
    found: dict[tuple[str, TopicPartition, int], Aim] = {}
    for saved in chosen:
        tp = TopicPartition(wish.topics.get(saved.topic, saved.topic), saved.partition)
        aim = Aim(group_of(saved), tp, saved)
        broker = -1 if saved.broker is None else saved.broker
        other = found.setdefault((aim.group, tp, broker), aim)
        if other is not aim:
            raise ConfigError(
                f"{tp} of group {aim.group} would get two offsets",
                why=f"{other.saved.tp} and {saved.tp} are both to become it",
                do="correct --map-topic, or choose one of them with --topic",
            )
    return [found[key] for key in sorted(found)]


def times(chosen: Iterable[Aim]) -> set[Moment]:
    """The times that an import by time has to look up."""
    moments = ((aim.tp, _moment(aim.saved)) for aim in chosen)
    return {(tp, ms) for tp, ms in moments if ms is not None}


def plan_import(chosen: Sequence[Aim], here: Here, wish: Wish) -> list[ImportItem]:
    """What would be committed for each aim; a refused partition does not affect the others."""
    return [_item(aim, here, wish) for aim in chosen]


# --- which partitions ------------------------------------------------------------------------------------


def _check_topics(chosen: Sequence[SavedOffset], topics: Mapping[str, str]) -> None:
    if not chosen:
        raise ConfigError(
            "there is nothing to import",
            why="the file has no offsets of what --topic names",
            do="see the file",
        )
    there = {saved.topic for saved in chosen}
    missing = sorted(set(topics) - there)
    if missing:
        raise ConfigError(
            f"the file has no offsets of topic {missing[0]}, which is to be mapped",
            why=f"it has {', '.join(sorted(there)[:5])}",
            do="--map-topic NAME-IN-THE-FILE=NAME-HERE",
        )


def _groups(chosen: Sequence[SavedOffset], group: str | None) -> Callable[[SavedOffset], str]:
    """Maps an offset of the file to its target group."""
    named = {saved.group for saved in chosen}
    if group is None and None in named:
        raise ConfigError("the file does not name its group", do="give the group with --group")
    if group is not None and len(named) > 1:
        names = ", ".join(sorted(name or "none" for name in named)[:5])
        raise ConfigError(
            f"--group {group} would get the offsets of {len(named)} groups",
            why=f"the file has {names}",
            do="leave out --group, or part the file",
        )
    return lambda saved: group or saved.group or ""


# --- which offset ----------------------------------------------------------------------------------------


def _item(aim: Aim, here: Here, wish: Wish) -> ImportItem:
    before = here.committed.get(aim.group, {}).get(aim.tp)
    committed = before if isinstance(before, OffsetAndMetadata) else None
    try:
        offset, epoch, note = _place(aim, here, wish)
    except KcliError as error:
        why = error.why or error.what
        return ImportItem(aim.group, aim.tp, committed, None, f"refused: {why}", error)
    metadata = aim.saved.metadata
    if metadata is None:
        metadata = own_metadata(committed) if committed is not None else ""
    new = keeping_mark(OffsetAndMetadata(offset, metadata, epoch), committed)
    return ImportItem(aim.group, aim.tp, committed, new, note)


def _place(aim: Aim, here: Here, wish: Wish) -> tuple[int, int, str]:
    """Offset, leader epoch and note; raises ImportRefusedError, or the error of the partition."""
    log = here.logs[aim.tp]
    if isinstance(log, KcliError):
        raise log
    return _by_time(aim, here, log) if wish.by_time else _by_offset(aim, here, log, wish)


def _by_offset(aim: Aim, here: Here, log: Log, wish: Wish) -> tuple[int, int, str]:
    saved, notes = aim.saved, []
    reason = stranger(aim, here)
    if reason:
        if not wish.force:
            raise ImportRefusedError(
                f"{aim.tp}: the offset of the file is not one of this topic",
                why=reason,
                do="--by time finds the place by the time of its record (in a file of export --with-time); "
                "--force takes the offset as it is",
            )
        notes.append(f"forced: {reason}")
    start, end = log.start, log.end
    if start.offset <= saved.offset <= end.offset:
        known = here.topic_ids.get(aim.tp.topic) or None
        same = known is not None and known == saved.topic_id
        epoch = saved.leader_epoch if same and saved.leader_epoch is not None else -1
        return saved.offset, epoch, "; ".join(notes)
    edge, name = (start, "log start") if saved.offset < start.offset else (end, "log end")
    if not wish.clamp:
        raise ImportRefusedError(
            f"{aim.tp}: offset {saved.offset} is out of range",
            why=f"the log goes from {start.offset} to {end.offset}",
            do=f"--clamp takes the {name}",
        )
    return edge.offset, edge.leader_epoch, "; ".join([*notes, f"clamped to {name}"])


def stranger(aim: Aim, here: Here) -> str:
    """Why an offset of the file does not identify the same record here; empty if it does, or if that is not known.

    The topic id decides where both are known: it stays with the topic, even in a restored cluster with a new cluster
    id.
    """
    saved, topic = aim.saved, aim.tp.topic
    if topic != saved.topic:
        return f"it is an offset of topic {saved.topic}"
    now = here.topic_ids.get(topic)
    if saved.topic_id and now:
        if saved.topic_id == now:
            return ""
        if saved.cluster in (None, here.cluster):
            return f"topic {topic} was deleted and created anew since"
    if saved.cluster and here.cluster and saved.cluster != here.cluster:
        return f"the file is of cluster {saved.cluster}, this is {here.cluster}"
    return ""


def _by_time(aim: Aim, here: Here, log: Log) -> tuple[int, int, str]:
    saved, moment = aim.saved, _moment(aim.saved)
    if moment is None:
        if saved.drained:
            return log.end.offset, log.end.leader_epoch, "all was read; goes to end"
        raise ImportRefusedError(
            f"{aim.tp}: the file has no time for it",
            why="it is not known when the first unread record was written",
            do="export again with --with-time, or import --by offset",
        )
    told = here.at_time[aim.tp, moment]
    if isinstance(told, KcliError):
        raise told
    note = "all was read; goes to what came since" if saved.timestamp is None else ""
    if told.offset != NOT_FOUND:
        return told.offset, told.leader_epoch, note
    return log.end.offset, log.end.leader_epoch, "no record since; goes to end"


def _moment(saved: SavedOffset) -> int | None:
    """The time of the first unread record; where there was none, that of the export: later records are unread."""
    if saved.timestamp is not None:
        return saved.timestamp
    return saved.at_ms if saved.drained else None
