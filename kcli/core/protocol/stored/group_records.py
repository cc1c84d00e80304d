# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""Records of group coordinators in ``__consumer_offsets``. Pure.

Values have their own versions; the first two bytes of a key are the record type.
"""

from typing import ClassVar

from kcli.core.protocol.schema import (
    BYTES,
    INT8,
    INT16,
    INT32,
    INT64,
    NO_UUID,
    STRING,
    UINT16,
    UUID,
    Array,
    Struct,
    field,
)


class OffsetCommitKey(Struct):
    group: str = field(STRING)
    topic: str = field(STRING)
    partition: int = field(INT32)


class OffsetCommitValue(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 4)
    flexible: ClassVar[int] = 4

    offset: int = field(INT64)
    leader_epoch: int = field(INT32, "3+", default=-1)
    metadata: str = field(STRING)
    commit_timestamp: int = field(INT64)
    expire_timestamp: int = field(INT64, "1", default=-1)
    topic_id: bytes = field(UUID, "4+", default=NO_UUID, tag=0)


class GroupMetadataKey(Struct):
    group: str = field(STRING)


class MemberMetadata(Struct):
    member_id: str = field(STRING)
    group_instance_id: str | None = field(STRING, "3+", default=None, nullable="3+")
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    rebalance_timeout: int = field(INT32, "1+", default=-1)
    session_timeout: int = field(INT32)
    subscription: bytes = field(BYTES)
    assignment: bytes = field(BYTES)


class GroupMetadataValue(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 4)
    flexible: ClassVar[int] = 4

    protocol_type: str = field(STRING)
    generation: int = field(INT32)
    protocol: str | None = field(STRING, nullable="0+")
    leader: str | None = field(STRING, nullable="0+")
    current_state_timestamp: int = field(INT64, "2+", default=-1)
    members: list[MemberMetadata] = field(Array(MemberMetadata))


class ConsumerGroupMetadataKey(Struct):
    group_id: str = field(STRING)


class ConsumerGroupMetadataValue(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    epoch: int = field(INT32)
    metadata_hash: int = field(INT64, default=0, tag=0)


class ConsumerGroupPartitionMetadataKey(Struct):
    group_id: str = field(STRING)


class PartitionMetadata(Struct):
    partition: int = field(INT32)
    racks: list[str] = field(Array(STRING))


class TopicMetadata(Struct):
    topic_id: bytes = field(UUID)
    topic_name: str = field(STRING)
    num_partitions: int = field(INT32)
    partition_metadata: list[PartitionMetadata] = field(Array(PartitionMetadata))


class ConsumerGroupPartitionMetadataValue(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    topics: list[TopicMetadata] = field(Array(TopicMetadata))


class ConsumerGroupMemberMetadataKey(Struct):
    group_id: str = field(STRING)
    member_id: str = field(STRING)


class ClassicProtocol(Struct):
    name: str = field(STRING)
    metadata: bytes = field(BYTES)


class ClassicMemberMetadata(Struct):
    session_timeout_ms: int = field(INT32)
    supported_protocols: list[ClassicProtocol] = field(Array(ClassicProtocol))


class ConsumerGroupMemberMetadataValue(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    instance_id: str | None = field(STRING, nullable="0+")
    rack_id: str | None = field(STRING, nullable="0+")
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    subscribed_topic_names: list[str] = field(Array(STRING))
    subscribed_topic_regex: str | None = field(STRING, nullable="0+")
    rebalance_timeout_ms: int = field(INT32, default=-1)
    server_assignor: str | None = field(STRING, nullable="0+")
    classic_member_metadata: ClassicMemberMetadata | None = field(ClassicMemberMetadata, nullable="0+", tag=0)


class ConsumerGroupTargetAssignmentMetadataKey(Struct):
    group_id: str = field(STRING)


class ConsumerGroupTargetAssignmentMetadataValue(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    assignment_epoch: int = field(INT32)
    assignment_timestamp: int = field(INT64, default=0, tag=0)


class ConsumerGroupTargetAssignmentMemberKey(Struct):
    group_id: str = field(STRING)
    member_id: str = field(STRING)


class TopicPartition(Struct):
    topic_id: bytes = field(UUID)
    partitions: list[int] = field(Array(INT32))


class ConsumerGroupTargetAssignmentMemberValue(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    topic_partitions: list[TopicPartition] = field(Array(TopicPartition))


class ConsumerGroupCurrentMemberAssignmentKey(Struct):
    group_id: str = field(STRING)
    member_id: str = field(STRING)


class ConsumerGroupCurrentMemberAssignmentTopicPartitions(Struct):
    topic_id: bytes = field(UUID)
    partitions: list[int] = field(Array(INT32))
    assignment_epochs: list[int] | None = field(Array(INT32), default_factory=list, nullable="0+", tag=0)


class ConsumerGroupCurrentMemberAssignmentValue(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    member_epoch: int = field(INT32)
    previous_member_epoch: int = field(INT32)
    state: int = field(INT8)
    assigned_partitions: list[ConsumerGroupCurrentMemberAssignmentTopicPartitions] = field(
        Array(ConsumerGroupCurrentMemberAssignmentTopicPartitions)
    )
    partitions_pending_revocation: list[ConsumerGroupCurrentMemberAssignmentTopicPartitions] = field(
        Array(ConsumerGroupCurrentMemberAssignmentTopicPartitions)
    )


class ShareGroupPartitionMetadataKey(Struct):
    group_id: str = field(STRING)


class TopicPartitionsInfo(Struct):
    topic_id: bytes = field(UUID)
    topic_name: str = field(STRING)
    partitions: list[int] = field(Array(INT32))


class ShareGroupPartitionMetadataTopicInfo(Struct):
    topic_id: bytes = field(UUID)
    topic_name: str = field(STRING)


class ShareGroupPartitionMetadataValue(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    initialized_topics: list[TopicPartitionsInfo] = field(Array(TopicPartitionsInfo))
    deleting_topics: list[ShareGroupPartitionMetadataTopicInfo] = field(
        Array(ShareGroupPartitionMetadataTopicInfo)
    )


class ShareGroupMemberMetadataKey(Struct):
    group_id: str = field(STRING)
    member_id: str = field(STRING)


class ShareGroupMemberMetadataValue(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    rack_id: str | None = field(STRING, nullable="0+")
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    subscribed_topic_names: list[str] = field(Array(STRING))


class ShareGroupMetadataKey(Struct):
    group_id: str = field(STRING)


class ShareGroupMetadataValue(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    epoch: int = field(INT32)
    metadata_hash: int = field(INT64)


class ShareGroupTargetAssignmentMetadataKey(Struct):
    group_id: str = field(STRING)


class ShareGroupTargetAssignmentMetadataValue(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    assignment_epoch: int = field(INT32)
    assignment_timestamp: int = field(INT64, default=0, tag=0)


class ShareGroupTargetAssignmentMemberKey(Struct):
    group_id: str = field(STRING)
    member_id: str = field(STRING)


class ShareGroupTargetAssignmentMemberValue(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    topic_partitions: list[TopicPartition] = field(Array(TopicPartition))


class ShareGroupCurrentMemberAssignmentKey(Struct):
    group_id: str = field(STRING)
    member_id: str = field(STRING)


class ShareGroupCurrentMemberAssignmentTopicPartitions(Struct):
    topic_id: bytes = field(UUID)
    partitions: list[int] = field(Array(INT32))


class ShareGroupCurrentMemberAssignmentValue(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    member_epoch: int = field(INT32)
    previous_member_epoch: int = field(INT32)
    state: int = field(INT8)
    assigned_partitions: list[ShareGroupCurrentMemberAssignmentTopicPartitions] = field(
        Array(ShareGroupCurrentMemberAssignmentTopicPartitions)
    )


class ShareGroupStatePartitionMetadataKey(Struct):
    group_id: str = field(STRING)


class ShareGroupStatePartitionMetadataTopicInfo(Struct):
    topic_id: bytes = field(UUID)
    topic_name: str = field(STRING)


class ShareGroupStatePartitionMetadataValue(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    initializing_topics: list[TopicPartitionsInfo] = field(Array(TopicPartitionsInfo))
    initialized_topics: list[TopicPartitionsInfo] = field(Array(TopicPartitionsInfo))
    deleting_topics: list[ShareGroupStatePartitionMetadataTopicInfo] = field(
        Array(ShareGroupStatePartitionMetadataTopicInfo)
    )


class ConsumerGroupRegularExpressionKey(Struct):
    group_id: str = field(STRING)
    regular_expression: str = field(STRING)


class ConsumerGroupRegularExpressionValue(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    topics: list[str] = field(Array(STRING))
    version: int = field(INT64)
    timestamp: int = field(INT64)


class StreamsGroupMetadataKey(Struct):
    group_id: str = field(STRING)


class LastAssignmentConfig(Struct):
    key: str = field(STRING)
    value: str = field(STRING)


class StreamsGroupMetadataValue(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    epoch: int = field(INT32)
    metadata_hash: int = field(INT64)
    validated_topology_epoch: int = field(INT32, default=-1, tag=0)
    last_assignment_configs: list[LastAssignmentConfig] | None = field(
        Array(LastAssignmentConfig), default_factory=list, nullable="0+", tag=1
    )
    stored_description_topology_epoch: int = field(INT32, default=-1, tag=2)
    failed_description_topology_epoch: int = field(INT32, default=-1, tag=3)


class StreamsGroupMemberMetadataKey(Struct):
    group_id: str = field(STRING)
    member_id: str = field(STRING)


class Endpoint(Struct):
    host: str = field(STRING)
    port: int = field(UINT16)


class KeyValue(Struct):
    key: str = field(STRING)
    value: str = field(STRING)


class StreamsGroupMemberMetadataValue(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    instance_id: str | None = field(STRING, nullable="0+")
    rack_id: str | None = field(STRING, nullable="0+")
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    rebalance_timeout_ms: int = field(INT32, default=-1)
    topology_epoch: int = field(INT32)
    process_id: str = field(STRING)
    user_endpoint: Endpoint | None = field(Endpoint, default=None, nullable="0+")
    client_tags: list[KeyValue] = field(Array(KeyValue))


class StreamsGroupTargetAssignmentMetadataKey(Struct):
    group_id: str = field(STRING)


class StreamsGroupTargetAssignmentMetadataValue(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    assignment_epoch: int = field(INT32)
    assignment_timestamp: int = field(INT64, default=0, tag=0)


class StreamsGroupTargetAssignmentMemberKey(Struct):
    group_id: str = field(STRING)
    member_id: str = field(STRING)


class StreamsGroupTargetAssignmentMemberTaskIds(Struct):
    subtopology_id: str = field(STRING)
    partitions: list[int] = field(Array(INT32))


class StreamsGroupTargetAssignmentMemberValue(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    active_tasks: list[StreamsGroupTargetAssignmentMemberTaskIds] = field(
        Array(StreamsGroupTargetAssignmentMemberTaskIds)
    )
    standby_tasks: list[StreamsGroupTargetAssignmentMemberTaskIds] = field(
        Array(StreamsGroupTargetAssignmentMemberTaskIds)
    )
    warmup_tasks: list[StreamsGroupTargetAssignmentMemberTaskIds] = field(
        Array(StreamsGroupTargetAssignmentMemberTaskIds)
    )


class StreamsGroupCurrentMemberAssignmentKey(Struct):
    group_id: str = field(STRING)
    member_id: str = field(STRING)


class StreamsGroupCurrentMemberAssignmentTaskIds(Struct):
    subtopology_id: str = field(STRING)
    partitions: list[int] = field(Array(INT32))
    assignment_epochs: list[int] | None = field(Array(INT32), default_factory=list, nullable="0+", tag=0)


class StreamsGroupCurrentMemberAssignmentValue(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    member_epoch: int = field(INT32)
    previous_member_epoch: int = field(INT32)
    state: int = field(INT8)
    active_tasks: list[StreamsGroupCurrentMemberAssignmentTaskIds] = field(
        Array(StreamsGroupCurrentMemberAssignmentTaskIds)
    )
    standby_tasks: list[StreamsGroupCurrentMemberAssignmentTaskIds] = field(
        Array(StreamsGroupCurrentMemberAssignmentTaskIds)
    )
    warmup_tasks: list[StreamsGroupCurrentMemberAssignmentTaskIds] = field(
        Array(StreamsGroupCurrentMemberAssignmentTaskIds)
    )
    active_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentTaskIds] = field(
        Array(StreamsGroupCurrentMemberAssignmentTaskIds)
    )
    standby_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentTaskIds] = field(
        Array(StreamsGroupCurrentMemberAssignmentTaskIds)
    )
    warmup_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentTaskIds] = field(
        Array(StreamsGroupCurrentMemberAssignmentTaskIds)
    )


class StreamsGroupTopologyKey(Struct):
    group_id: str = field(STRING)


class TopicConfig(Struct):
    key: str = field(STRING)
    value: str = field(STRING)


class StreamsGroupTopologyTopicInfo(Struct):
    name: str = field(STRING)
    partitions: int = field(INT32)
    replication_factor: int = field(INT16)
    topic_configs: list[TopicConfig] = field(Array(TopicConfig))


class CopartitionGroup(Struct):
    source_topics: list[int] = field(Array(INT16))
    source_topic_regex: list[int] = field(Array(INT16))
    repartition_source_topics: list[int] = field(Array(INT16))


class Subtopology(Struct):
    subtopology_id: str = field(STRING)
    source_topics: list[str] = field(Array(STRING))
    source_topic_regex: list[str] = field(Array(STRING))
    state_changelog_topics: list[StreamsGroupTopologyTopicInfo] = field(Array(StreamsGroupTopologyTopicInfo))
    repartition_sink_topics: list[str] = field(Array(STRING))
    repartition_source_topics: list[StreamsGroupTopologyTopicInfo] = field(
        Array(StreamsGroupTopologyTopicInfo)
    )
    copartition_groups: list[CopartitionGroup] = field(Array(CopartitionGroup))


class StreamsGroupTopologyValue(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    epoch: int = field(INT32)
    subtopologies: list[Subtopology] = field(Array(Subtopology))


KINDS: dict[int, tuple[type[Struct], type[Struct]]] = {
    1: (OffsetCommitKey, OffsetCommitValue),
    2: (GroupMetadataKey, GroupMetadataValue),
    3: (ConsumerGroupMetadataKey, ConsumerGroupMetadataValue),
    4: (ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue),
    5: (ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue),
    6: (ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue),
    7: (ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue),
    8: (ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue),
    9: (ShareGroupPartitionMetadataKey, ShareGroupPartitionMetadataValue),
    10: (ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue),
    11: (ShareGroupMetadataKey, ShareGroupMetadataValue),
    12: (ShareGroupTargetAssignmentMetadataKey, ShareGroupTargetAssignmentMetadataValue),
    13: (ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue),
    14: (ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue),
    15: (ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue),
    16: (ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue),
    17: (StreamsGroupMetadataKey, StreamsGroupMetadataValue),
    19: (StreamsGroupMemberMetadataKey, StreamsGroupMemberMetadataValue),
    20: (StreamsGroupTargetAssignmentMetadataKey, StreamsGroupTargetAssignmentMetadataValue),
    21: (StreamsGroupTargetAssignmentMemberKey, StreamsGroupTargetAssignmentMemberValue),
    22: (StreamsGroupCurrentMemberAssignmentKey, StreamsGroupCurrentMemberAssignmentValue),
    23: (StreamsGroupTopologyKey, StreamsGroupTopologyValue),
}
"""The classes by the number of the kind of records."""
