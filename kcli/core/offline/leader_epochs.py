"""OffsetForLeaderEpoch: where an epoch of a log ends (KIP-101, KIP-320)."""

from kcli.core.errors import CorruptRecordsError
from kcli.core.logdir.leader_epochs import EpochStart, end_of_epoch
from kcli.core.logdir.partition_log import PartitionLog
from kcli.core.offline.directories import Directories
from kcli.core.offline.reading import read
from kcli.core.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from kcli.core.types import TopicPartition

_UNDEFINED = EpochStart(-1, -1)


def offset_for_leader_epoch(
    directories: Directories, request: OffsetForLeaderEpochRequest, _version: int
) -> OffsetForLeaderEpochResponse:
    """(−1, −1) for an epoch that never was, without an error."""
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    _row(directories, TopicPartition(topic.topic, asked.partition), asked.leader_epoch)
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def epoch_at(log: PartitionLog, offset: int) -> int:
    """The leader epoch of the record at an offset; −1 where it is not known."""
    try:
        return max((entry.epoch for entry in log.epochs() if entry.start_offset <= offset), default=-1)
    except CorruptRecordsError:
        return -1


def _row(directories: Directories, tp: TopicPartition, epoch: int) -> EpochEndOffset:
    code, found = read(directories, tp, lambda log: end_of_epoch(log.epochs(), log.end_offset, epoch))
    known = _UNDEFINED if found is None else found
    return EpochEndOffset(
        error_code=code, partition=tp.partition, leader_epoch=known.epoch, end_offset=known.start_offset
    )
