"""Records of group coordinators in ``__consumer_offsets``: field tables, compared with Kafka's own by a test. Pure.

Values have their own versions; the first two bytes of a key are the record type (``kinds``).
"""

from typing import ClassVar

from kcli.core.protocol.schema import (
    BYTES,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    UINT16,
    UUID,
    Array,
    Struct,
    field,
)

NEVER = 0x7FFF
"""For ``flexible``: no version has tagged fields."""


class RecordValue(Struct):
    """A value whose only version is 0, which has tagged fields."""

    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0


class GroupIdKey(Struct):
    """The key of records that exist once per group."""

    group_id: str = field(STRING)


class GroupMemberKey(GroupIdKey):
    """The key of records that exist per member."""

    member_id: str = field(STRING)


class RegularExpressionKey(GroupIdKey):
    regular_expression: str = field(STRING)


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
    topic_id: bytes = field(UUID, "4+", tag=0)


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


class ConsumerGroupMetadataValue(RecordValue):
    epoch: int = field(INT32)
    metadata_hash: int = field(INT64, tag=0)


class PartitionMetadata(Struct):
    partition: int = field(INT32)
    racks: list[str] = field(Array(STRING))


class TopicMetadata(Struct):
    topic_id: bytes = field(UUID)
    topic_name: str = field(STRING)
    num_partitions: int = field(INT32)
    partition_metadata: list[PartitionMetadata] = field(Array(PartitionMetadata))


class ConsumerGroupPartitionMetadataValue(RecordValue):
    topics: list[TopicMetadata] = field(Array(TopicMetadata))


class ClassicProtocol(Struct):
    name: str = field(STRING)
    metadata: bytes = field(BYTES)


class ClassicMemberMetadata(Struct):
    session_timeout_ms: int = field(INT32)
    supported_protocols: list[ClassicProtocol] = field(Array(ClassicProtocol))


class ConsumerGroupMemberMetadataValue(RecordValue):
    instance_id: str | None = field(STRING, nullable="0+")
    rack_id: str | None = field(STRING, nullable="0+")
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    subscribed_topic_names: list[str] = field(Array(STRING))
    subscribed_topic_regex: str | None = field(STRING, nullable="0+")
    rebalance_timeout_ms: int = field(INT32, default=-1)
    server_assignor: str | None = field(STRING, nullable="0+")
    classic_member_metadata: ClassicMemberMetadata | None = field(ClassicMemberMetadata, nullable="0+", tag=0)


class ConsumerGroupTargetAssignmentMetadataValue(RecordValue):
    assignment_epoch: int = field(INT32)
    assignment_timestamp: int = field(INT64, tag=0)


class TopicPartition(Struct):
    topic_id: bytes = field(UUID)
    partitions: list[int] = field(Array(INT32))


class ConsumerGroupTargetAssignmentMemberValue(RecordValue):
    topic_partitions: list[TopicPartition] = field(Array(TopicPartition))


class TopicPartitions(TopicPartition):
    assignment_epochs: list[int] | None = field(Array(INT32), nullable="0+", tag=0)


class ConsumerGroupCurrentMemberAssignmentValue(RecordValue):
    member_epoch: int = field(INT32)
    previous_member_epoch: int = field(INT32)
    state: int = field(INT8)
    assigned_partitions: list[TopicPartitions] = field(Array(TopicPartitions))
    partitions_pending_revocation: list[TopicPartitions] = field(Array(TopicPartitions))


class TopicInfo(Struct):
    topic_id: bytes = field(UUID)
    topic_name: str = field(STRING)


class TopicPartitionsInfo(TopicInfo):
    partitions: list[int] = field(Array(INT32))


class ShareGroupPartitionMetadataValue(RecordValue):
    initialized_topics: list[TopicPartitionsInfo] = field(Array(TopicPartitionsInfo))
    deleting_topics: list[TopicInfo] = field(Array(TopicInfo))


class ShareGroupMemberMetadataValue(RecordValue):
    rack_id: str | None = field(STRING, nullable="0+")
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    subscribed_topic_names: list[str] = field(Array(STRING))


class ShareGroupMetadataValue(RecordValue):
    epoch: int = field(INT32)
    metadata_hash: int = field(INT64)


class ShareGroupTargetAssignmentMetadataValue(ConsumerGroupTargetAssignmentMetadataValue):
    """The same fields."""


class ShareGroupTargetAssignmentMemberValue(ConsumerGroupTargetAssignmentMemberValue):
    """The same fields."""


class ShareGroupCurrentMemberAssignmentValue(RecordValue):
    member_epoch: int = field(INT32)
    previous_member_epoch: int = field(INT32)
    state: int = field(INT8)
    assigned_partitions: list[TopicPartition] = field(Array(TopicPartition))


class ShareGroupStatePartitionMetadataValue(RecordValue):
    initializing_topics: list[TopicPartitionsInfo] = field(Array(TopicPartitionsInfo))
    initialized_topics: list[TopicPartitionsInfo] = field(Array(TopicPartitionsInfo))
    deleting_topics: list[TopicInfo] = field(Array(TopicInfo))


class ConsumerGroupRegularExpressionValue(RecordValue):
    topics: list[str] = field(Array(STRING))
    version: int = field(INT64)
    timestamp: int = field(INT64)


class KeyValue(Struct):
    key: str = field(STRING)
    value: str = field(STRING)


class StreamsGroupMetadataValue(RecordValue):
    epoch: int = field(INT32)
    metadata_hash: int = field(INT64)
    validated_topology_epoch: int = field(INT32, default=-1, tag=0)
    last_assignment_configs: list[KeyValue] | None = field(Array(KeyValue), nullable="0+", tag=1)
    stored_description_topology_epoch: int = field(INT32, default=-1, tag=2)  # 4.4
    failed_description_topology_epoch: int = field(INT32, default=-1, tag=3)


class Endpoint(Struct):
    host: str = field(STRING)
    port: int = field(UINT16)


class StreamsGroupMemberMetadataValue(RecordValue):
    instance_id: str | None = field(STRING, nullable="0+")
    rack_id: str | None = field(STRING, nullable="0+")
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    rebalance_timeout_ms: int = field(INT32, default=-1)
    topology_epoch: int = field(INT32)
    process_id: str = field(STRING)
    user_endpoint: Endpoint | None = field(Endpoint, default=None, nullable="0+")
    client_tags: list[KeyValue] = field(Array(KeyValue))


class StreamsGroupTargetAssignmentMetadataValue(ConsumerGroupTargetAssignmentMetadataValue):
    """The same fields."""


class TaskIds(Struct):
    subtopology_id: str = field(STRING)
    partitions: list[int] = field(Array(INT32))


class StreamsGroupTargetAssignmentMemberValue(RecordValue):
    active_tasks: list[TaskIds] = field(Array(TaskIds))
    standby_tasks: list[TaskIds] = field(Array(TaskIds))
    warmup_tasks: list[TaskIds] = field(Array(TaskIds))


class CurrentTaskIds(TaskIds):
    assignment_epochs: list[int] | None = field(Array(INT32), nullable="0+", tag=0)


class StreamsGroupCurrentMemberAssignmentValue(RecordValue):
    member_epoch: int = field(INT32)
    previous_member_epoch: int = field(INT32)
    state: int = field(INT8)
    active_tasks: list[CurrentTaskIds] = field(Array(CurrentTaskIds))
    standby_tasks: list[CurrentTaskIds] = field(Array(CurrentTaskIds))
    warmup_tasks: list[CurrentTaskIds] = field(Array(CurrentTaskIds))
    active_tasks_pending_revocation: list[CurrentTaskIds] = field(Array(CurrentTaskIds))
    standby_tasks_pending_revocation: list[CurrentTaskIds] = field(Array(CurrentTaskIds))
    warmup_tasks_pending_revocation: list[CurrentTaskIds] = field(Array(CurrentTaskIds))


class InternalTopicInfo(Struct):
    name: str = field(STRING)
    partitions: int = field(INT32)
    replication_factor: int = field(INT16)
    topic_configs: list[KeyValue] = field(Array(KeyValue))


class CopartitionGroup(Struct):
    source_topics: list[int] = field(Array(INT16))
    source_topic_regex: list[int] = field(Array(INT16))
    repartition_source_topics: list[int] = field(Array(INT16))


class Subtopology(Struct):
    subtopology_id: str = field(STRING)
    source_topics: list[str] = field(Array(STRING))
    source_topic_regex: list[str] = field(Array(STRING))
    state_changelog_topics: list[InternalTopicInfo] = field(Array(InternalTopicInfo))
    repartition_sink_topics: list[str] = field(Array(STRING))
    repartition_source_topics: list[InternalTopicInfo] = field(Array(InternalTopicInfo))
    copartition_groups: list[CopartitionGroup] = field(Array(CopartitionGroup))


class StreamsGroupTopologyValue(RecordValue):
    epoch: int = field(INT32)
    subtopologies: list[Subtopology] = field(Array(Subtopology))
