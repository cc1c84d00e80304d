"""Ends transactions of other clients: aborts hanging ones in their partitions, fences producers of transactional ids.

Hanging are those that a dead client, or a broker bug, left open in a partition. An open transaction blocks every
read_committed consumer at its first offset. Its coordinator ends it after its timeout; one unknown to the coordinator
hangs indefinitely. Aborting it needs the permission to alter the cluster (KIP-664).

A producer is fenced by an InitProducerId with its id, which raises the epoch: its open transaction is aborted by the
coordinator, and what it sends afterwards is rejected with INVALID_PRODUCER_EPOCH or PRODUCER_FENCED (KIP-618). Needs
WRITE on the transactional id.
"""

from collections.abc import Iterator, Mapping

from kcli.core.admin.transactions import ProducerDescription
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.coordinators import Coordinators, KeyType, ToCoordinator
from kcli.core.cluster.fanout import Items, Part, by_leader, fan_out
from kcli.core.connection.plan import Broker
from kcli.core.errors import ConfigError, KcliError
from kcli.core.permissions import on_cluster, on_transactional_id
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
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


def fence_producers(
    cluster: Cluster, coordinators: Coordinators, timeouts: Mapping[str, int], deadline: float
) -> dict[str, KcliError | None]:
    """None for each id whose producer is fenced and whose transaction, if one was open, is aborted.

    ``timeouts`` has the ``transaction.timeout.ms`` of each id, which the coordinator keeps for it. An id that does not
    exist is created by this request: pass only those that are known to exist.
    """

    def ask(_broker: Broker, items: Items[str, int]) -> list[Part[str]]:
        return [
            Part(InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=timeout), [name])
            for name, timeout in items
        ]

    def read(response: InitProducerIdResponse, part: Part[str]) -> Iterator[tuple[str, int, None]]:
        for name in part.keys:
            yield name, response.error_code, None

    return fan_out(
        cluster,
        timeouts,
        ToCoordinator[str](cluster, coordinators, str, KeyType.TRANSACTION),
        ask,
        read,
        deadline,
        "fencing the producer of transactional id",
        needs=lambda name: [on_transactional_id(name)],
    )
