"""Describes the cluster's brokers and their log directories."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from kcli.core import cluster as parts
from kcli.core.classes import dataclass, replace
from kcli.core.cluster.cluster import Cluster
from kcli.core.connection.plan import Broker, Plan
from kcli.core.error_codes import BROKER_ID_NOT_REGISTERED, MISMATCHED_ENDPOINT_TYPE, NONE
from kcli.core.errors import BrokerError, KcliError, UnsupportedError, too_old
from kcli.core.permissions import on_cluster
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kcli.core.types import Node, TopicPartition, by_topic

if TYPE_CHECKING:
    from kcli.core.cluster import everywhere  # noqa: F401 - imported on use
    from kcli.core.protocol.messages.describe_log_dirs import DescribeLogDirsResponse, DescribeLogDirsResult

_FIRST_WITH_FENCED = 2
_NOT_TOLD = -1
_NO_OPERATIONS = -2147483648


@dataclass(frozen=True, slots=True)
class BrokerDescription:
    """A broker. ``is_fenced``: it is registered, but has lost contact with the controller (KIP-1073)."""

    node: Node
    is_fenced: bool = False


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """The cluster. ``controller`` is a node id; with KRaft it is any live broker, which forwards requests.

    ``cluster_id`` is empty if brokers have none. ``is_stored``: log directories say it, and no broker, which
    may not run. ``operations`` are the bits of the operations this client is
    authorized for (KIP-430), None unless requested.
    """

    cluster_id: str
    controller: int
    brokers: tuple[BrokerDescription, ...]
    operations: int | None = None
    is_stored: bool = False


@dataclass(frozen=True, slots=True)
class ReplicaSize:
    """A replica on a disk: its size in bytes, its lag in offsets, and whether it is a future replica."""

    size: int
    offset_lag: int
    is_future: bool


@dataclass(frozen=True, slots=True)
class LogDir:
    """A log directory of a broker. ``error`` says that it cannot be used (KAFKA_STORAGE_ERROR: its disk failed).

    ``total_bytes`` and ``usable_bytes`` are those of its volume, −1 if the broker does not report them (KIP-827).
    """

    path: str
    error: KcliError | None
    replicas: Mapping[TopicPartition, ReplicaSize]
    total_bytes: int = _NOT_TOLD
    usable_bytes: int = _NOT_TOLD
    is_cordoned: bool = False


def describe_cluster(
    cluster: Cluster, deadline: float, *, include_fenced: bool = False, include_operations: bool = False
) -> ClusterDescription:
    """DescribeCluster (KIP-700), or Metadata with older brokers.

    UnsupportedError if fenced brokers are requested and the broker does not support that.
    """

    def check(responses: list[Any]) -> ClusterDescription:
        response: DescribeClusterResponse | MetadataResponse = responses[0].value
        if response.error_code == MISMATCHED_ENDPOINT_TYPE:
            raise UnsupportedError(
                "describing the cluster failed",
                why="a controller was asked, and only brokers list the brokers",
                do="name a broker: -b HOST:PORT",
            )
        if response.error_code != NONE:
            message = getattr(response, "error_message", None)
            raise BrokerError(
                response.error_code,
                "describing the cluster",
                message=message or "",
                needs=[on_cluster("DESCRIBE")],
            )
        return replace(_described(response), is_stored=cluster.directories is not None)

    what = _description(include_fenced=include_fenced, include_operations=include_operations)
    return cluster.call(lambda: cluster.foreseen(*what), check, deadline, "describing the cluster")


def foresee_cluster(
    cluster: Cluster, *, include_fenced: bool = False, include_operations: bool = False
) -> None:
    """The cluster will be described: see ``Cluster.foresee``."""
    cluster.foresee(*_description(include_fenced=include_fenced, include_operations=include_operations))


def _description(*, include_fenced: bool, include_operations: bool) -> tuple[object, Plan]:
    def write(broker: Broker) -> list[Request]:
        described = broker.offers(DescribeClusterRequest)
        if include_fenced:
            version = broker.version(DescribeClusterRequest)
            if version < _FIRST_WITH_FENCED:
                raise too_old(f"{broker.name} cannot list fenced brokers", _FIRST_WITH_FENCED, version)
        if not described:
            return [MetadataRequest(topics=[], include_cluster_authorized_operations=include_operations)]
        return [
            DescribeClusterRequest(
                include_cluster_authorized_operations=include_operations,
                include_fenced_brokers=include_fenced,
            )
        ]

    return ("cluster", include_fenced, include_operations), Plan(write)


def _described(response: DescribeClusterResponse | MetadataResponse) -> ClusterDescription:
    if isinstance(response, MetadataResponse):
        brokers = [BrokerDescription(Node(b.node_id, b.host, b.port, b.rack)) for b in response.brokers]
    else:
        brokers = [
            BrokerDescription(Node(b.broker_id, b.host, b.port, b.rack), b.is_fenced)
            for b in response.brokers
        ]
    bits = response.cluster_authorized_operations
    return ClusterDescription(
        cluster_id=response.cluster_id or "",
        controller=response.controller_id,
        brokers=tuple(sorted(brokers, key=lambda broker: broker.node.id)),
        operations=None if bits == _NO_OPERATIONS else bits,
    )


def unregister_broker(cluster: Cluster, number: int, deadline: float) -> None:
    """Forgets a broker that has stopped for good (KIP-500). One that lives would register again at once.

    BROKER_ID_NOT_REGISTERED if there is none; not where an earlier attempt, whose response was lost, may have removed it.
    """
    from kcli.core.admin.controller_changes import make_change  # rare
    from kcli.core.protocol.messages.unregister_broker import UnregisterBrokerRequest

    request = UnregisterBrokerRequest(broker_id=number)
    make_change(cluster, request, BROKER_ID_NOT_REGISTERED, deadline, f"unregistering broker {number}")


_MOST_NAMED = 1_000
"""Partitions that are named to each broker; of more, brokers are asked for all that they have: each has few of them."""


def describe_log_dirs(
    cluster: Cluster,
    deadline: float,
    *,
    broker_ids: Collection[int] | None = None,
    partitions: Collection[TopicPartition] | None = None,
) -> dict[int, list[LogDir] | KcliError]:
    """The log directories of every broker (or of those named), with the replicas in them (or some of them).

    NotFoundError for a broker that is not in the cluster.
    """
    # Few runs need it.
    from kcli.core.protocol.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest

    wanted = None if partitions is None else frozenset(partitions)
    topics = None if wanted is None or len(wanted) > _MOST_NAMED else [
        DescribableLogDirTopic(topic=name, partitions=numbers) for name, numbers in by_topic(partitions or ()).items()
    ]  # fmt: skip

    def ask(_broker: Broker) -> Request:
        return DescribeLogDirsRequest(topics=topics)

    def read(response: "DescribeLogDirsResponse") -> tuple[int, list[LogDir]]:
        return response.error_code, [_log_dir(row, wanted) for row in response.results]

    what = "describing the log directories of broker"
    if broker_ids is None:
        return parts.everywhere.ask_every_broker(cluster, ask, read, deadline, what)
    return parts.everywhere.ask_brokers(cluster, broker_ids, ask, read, deadline, what)


def _log_dir(row: "DescribeLogDirsResult", wanted: Collection[TopicPartition] | None) -> LogDir:
    error = BrokerError(row.error_code, f"log directory {row.log_dir}") if row.error_code != NONE else None
    replicas = {
        tp: ReplicaSize(p.partition_size, p.offset_lag, p.is_future_key)
        for topic in row.topics
        for p in topic.partitions
        for tp in [TopicPartition(topic.name, p.partition_index)]
        if wanted is None or tp in wanted
    }
    return LogDir(row.log_dir, error, replicas, row.total_bytes, row.usable_bytes, row.is_cordoned)
