"""Where groups stand: what they have committed, then where the logs start and end, for many groups at once.

Commits are read before ends: a log only grows, so what is committed meanwhile never makes a lag negative. A topic or
partition that has vanished or has no leader costs nobody else an answer: it has a note.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.types import OffsetAndMetadata, TopicPartition

if TYPE_CHECKING:
    from kcli.core.admin.admin import Admin
    from kcli.core.admin.topics import TopicInfo

NO_TOPIC = "topic does not exist"
NO_PARTITION = "partition does not exist"
NO_LEADER = "no leader"


class LogEnds(NamedTuple):
    """First offset and high watermark of a log; None with the reason in ``note`` where nobody can tell.

    ``stable`` is the last stable offset, where it was asked for: what read_committed readers reach (KIP-98).
    """

    start: int | None = None
    end: int | None = None
    stable: int | None = None
    note: str | None = None

    @property
    def held_at(self) -> int | None:
        """The last stable offset, where an open transaction keeps it from being the end."""
        held = self.stable is not None and self.end is not None and self.stable < self.end
        return self.stable if held else None


class Position(NamedTuple):
    """A group's place in a partition. ``committed`` None: nothing is, or ``note`` says why it is not known."""

    committed: OffsetAndMetadata | None = None
    log_start: int | None = None
    end: int | None = None
    note: str | None = None

    @property
    def lag(self) -> int | None:
        """Offsets from the commit to the end; negative where the commit is beyond it, as Kafka's script has it."""
        return None if self.committed is None or self.end is None else self.end - self.committed.offset


Positions = dict[TopicPartition, Position]


def positions(
    admin: "Admin", groups: Mapping[str, Collection[TopicPartition]]
) -> dict[str, Positions | KcliError]:
    """Of each group all partitions with commits, and those that ``groups`` names for it, by topic and partition.

    The error of a group is that its commits could not be read.
    """
    commits = admin.fetch_offsets(dict.fromkeys(groups)) if groups else {}
    places = {
        group: sorted({*told, *groups[group]})
        for group, told in commits.items()
        if not isinstance(told, KcliError)
    }
    logs = log_ends(admin, {where for wanted in places.values() for where in wanted})
    found: dict[str, Positions | KcliError] = {}
    for group, told in commits.items():
        if isinstance(told, KcliError):
            found[group] = told
        else:
            found[group] = {where: _position(told.get(where), logs[where]) for where in places[group]}
    return found


def log_ends(
    admin: "Admin", places: Collection[TopicPartition], *, stable: bool = False
) -> dict[TopicPartition, LogEnds]:
    """Where each log starts and ends. Only leaders that metadata names are asked: nobody waits for an election."""
    topics = admin.describe_topics(sorted({where.topic for where in places})) if places else {}
    leaders = _leaders(topics.values())
    found: dict[TopicPartition, LogEnds] = {}
    asked: list[TopicPartition] = []
    for where in sorted(places):
        why = _unreadable(topics[where.topic], leaders.get(where))
        found[where] = LogEnds(note=why)
        if why is None:
            asked.append(where)
    starts = admin.list_offsets(dict.fromkeys(asked, EARLIEST)) if asked else {}
    answering = [where for where, start in starts.items() if isinstance(start, OffsetInfo)]
    ends = admin.list_offsets(dict.fromkeys(answering, LATEST)) if answering else {}
    last = admin.list_offsets(dict.fromkeys(ends, LATEST), committed_only=True) if stable and ends else {}
    for where, start in starts.items():
        end = ends.get(where)
        if isinstance(start, KcliError):
            found[where] = LogEnds(note=_why(start))
        elif isinstance(end, OffsetInfo):
            told = last.get(where)
            reached = min(told.offset, end.offset) if isinstance(told, OffsetInfo) else None
            found[where] = LogEnds(start.offset, end.offset, reached)
        else:
            found[where] = LogEnds(start.offset, note=None if end is None else _why(end))
    return found


def _leaders(topics: Iterable["TopicInfo | KcliError"]) -> dict[TopicPartition, int]:
    """Node ids, −1 for a partition without a leader."""
    return {
        TopicPartition(topic.name, part.partition): part.leader
        for topic in topics
        if not isinstance(topic, KcliError)
        for part in topic.partitions
    }


def _unreadable(topic: "TopicInfo | KcliError", leader: int | None) -> str | None:
    """Why a partition cannot be asked about; None for one that can."""
    if isinstance(topic, KcliError):
        return _why(topic)
    if leader is None:
        return NO_PARTITION if topic.error is None else _why(topic.error)
    return NO_LEADER if leader < 0 else None


def _why(error: KcliError) -> str:
    return NO_TOPIC if isinstance(error, NotFoundError) else str(error)


def _position(committed: OffsetAndMetadata | KcliError | None, log: LogEnds) -> Position:
    if isinstance(committed, KcliError):
        return Position(None, log.start, log.end, f"the commit is unknown: {committed}")
    return Position(committed, log.start, log.end, log.note)
