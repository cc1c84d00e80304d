"""DescribeCluster and DescribeQuorum: what a node knows of the others."""

from typing import TYPE_CHECKING

from kcli.core.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from kcli.core.protocol.messages.describe_quorum import (
    DescribeQuorumPartitionData,
    DescribeQuorumReplicaState,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    DescribeQuorumTopicData,
)

if TYPE_CHECKING:
    from tests.fake.state import Context

_NOT_ASKED = -2147483648


async def describe_cluster(ctx: "Context", request: DescribeClusterRequest) -> DescribeClusterResponse:
    """The nodes that metadata lists; the others are fenced, and shown to those who ask for such."""
    listed = {node.id for node in ctx.state.listed()}
    return DescribeClusterResponse(
        throttle_time_ms=0,
        error_code=0,
        cluster_id=ctx.state.settings.cluster_id,
        controller_id=ctx.state.controller,
        brokers=[
            DescribeClusterBroker(
                broker_id=node.id,
                host=node.host,
                port=node.port,
                rack=node.rack,
                is_fenced=node.id not in listed,
            )
            for node in ctx.state.nodes.values()
            if node.id in listed or request.include_fenced_brokers
        ],
        cluster_authorized_operations=ctx.state.settings.cluster_operations
        if request.include_cluster_authorized_operations
        else _NOT_ASKED,
    )


async def describe_quorum(ctx: "Context", request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    """All nodes are voters; the controller is the active one."""
    (topic,) = request.topics
    voters = [DescribeQuorumReplicaState(replica_id=number, log_end_offset=100) for number in ctx.state.nodes]
    data = DescribeQuorumPartitionData(
        partition_index=0,
        error_code=0,
        leader_id=ctx.state.controller,
        leader_epoch=7,
        high_watermark=100,
        current_voters=voters,
        observers=[],
    )
    return DescribeQuorumResponse(
        error_code=0, topics=[DescribeQuorumTopicData(topic_name=topic.topic_name, partitions=[data])]
    )
