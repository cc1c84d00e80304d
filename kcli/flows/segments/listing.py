"""What ``segments list`` shows of each segment, partition or topic: sizes, first and last offset and time."""

import os
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.errors import DamagedFileError, KcliError
from kcli.core.logdir.folders import PartitionFolder
from kcli.core.logdir.partition_log import PartitionLog
from kcli.output.tables import Column

_TOPIC_ID = Column(
    "topic_id",
    wide=True,
    values="string?",
    meaning="Id of the topic by partition.metadata; null without such a file (before Kafka 2.8).",
)
_NODE = Column(
    "node",
    "id",
    values="integer?",
    meaning="Id of the broker by meta.properties; null where that is not known.",
)
_STATE = Column(
    "state",
    spare=5,
    values=("current", "delete", "future", "stray"),
    meaning="What the folder is: current; delete: of a topic that was deleted; future: the copy for another log "
    "directory; stray: a broker moved it aside.",
)
_SIZE = Column("size_bytes", "size", values="count", meaning="Bytes of the .log files.")
_FIRST = Column("first_offset", "number", meaning="First offset; null where it cannot be read.")
_END = Column("end_offset", "number", meaning="Offset behind the last record; null where it cannot be read.")
_FIRST_TIME = Column(
    "first_time",
    "time",
    spare=3,
    meaning="Timestamp of the first batch; null without one.",
)
_LAST_TIME = Column("last_time", "time", spare=2, meaning="Highest timestamp; null without one.")
_PATH = Column("path", wide=True, values="string", meaning="The file or folder.")

SEGMENTS = (
    Column("topic"),
    Column("partition", "id"),
    _NODE,
    Column("segment", values="string", meaning="Name of the .log file."),
    _SIZE,
    _FIRST,
    _END,
    _FIRST_TIME,
    _LAST_TIME,
    _PATH,
)
PARTITIONS = (
    Column("topic"),
    Column("partition", "id"),
    _NODE,
    _STATE,
    Column("segments", "number", values="count", meaning="Number of .log files."),
    _SIZE,
    _FIRST,
    _END,
    _FIRST_TIME,
    _LAST_TIME,
    _TOPIC_ID,
    _PATH,
)
TOPICS = (
    Column("topic"),
    Column("partitions", "number", values="count", meaning="Number of partitions that were found."),
    Column("replicas", "number", values="count", meaning="Number of folders: a partition may have several."),
    Column("segments", "number", values="count", meaning="Number of .log files."),
    _SIZE,
    _FIRST_TIME,
    _LAST_TIME,
    _TOPIC_ID,
)


class Listed(NamedTuple):
    """One partition: its row, and those of its segments; ``error`` is damage at which its end could not be found."""

    row: dict[str, Any]
    segments: list[dict[str, Any]]
    error: KcliError | None


def list_partition(folder: PartitionFolder) -> Listed:
    """Reads headers at both ends of each segment, and the last entry of its time index. Raises what cannot be read."""
    with PartitionLog(folder) as log:
        rows: list[dict[str, Any]] = []
        error: KcliError | None = None
        for number, file in enumerate(log.files):
            following = log.files[number + 1].base_offset if number + 1 < len(log.files) else log.end_offset
            try:
                first = log.segment(number).batch_at(0, verify=False)
                last_time = _last_time(log, number)
            except DamagedFileError as damage:
                first, last_time, error = None, None, damage
            rows.append(
                {
                    "topic": folder.tp.topic,
                    "partition": folder.tp.partition,
                    "node": _node(folder),
                    "segment": file.name,
                    "size_bytes": file.size,
                    "first_offset": file.base_offset if first is None else first.base_offset,
                    "end_offset": following,
                    "first_time": _time(first.base_timestamp) if first is not None else None,
                    "last_time": last_time,
                    "path": os.path.join(folder.path, file.name),
                }
            )
        row = {
            "topic": folder.tp.topic,
            "partition": folder.tp.partition,
            "node": _node(folder),
            "state": folder.state,
            "segments": len(rows),
            "size_bytes": sum(file.size for file in log.files),
            "first_offset": log.start_offset,
            "end_offset": log.end_offset,
            "first_time": next((one["first_time"] for one in rows if one["first_time"] is not None), None),
            "last_time": max(
                (one["last_time"] for one in rows if one["last_time"] is not None), default=None
            ),
            "topic_id": id_text(folder.topic_id),
            "path": folder.path,
        }
    return Listed(row, rows, error)


def _last_time(log: PartitionLog, number: int) -> int | None:
    """By the time index, whose last entry is written when a segment is full; of the last segment from the batches."""
    times = log.time_index(number)
    if number < len(log.files) - 1 and len(times):
        return _time(times[-1].timestamp)
    highest = -1
    for found in log.segment(number).scan():
        highest = max(highest, found.highest)
    return _time(highest)


def _time(timestamp: int) -> int | None:
    return timestamp if timestamp >= 0 else None


def _node(folder: PartitionFolder) -> int | None:
    node = folder.log_dir.node_id if folder.log_dir else -1
    return node if node >= 0 else None


def id_text(topic_id: bytes | None) -> str | None:
    """As Kafka prints ids; None for none."""
    return urlsafe_b64encode(topic_id).decode().rstrip("=") if topic_id and any(topic_id) else None


def by_topic(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows of partitions, in order of topics, as one for each topic."""
    for topic, group in groupby(rows, key=lambda row: row["topic"]):
        some = list(group)
        yield {
            "topic": topic,
            "partitions": len({row["partition"] for row in some}),
            "replicas": len(some),
            "segments": sum(row["segments"] for row in some),
            "size_bytes": sum(row["size_bytes"] for row in some),
            "first_time": min(
                (row["first_time"] for row in some if row["first_time"] is not None), default=None
            ),
            "last_time": max(
                (row["last_time"] for row in some if row["last_time"] is not None), default=None
            ),
            "topic_id": next((row["topic_id"] for row in some if row["topic_id"]), None),
        }
