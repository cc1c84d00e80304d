"""What log directories have of the partitions that are to be restored: each replica is read once, with its checksums, and
of each partition the one is chosen that is whole and has most.

A replica that is damaged is passed over for one that is whole where that has everything that can have been acknowledged:
it was in sync when the brokers ended, or reaches the high watermark that the other one has saved.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kcli.core.errors import DamagedFileError, KcliError
from kcli.core.logdir.folders import CURRENT, PartitionFolder
from kcli.core.logdir.partition_log import PartitionLog
from kcli.core.logdir.replicas import Replica, choose_replica
from kcli.core.records.segment import Tail
from kcli.core.types import TopicPartition


class Hole(NamedTuple):
    """Offsets from ``first`` up to, not including, ``stop`` that no segment has, though later ones do."""

    first: int
    stop: int


class Examined(NamedTuple):
    """A replica that was read from its start to its end. ``unreadable``: why it was not."""

    folder: PartitionFolder
    replica: Replica
    high_watermark: int = -1
    damages: Sequence[DamagedFileError] = ()
    holes: Sequence[Hole] = ()
    tail: Tail | None = None
    unreadable: KcliError | None = None

    @property
    def is_whole(self) -> bool:
        """Whether nothing of it is damaged, or missing in the middle."""
        return not (self.damages or self.holes or self.unreadable)


class Chosen(NamedTuple):
    """The replica that is read, and the others; ``instead``: the one that has more, and is damaged."""

    taken: Examined
    others: Sequence[Examined]
    instead: Examined | None = None


def examine(folder: PartitionFolder, progress: Callable[[int], object]) -> Examined:
    """Reads all of a replica. ``progress`` is called with the bytes that were read since the last call."""
    damages: list[DamagedFileError] = []
    holes: list[Hole] = []
    node = folder.log_dir.node_id if folder.log_dir else -1
    try:
        with PartitionLog(folder) as log:
            bases = [one.base_offset for one in log.files]
            at = log.start_offset
            while at < log.end_offset:
                at = _scanned(log, at, bases, holes, damages, progress)
            replica = Replica(node, log.last_epoch, log.end_offset, log.epochs(), log.start_offset)
            return Examined(folder, replica, log.high_watermark, damages, holes, log.tail)
    except KcliError as error:
        return Examined(folder, Replica(node, -1, -1), unreadable=error)


def _scanned(
    log: PartitionLog,
    at: int,
    bases: Sequence[int],
    holes: list[Hole],
    damages: list[DamagedFileError],
    progress: Callable[[int], object],
) -> int:
    """Reads on from the offset ``at``, up to the first damage, which is added; returns where to read on."""
    last: str | None = None
    try:
        for segment, found in log.scan(at, log.end_offset, verify=True):
            if segment.path != last and segment.base_offset > at and segment.base_offset in bases and at >= bases[0]:
                holes.append(Hole(at, segment.base_offset))
            last, at = segment.path, found.next_offset
            progress(found.end)
    except DamagedFileError as error:
        damages.append(error)
        behind = [base for base in bases if base > max(at, error.offset)]
        then = error.next_offset if error.next_offset >= 0 else next(iter(behind), log.end_offset)
        return max(then, at + 1)
    return log.end_offset


def choose(replicas: Sequence[Examined], isr: Collection[int] = ()) -> Chosen:
    """Of the replicas of one partition. Pure."""
    able = [one for one in replicas if one.unreadable is None] or list(replicas)
    best = able[choose_replica([one.replica for one in able], isr).index]
    if not best.is_whole:
        enough = [
            one
            for one in able
            if one.is_whole
            and one.replica.last_epoch == best.replica.last_epoch
            and one.replica.start_offset <= best.replica.start_offset
            and (one.replica.node_id in isr or one.replica.end_offset >= best.high_watermark)
        ]
        if enough:
            taken = enough[choose_replica([one.replica for one in enough]).index]
            return Chosen(taken, [one for one in replicas if one is not taken], best)
    return Chosen(best, [one for one in replicas if one is not best])


def partitions_of(folders: Iterable[PartitionFolder]) -> dict[TopicPartition, list[PartitionFolder]]:
    """The replicas of each partition: neither deleted, nor on the way to another disk."""
    found: dict[TopicPartition, list[PartitionFolder]] = {}
    for one in folders:
        if one.state == CURRENT:
            found.setdefault(one.tp, []).append(one)
    return found


def lines(chosen: Mapping[TopicPartition, Chosen], *, skips: bool) -> Iterator[tuple[TopicPartition, str]]:
    """What the plan says of single partitions. ``skips``: damaged batches are left out."""
    for tp, one in chosen.items():
        if one.instead is not None:
            damage = next(iter(one.instead.damages), None)
            where = f": {damage.what}" if damage is not None else ""
            yield tp, f"{tp}: read from {one.taken.folder.path}, since {one.instead.folder.path} is damaged{where}"
        taken = one.taken
        for damage in taken.damages:
            what = "left out" if skips else "the restore of the partition ends there"
            yield tp, f"{tp}: damaged: {_extent(damage)}, {what}: {damage.why}"
        for hole in taken.holes:
            yield tp, f"{tp}: offsets {hole.first} to {hole.stop - 1} are missing: no segment in {taken.folder.path} has them"
        for other in one.others:
            if other.replica.end_offset > taken.replica.end_offset and other is not one.instead:
                ends = f"{other.replica.end_offset}, and {taken.folder.path} at {taken.replica.end_offset}"
                yield tp, f"{tp}: {other.folder.path} ends at offset {ends}: what is beyond was not in sync"


def _extent(damage: DamagedFileError) -> str:
    if damage.offset < 0:
        return damage.what
    if damage.next_offset > damage.offset:
        return f"{damage.path} at byte {damage.position}, offsets {damage.offset} to {damage.next_offset - 1}"
    return f"{damage.path} at byte {damage.position}, from offset {damage.offset} on"
