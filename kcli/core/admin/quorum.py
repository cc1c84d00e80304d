"""Describes the controllers of a KRaft cluster (KIP-595). Brokers forward the request to the active controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcli.core.admin.forwarded import patience, unanswered
from kcli.core.admin.topics import id_text
from kcli.core.classes import dataclass, field
from kcli.core.cluster.brokers import FORWARDED
from kcli.core.cluster.cluster import Cluster
from kcli.core.error_codes import NONE
from kcli.core.errors import BrokerError, ProtocolError, TimedOutError, UnsupportedError
from kcli.core.future import Future
from kcli.core.permissions import on_cluster
from kcli.core.protocol.messages.describe_quorum import (
    DescribeQuorumPartitionData,
    DescribeQuorumReplicaState,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    TopicData,
)

_TOPIC = "__cluster_metadata"
_DESCRIBING = "describing the controllers"


@dataclass(frozen=True, slots=True)
class QuorumReplica:
    """A replica of the metadata log, as the leader knows it. −1 is unknown.

    ``log_end`` is its log end offset; ``fetched_ms`` is when it fetched last, ``caught_up_ms`` when it had all that the
    leader had, since the epoch (KIP-836, Kafka 3.4). ``directory_id`` is that of its metadata log as Kafka prints it,
    empty where it has none or brokers do not report it (KIP-853, Kafka 3.9).
    """

    node: int
    is_voter: bool
    log_end: int
    caught_up_ms: int = -1
    fetched_ms: int = -1
    directory_id: str = ""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a controller listens."""

    listener: str
    host: str
    port: int

    @property
    def address(self) -> str:
        """``host:port``."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.listener}://{self.address}"


@dataclass(frozen=True, slots=True)
class QuorumDescription:
    """The controllers by node id: ``leader`` is the active one, −1 during an election; ``voters`` includes it.

    ``replicas`` are the voters, then the observers, which are the brokers; ``high_watermark`` is −1 where it is unknown.
    ``endpoints`` of voters, as ``host:port`` by node id, and ``listeners``, all that each has (KIP-853, Kafka 3.9).
    """

    leader: int
    leader_epoch: int
    voters: tuple[int, ...]
    high_watermark: int = -1
    replicas: tuple[QuorumReplica, ...] = ()
    endpoints: Mapping[int, str] = field(default_factory=dict)
    listeners: Mapping[int, tuple[Endpoint, ...]] = field(default_factory=dict)


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
                    _DESCRIBING,
                    message=row.error_message or "",
                    needs=[on_cluster("DESCRIBE")],
                )
        if not parts:
            raise ProtocolError(_DESCRIBING, why=f"the response has no partition of {_TOPIC}")
        part = parts[0]
        voters = tuple(sorted(voter.replica_id for voter in part.current_voters))
        replicas = [_replica(row, is_voter=True) for row in part.current_voters]
        replicas += [_replica(row, is_voter=False) for row in part.observers]
        endpoints = {
            node.node_id: f"{node.listeners[0].host}:{node.listeners[0].port}"
            for node in response.nodes
            if node.listeners
        }
        listeners = {
            node.node_id: tuple(Endpoint(one.name, one.host, one.port) for one in node.listeners)
            for node in response.nodes
        }
        return QuorumDescription(
            part.leader_id,
            part.leader_epoch,
            voters,
            part.high_watermark,
            tuple(replicas),
            endpoints,
            listeners,
        )

    sent: list[Future[Any]] = []

    def attempt() -> Future[Any]:
        sent.append(cluster.send(request, purpose=FORWARDED))
        return sent[-1]

    try:
        return cluster.call(attempt, check, patience(cluster, deadline), _DESCRIBING)
    except UnsupportedError as error:
        raise UnsupportedError(
            error.what,
            why=f"{error.why}; there is a quorum since Kafka 3.3, and none with ZooKeeper",
            do="`kcli cluster describe` shows which broker is the controller",
        ) from None
    except TimedOutError as error:
        if sent[-1].done:
            raise
        raise unanswered(cluster, error, sent[-1], _DESCRIBING) from error


def _replica(row: DescribeQuorumReplicaState, *, is_voter: bool) -> QuorumReplica:
    return QuorumReplica(
        row.replica_id,
        is_voter,
        row.log_end_offset,
        row.last_caught_up_timestamp,
        row.last_fetch_timestamp,
        id_text(row.replica_directory_id),
    )
