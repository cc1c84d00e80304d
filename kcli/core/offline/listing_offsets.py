"""ListOffsets: starts, ends and timestamps of logs. Nothing is tiered: the local start is the start."""

from kcli.core.error_codes import NONE, UNSUPPORTED_VERSION
from kcli.core.logdir.partition_log import PartitionLog, TimedOffset
from kcli.core.offline.directories import Directories
from kcli.core.offline.leader_epochs import epoch_at
from kcli.core.offline.reading import last_stable, read
from kcli.core.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kcli.core.types import TopicPartition

END, START, NEWEST, LOCAL_START, TIERED_END, PENDING_UPLOAD = -1, -2, -3, -4, -5, -6
_SINCE = {END: 0, START: 0, NEWEST: 7, LOCAL_START: 8, TIERED_END: 9, PENDING_UPLOAD: 11}
_NOTHING = TimedOffset(-1, -1, -1)


def list_offsets(directories: Directories, request: ListOffsetsRequest, version: int) -> ListOffsetsResponse:
    """The end is the last stable offset with read_committed, as brokers have it."""
    committed = bool(request.isolation_level)
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    _row(
                        directories,
                        TopicPartition(topic.name, asked.partition_index),
                        asked.timestamp,
                        version,
                        committed=committed,
                    )
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _row(
    directories: Directories, tp: TopicPartition, timestamp: int, version: int, *, committed: bool
) -> ListOffsetsPartitionResponse:
    if timestamp < 0 and version < _SINCE.get(timestamp, version + 1):
        return ListOffsetsPartitionResponse(partition_index=tp.partition, error_code=UNSUPPORTED_VERSION)
    code, found = read(directories, tp, lambda log: _find(directories, log, timestamp, committed=committed))
    if found is None:
        return ListOffsetsPartitionResponse(partition_index=tp.partition, error_code=code)
    return ListOffsetsPartitionResponse(
        partition_index=tp.partition,
        error_code=NONE,
        timestamp=found.timestamp,
        offset=found.offset,
        leader_epoch=found.leader_epoch,
    )


def _find(directories: Directories, log: PartitionLog, timestamp: int, *, committed: bool) -> TimedOffset:
    end = last_stable(directories, log) if committed else log.end_offset
    if timestamp == END:
        return TimedOffset(end, -1, log.last_epoch)
    if timestamp in (START, LOCAL_START):
        return TimedOffset(log.start_offset, -1, epoch_at(log, log.start_offset))
    if timestamp in (TIERED_END, PENDING_UPLOAD):
        return _NOTHING
    found = log.latest_time() if timestamp == NEWEST else log.offset_for_time(timestamp)
    return found if found is not None and found.offset < end else _NOTHING
