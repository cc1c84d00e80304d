"""Aborts hanging transactions: those that a dead client, or a broker bug, left open in a partition.

An open transaction blocks every read_committed consumer at its first offset. Its coordinator ends it after its
timeout; one unknown to the coordinator hangs indefinitely. Needs the permission to alter the cluster (KIP-664).
"""

from collections.abc import Iterator, Mapping

from kcli.core.admin.transactions import ProducerDescription
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.fanout import Items, by_leader
from kcli.core.errors import ConfigError, KcliError
from kcli.core.permissions import on_cluster
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
    """Aborts one producer's open transaction in each partition; None on success.

    The descriptions are those of ``describe_producers``. ConfigError for a producer without an open transaction there:
    nothing is sent then. A transaction that is still active after all is fenced in these partitions only: abort only
    transactions known to hang.
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

    def read(response: WriteTxnMarkersResponse) -> Iterator[tuple[TopicPartition, int, None]]:
        for marker in response.markers:
            for topic in marker.topics:
                for row in topic.partitions:
                    yield TopicPartition(topic.name, row.partition_index), row.error_code, None

    what = "aborting the transaction in"
    return by_leader(cluster, hanging, ask, read, deadline, what, lambda _: [on_cluster("ALTER")])
