"""Elects leaders of partitions: the preferred replica, or with unclean election any that is alive (KIP-183, KIP-460)."""

from collections.abc import Collection, Iterator

from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.fanout import Items, Part, fan_out
from kcli.core.cluster.metadata import unknown_partition
from kcli.core.cluster.routes import ToController
from kcli.core.connection.plan import Broker
from kcli.core.error_codes import (
    ELECTION_NOT_NEEDED,
    ELIGIBLE_LEADERS_NOT_AVAILABLE,
    NONE,
    PREFERRED_LEADER_NOT_AVAILABLE,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from kcli.core.errors import BrokerError, KcliError, too_old
from kcli.core.permissions import on_cluster
from kcli.core.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from kcli.core.types import TopicPartition, by_topic

_PREFERRED, _UNCLEAN = 0, 1
_FIRST_UNCLEAN = 1
_REMEDIES = {
    PREFERRED_LEADER_NOT_AVAILABLE: "start the broker, and wait until its replica is in sync; "
    "`kcli topics describe --under-replicated` shows it",
    ELIGIBLE_LEADERS_NOT_AVAILABLE: "start a broker that has a replica",
}


def elect_leaders(
    cluster: Cluster, partitions: Collection[TopicPartition], deadline: float, *, unclean: bool
) -> dict[TopicPartition, KcliError | None]:
    """Elects the preferred leader of each partition, or with ``unclean`` any replica that is alive if there is no leader.

    A partition that needs no election is no failure (None). An unclean election loses the records that the new leader
    does not have. UnsupportedError before Kafka 2.2; before 2.4 for ``unclean``.
    """

    def ask(broker: Broker, items: Items[TopicPartition, None]) -> list[Part[TopicPartition]]:
        version = broker.version(ElectLeadersRequest)
        if unclean and version < _FIRST_UNCLEAN:
            raise too_old(f"{broker.name} has no unclean election on request", _FIRST_UNCLEAN, version)
        keys = [tp for tp, _ in items]
        request = ElectLeadersRequest(
            election_type=_UNCLEAN if unclean else _PREFERRED,
            topic_partitions=[
                TopicPartitions(topic=name, partitions=numbers) for name, numbers in by_topic(keys).items()
            ],
            timeout_ms=max(1, int((deadline - cluster.loop.now()) * 1000)),
        )
        return [Part(request, keys)]

    def read(
        response: ElectLeadersResponse, part: Part[TopicPartition]
    ) -> Iterator[tuple[TopicPartition, int | KcliError, None]]:
        if response.error_code != NONE:
            for tp in part.keys:
                yield tp, _refused(response.error_code, tp, None), None
        for topic in response.replica_election_results:
            for row in topic.partition_result:
                tp = TopicPartition(topic.topic, row.partition_id)
                done = row.error_code in (NONE, ELECTION_NOT_NEEDED)
                yield tp, NONE if done else _refused(row.error_code, tp, row.error_message), None

    return fan_out(
        cluster,
        dict.fromkeys(partitions),
        ToController(cluster),
        ask,
        read,
        deadline,
        "electing a leader of",
        final=[PREFERRED_LEADER_NOT_AVAILABLE, ELIGIBLE_LEADERS_NOT_AVAILABLE],
        unknown=[UNKNOWN_TOPIC_OR_PARTITION],
    )


def _refused(code: int, tp: TopicPartition, message: str | None) -> KcliError:
    if code == UNKNOWN_TOPIC_OR_PARTITION:
        return unknown_partition(tp)
    return BrokerError(
        code,
        f"electing a leader of {tp}",
        message=message or "",
        do=_REMEDIES.get(code, ""),
        needs=[on_cluster("ALTER")],
    )
