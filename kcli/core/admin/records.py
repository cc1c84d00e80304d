"""Deletes records from the start of partitions (DeleteRecords, KIP-107), at their leaders."""

from collections.abc import Iterator, Mapping

from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.fanout import Items, by_leader
from kcli.core.cluster.offsets import LATEST, OffsetInfo, list_offsets
from kcli.core.errors import ConfigError, KcliError
from kcli.core.permissions import on_topic
from kcli.core.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from kcli.core.types import TopicPartition

HIGH_WATERMARK = -1
"""Everything that is there, as an offset to delete up to."""


def delete_records(
    cluster: Cluster, before: Mapping[TopicPartition, int], deadline: float
) -> dict[TopicPartition, int | KcliError]:
    """Deletes the records below each offset; returns the partition's new start, or the error.

    HIGH_WATERMARK deletes everything present when the call begins. OFFSET_OUT_OF_RANGE for an offset above the high
    watermark; one below the start changes nothing. ConfigError for any other negative offset: nothing is sent then.
    """
    for tp, offset in before.items():
        if offset < HIGH_WATERMARK:
            raise ConfigError(f"{offset} is not an offset in {tp}", why="-1 is the high watermark")

    def ask(items: Items[TopicPartition, int]) -> DeleteRecordsRequest:
        topics: dict[str, DeleteRecordsTopic] = {}
        for tp, offset in items:
            topic = topics.setdefault(tp.topic, DeleteRecordsTopic(name=tp.topic, partitions=[]))
            topic.partitions.append(DeleteRecordsPartition(partition_index=tp.partition, offset=offset))
        timeout_ms = max(1, int((deadline - cluster.loop.now()) * 1000))
        return DeleteRecordsRequest(topics=list(topics.values()), timeout_ms=timeout_ms)

    ends = _ends(cluster, before, deadline)
    errors = {tp: end for tp, end in ends.items() if isinstance(end, KcliError)}
    offsets = {tp: _offset(ends.get(tp), offset) for tp, offset in before.items() if tp not in errors}
    found = (
        by_leader(
            cluster,
            offsets,
            ask,
            _read,
            deadline,
            "deleting records of",
            lambda tp: [on_topic("DELETE", tp.topic)],
        )
        | errors
    )
    return {tp: found[tp] for tp in before}


def _ends(
    cluster: Cluster, before: Mapping[TopicPartition, int], deadline: float
) -> dict[TopicPartition, OffsetInfo | KcliError]:
    """The end offset that "all" means now: a repeated request must not delete records written meanwhile."""
    whole = [tp for tp, offset in before.items() if offset == HIGH_WATERMARK]
    return list_offsets(cluster, dict.fromkeys(whole, LATEST), deadline, committed_only=False)


def _offset(end: OffsetInfo | KcliError | None, given: int) -> int:
    return end.offset if isinstance(end, OffsetInfo) else given


def _read(response: DeleteRecordsResponse) -> Iterator[tuple[TopicPartition, int, int]]:
    for topic in response.topics:
        for row in topic.partitions:
            yield TopicPartition(topic.name, row.partition_index), row.error_code, row.low_watermark
