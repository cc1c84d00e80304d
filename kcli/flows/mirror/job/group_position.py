"""How far a task of ``kcli pipeline mirror`` has copied one partition: a committed offset of a group on the target.

The group belongs to the job and the source cluster; the offset is that of the source and is committed for the partition
of the target, in the transaction of the records where there is one. Its metadata says which partition of the source it
belongs to, so that a recreated topic or another source is noticed, and what the present run has copied.
"""

from collections.abc import Callable, Collection, Iterable, Mapping

import msgspec

from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple
from kcli.core.clock import wall_ms
from kcli.core.errors import DataLossError, KcliError
from kcli.core.names import MIRRORS
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.mirror.copy.partition_copy import PartitionCopy
from kcli.flows.mirror.job.state import JobState
from kcli.flows.mirror.topics.preflight import ConflictError

_ENDED = ".ended"
AGAIN = (
    "`kcli pipeline verify --from HOST:PORT --to HOST:PORT -t TOPIC` compares both sides; to copy it all again, delete "
    "the topic on the target, which removes its positions too, and start again"
)


class Bookmark(msgspec.Struct, frozen=True, kw_only=True):
    """The metadata of a commit. Topic ids are empty where brokers have none; ``at`` is in ms since the epoch.

    ``run`` names the command that committed, and its slice; ``start``, ``records`` and ``bytes`` are what that run has
    copied of the partition. ``ended``: its task has ended. ``partitions``: how many the source topic had.
    """

    v: int = 1
    topic: str
    partition: int
    topic_id: str = ""
    target_topic_id: str = ""
    partitions: int = 0
    run: str = ""
    host: str = ""
    start: int = 0
    records: int = 0
    bytes: int = 0
    at: int = 0
    ended: bool = False

    @property
    def source(self) -> TopicPartition:
        """The partition that is copied."""
        return TopicPartition(self.topic, self.partition)

    @property
    def command(self) -> str:
        """The run without its slice."""
        return self.run.partition(".")[0]


class Position(NamedTuple):
    """``offset``: the next one of the source to be copied; ``leader_epoch``: of the record before it (−1: not known)."""

    offset: int
    leader_epoch: int
    bookmark: Bookmark


def group_name(job: str, source_cluster: str) -> str:
    """The group that has the positions of a job."""
    return f"{MIRRORS}{job}.{source_cluster}"


def ended_name(job: str, source_cluster: str) -> str:
    """The group that has the last positions of runs that ended in order while their positions did not say so."""
    return f"{group_name(job, source_cluster)}{_ENDED}"


def transactional_id(job: str, source_cluster: str, target: TopicPartition) -> str:
    """That of the task that writes one partition: a second task with it fences the first."""
    return f"{group_name(job, source_cluster)}.{target}"


def read_positions(
    admin: Admin, group: str, targets: Iterable[TopicPartition] | None = None, *, stable: bool = False
) -> dict[TopicPartition, Position]:
    """The positions by partition of the target; of all partitions without ``targets``. Those without one are left out.

    ``stable`` waits for transactions that are open. ConflictError for an offset that no mirror committed.
    """
    wanted = None if targets is None else list(targets)
    found = admin.fetch_offsets({group: wanted}, require_stable=stable)[group]
    if isinstance(found, KcliError):
        raise found
    positions: dict[TopicPartition, Position] = {}
    for tp, committed in found.items():
        if isinstance(committed, KcliError):
            raise committed
        if committed is not None:
            positions[tp] = _position(group, tp, committed)
    return positions


def _position(group: str, tp: TopicPartition, committed: OffsetAndMetadata) -> Position:
    try:
        bookmark = msgspec.json.decode(committed.metadata.encode(), type=Bookmark)
    except msgspec.DecodeError:
        raise ConflictError(
            f"group {group} has an offset for {tp} that is no position of a mirror",
            why="its metadata does not say which partition of the source it belongs to",
            do="give the mirror another --job NAME, or delete the group",
        ) from None
    return Position(committed.offset, committed.leader_epoch, bookmark)


def check_belongs(position: Position, source: TopicPartition, target: TopicPartition) -> None:
    """ConflictError where the position is that of another partition of the source."""
    bookmark = position.bookmark
    if bookmark.source != source:
        raise ConflictError(
            f"{target} of the target is a copy of {bookmark.source}, not of {source}",
            why="an earlier run of the job copied to it, and a position belongs to one source",
            do="copy to another topic (--map-topic), or give the mirror another --job NAME",
        )


def check_same_topics(position: Position, topic_id: str, target: TopicPartition, target_id: str) -> None:
    """DataLossError where either topic was deleted and created again. Empty ids are not known."""
    bookmark = position.bookmark
    source = bookmark.source
    if bookmark.topic_id and topic_id and bookmark.topic_id != topic_id:
        raise DataLossError(
            f"topic {source.topic} of the source was deleted and created again",
            why=f"{source} was copied up to offset {position.offset} of the old topic (id {bookmark.topic_id})",
            do=AGAIN,
        )
    if bookmark.target_topic_id and target_id and bookmark.target_topic_id != target_id:
        raise DataLossError(
            f"topic {target.topic} of the target was deleted and created again",
            why=f"{source} was copied to it up to offset {position.offset} while the mirror ran",
            do=AGAIN,
        )


class GroupPosition:
    """The Checkpoints of a copy of one partition. ``commit_offset`` stores an offset with its metadata: in the open
    transaction, or at once. ``bookmark`` is what the run has copied so far, ``position`` the one that is stored.
    ``follows``: the job has no end, so no position is marked as its last one.
    """

    def __init__(
        self,
        commit_offset: Callable[[OffsetAndMetadata], None],
        bookmark: Bookmark,
        position: int,
        *,
        follows: bool,
    ) -> None:
        self._commit_offset = commit_offset
        self._bookmark = bookmark
        self._follows = follows
        self._saved = self._committed = (position, bookmark.ended)

    def is_pending(self, copies: Iterable[PartitionCopy]) -> bool:
        """See Checkpoints."""
        return any(copy.position != self._saved[0] for copy in copies)

    def save(self, copies: Iterable[PartitionCopy], *, ended: bool = False) -> bool:
        """See Checkpoints."""
        for copy in copies:
            ends = (ended or copy.done) and not self._follows
            if (copy.position, ends) != self._saved:
                bookmark = msgspec.structs.replace(
                    self._bookmark,
                    records=self._bookmark.records + copy.records,
                    bytes=self._bookmark.bytes + copy.bytes,
                    at=wall_ms(),
                    ended=ends,
                )
                self._commit_offset(committed(copy.position, copy.leader_epoch, bookmark))
                self._saved = copy.position, ends
        return True

    @property
    def unconfirmed(self) -> int:
        """See Checkpoints; a commit is confirmed when it returns."""
        return 0

    def stored(self, count: int) -> None:
        """See Checkpoints."""

    def failed(self, error: KcliError) -> None:
        """See Checkpoints; nothing is written by the producer of the copy that could fail later."""
        raise error

    def commit(self) -> None:
        """See Checkpoints."""
        self._committed = self._saved

    def rollback(self) -> None:
        """See Checkpoints."""
        self._saved = self._committed


def committed(offset: int, leader_epoch: int, bookmark: Bookmark) -> OffsetAndMetadata:
    """The offset to be committed with its metadata."""
    return OffsetAndMetadata(offset, msgspec.json.encode(bookmark).decode(), leader_epoch)


def end_run(admin: Admin, job: str, source_cluster: str, run: str) -> None:
    """Records on the target that a run has ended in order, for the positions that do not say so.

    Otherwise the job would pass for a running one until they are old. It is a group of its own: a position is committed
    by the task that owns it, and another run may have taken over by now.
    """
    last = {
        tp: committed(
            position.offset,
            position.leader_epoch,
            msgspec.structs.replace(position.bookmark, at=wall_ms(), ended=True),
        )
        for tp, position in read_positions(admin, group_name(job, source_cluster)).items()
        if position.bookmark.command == run and not position.bookmark.ended
    }
    if last:
        group = ended_name(job, source_cluster)
        for error in admin.commit_offsets({group: last})[group].values():
            if error is not None:
                raise error


def group_jobs(admin: Admin, source_cluster: str) -> list[JobState]:
    """The jobs of ``kcli pipeline mirror`` that copy from ``source_cluster`` to the cluster of ``admin``."""
    ending = f".{source_cluster}"
    groups = {group.group_id for group in admin.list_groups().groups}
    jobs = []
    for name in sorted(groups):
        if source_cluster and name.startswith(MIRRORS) and name.endswith(ending):
            ends = read_positions(admin, name + _ENDED) if name + _ENDED in groups else {}
            ended = {(tp, position.bookmark.command) for tp, position in ends.items()}
            job = name[len(MIRRORS) : -len(ending)]
            jobs.append(_job(job, source_cluster, read_positions(admin, name), ended))
    return jobs


def _job(
    name: str,
    source_cluster: str,
    positions: Mapping[TopicPartition, Position],
    ended: Collection[tuple[TopicPartition, str]],
) -> JobState:
    running = [
        position.bookmark.at
        for tp, position in positions.items()
        if not position.bookmark.ended and (tp, position.bookmark.command) not in ended
    ]
    return JobState(
        job=name,
        run="",
        source=source_cluster,
        target="",
        source_servers="",
        delivery="",
        partitions="keep",
        topics={position.bookmark.topic: tp.topic for tp, position in positions.items()},
        started_ms=0,
        updated_ms=max(running, default=0),
        host="",
        ended=not running,
    )
