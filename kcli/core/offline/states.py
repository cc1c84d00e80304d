"""The states that brokers keep in topics of their own, replayed from the log directories when an answer first needs them.

What is not in the directories is a NotHereError, and never an empty state; damage is an error that ends the conversation.
"""

import os
import re
from collections import Counter
from collections.abc import Collection, Container, Iterator
from typing import NamedTuple, TypeVar

from kcli.core.error_codes import LOG_DIR_NOT_FOUND
from kcli.core.errors import KcliError, ProtocolError
from kcli.core.logdir.partition_log import PartitionLog
from kcli.core.names import coordinator_partition
from kcli.core.offline import group_state, image, share_state, transaction_state
from kcli.core.offline.coordinator_log import CoordinatorLog
from kcli.core.offline.directories import Directories
from kcli.core.offline.group_state import GroupState
from kcli.core.offline.image import MetadataImage
from kcli.core.offline.share_state import ShareState
from kcli.core.offline.stored_values import control_type
from kcli.core.offline.transaction_state import StoredTransactions
from kcli.core.protocol.stored.metadata_records import PartitionRecord
from kcli.core.records.segment import Segment
from kcli.core.records.view import BatchView
from kcli.core.types import TopicPartition

S = TypeVar("S", GroupState, StoredTransactions, ShareState)

_METADATA = TopicPartition(image.TOPIC, 0)
_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_FOOTER = 4


class NotHereError(KcliError):
    """The log directories do not have what the answer is made of: ``why`` is its message, ``code`` its code."""

    code = LOG_DIR_NOT_FOUND


# --- the controllers ---


def metadata_image(directories: Directories) -> MetadataImage:
    """The state of the controllers; NotHereError without a metadata log, as of a cluster with ZooKeeper."""
    return directories.once(_image)


def known_image(directories: Directories) -> MetadataImage | None:
    """The same; None if there is none, or if it cannot be read, which is noted."""
    try:
        return metadata_image(directories)
    except NotHereError:
        return None
    except KcliError as error:
        directories.note(f"the metadata log cannot be read: {error}", "warning")
        return None


def _image(directories: Directories) -> MetadataImage:
    log = directories.log(_METADATA)
    if log is None:
        raise NotHereError(
            "the state of the controllers is not known",
            why=f"none of the log directories has the metadata log, {_METADATA}: it is in metadata.log.dir, else in the "
            "first of log.dirs; a cluster with ZooKeeper has none",
        )
    found = MetadataImage()
    start = _read_snapshot(directories, log, found)
    if start < log.start_offset:
        raise NotHereError(
            "the state of the controllers is not known",
            why=f"the metadata log begins at offset {log.start_offset}, and no snapshot in {log.folder.path} says what "
            "was before",
        )
    found.replay(_batches(log, start))
    _note_unknown(directories, image.TOPIC, found.unknown)
    if found.open_transaction is not None:
        directories.note("the metadata log ends in a transaction of the controller, which is left out")
    return found


def _batches(log: PartitionLog, start: int) -> Iterator[BatchView]:
    for _segment, (_position, batch) in log.batches(start, log.end_offset, verify=True):
        if batch.base_offset >= start:
            yield batch


def _read_snapshot(directories: Directories, log: PartitionLog, found: MetadataImage) -> int:
    """Replays the newest whole snapshot that the log continues; returns the offset that follows it, 0 without one."""
    for end_offset, epoch, path in _snapshots(log.folder.path):
        if end_offset < log.start_offset:
            break
        try:
            batches = _whole_snapshot(path)
        except KcliError as error:
            directories.note(f"{path} is not read: {error}", "warning")
            continue
        found.replay(batches)
        found.end_offset, found.leader_epoch = end_offset, epoch
        return end_offset
    return 0


def _snapshots(folder: str) -> list[tuple[int, int, str]]:
    names = map(_SNAPSHOT.fullmatch, os.listdir(folder))
    return sorted(((int(m[1]), int(m[2]), os.path.join(folder, m[0])) for m in names if m), reverse=True)


def _whole_snapshot(path: str) -> list[BatchView]:
    with Segment.open(path, base_offset=0) as segment:
        batches = [batch for _position, batch in segment.batches(verify=True)]
    if not batches or not batches[-1].is_control or control_type(batches[-1]) != _FOOTER:
        raise ProtocolError("the snapshot is not whole", why="it has no footer")
    return batches


def _note_unknown(directories: Directories, topic: str, unknown: Counter[str]) -> None:
    if unknown:
        kinds = ", ".join(f"{name} ({count:,})" for name, count in sorted(unknown.items()))
        directories.note(
            f"{topic} has records that this version does not know, and what they say is missing: {kinds}",
            "warning",
        )


# --- partitions ---


def nodes(directories: Directories) -> list[int]:
    """The brokers of the cluster: those that the metadata log has, and those whose directories these are."""
    known = known_image(directories)
    found = {one.node_id for one in directories.found.log_dirs} | set(
        known.brokers if known is not None else ()
    )
    return sorted(found - {-1}) or [directories.node_id]


def asked_node(directories: Directories) -> int:
    """The broker that has to answer; one of them where the client does not know any yet."""
    return directories.asked_node if directories.asked_node >= 0 else directories.node_id


def stored_partition(directories: Directories, tp: TopicPartition) -> PartitionRecord | None:
    """A partition as the metadata log has it; None for the metadata log itself, and without one."""
    known = known_image(directories) if tp != _METADATA else None
    topic = known.topics.get(tp.topic) if known is not None else None
    return topic.partitions.get(tp.partition) if topic is not None else None


def leader_of(directories: Directories, tp: TopicPartition) -> int:
    """The broker that led a partition last; one of those that have a replica here where that is not known."""
    partition = stored_partition(directories, tp)
    if partition is not None and partition.leader in nodes(directories):
        return partition.leader
    folders = directories.topics.get(tp.topic)
    here = folders.partitions.get(tp.partition, ()) if folders is not None else ()
    owners = [folder.log_dir.node_id for folder in here if folder.log_dir is not None]
    return next((one for one in owners if one >= 0), directories.node_id)


# --- the coordinators ---


class Coordinated(NamedTuple):
    """The partitions of a coordinators' topic: how many it has, and which of them are in no log directory.

    ``partitions`` is 0 where that is not known.
    """

    topic: str
    partitions: int
    absent: Collection[int]

    def home_of(self, name: str) -> int:
        """The partition that has a group or a transactional id."""
        return coordinator_partition(name, self.partitions)

    def lacks(self, name: str) -> NotHereError | None:
        """The error for a group or id whose partition is not there."""
        if not self.partitions:
            return NotHereError(name, why=f"none of the log directories has a partition of {self.topic}")
        home = self.home_of(name)
        if home not in self.absent:
            return None
        return NotHereError(
            name, why=f"{self.topic}-{home}, where it is kept, is in none of the log directories"
        )


def coordinated(directories: Directories, topic: str) -> Coordinated:
    """Which partitions of the topic are there, by the metadata log if there is one."""
    folders = directories.topics.get(topic)
    here = folders.partitions.keys() if folders is not None else set[int]()
    known = known_image(directories)
    if known is not None:
        described = known.topics.get(topic)
        numbers = set(described.partitions) if described is not None else set[int]()
    else:
        numbers = set(range(max(here) + 1)) if here else set()
    return Coordinated(topic, len(numbers), frozenset(numbers - here))


def groups(directories: Directories) -> GroupState:
    """The groups of all partitions of ``__consumer_offsets`` that are there; see ``coordinated`` for the others."""
    return directories.once(_groups)


def transactions(directories: Directories) -> StoredTransactions:
    """The same of ``__transaction_state``."""
    return directories.once(_transactions)


def committing(directories: Directories, tp: TopicPartition) -> Container[int]:
    """The producers whose transactions in a partition were decided to be committed; see ``Directories``."""
    if tp.topic in (image.TOPIC, transaction_state.TOPIC):
        return ()
    return transactions(directories).committing(tp)


def share_starts(directories: Directories) -> ShareState:
    """The same of ``__share_group_state``."""
    return directories.once(_share_starts)


def _groups(directories: Directories) -> GroupState:
    return _replayed(directories, group_state.TOPIC, GroupState())


def _transactions(directories: Directories) -> StoredTransactions:
    return _replayed(directories, transaction_state.TOPIC, StoredTransactions())


def _share_starts(directories: Directories) -> ShareState:
    return _replayed(directories, share_state.TOPIC, ShareState())


def _replayed(directories: Directories, topic: str, state: S) -> S:
    folders = directories.topics.get(topic)
    for number in sorted(folders.partitions) if folders is not None else ():
        log = directories.log(TopicPartition(topic, number))
        if log is not None:
            replayed = CoordinatorLog()
            replayed.replay(_batches(log, log.start_offset))
            if directories.committing is not None:
                replayed.end_transactions(directories.committing(directories, log.tp))
            state.add(replayed)
    _note_unknown(directories, topic, state.unknown)
    return state
