"""Offsets by place or time (ListOffsets), for many partitions at once."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.fanout import by_leader
from kcli.core.errors import KcliError
from kcli.core.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kcli.core.types import TopicPartition

LATEST = -1
EARLIEST = -2


@dataclass(frozen=True, slots=True)
class OffsetInfo:
    """``offset`` −1: no record is that new. ``timestamp`` is of the record found, −1 for a place."""

    offset: int
    timestamp: int
    leader_epoch: int = -1


def list_offsets(
    cluster: Cluster,
    wanted: Mapping[TopicPartition, int],
    deadline: float,
    *,
    committed_only: bool = True,
) -> dict[TopicPartition, OffsetInfo | KcliError]:
    """For each partition the first offset whose timestamp is at least the wanted one (ms), or LATEST, EARLIEST.

    LATEST is the last stable offset with ``committed_only``, else the high watermark.
    """

    def ask(group: list[tuple[TopicPartition, int]]) -> ListOffsetsRequest:
        topics: dict[str, ListOffsetsTopic] = {}
        for where, timestamp in group:
            topic = topics.setdefault(where.topic, ListOffsetsTopic(name=where.topic, partitions=[]))
            topic.partitions.append(
                ListOffsetsPartition(partition_index=where.partition, timestamp=timestamp)
            )
        return ListOffsetsRequest(
            replica_id=-1,
            isolation_level=int(committed_only),
            topics=list(topics.values()),
            timeout_ms=cluster.options.request_timeout_ms,
        )

    return by_leader(cluster, wanted, ask, _read, deadline, "asking for offsets of")


def _read(answer: ListOffsetsResponse) -> Iterator[tuple[TopicPartition, int, OffsetInfo]]:
    for topic in answer.topics:
        for p in topic.partitions:
            info = OffsetInfo(p.offset, p.timestamp, p.leader_epoch)
            yield TopicPartition(topic.name, p.partition_index), p.error_code, info
