"""DescribeCluster and UnregisterBroker: what a node knows of the others."""

from typing import TYPE_CHECKING

from kcli.core.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from kcli.core.protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from tests.fake.codes import Code

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
        ]
        + [
            DescribeClusterBroker(broker_id=number, host="gone", port=9092, rack=None, is_fenced=True)
            for number in sorted(ctx.state.stopped_brokers)
            if request.include_fenced_brokers
        ],
        cluster_authorized_operations=ctx.state.settings.cluster_operations
        if request.include_cluster_authorized_operations
        else _NOT_ASKED,
    )


async def unregister_broker(ctx: "Context", request: UnregisterBrokerRequest) -> UnregisterBrokerResponse:
    """One that is registered, whether it lives or not: a node that lives would register again."""
    code, message = 0, None
    if request.broker_id in ctx.state.stopped_brokers:
        ctx.state.stopped_brokers.discard(request.broker_id)
        ctx.state.changed()
    elif request.broker_id not in ctx.state.nodes:
        code, message = (
            Code.BROKER_ID_NOT_REGISTERED,
            f"Broker ID {request.broker_id} is not currently registered",
        )
    return UnregisterBrokerResponse(throttle_time_ms=0, error_code=code, error_message=message)
