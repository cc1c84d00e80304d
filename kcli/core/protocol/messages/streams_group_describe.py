# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""StreamsGroupDescribe (API 89): streams groups with topology, members and tasks (KIP-1071)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BOOL, INT8, INT16, INT32, INT64, STRING, UINT16, Array, Struct, field


class KeyValue(Struct):
    key: str = field(STRING)
    value: str = field(STRING)


class TopicInfo(Struct):
    name: str = field(STRING)
    partitions: int = field(INT32)
    replication_factor: int = field(INT16)
    topic_configs: list[KeyValue] = field(Array(KeyValue))


class Subtopology(Struct):
    subtopology_id: str = field(STRING)
    source_topics: list[str] = field(Array(STRING))
    repartition_sink_topics: list[str] = field(Array(STRING))
    state_changelog_topics: list[TopicInfo] = field(Array(TopicInfo))
    repartition_source_topics: list[TopicInfo] = field(Array(TopicInfo))


class Topology(Struct):
    epoch: int = field(INT32)
    subtopologies: list[Subtopology] | None = field(Array(Subtopology), default=None, nullable="0+")


class Endpoint(Struct):
    host: str = field(STRING)
    port: int = field(UINT16)


class TaskOffset(Struct):
    subtopology_id: str = field(STRING)
    partition: int = field(INT32)
    offset: int = field(INT64)


class TaskIds(Struct):
    subtopology_id: str = field(STRING)
    partitions: list[int] = field(Array(INT32))


class Assignment(Struct):
    active_tasks: list[TaskIds] = field(Array(TaskIds))
    standby_tasks: list[TaskIds] = field(Array(TaskIds))
    warmup_tasks: list[TaskIds] = field(Array(TaskIds))


class Member(Struct):
    member_id: str = field(STRING)
    member_epoch: int = field(INT32)
    instance_id: str | None = field(STRING, default=None, nullable="0+")
    rack_id: str | None = field(STRING, default=None, nullable="0+")
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    topology_epoch: int = field(INT32)
    process_id: str = field(STRING)
    user_endpoint: Endpoint | None = field(Endpoint, default=None, nullable="0+")
    client_tags: list[KeyValue] = field(Array(KeyValue))
    task_offsets: list[TaskOffset] = field(Array(TaskOffset))
    task_end_offsets: list[TaskOffset] = field(Array(TaskOffset))
    assignment: Assignment = field(Assignment)
    target_assignment: Assignment = field(Assignment)
    is_classic: bool = field(BOOL)


class TopologyDescriptionNode(Struct):
    name: str = field(STRING, "1+", default="")
    node_type: int = field(INT8, "1+", default=0)
    source_topics: list[str] = field(Array(STRING), "1+", default_factory=list)
    sink_topic: str | None = field(STRING, "1+", default=None, nullable="1+")
    stores: list[str] = field(Array(STRING), "1+", default_factory=list)
    successors: list[str] = field(Array(STRING), "1+", default_factory=list)


class TopologyDescriptionSubtopology(Struct):
    subtopology_id: str = field(STRING, "1+", default="")
    nodes: list[TopologyDescriptionNode] = field(Array(TopologyDescriptionNode), "1+", default_factory=list)


class TopologyDescriptionGlobalStore(Struct):
    source: TopologyDescriptionNode = field(
        TopologyDescriptionNode, "1+", default_factory=TopologyDescriptionNode
    )
    processor: TopologyDescriptionNode = field(
        TopologyDescriptionNode, "1+", default_factory=TopologyDescriptionNode
    )


class TopologyDescription(Struct):
    subtopologies: list[TopologyDescriptionSubtopology] = field(
        Array(TopologyDescriptionSubtopology), "1+", default_factory=list
    )
    global_stores: list[TopologyDescriptionGlobalStore] = field(
        Array(TopologyDescriptionGlobalStore), "1+", default_factory=list
    )


class DescribedGroup(Struct):
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, default=None, nullable="0+")
    group_id: str = field(STRING)
    group_state: str = field(STRING)
    group_epoch: int = field(INT32)
    assignment_epoch: int = field(INT32)
    topology: Topology | None = field(Topology, default=None, nullable="0+")
    members: list[Member] = field(Array(Member))
    authorized_operations: int = field(INT32, default=-2147483648)
    topology_description: TopologyDescription | None = field(
        TopologyDescription, "1+", default=None, nullable="1+"
    )
    topology_description_status: int = field(INT8, "1+", default=0)
    assignor_name: str | None = field(STRING, "1+", default=None, nullable="1+")


class StreamsGroupDescribeResponse(Response):
    throttle_time_ms: int = field(INT32)
    groups: list[DescribedGroup] = field(Array(DescribedGroup))


class StreamsGroupDescribeRequest(
    Request, key=89, versions=(0, 1), flexible=0, response=StreamsGroupDescribeResponse
):
    group_ids: list[str] = field(Array(STRING))
    include_authorized_operations: bool = field(BOOL)
    include_topology_description: bool = field(BOOL, "1+", default=False)
