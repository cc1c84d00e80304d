"""Ends transactions that nobody will end: what a dead client, or a broker's fault, left open in a partition.

An open transaction stops every read_committed reader at its first offset. Its coordinator ends it after its timeout;
one that the coordinator knows nothing of hangs for ever. Takes the permission to alter the cluster (KIP-664).
"""

from collections.abc import Iterator, Mapping

from kcli.core.admin.transactions import ProducerDescription
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.fanout import Items, by_leader
from kcli.core.errors import ConfigError, KcliError
from kcli.core.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kcli.core.types import TopicPartition


def abort_hanging(
    cluster: Cluster, hanging: Mapping[TopicPartition, ProducerDescription], deadline: float
) -> dict[TopicPartition, KcliError | None]:
    """Aborts one producer's open transaction in each partition; None where it was done.

    The descriptions are those of ``describe_producers``. ConfigError for a producer that has nothing open there:
    nothing is sent. A transaction that goes on after all is fenced by this in these partitions only: abort what is
    known to hang.
    """
    for tp, producer in hanging.items():
        if producer.open_since < 0:
            raise ConfigError(f"{tp}: producer {producer.producer_id} has no open transaction there")

    def ask(items: Items[TopicPartition, ProducerDescription]) -> WriteTxnMarkersRequest:
        return WriteTxnMarkersRequest(
            markers=[
                WritableTxnMarker(
                    producer_id=producer.producer_id,
                    producer_epoch=producer.producer_epoch,
                    transaction_result=False,
                    topics=[WritableTxnMarkerTopic(name=tp.topic, partition_indexes=[tp.partition])],
                    coordinator_epoch=max(0, producer.coordinator_epoch),
                )
                for tp, producer in items
            ]
        )

    def read(answer: WriteTxnMarkersResponse) -> Iterator[tuple[TopicPartition, int, None]]:
        for marker in answer.markers:
            for topic in marker.topics:
                for row in topic.partitions:
                    yield TopicPartition(topic.name, row.partition_index), row.error_code, None

    return by_leader(cluster, hanging, ask, read, deadline, "aborting the transaction in")
