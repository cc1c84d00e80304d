"""What log directories have of the partitions that are to be restored: each replica is read once, with its checksums, and
of each partition the one is chosen that is whole and has most.

A replica that is damaged is passed over for one that is whole where that has everything that can have been acknowledged:
it was in sync when the brokers ended, or reaches the high watermark that the other one has saved.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from kcli.core.classes import NamedTuple
from kcli.core.errors import DamagedFileError, KcliError
from kcli.core.logdir.folders import PartitionFolder
from kcli.core.logdir.partition_log import OpenTransaction, PartitionLog
from kcli.core.logdir.replicas import Replica, choose_replica
from kcli.core.offline import group_state, transaction_state
from kcli.core.offline.directories import Directories
from kcli.core.offline.image import TOPIC as METADATA_LOG
from kcli.core.offline.metadata_log import NotHereError
from kcli.core.offline.states import transactions
from kcli.core.records.segment import Tail
from kcli.core.types import TopicPartition
from kcli.flows.mirror.topics.routes import is_internal, selects
from kcli.flows.segments.policies import policy_of, was_cleaned
from kcli.output.progress import counted


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
    open: Sequence[OpenTransaction] = ()
    unreadable: KcliError | None = None

    @property
    def is_whole(self) -> bool:
        """Whether nothing of it is damaged, or missing in the middle."""
        return not (self.damages or self.holes or self.unreadable)


class Chosen(NamedTuple):
    """The replica that is read, and the others; ``instead``: the one that has more, and is damaged. ``absent``: the
    brokers whose replicas were in sync, where none of them is there: what they acknowledged last may be missing.
    """

    taken: Examined
    others: Sequence[Examined]
    instead: Examined | None = None
    absent: Collection[int] = ()


def examine(folder: PartitionFolder, progress: Callable[[int], object], *, may_lack: bool) -> Examined:
    """Reads all of a replica. ``progress`` is called with the bytes that were read since the last call. ``may_lack``: the
    topic is compacted, which takes offsets away.
    """
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
            missing = () if may_lack else holes
            return Examined(
                folder, replica, log.high_watermark, damages, missing, log.tail, log.open_transactions()
            )
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
    path, position = log.folder.path, 0
    try:
        for segment, found in log.scan(at, log.end_offset, verify=True):
            if segment.path != path:
                if segment.base_offset > at >= bases[0]:
                    holes.append(Hole(at, segment.base_offset))
                path, position = segment.path, 0
            progress(found.end - position)
            at, position = found.next_offset, found.end
    except DamagedFileError as error:
        damages.append(error)
        behind = [base for base in bases if base > max(at, error.offset)]
        then = error.next_offset if error.next_offset >= 0 else next(iter(behind), log.end_offset)
        return max(then, at + 1)
    if at < log.end_offset:  # of the last batch only the checksum says that it is damaged
        damages.append(
            DamagedFileError(
                path, position, why="its checksum is wrong", offset=at, next_offset=log.end_offset
            )
        )
    return log.end_offset


def choose(replicas: Sequence[Examined], isr: Collection[int] = ()) -> Chosen:
    """Of the replicas of one partition. Pure."""
    able = [one for one in replicas if one.unreadable is None] or list(replicas)
    known = all(one.replica.node_id >= 0 for one in able)
    absent = sorted(isr) if known and not any(one.replica.node_id in isr for one in able) else ()
    best = able[choose_replica([one.replica for one in able], isr).number]
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
            taken = enough[choose_replica([one.replica for one in enough]).number]
            return Chosen(taken, [one for one in replicas if one is not taken], best, absent)
    return Chosen(best, [one for one in replicas if one is not best], absent=absent)


class OpenEnd(NamedTuple):
    """A transaction that was open in a partition when its log ended. ``transactional_id``: empty where it is not known;
    ``commits``: its coordinator had decided to commit it; None: no folder has what it had decided.
    """

    tp: TopicPartition
    producer_id: int
    first_offset: int
    transactional_id: str
    commits: bool | None


_NOTHING: Mapping[TopicPartition, KcliError] = {}
_NOBODY: Mapping[TopicPartition, Collection[int]] = {}


class Inventory(NamedTuple):
    """``chosen`` has the partitions that have a folder, of the topics that are selected. ``paths``: the folders that are
    read, with those of the brokers' own topics. ``open``: transactions without an end. ``has_image``: whether the
    metadata log is there, which has partitions and configurations of topics. ``instead``: which replicas of the brokers'
    own topics are read, as others are damaged; ``lost``: which partitions of them no folder has undamaged; ``behind``: of
    which no replica is there that was in sync, with the brokers that have one.
    """

    chosen: Mapping[TopicPartition, Chosen]
    paths: Sequence[str]
    open: Sequence[OpenEnd] = ()
    has_image: bool = True
    instead: Sequence[str] = ()
    lost: Mapping[TopicPartition, KcliError] = _NOTHING
    behind: Mapping[TopicPartition, Collection[int]] = _NOBODY


def take_inventory(
    directories: Directories,
    selectors: Sequence[str],
    excludes: Sequence[str],
    progress: Callable[[int], object],
) -> Inventory:
    """Reads all replicas of the topics that are selected, and of those of the brokers that a restore needs."""
    chosen: dict[TopicPartition, Chosen] = {}
    paths: list[str] = []
    own = _BrokersTopics(directories, progress)
    own.read()
    image = directories.known_image()
    for topic in directories.topics.values():
        if topic.name in _OF_BROKERS:
            paths += [folder.path for folders in topic.partitions.values() for folder in folders]
        elif is_internal(topic.name):
            continue
        elif selects(selectors, topic.name) and not selects(excludes, topic.name):
            for number, folders in sorted(topic.partitions.items()):
                tp = TopicPartition(topic.name, number)
                read = [
                    examine(
                        one,
                        progress,
                        may_lack=policy_of(topic.name, image, cleaned=was_cleaned(one)).compacted is True,
                    )
                    for one in folders
                ]
                chosen[tp] = choose(read, directories.in_sync(tp))
                paths.append(chosen[tp].taken.folder.path)
    ends = list(_open_ends(directories, chosen))
    return Inventory(chosen, paths, ends, image is not None, own.instead, own.lost, own.behind)


_METADATA = TopicPartition(METADATA_LOG, 0)
_OF_BROKERS = (METADATA_LOG, group_state.TOPIC, transaction_state.TOPIC)


class _BrokersTopics:
    """The brokers' own topics, as far as they are whole: the directories read one undamaged replica of each partition.

    One that is damaged in all folders counts as absent: its state could only be an older one, of which nobody could tell.
    """

    def __init__(self, directories: Directories, progress: Callable[[int], object]) -> None:
        self.instead: list[str] = []
        self.lost: dict[TopicPartition, KcliError] = {}
        self.behind: dict[TopicPartition, Collection[int]] = {}
        self._directories, self._progress = directories, progress

    def read(self) -> None:
        """Reads them; the metadata log first, which says who was in sync."""
        topics = self._directories.topics
        if METADATA_LOG in topics:
            self._read_metadata_log(topics[METADATA_LOG].partitions.get(0, ()))
        for name in _OF_BROKERS[1:]:
            topic = topics.get(name)
            for number, folders in sorted(topic.partitions.items()) if topic is not None else ():
                self._read(TopicPartition(name, number), folders)

    def _read_metadata_log(self, folders: Sequence[PartitionFolder]) -> None:
        """By what it says: damage before the newest snapshot does no harm."""
        try:
            self._directories.image()
            return
        except NotHereError:
            return
        except KcliError as error:
            damage = error
        ends: dict[int, PartitionFolder] = {}
        for folder in folders:
            self._directories.narrow(_METADATA, folder)
            try:
                ends[self._directories.image().end_offset] = folder
            except KcliError:
                continue
        self._take(_METADATA, ends[max(ends)] if ends else None, damage)

    def _read(self, tp: TopicPartition, folders: Sequence[PartitionFolder]) -> None:
        read = [examine(one, self._progress, may_lack=True) for one in folders]
        found = choose(read, self._directories.in_sync(tp))
        damage = _damage(found.taken) or (_damage(found.instead) if found.instead is not None else None)
        if damage is not None:
            self._take(tp, None if found.instead is None else found.taken.folder, damage)
        if found.absent and tp not in self.lost:
            self.behind[tp] = found.absent

    def _take(self, tp: TopicPartition, folder: PartitionFolder | None, damage: KcliError) -> None:
        self._directories.narrow(tp, folder)
        if folder is None:
            self.lost[tp] = damage
        else:
            self.instead.append(
                f"  {tp}: read from {folder.path}, since another replica is damaged: {damage}"
            )


def _damage(one: Examined) -> KcliError | None:
    return one.unreadable or next(iter(one.damages), None)


def _open_ends(directories: Directories, chosen: Mapping[TopicPartition, Chosen]) -> Iterator[OpenEnd]:
    stored = transactions(directories)
    names = {one.producer_id: name for name, one in stored.transactions.items()}
    for tp, one in chosen.items():
        committing = stored.committing(tp)
        for producer_id, first in one.taken.open:
            name = names.get(producer_id)
            yield OpenEnd(
                tp, producer_id, first, name or "", None if name is None else producer_id in committing
            )


def remarks(found: Inventory) -> Iterator[str]:
    """What the plan says of all partitions together."""
    yield from found.instead
    if not found.has_image:
        yield (
            "  no metadata log is there: topics get the partitions that have a folder, and the target's configuration"
        )
    whole = [one for one in found.chosen.values() if one.taken.is_whole]
    yield f"  {len(whole):,} of {counted(len(found.chosen), 'partition')} whole, all checksums compared"
    above = [
        records
        for one in found.chosen.values()
        if (records := one.taken.replica.end_offset - one.taken.high_watermark) > 0
    ]
    if above:
        yield (
            f"  {counted(sum(above), 'offset')} of {counted(len(above), 'partition')} above the last high watermark that "
            "was saved: restored as well, though brokers may not have acknowledged all of them"
        )


def lines(found: Inventory, *, skips: bool) -> Iterator[tuple[TopicPartition, str]]:
    """What the plan says of single partitions. ``skips``: damaged batches are left out."""
    producers: dict[int, list[OpenEnd]] = {}
    for open_end in found.open:
        producers.setdefault(open_end.producer_id, []).append(open_end)
    for some in producers.values():
        first = some[0]
        name = f" of {first.transactional_id}" if first.transactional_id else ""
        places = ", ".join(f"{one.tp} from offset {one.first_offset}" for one in some)
        how = (
            "its coordinator had decided to commit it: restored"
            if first.commits
            else "its records are not restored"
        )
        if first.commits is None:
            how += ", what its coordinator had decided is not there"
        yield first.tp, f"a transaction{name} (producer {first.producer_id}) was open, in {places}: {how}"
    for tp, one in found.chosen.items():
        if one.instead is not None:
            damage = next(iter(one.instead.damages), None)
            where = f": {damage.what}" if damage is not None else ""
            yield (
                tp,
                f"{tp}: read from {one.taken.folder.path}, since {one.instead.folder.path} is damaged{where}",
            )
        taken = one.taken
        for damage in taken.damages:
            what = "left out" if skips else "the restore of the partition ends there"
            yield tp, f"{tp}: damaged: {_place(damage)}, {what}: {damage.why}"
        for hole in taken.holes:
            missing = f"offsets {hole.first} to {hole.stop - 1} are missing"
            yield tp, f"{tp}: {missing}: no segment of {taken.folder.path} has them"
        for other in one.others:
            if other.replica.end_offset > taken.replica.end_offset and other is not one.instead:
                ends = f"{other.replica.end_offset}, and {taken.folder.path} at {taken.replica.end_offset}"
                yield tp, f"{tp}: {other.folder.path} ends at offset {ends}: what is beyond was not in sync"


def extent(damage: DamagedFileError) -> tuple[int, int]:
    """The first and the last offset of what is damaged; the last is −1 where that is not known."""
    return damage.offset, max(-1, damage.next_offset - 1)


def _place(damage: DamagedFileError) -> str:
    first, last = extent(damage)
    offsets = f"offsets {first} to {last}" if last >= first else f"from offset {first} on"
    return f"{damage.path} at byte {damage.position}" + (f", {offsets}" if first >= 0 else "")
