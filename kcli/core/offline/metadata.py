"""ApiVersions, and Metadata as the folders of partitions say it: one node answers for all brokers."""

from kcli.core.error_codes import LEADER_NOT_AVAILABLE, NONE, UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION
from kcli.core.offline.answers import ANSWERS
from kcli.core.offline.directories import Directories, TopicFolders
from kcli.core.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kcli.core.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kcli.core.protocol.schema import NO_UUID
from kcli.core.types import TopicPartition

_INTERNAL = frozenset(("__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"))


def api_versions(_directories: Directories, _request: ApiVersionsRequest, _version: int) -> ApiVersionsResponse:
    """What is answered, and nothing that writes."""
    return ApiVersionsResponse(
        error_code=NONE,
        api_keys=[
            ApiVersion(api_key=key, min_version=row.first, max_version=row.last)
            for key, row in sorted(ANSWERS.items())
        ],
    )


def metadata(directories: Directories, request: MetadataRequest, version: int) -> MetadataResponse:
    """Topics null means all; in v0 the empty list does."""
    node = directories.node_id
    asked = request.topics
    if asked is None or (version == 0 and not asked):
        rows = [_known(directories, topic) for topic in directories.topics.values()]
    else:
        rows = [_asked(directories, row) for row in asked]
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=node, host=directories.name, port=0, rack=None)],
        cluster_id=directories.cluster_id,
        controller_id=node,
        topics=rows,
    )


def _asked(directories: Directories, row: MetadataRequestTopic) -> MetadataResponseTopic:
    by_id = row.name is None
    topic = directories.by_id.get(bytes(row.topic_id)) if by_id else directories.topics.get(row.name or "")
    if topic is not None:
        return _known(directories, topic)
    return MetadataResponseTopic(
        error_code=UNKNOWN_TOPIC_ID if by_id else UNKNOWN_TOPIC_OR_PARTITION,
        name=row.name,
        topic_id=row.topic_id if by_id else NO_UUID,
        partitions=[],
    )


def _known(directories: Directories, topic: TopicFolders) -> MetadataResponseTopic:
    """A partition that is missing among the others has no leader."""
    return MetadataResponseTopic(
        error_code=NONE,
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.name in _INTERNAL,
        partitions=[
            _partition(directories, TopicPartition(topic.name, number), topic)
            for number in range(max(topic.partitions) + 1)
        ],
    )


def _partition(
    directories: Directories, tp: TopicPartition, topic: TopicFolders
) -> MetadataResponsePartition:
    folders = topic.partitions.get(tp.partition, ())
    node = directories.node_id
    replicas = sorted({folder.log_dir.node_id for folder in folders if folder.log_dir is not None} - {-1})
    return MetadataResponsePartition(
        error_code=NONE if folders else LEADER_NOT_AVAILABLE,
        partition_index=tp.partition,
        leader_id=node if folders else -1,
        leader_epoch=-1,
        replica_nodes=replicas or [node],
        isr_nodes=replicas or [node],
        offline_replicas=[],
    )
