"""Positions of groups: their committed offsets, then the start and end of the logs, for many groups at once.

Commits are read before ends: a log only grows, so a commit made meanwhile never makes a lag negative. A topic or
partition that has vanished or has no leader gets a note and does not affect the others. Where a replica that could lead
is alive, an election may be in progress and is awaited briefly; where none is, metadata is conclusive.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from kcli.account.survey import Missing
from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple
from kcli.core.cluster.metadata import (
    ELECTION_PATIENCE,
    PartitionView,
    may_be_elected,
    no_leader,
    no_partition,
)
from kcli.core.cluster.offsets import EARLIEST, LATEST, Listed, OffsetInfo
from kcli.core.errors import KcliError, NoLeaderError, NotFoundError, PartlyFailedError
from kcli.core.types import GroupPartition, OffsetAndMetadata, TopicPartition

if TYPE_CHECKING:
    from kcli.core.admin.committed import Committed
    from kcli.core.admin.share_offsets import ShareOffsets
    from kcli.core.admin.topics import TopicInfo


NO_TOPIC = "topic does not exist"
NO_PARTITION = "partition does not exist"
NO_LEADER = "no leader"
NO_START = "no start offset yet"
NO_LAG = "the broker does not report the lag of share groups"


class LogEnds(NamedTuple):
    """First offset and high watermark of a log; None where they are not known, with the reason in ``note``.

    ``stable`` is the last stable offset, if requested: up to which read_committed readers can read (KIP-98). ``error``
    is what the note is about.
    """

    start: int | None = None
    end: int | None = None
    stable: int | None = None
    note: str | None = None
    error: KcliError | None = None

    @property
    def stable_below_end(self) -> int | None:
        """The last stable offset, where an open transaction keeps it below the end."""
        below = self.stable is not None and self.end is not None and self.stable < self.end
        return self.stable if below else None


_NO_SUBSCRIPTIONS: Mapping[str, Collection[str] | None] = MappingProxyType({})
NOTHING = LogEnds()
"""Not requested yet."""


class Position(NamedTuple):
    """A group's position in a partition. ``committed`` None: there is no commit, or ``note`` says why it is unknown.

    ``unread`` is why the commit could not be read, ``error`` why the log's offsets could not. Of a share group
    (``shared``) ``committed`` is the start offset, and ``reported`` the lag that its coordinator reports.
    """

    committed: OffsetAndMetadata | None = None
    log_start: int | None = None
    end: int | None = None
    note: str | None = None
    unread: KcliError | None = None
    error: KcliError | None = None
    shared: bool = False
    reported: int | None = None

    @property
    def lag(self) -> int | None:
        """Offsets from the commit to the end; negative where the commit is beyond it, as in Kafka's script."""
        if self.shared:
            return self.reported
        return None if self.committed is None or self.end is None else self.end - self.committed.offset


Positions = dict[TopicPartition, Position]
Topics = Mapping[str, "TopicInfo | KcliError"]
"""By name; or why one cannot be described."""


def positions(
    admin: Admin,
    groups: Mapping[str, Collection[TopicPartition]],
    shares: Collection[str] = (),
    subscribed: Mapping[str, Collection[str] | None] = _NO_SUBSCRIPTIONS,
) -> dict[str, Positions | KcliError]:
    """For each group all partitions with commits and those in ``groups``, sorted; or why its commits cannot be read.

    ``shares``: those of them that are share groups, which have start offsets in the place of commits. ``subscribed``:
    groups of which the other partitions of their topics are wanted, too; see ``uncommitted``.
    """
    others = dict.fromkeys(group for group in groups if group not in shares)
    starts = admin.share_offsets(shares) if shares else {}
    commits: dict[str, Committed | KcliError] = {
        **(admin.fetch_offsets(others) if others else {}),
        **{group: start_offsets(found) for group, found in starts.items()},
    }
    lags = {group: reported_lags(found) for group, found in starts.items()}
    read = {
        group: {*committed, *groups[group]}
        for group, committed in commits.items()
        if not isinstance(committed, KcliError)
    }
    names = {tp.topic for of_group in read.values() for tp in of_group}
    names.update(*(topics for topics in subscribed.values() if topics is not None))
    heard_of = {tp for of_group in read.values() for tp in of_group}
    topics = admin.describe_topics(sorted(names), heard_of, similar=False) if names else {}
    partitions = {
        group: sorted(
            of_group.union(
                uncommitted(topics, of_group, subscribed[group])
                if group in subscribed and group not in lags
                else ()
            )
        )
        for group, of_group in read.items()
    }
    logs = log_ends(admin, {tp for of_group in partitions.values() for tp in of_group}, topics=topics)
    return {
        group: committed
        if isinstance(committed, KcliError)
        else {
            tp: _share_position(committed.get(tp), logs[tp], lags[group].get(tp))
            if group in lags
            else _position(committed.get(tp), logs[tp])
            for tp in partitions[group]
        }
        for group, committed in commits.items()
    }


def uncommitted(
    topics: Topics, committed: Collection[TopicPartition], subscribed: Collection[str] | None
) -> list[TopicPartition]:
    """The partitions of a group's topics that are not among those it has committed in, or reads. Its topics are those
    that its members subscribe to; of a group without members (None) those it has committed in. Pure.
    """
    names = {tp.topic for tp in committed} if subscribed is None else subscribed
    found: list[TopicPartition] = []
    for name in names:
        topic = topics.get(name)
        if topic is not None and not isinstance(topic, KcliError):
            found += [
                tp
                for part in topic.partitions
                if (tp := TopicPartition(name, part.partition)) not in committed
            ]
    return found


def start_offsets(found: ShareOffsets | KcliError) -> Committed | KcliError:
    """Those of a share group, in the place of commits; None where there is none yet."""
    if isinstance(found, KcliError):
        return found
    return {
        tp: one
        if isinstance(one, KcliError)
        else None
        if one.start is None
        else OffsetAndMetadata(one.start, "", one.leader_epoch)
        for tp, one in found.items()
    }


def reported_lags(found: ShareOffsets | KcliError) -> dict[TopicPartition, int]:
    """The lags of a share group, where its coordinator reports them."""
    if isinstance(found, KcliError):
        return {}
    return {
        tp: one.lag for tp, one in found.items() if not isinstance(one, KcliError) and one.lag is not None
    }


def log_ends(
    admin: Admin,
    partitions: Collection[TopicPartition],
    *,
    stable: bool = False,
    topics: Topics | None = None,
) -> dict[TopicPartition, LogEnds]:
    """The start and end of each log. A partition without a leader delays the others by at most ELECTION_PATIENCE.

    ``topics``: those of the partitions at least, where they were described before.
    """
    found = _readable(partitions, _topics_of(admin, partitions) if topics is None else topics)
    readable = [tp for tp, reason in found.items() if reason is NOTHING]
    # Together: a leader answers in this order, so that no end is older than its start.
    begun = [begin_list_offsets(admin, readable, EARLIEST), begin_list_offsets(admin, readable, LATEST)]
    if stable and readable:
        begun.append(admin.begin_list_offsets(dict.fromkeys(readable, LATEST), committed_only=True))
    starts, ends, *rest = [finish() for finish in begun]
    last = rest[0] if rest else {}
    if older := [tp for tp in readable if _is_older(ends[tp], starts[tp])]:
        ends |= list_offsets(admin, older, LATEST)
    for tp, start in starts.items():
        end = ends.get(tp)
        if isinstance(start, KcliError):
            found[tp] = LogEnds(note=_why(start), error=start)
        elif isinstance(end, OffsetInfo):
            at = last.get(tp)
            last_stable = min(at.offset, end.offset) if isinstance(at, OffsetInfo) else None
            found[tp] = LogEnds(start.offset, end.offset, last_stable)
        else:
            found[tp] = LogEnds(start.offset, note=None if end is None else _why(end), error=end)
    return found


def offsets_at(
    admin: Admin, partitions: Collection[TopicPartition], time: int
) -> dict[TopicPartition, OffsetInfo | KcliError]:
    """The offset by time (ms, or a special value) in each partition; waits for a leader as ``log_ends`` does."""
    found = _readable(partitions, _topics_of(admin, partitions))
    offsets = list_offsets(admin, [tp for tp, reason in found.items() if reason is NOTHING], time)
    return {tp: offsets.get(tp) or reason.error or no_leader(tp) for tp, reason in found.items()}


def _topics_of(admin: Admin, partitions: Collection[TopicPartition]) -> Topics:
    names = sorted({tp.topic for tp in partitions})
    return admin.describe_topics(names, similar=False) if names else {}


def _readable(partitions: Collection[TopicPartition], topics: Topics) -> dict[TopicPartition, LogEnds]:
    """NOTHING for each partition that can be queried, else the reason why not; in order."""
    known = {
        TopicPartition(topic.name, part.partition): part
        for topic in topics.values()
        if not isinstance(topic, KcliError)
        for part in topic.partitions
    }
    return {tp: _unreadable(tp, topics[tp.topic], known.get(tp)) for tp in sorted(partitions)}


def list_offsets(admin: Admin, partitions: Collection[TopicPartition], time: int) -> Listed:
    """The offset by time in each partition; an election delays it by at most ELECTION_PATIENCE."""
    return begin_list_offsets(admin, partitions, time)()


def begin_list_offsets(
    admin: Admin, partitions: Collection[TopicPartition], time: int
) -> Callable[[], Listed]:
    """The same in two steps: what it returns waits for the responses."""
    wanted = dict.fromkeys(partitions, time)
    return admin.begin_list_offsets(wanted, leader_patience=ELECTION_PATIENCE) if wanted else dict


def _is_older(end: OffsetInfo | KcliError, start: OffsetInfo | KcliError) -> bool:
    """Whether the end was read before records were deleted that the start is behind: one of the two was asked again."""
    return isinstance(end, OffsetInfo) and isinstance(start, OffsetInfo) and end.offset < start.offset


def _unreadable(tp: TopicPartition, topic: TopicInfo | KcliError, part: PartitionView | None) -> LogEnds:
    """Why a partition cannot be queried; NOTHING if it can."""
    if isinstance(topic, KcliError):
        return LogEnds(note=_why(topic), error=topic)
    if part is None:
        if topic.error is not None:
            return LogEnds(note=_why(topic.error), error=topic.error)
        return LogEnds(note=NO_PARTITION, error=no_partition(tp, len(topic.partitions)))
    if part.leader < 0 and not may_be_elected(part):
        return LogEnds(note=NO_LEADER, error=no_leader(tp, part.offline, part.error))
    return NOTHING


def _why(error: KcliError) -> str:
    if isinstance(error, NoLeaderError):
        return NO_LEADER
    return NO_TOPIC if isinstance(error, NotFoundError) else str(error)


def _position(committed: OffsetAndMetadata | KcliError | None, log: LogEnds) -> Position:
    if isinstance(committed, KcliError):
        note = f"the commit is unknown: {committed}"
        return Position(None, log.start, log.end, note, unread=committed, error=log.error)
    return Position(committed, log.start, log.end, log.note, error=log.error)


def _share_position(start: OffsetAndMetadata | KcliError | None, log: LogEnds, lag: int | None) -> Position:
    found = _position(start, log)._replace(shared=True, reported=lag)
    if isinstance(start, KcliError):
        return found._replace(note=f"the start offset is unknown: {start}")
    if found.note is None and start is None:
        return found._replace(note=NO_START)
    return found._replace(note=NO_LAG) if found.note is None and lag is None else found


def missing_offsets(
    errors: Mapping[TopicPartition, KcliError | None], commits: Mapping[GroupPartition, object]
) -> list[Missing]:
    """What is missing of partitions that exist, by the errors of their logs; and of the commits that are errors."""
    lost = {
        tp: LogEnds(error=error)
        for tp, error in errors.items()
        if error is not None and not isinstance(error, NotFoundError)
    }
    return [
        *map(Missing.of, unknown_offsets(lost)),
        *(
            Missing(f"the commit of {at}", str(at.tp), error)
            for at, error in commits.items()
            if isinstance(error, KcliError)
        ),
    ]


def unknown_offsets(ends: Mapping[TopicPartition, LogEnds]) -> list[PartlyFailedError]:
    """An error for each topic and reason: ``offsets of orders-0,4 are unknown``."""
    missing: dict[tuple[str, str], list[int]] = {}
    errors: dict[tuple[str, str], KcliError] = {}
    for tp, log in ends.items():
        if log.error is not None:
            key = tp.topic, log.error.why or log.error.what
            missing.setdefault(key, []).append(tp.partition)
            errors.setdefault(key, log.error)
    return [
        _unknown(f"{key[0]}-{','.join(map(str, numbers))}", errors[key]) for key, numbers in missing.items()
    ]


def _unknown(place: str, first: KcliError) -> PartlyFailedError:
    error = PartlyFailedError(f"offsets of {place} are unknown", first)
    error.part, error.place = f"offsets of {place}", place
    return error
