"""Describes the controllers of a KRaft cluster (KIP-595). Brokers forward the request to the active controller."""

from dataclasses import dataclass

from kcli.core.cluster.cluster import Cluster
from kcli.core.error_codes import NONE
from kcli.core.errors import BrokerError, ProtocolError
from kcli.core.permissions import on_cluster
from kcli.core.protocol.messages.describe_quorum import (
    DescribeQuorumPartitionData,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    TopicData,
)

_TOPIC = "__cluster_metadata"


@dataclass(frozen=True, slots=True)
class QuorumDescription:
    """The controllers by node id: ``leader`` is the active one, −1 during an election; ``voters`` includes it."""

    leader: int
    leader_epoch: int
    voters: tuple[int, ...]


def describe_quorum(cluster: Cluster, deadline: float) -> QuorumDescription:
    """UnsupportedError from brokers of a ZooKeeper cluster, and from those before Kafka 3.3."""
    request = DescribeQuorumRequest(
        topics=[TopicData(topic_name=_TOPIC, partitions=[PartitionData(partition_index=0)])]
    )

    def check(response: DescribeQuorumResponse) -> QuorumDescription:
        parts = [part for topic in response.topics for part in topic.partitions]
        rows: list[DescribeQuorumResponse | DescribeQuorumPartitionData] = [response, *parts]
        for row in rows:
            if row.error_code != NONE:
                raise BrokerError(
                    row.error_code,
                    "describing the controllers",
                    message=row.error_message or "",
                    needs=[on_cluster("DESCRIBE")],
                )
        if not parts:
            raise ProtocolError(
                "describing the controllers", why=f"the response has no partition of {_TOPIC}"
            )
        part = parts[0]
        voters = tuple(sorted(voter.replica_id for voter in part.current_voters))
        return QuorumDescription(part.leader_id, part.leader_epoch, voters)

    return cluster.call(lambda: cluster.send(request), check, deadline, "describing the controllers")
