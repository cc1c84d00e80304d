"""What the answers about single partitions share: finding the log, and the code for one that cannot be read.

The response has only the code: the error itself, with file and position, is kept for the client, which is in this process
(``Server.failure``).
"""

from collections.abc import Callable
from typing import TypeVar

from kcli.core.error_codes import CORRUPT_MESSAGE, KAFKA_STORAGE_ERROR, NONE, UNKNOWN_TOPIC_OR_PARTITION
from kcli.core.errors import CorruptRecordsError, DataLossError, FileGoneError, KcliError
from kcli.core.logdir.partition_log import PartitionLog
from kcli.core.offline.directories import Directories
from kcli.core.types import TopicPartition

T = TypeVar("T")


def last_stable(directories: Directories, log: PartitionLog) -> int:
    """The last stable offset, less a gap before it: readers get no further, and nobody writes the marker that would
    show them more. Where damage hides which transactions are open, that is missing, and it is the end.
    """
    try:
        found = log.last_stable_offset
        found = found if found == log.end_offset else log.reach(found)
        unclear: list[CorruptRecordsError] = list(log.unclear.values())
    except CorruptRecordsError as error:
        found, unclear = log.end_offset, [error]
    for damage in unclear:
        directories.miss(
            DataLossError(
                f"{log.tp}: where its transactions begin and end is not known everywhere",
                why=f"{damage}; records may be taken for committed, or for open, that are not",
                do="name the log directories of other replicas as well",
            )
        )
    return found


def read(
    directories: Directories, tp: TopicPartition, find: Callable[[PartitionLog], T]
) -> tuple[int, T | None]:
    """The code of the answer, and what ``find`` has found in the partition's log."""
    try:
        log = directories.log(tp)
        if log is None:
            return UNKNOWN_TOPIC_OR_PARTITION, None
        try:
            return NONE, find(log)
        except FileGoneError:
            log.refresh()  # a broker that runs has deleted or replaced the segment
            return NONE, find(log)
    except KcliError as error:
        damaged = isinstance(error, CorruptRecordsError)
        directories.failures[tp] = error.in_partition(tp) if isinstance(error, CorruptRecordsError) else error
        return CORRUPT_MESSAGE if damaged else KAFKA_STORAGE_ERROR, None
