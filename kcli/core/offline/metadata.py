"""ApiVersions, and what Metadata and the like say: as the metadata log has it, and where there is none, the folders.

All brokers of the cluster are there, and each is this process. A partition that is in no folder has no leader.
"""

from collections.abc import Iterator

from kcli.core.error_codes import (
    MISMATCHED_ENDPOINT_TYPE,
    NONE,
    NOT_IN_LOG_DIRS,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from kcli.core.offline.answers import ANSWERS
from kcli.core.offline.directories import Directories
from kcli.core.offline.image import TOPIC as METADATA_LOG
from kcli.core.offline.states import asked_node, leader_of, nodes
from kcli.core.protocol.messages import describe_topic_partitions as described
from kcli.core.protocol.messages import list_partition_reassignments as moves
from kcli.core.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from kcli.core.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from kcli.core.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kcli.core.protocol.schema import NO_UUID
from kcli.core.protocol.stored.metadata_records import PartitionRecord
from kcli.core.types import TopicPartition

_INTERNAL = frozenset(
    ("__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata")
)
_BROKERS = 1
"""The type of endpoints: those of brokers."""


def api_versions(
    directories: Directories, _request: ApiVersionsRequest, _version: int
) -> ApiVersionsResponse:
    """What is answered, and nothing that writes; features as the asked broker registered them."""
    known = directories.known_image()
    broker = known.brokers.get(asked_node(directories)) if known is not None else None
    return ApiVersionsResponse(
        error_code=NONE,
        api_keys=[
            ApiVersion(api_key=key, min_version=row.first, max_version=row.last)
            for key, row in sorted(ANSWERS.items())
        ],
        supported_features=[
            SupportedFeatureKey(
                name=one.name, min_version=one.min_supported_version, max_version=one.max_supported_version
            )
            for one in (broker.features if broker is not None else ())
        ],
        finalized_features_epoch=known.end_offset - 1 if known is not None else -1,
        finalized_features=[
            FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name, level in sorted(known.features.items() if known is not None else ())
        ],
    )


# --- the cluster ---


def metadata(directories: Directories, request: MetadataRequest, version: int) -> MetadataResponse:
    """Topics null means all; in v0 the empty list does."""
    asked = request.topics
    if asked is None or (version == 0 and not asked):
        rows = [_known(directories, name) for name in _names(directories)]
    else:
        rows = [_asked(directories, row) for row in asked]
    known = directories.known_image()
    brokers = known.brokers if known is not None else {}
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(
                node_id=number,
                host=directories.name,
                port=0,
                rack=brokers[number].rack if number in brokers else None,
            )
            for number in nodes(directories)
        ],
        cluster_id=directories.cluster_id,
        controller_id=directories.node_id,
        topics=rows,
    )


def describe_cluster(
    directories: Directories, request: DescribeClusterRequest, _version: int
) -> DescribeClusterResponse:
    """The brokers, each with the address of its first listener, as far as they are known."""
    known = directories.known_image()
    brokers = []
    for number in nodes(directories):
        registered = known.brokers.get(number) if known is not None else None
        endpoint = next(iter(registered.end_points), None) if registered is not None else None
        brokers.append(
            DescribeClusterBroker(
                broker_id=number,
                host=endpoint.host if endpoint is not None else directories.name,
                port=endpoint.port if endpoint is not None else 0,
                rack=registered.rack if registered is not None else None,
                is_fenced=request.include_fenced_brokers and registered is not None and registered.fenced,
            )
        )
    return DescribeClusterResponse(
        throttle_time_ms=0,
        error_code=NONE if request.endpoint_type == _BROKERS else MISMATCHED_ENDPOINT_TYPE,
        cluster_id=directories.cluster_id or "",
        controller_id=directories.node_id,
        brokers=brokers,
    )


# --- topics ---


def _names(directories: Directories) -> list[str]:
    """The metadata log is no topic of the cluster, but can be read when it is named."""
    known = directories.known_image()
    return sorted(
        (directories.topics.keys() | (known.topics.keys() if known is not None else set[str]()))
        - {METADATA_LOG}
    )


def _topic_id(directories: Directories, name: str) -> bytes:
    known = directories.known_image()
    if known is not None and name in known.topics:
        return known.topics[name].topic_id
    return directories.topics[name].id if name in directories.topics else NO_UUID


def _name_of(directories: Directories, topic_id: bytes) -> str | None:
    known = directories.known_image()
    name = known.topic_name(topic_id) if known is not None else None
    if name is None and topic_id in directories.by_id:
        name = directories.by_id[topic_id].name
    return name


def _asked(directories: Directories, row: MetadataRequestTopic) -> MetadataResponseTopic:
    by_id = row.name is None
    name = _name_of(directories, bytes(row.topic_id)) if by_id else row.name
    if name in _names(directories) or (name == METADATA_LOG and name in directories.topics):
        return _known(directories, name)
    return MetadataResponseTopic(
        error_code=UNKNOWN_TOPIC_ID if by_id else UNKNOWN_TOPIC_OR_PARTITION,
        name=row.name,
        topic_id=row.topic_id if by_id else NO_UUID,
        partitions=[],
    )


def _known(directories: Directories, name: str) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=NONE,
        name=name,
        topic_id=_topic_id(directories, name),
        is_internal=name in _INTERNAL,
        partitions=[
            MetadataResponsePartition(
                error_code=NONE if one.leader >= 0 else NOT_IN_LOG_DIRS,
                partition_index=one.partition_id,
                leader_id=one.leader,
                leader_epoch=one.leader_epoch,
                replica_nodes=one.replicas,
                isr_nodes=one.isr,
                offline_replicas=[] if one.leader >= 0 else one.replicas,
            )
            for one in _partitions(directories, name)
        ],
    )


def _partitions(directories: Directories, name: str) -> Iterator[PartitionRecord]:
    """As the metadata log has them, or made up from the folders; leader −1 where there is no folder."""
    known = directories.known_image()
    topic = known.topics.get(name) if known is not None else None
    folders = directories.topics[name].partitions if name in directories.topics else {}
    stored = topic.partitions if topic is not None else {}
    numbers = stored.keys() | folders.keys()
    if not stored and any(directories.is_inside(one) for here in folders.values() for one in here):
        numbers = set(range(max(folders) + 1))  # those between others that a log directory does not have
    for number in sorted(numbers):
        tp = TopicPartition(name, number)
        leader = leader_of(directories, tp) if number in folders else -1
        one = stored.get(number)
        owners = sorted(
            {one.log_dir.node_id for one in folders.get(number, ()) if one.log_dir is not None} - {-1}
        )
        replicas = one.replicas if one is not None else owners or [directories.node_id]
        yield PartitionRecord(
            partition_id=number,
            topic_id=_topic_id(directories, name),
            replicas=replicas,
            isr=one.isr if one is not None else replicas,
            removing_replicas=one.removing_replicas if one is not None else [],
            adding_replicas=one.adding_replicas if one is not None else [],
            leader=leader,
            leader_epoch=one.leader_epoch if one is not None else -1,
            eligible_leader_replicas=one.eligible_leader_replicas if one is not None else None,
            last_known_elr=one.last_known_elr if one is not None else None,
        )


def describe_topic_partitions(
    directories: Directories, request: described.DescribeTopicPartitionsRequest, _version: int
) -> described.DescribeTopicPartitionsResponse:
    """With the eligible leader replicas (KIP-966); in one page, by name."""
    known = _names(directories)
    start = request.cursor
    rows = []
    for name in sorted({topic.name for topic in request.topics}) or known:
        if start is not None and name < start.topic_name:
            continue
        first = start.partition_index if start is not None and name == start.topic_name else 0
        rows.append(
            described.DescribeTopicPartitionsResponseTopic(
                error_code=NONE if name in known else UNKNOWN_TOPIC_OR_PARTITION,
                name=name,
                topic_id=_topic_id(directories, name),
                is_internal=name in _INTERNAL,
                partitions=[
                    described.DescribeTopicPartitionsResponsePartition(
                        error_code=NONE if one.leader >= 0 else NOT_IN_LOG_DIRS,
                        partition_index=one.partition_id,
                        leader_id=one.leader,
                        leader_epoch=one.leader_epoch,
                        replica_nodes=one.replicas,
                        isr_nodes=one.isr,
                        eligible_leader_replicas=one.eligible_leader_replicas,
                        last_known_elr=one.last_known_elr,
                        offline_replicas=[] if one.leader >= 0 else one.replicas,
                    )
                    for one in _partitions(directories, name)
                    if one.partition_id >= first
                ],
            )
        )
    return described.DescribeTopicPartitionsResponse(throttle_time_ms=0, topics=rows)


def list_partition_reassignments(
    directories: Directories, request: moves.ListPartitionReassignmentsRequest, _version: int
) -> moves.ListPartitionReassignmentsResponse:
    """Those that were under way. Topics null means all."""
    asked = None if request.topics is None else {
        TopicPartition(topic.name, number) for topic in request.topics for number in topic.partition_indexes
    }  # fmt: skip
    topics: dict[str, list[moves.OngoingPartitionReassignment]] = {}
    for name in _names(directories):
        for one in _partitions(directories, name):
            moving = one.adding_replicas or one.removing_replicas
            if moving and (asked is None or TopicPartition(name, one.partition_id) in asked):
                topics.setdefault(name, []).append(
                    moves.OngoingPartitionReassignment(
                        partition_index=one.partition_id,
                        replicas=one.replicas,
                        adding_replicas=one.adding_replicas,
                        removing_replicas=one.removing_replicas,
                    )
                )
    return moves.ListPartitionReassignmentsResponse(
        throttle_time_ms=0,
        error_code=NONE,
        error_message=None,
        topics=[moves.OngoingTopicReassignment(name=name, partitions=rows) for name, rows in topics.items()],
    )
