"""The target of a rewind, and the offset it means for one partition. Pure.

``find`` decides for one partition from what was seen of it. Where no offset can be computed it raises a KcliError: that
partition is refused, the other partitions are set.
"""

from collections.abc import Mapping

from kcli.core.classes import NamedTuple, dataclass, field
from kcli.core.cluster.offsets import OffsetInfo, not_tiered
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.positions import OffsetSpec
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.groups.stored_offsets import forgotten
from kcli.flows.rewind.mark import keeping_mark, own_metadata

NO_RECORD = -1


@dataclass(frozen=True, slots=True)
class Target:
    """``kind``: ``earliest``, ``latest``, ``current``, ``offset`` (``value``), ``shift`` (``value`` from the commit),
    ``time`` (``value`` in ms since the epoch), ``special`` (``value`` of ``SPECIAL_WORDS``), ``given``.

    ``given`` uses ``offsets``, those of another group or of a file; with ``exact`` they are restored unchanged, with
    metadata and leader epochs and regardless of the log's bounds, None meaning no commit (an undo). ``topic_ids``: of the
    topics that ``offsets`` are of, in Kafka's text form, where the journal or the file has them. Without
    ``keeps_metadata`` the metadata of old commits goes: Kafka Streams has in it the stream time that it had reached.
    """

    kind: str
    value: int = 0
    offsets: Mapping[TopicPartition, OffsetAndMetadata | None] = field(default_factory=dict)
    exact: bool = False
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    keeps_metadata: bool = True

    @property
    def is_relative(self) -> bool:
        """Whether it needs a committed offset."""
        return self.kind in ("current", "shift")

    @property
    def listed(self) -> int | None:
        """What brokers are asked for: a time or a special offset."""
        return self.value if self.kind in ("time", "special") else None


@dataclass(frozen=True, slots=True)
class PartitionState:
    """What is known of one partition. ``at_time``: what brokers have found, for a time or a special offset;
    ``disorder``: what is to be said of records that follow it and are older.

    Of a share group (``shared``) ``committed`` is the start offset, and so many records after it are ``acknowledged``.
    """

    committed: OffsetAndMetadata | None
    start: OffsetInfo
    end: OffsetInfo
    at_time: OffsetInfo | None = None
    disorder: str = ""
    shared: bool = False
    acknowledged: int = 0


class NewCommit(NamedTuple):
    """``new`` None: the commit is deleted. ``forgotten``: acknowledged records that will be delivered again."""

    new: OffsetAndMetadata | None
    note: str
    forgotten: int = 0


class TargetError(KcliError):
    """The target of a partition cannot be computed."""

    exit_code = ExitCode.REFUSED


def target_of(spec: OffsetSpec) -> Target:
    """The target of ``--to``: here ``+N`` and ``-N`` count from the commit, not from the ends of the log."""
    if spec.kind == "from_start":
        return Target("shift", spec.value)
    if spec.kind == "from_end":
        return Target("shift", -spec.value)
    kinds = {"stored": "current", "timestamp": "time"}
    return Target(kinds.get(spec.kind, spec.kind), spec.value)


def check_topic(target: Target, tp: TopicPartition, topic_id: str) -> None:
    """TargetError if the given offset is one of another topic than that which has the name now."""
    then = target.topic_ids.get(tp.topic, "")
    if then and topic_id and then != topic_id:
        or_other = "" if target.exact else ", or the offsets are of another cluster"
        raise TargetError(
            f"{tp}: the offset is not one of this topic",
            why=f"topic {tp.topic} was deleted and recreated since{or_other}",
            do=f"leave it out with --exclude-topic {tp.topic}; --to earliest, or a time, sets offsets of the new topic",
        )


def find(target: Target, tp: TopicPartition, seen: PartitionState) -> NewCommit:
    """The new commit of one partition; TargetError when there is none. The old commit's metadata is kept, if the
    target says so.
    """
    if target.exact:
        return _forgetting(_exactly(target, tp, seen), seen)
    before = own_metadata(seen.committed) if seen.committed is not None else ""
    metadata = before if target.keeps_metadata else ""
    offset, epoch, note = _place(target, tp, seen)
    clamped = min(max(offset, seen.start.offset), max(seen.end.offset, _known(seen.at_time)))
    if clamped != offset:
        edge = seen.start if offset < clamped else seen.end
        offset, epoch = edge.offset, edge.leader_epoch
        note = _joined(note, f"clamped to log {'start' if edge is seen.start else 'end'}")
    if seen.committed is None:
        note = _joined(note, "no start offset before" if seen.shared else "no commit before")
    elif offset == seen.committed.offset and metadata == before:
        stays = NewCommit(seen.committed, note)
        return stays if target.kind == "current" else _forgetting(stays, seen, anyway=True)
    return _forgetting(NewCommit(OffsetAndMetadata(offset, metadata, epoch), note), seen)


def _forgetting(found: NewCommit, seen: PartitionState, *, anyway: bool = False) -> NewCommit:
    """With the records that a share group has acknowledged, and gets again once its start offset is set; ``anyway``:
    even to where it is.
    """
    old, new = seen.committed, found.new
    if old is None or new is None or (old.offset == new.offset and not anyway):
        return found
    count, note = forgotten(old.offset, new.offset, seen.end.offset, seen.acknowledged)
    return NewCommit(new, _joined(found.note, note) if note else found.note, count)


def _place(target: Target, tp: TopicPartition, seen: PartitionState) -> tuple[int, int, str]:
    """(offset, leader epoch, note), before clamping to the bounds of the log."""
    if target.kind == "earliest":
        return seen.start.offset, seen.start.leader_epoch, ""
    if target.kind == "latest":
        return seen.end.offset, seen.end.leader_epoch, ""
    if target.kind == "offset":
        return target.value, -1, ""
    if target.listed is not None:
        return _at_time(target, tp, seen)
    if target.kind == "given":
        given = target.offsets.get(tp)
        if given is None:
            raise TargetError(
                f"{tp}: no offset is given for it",
                why="the file or the other group does not have it",
                do="leave it out with --topic",
            )
        return given.offset, given.leader_epoch, ""
    if seen.committed is None:
        raise TargetError(
            f"{tp}: there is no {'start' if seen.shared else 'committed'} offset to count from",
            why="the group has not read in this partition"
            if seen.shared
            else "the group has not committed in this partition",
            do="give an offset or a time with --to",
        )
    return seen.committed.offset + (target.value if target.kind == "shift" else 0), -1, ""


def _at_time(target: Target, tp: TopicPartition, seen: PartitionState) -> tuple[int, int, str]:
    if seen.at_time is None:
        raise TargetError(
            f"{tp}: the offset at that time is not known",
            why="its leader did not return it",
            do="try again, or give an offset with --to",
        )
    if seen.at_time.offset != NO_RECORD:
        return seen.at_time.offset, seen.at_time.leader_epoch, seen.disorder
    if target.kind == "special":
        missing = not_tiered(tp, target.value)
        if missing is not None:
            raise missing
        return seen.end.offset, seen.end.leader_epoch, "no record"
    end = seen.end
    stays = seen.committed is not None and seen.committed.offset == end.offset
    return end.offset, end.leader_epoch, f"no record since; {'stays at end' if stays else 'goes to end'}"


def _exactly(target: Target, tp: TopicPartition, seen: PartitionState) -> NewCommit:
    if tp not in target.offsets:
        raise TargetError(
            f"{tp}: the journal does not have it",
            why="the rewind that is undone did not change this partition",
            do="leave it out with --topic",
        )
    before = target.offsets[tp]
    if before is None:
        what = "start offset" if seen.shared else "commit"
        return NewCommit(None, f"{what} deleted: there was none")
    note = ""
    if before.offset < seen.start.offset:
        note = "before log start"
    elif before.offset > seen.end.offset:
        note = "behind log end"
    return NewCommit(keeping_mark(before, seen.committed), note)


def _known(info: OffsetInfo | None) -> int:
    return info.offset if info is not None else NO_RECORD


def _joined(note: str, more: str) -> str:
    return f"{note}; {more}" if note else more
