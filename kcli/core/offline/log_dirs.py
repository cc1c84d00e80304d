"""DescribeLogDirs: the log directories of a broker, where they are now."""

from kcli.core.error_codes import NONE, NOT_IN_LOG_DIRS
from kcli.core.logdir.folders import CURRENT, FUTURE, LogDirectory, PartitionFolder
from kcli.core.logdir.segment_files import choose_files
from kcli.core.offline.directories import Directories
from kcli.core.offline.image import TOPIC as METADATA_LOG
from kcli.core.offline.states import asked_node
from kcli.core.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from kcli.core.types import TopicPartition


def describe_log_dirs(
    directories: Directories, request: DescribeLogDirsRequest, _version: int
) -> DescribeLogDirsResponse:
    """Those of the node that is asked; an error if none of them is here. Topics null means all."""
    asked = None if request.topics is None else {
        TopicPartition(topic.topic, number) for topic in request.topics for number in topic.partitions
    }  # fmt: skip
    number = asked_node(directories)
    dirs = [one for one in directories.found.log_dirs if one.node_id in (number, -1)]
    return DescribeLogDirsResponse(
        throttle_time_ms=0,
        error_code=NONE if dirs else NOT_IN_LOG_DIRS,
        results=[_result(directories, one, asked) for one in dirs],
    )


def _result(
    directories: Directories, log_dir: LogDirectory, asked: set[TopicPartition] | None
) -> DescribeLogDirsResult:
    topics: dict[str, list[DescribeLogDirsPartition]] = {}
    for folder in directories.found.partitions:
        if (
            folder.log_dir is not None
            and folder.log_dir.path == log_dir.path
            and folder.state in (CURRENT, FUTURE)
            and folder.tp.topic != METADATA_LOG
            and (asked is None or folder.tp in asked)
        ):
            topics.setdefault(folder.tp.topic, []).append(_partition(folder))
    return DescribeLogDirsResult(
        error_code=NONE,
        log_dir=log_dir.path,
        topics=[DescribeLogDirsTopic(name=name, partitions=rows) for name, rows in topics.items()],
    )


def _partition(folder: PartitionFolder) -> DescribeLogDirsPartition:
    files = choose_files(folder.path, folder.files).files
    return DescribeLogDirsPartition(
        partition_index=folder.tp.partition,
        partition_size=sum(file.size for file in files),
        offset_lag=0,
        is_future_key=folder.state == FUTURE,
    )
