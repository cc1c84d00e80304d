# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""StreamsGroupHeartbeat (API 88): joins, keeps and leaves a streams group, with topology and tasks (KIP-1071)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BOOL, INT8, INT16, INT32, INT64, STRING, UINT16, Array, Struct, field


class Status(Struct):
    status_code: int = field(INT8)
    status_detail: str = field(STRING)


class TaskIds(Struct):
    subtopology_id: str = field(STRING)
    partitions: list[int] = field(Array(INT32))


class Endpoint(Struct):
    host: str = field(STRING)
    port: int = field(UINT16)


class TopicPartition(Struct):
    topic: str = field(STRING)
    partitions: list[int] = field(Array(INT32))


class EndpointToPartitions(Struct):
    user_endpoint: Endpoint = field(Endpoint)
    active_partitions: list[TopicPartition] = field(Array(TopicPartition))
    standby_partitions: list[TopicPartition] = field(Array(TopicPartition))


class StreamsGroupHeartbeatResponse(Response):
    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, default=None, nullable="0+")
    member_id: str = field(STRING)
    member_epoch: int = field(INT32)
    heartbeat_interval_ms: int = field(INT32)
    acceptable_recovery_lag_legacy: int = field(INT32, "0", default=0)
    task_offset_interval_ms: int = field(INT32)
    acceptable_recovery_lag: int = field(INT64, "1+", default=-1)
    status: list[Status] | None = field(Array(Status), nullable="0+")
    active_tasks: list[TaskIds] | None = field(Array(TaskIds), default=None, nullable="0+")
    standby_tasks: list[TaskIds] | None = field(Array(TaskIds), default=None, nullable="0+")
    warmup_tasks: list[TaskIds] | None = field(Array(TaskIds), default=None, nullable="0+")
    topology_description_required: bool = field(BOOL, "1+", default=False)
    endpoint_information_epoch: int = field(INT32)
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = field(
        Array(EndpointToPartitions), default=None, nullable="0+"
    )


class KeyValue(Struct):
    key: str = field(STRING)
    value: str = field(STRING)


class TopicInfo(Struct):
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
    state_changelog_topics: list[TopicInfo] = field(Array(TopicInfo))
    repartition_sink_topics: list[str] = field(Array(STRING))
    repartition_source_topics: list[TopicInfo] = field(Array(TopicInfo))
    copartition_groups: list[CopartitionGroup] = field(Array(CopartitionGroup))


class Topology(Struct):
    epoch: int = field(INT32)
    subtopologies: list[Subtopology] = field(Array(Subtopology))


class TaskOffset(Struct):
    subtopology_id: str = field(STRING)
    partition: int = field(INT32)
    offset: int = field(INT64)


class StreamsGroupHeartbeatRequest(
    Request, key=88, versions=(0, 1), flexible=0, response=StreamsGroupHeartbeatResponse
):
    group_id: str = field(STRING)
    member_id: str = field(STRING)
    member_epoch: int = field(INT32)
    endpoint_information_epoch: int = field(INT32)
    instance_id: str | None = field(STRING, default=None, nullable="0+")
    rack_id: str | None = field(STRING, default=None, nullable="0+")
    rebalance_timeout_ms: int = field(INT32, default=-1)
    topology: Topology | None = field(Topology, default=None, nullable="0+")
    active_tasks: list[TaskIds] | None = field(Array(TaskIds), default=None, nullable="0+")
    standby_tasks: list[TaskIds] | None = field(Array(TaskIds), default=None, nullable="0+")
    warmup_tasks: list[TaskIds] | None = field(Array(TaskIds), default=None, nullable="0+")
    process_id: str | None = field(STRING, default=None, nullable="0+")
    user_endpoint: Endpoint | None = field(Endpoint, default=None, nullable="0+")
    client_tags: list[KeyValue] | None = field(Array(KeyValue), default=None, nullable="0+")
    task_offsets: list[TaskOffset] | None = field(Array(TaskOffset), default=None, nullable="0+")
    task_end_offsets: list[TaskOffset] | None = field(Array(TaskOffset), default=None, nullable="0+")
    shutdown_application: bool = field(BOOL, default=False)
