"""Moves replicas of a broker to another of its log directories (KIP-113)."""

from collections.abc import Iterator, Mapping

from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.fanout import Items, Part, fan_out
from kcli.core.cluster.metadata import unknown_partition
from kcli.core.cluster.routes import ToBroker
from kcli.core.connection.plan import Broker
from kcli.core.error_codes import (
    KAFKA_STORAGE_ERROR,
    LOG_DIR_NOT_FOUND,
    REPLICA_NOT_AVAILABLE,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from kcli.core.errors import KcliError
from kcli.core.permissions import on_cluster
from kcli.core.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from kcli.core.types import TopicPartition, by_topic


def alter_replica_log_dirs(
    cluster: Cluster, broker_id: int, wanted: Mapping[TopicPartition, str], deadline: float
) -> dict[TopicPartition, KcliError | None]:
    """Starts to move the replicas that the broker has of these partitions to these directories.

    The broker returns before anything is moved: ``describe_log_dirs`` shows a future replica until it takes the place of
    the present one. The directory in which a replica is cancels its move. LOG_DIR_NOT_FOUND, KAFKA_STORAGE_ERROR for a
    directory that is offline, REPLICA_NOT_AVAILABLE where the broker has no replica: it would then be created there.
    """

    def ask(_broker: Broker, items: Items[TopicPartition, str]) -> list[Part[TopicPartition]]:
        by_path: dict[str, list[TopicPartition]] = {}
        for tp, path in items:
            by_path.setdefault(path, []).append(tp)
        dirs = [
            AlterReplicaLogDir(
                path=path,
                topics=[
                    AlterReplicaLogDirTopic(name=name, partitions=numbers)
                    for name, numbers in by_topic(partitions).items()
                ],
            )
            for path, partitions in by_path.items()
        ]
        return [Part(AlterReplicaLogDirsRequest(dirs=dirs), [tp for tp, _ in items])]

    def read(
        response: AlterReplicaLogDirsResponse, _part: Part[TopicPartition]
    ) -> Iterator[tuple[TopicPartition, int | KcliError, None]]:
        for topic in response.results:
            for row in topic.partitions:
                tp = TopicPartition(topic.topic_name, row.partition_index)
                if row.error_code == UNKNOWN_TOPIC_OR_PARTITION:
                    yield tp, unknown_partition(tp), None
                else:
                    yield tp, row.error_code, None

    return fan_out(
        cluster,
        wanted,
        ToBroker(cluster, lambda _tp: broker_id),
        ask,
        read,
        deadline,
        "moving",
        final=[LOG_DIR_NOT_FOUND, KAFKA_STORAGE_ERROR, REPLICA_NOT_AVAILABLE],
        needs=lambda _tp: [on_cluster("ALTER")],
    )
