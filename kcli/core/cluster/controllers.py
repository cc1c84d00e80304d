"""First contact with a controller of a KRaft cluster instead of a broker (KIP-919): which node has which address. Pure.

Controllers do not serve Metadata. They list themselves with DescribeCluster, since Kafka 3.7; this is loaded where one
was met.
"""

from kcli.core.error_codes import NONE
from kcli.core.errors import BrokerError
from kcli.core.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from kcli.core.protocol.messages.metadata import MetadataResponse, MetadataResponseBroker

_CONTROLLERS = 2
"""Kafka's number of the type of endpoint; 1 are brokers."""
_WITH_TYPE = 1


def controllers_request() -> DescribeClusterRequest:
    """Asks for the controllers, and which one is active."""
    request = DescribeClusterRequest(include_cluster_authorized_operations=False, endpoint_type=_CONTROLLERS)
    request.require_version(_WITH_TYPE)
    return request


def as_metadata(response: DescribeClusterResponse) -> MetadataResponse:
    """The controllers in place of brokers, without topics; BrokerError where they do not tell."""
    if response.error_code != NONE:
        raise BrokerError(
            response.error_code,
            "asking a controller for the others",
            message=response.error_message or "",
        )
    nodes = [
        MetadataResponseBroker(node_id=one.broker_id, host=one.host, port=one.port, rack=one.rack)
        for one in response.brokers
    ]
    return MetadataResponse(
        brokers=nodes, cluster_id=response.cluster_id, controller_id=response.controller_id, topics=[]
    )
