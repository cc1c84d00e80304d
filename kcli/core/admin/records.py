"""Records deleted from the front of partitions (DeleteRecords, KIP-107), at their leaders."""

from collections.abc import Collection, Iterator, Mapping

from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.fanout import Items, Part, fan_out
from kcli.core.cluster.routes import ToLeader
from kcli.core.connection.plan import Broker
from kcli.core.errors import ConfigError, KcliError
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
    """Deletes the records below each offset; the partition's new start, or why it was not done.

    HIGH_WATERMARK deletes all. OFFSET_OUT_OF_RANGE for an offset above the high watermark; one below the start
    changes nothing. ConfigError for any other negative offset: nothing was sent.
    """
    for where, offset in before.items():
        if offset < HIGH_WATERMARK:
            raise ConfigError(f"{offset} is no offset in {where}", why="-1 is the high watermark")

    def ask(_broker: Broker, items: Items[TopicPartition, int]) -> list[Part[TopicPartition]]:
        topics: dict[str, DeleteRecordsTopic] = {}
        for where, offset in items:
            topic = topics.setdefault(where.topic, DeleteRecordsTopic(name=where.topic, partitions=[]))
            topic.partitions.append(DeleteRecordsPartition(partition_index=where.partition, offset=offset))
        timeout_ms = max(1, int((deadline - cluster.loop.now()) * 1000))
        request = DeleteRecordsRequest(topics=list(topics.values()), timeout_ms=timeout_ms)
        return [Part(request, [where for where, _ in items])]

    def read(
        answer: DeleteRecordsResponse, _keys: Collection[TopicPartition]
    ) -> Iterator[tuple[TopicPartition, int, int]]:
        for topic in answer.topics:
            for row in topic.partitions:
                yield TopicPartition(topic.name, row.partition_index), row.error_code, row.low_watermark

    return fan_out(cluster, before, ToLeader(cluster), ask, read, deadline, "deleting records of")
