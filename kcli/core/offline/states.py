"""The states that brokers keep in topics of their own, replayed from the log directories when an answer first needs them.

What is not in the directories is a NotHereError, and never an empty state; damage is an error that ends the conversation.
"""

from collections.abc import Collection, Container
from typing import TypeVar

from kcli.core.classes import NamedTuple
from kcli.core.names import coordinator_partition
from kcli.core.offline import group_state, image, share_state, transaction_state
from kcli.core.offline.coordinator_log import CoordinatorLog
from kcli.core.offline.directories import Directories
from kcli.core.offline.group_state import GroupState
from kcli.core.offline.metadata_log import NotHereError, batches_from, note_unknown
from kcli.core.offline.share_state import ShareState
from kcli.core.offline.transaction_state import StoredTransactions
from kcli.core.types import TopicPartition

S = TypeVar("S", GroupState, StoredTransactions, ShareState)


# --- partitions ---


def nodes(directories: Directories) -> list[int]:
    """The brokers of the cluster: those that the metadata log has, and those whose directories these are."""
    known = directories.known_image()
    found = {one.node_id for one in directories.found.log_dirs} | set(
        known.brokers if known is not None else ()
    )
    return sorted(found - {-1}) or [directories.node_id]


def asked_node(directories: Directories) -> int:
    """The broker that has to answer; one of them where the client does not know any yet."""
    return directories.asked_node if directories.asked_node >= 0 else directories.node_id


def leader_of(directories: Directories, tp: TopicPartition) -> int:
    """The broker that led a partition last; one of those that have a replica here where that is not known."""
    partition = directories.stored_partition(tp)
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
            return nowhere(name, self.topic)
        home = self.home_of(name)
        if home not in self.absent:
            return None
        return NotHereError(
            name, why=f"{self.topic}-{home}, where it is kept, is in none of the log directories"
        )


def nowhere(what: str, topic: str) -> NotHereError:
    """The error where no partition of a coordinators' topic is there."""
    return NotHereError(
        f"{what} cannot be read", why=f"none of the log directories has a partition of {topic}"
    )


def coordinated(directories: Directories, topic: str) -> Coordinated:
    """Which partitions of the topic are there, by the metadata log if there is one."""
    folders = directories.topics.get(topic)
    here = folders.partitions.keys() if folders is not None else set[int]()
    known = directories.known_image()
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
            replayed.replay(batches_from(log, log.start_offset))
            if directories.committing is not None:
                replayed.end_transactions(directories.committing(directories, log.tp))
            state.add(replayed)
    note_unknown(directories.note, topic, state.unknown)
    return state
