# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""StreamsGroupTopologyDescriptionUpdate (API 93): a member's description of its topology, for tools (KIP-1331)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT8, INT16, INT32, STRING, Array, Struct, field


class StreamsGroupTopologyDescriptionUpdateResponse(Response):
    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, default=None, nullable="0+")


class TopologyDescriptionNode(Struct):
    name: str = field(STRING)
    node_type: int = field(INT8)
    source_topics: list[str] = field(Array(STRING))
    sink_topic: str | None = field(STRING, default=None, nullable="0+")
    stores: list[str] = field(Array(STRING))
    successors: list[str] = field(Array(STRING))


class TopologyDescriptionSubtopology(Struct):
    subtopology_id: str = field(STRING)
    nodes: list[TopologyDescriptionNode] = field(Array(TopologyDescriptionNode))


class TopologyDescriptionGlobalStore(Struct):
    source: TopologyDescriptionNode = field(TopologyDescriptionNode)
    processor: TopologyDescriptionNode = field(TopologyDescriptionNode)


class TopologyDescription(Struct):
    subtopologies: list[TopologyDescriptionSubtopology] = field(Array(TopologyDescriptionSubtopology))
    global_stores: list[TopologyDescriptionGlobalStore] = field(Array(TopologyDescriptionGlobalStore))


class StreamsGroupTopologyDescriptionUpdateRequest(
    Request, key=93, versions=(0, 0), flexible=0, response=StreamsGroupTopologyDescriptionUpdateResponse
):
    group_id: str = field(STRING)
    member_id: str = field(STRING)
    topology_epoch: int = field(INT32)
    topology_description: TopologyDescription = field(TopologyDescription)
