"""Moves replicas of partitions to other brokers, lists what is being moved, and cancels it (KIP-455)."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from kcli.core.admin.forwarded import patience, unanswered
from kcli.core.classes import dataclass
from kcli.core.cluster.brokers import CONTROL, FORWARDED
from kcli.core.cluster.cluster import CONTROLLER, Cluster
from kcli.core.cluster.fanout import Items, Part, fan_out
from kcli.core.cluster.metadata import unknown_partition
from kcli.core.cluster.routes import ToController
from kcli.core.connection.plan import Broker
from kcli.core.error_codes import (
    NO_REASSIGNMENT_IN_PROGRESS,
    NONE,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from kcli.core.errors import BrokerError, KcliError, TimedOutError
from kcli.core.future import Future
from kcli.core.permissions import on_cluster
from kcli.core.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from kcli.core.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)
from kcli.core.types import TopicPartition, by_topic

_LISTING = "listing the reassignments of partitions"


@dataclass(frozen=True, slots=True)
class Reassignment:
    """A reassignment in progress: ``replicas`` are those of now, with the ``adding`` and the ``removing`` ones."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas afterwards."""
        return tuple(number for number in self.replicas if number not in self.removing)

    @property
    def before(self) -> tuple[int, ...]:
        """The replicas after a cancellation."""
        return tuple(number for number in self.replicas if number not in self.adding)


def alter_reassignments(
    cluster: Cluster, wanted: Mapping[TopicPartition, Sequence[int] | None], deadline: float
) -> dict[TopicPartition, KcliError | None]:
    """Starts to move partitions to these replicas, the preferred leader first; None cancels what is in progress.

    The broker returns before anything is moved. A partition whose cancellation was repeated after a lost response and
    that is not being moved any more counts as done. UnsupportedError before Kafka 2.4.
    """
    unsure: set[TopicPartition] = set()

    def ask(
        _broker: Broker, items: Items[TopicPartition, Sequence[int] | None]
    ) -> list[Part[TopicPartition]]:
        replicas = dict(items)
        topics = [
            ReassignableTopic(
                name=name,
                partitions=[
                    ReassignablePartition(partition_index=number, replicas=_listed(replicas, name, number))
                    for number in numbers
                ],
            )
            for name, numbers in by_topic(replicas).items()
        ]
        timeout_ms = max(1, int((deadline - cluster.loop.now()) * 1000))
        return [
            Part(AlterPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=topics), list(replicas))
        ]

    def read(
        response: AlterPartitionReassignmentsResponse, part: Part[TopicPartition]
    ) -> Iterator[tuple[TopicPartition, int | KcliError, None]]:
        if response.error_code != NONE:
            for tp in part.keys:
                yield tp, _refused(response.error_code, tp, response.error_message), None
        for topic in response.responses:
            for row in topic.partitions:
                tp = TopicPartition(topic.name, row.partition_index)
                if row.error_code == NONE or (row.error_code == NO_REASSIGNMENT_IN_PROGRESS and tp in unsure):
                    yield tp, NONE, None
                else:
                    yield tp, _refused(row.error_code, tp, row.error_message), None

    return fan_out(
        cluster,
        wanted,
        ToController(cluster),
        ask,
        read,
        deadline,
        "reassigning",
        unknown=[UNKNOWN_TOPIC_OR_PARTITION],
        unsure=unsure,
    )


def list_reassignments(
    cluster: Cluster, deadline: float, partitions: Collection[TopicPartition] | None = None
) -> dict[TopicPartition, Reassignment]:
    """The reassignments in progress, of all partitions or of these. UnsupportedError before Kafka 2.4."""
    topics = None if partitions is None else [
        ListPartitionReassignmentsTopics(name=name, partition_indexes=numbers)
        for name, numbers in by_topic(partitions).items()
    ]  # fmt: skip

    sent: list[Future[Any]] = []

    def attempt() -> Future[Any]:
        seconds = max(0.001, deadline - cluster.loop.now())
        request = ListPartitionReassignmentsRequest(timeout_ms=max(1, int(seconds * 1000)), topics=topics)
        purpose = CONTROL if cluster.silence is None else FORWARDED
        sent.append(cluster.send(request, CONTROLLER, purpose=purpose))
        return sent[-1]

    def check(response: ListPartitionReassignmentsResponse) -> dict[TopicPartition, Reassignment]:
        if response.error_code != NONE:
            code, message = response.error_code, response.error_message or ""
            raise BrokerError(code, _LISTING, message=message, needs=[on_cluster("DESCRIBE")])
        return {
            TopicPartition(topic.name, row.partition_index): Reassignment(
                tuple(row.replicas), tuple(row.adding_replicas), tuple(row.removing_replicas)
            )
            for topic in response.topics
            for row in topic.partitions
        }

    try:
        return cluster.call(attempt, check, patience(cluster, deadline), _LISTING)
    except TimedOutError as error:
        if sent[-1].done:
            raise
        raise unanswered(cluster, error, sent[-1], _LISTING) from error


def _refused(code: int, tp: TopicPartition, message: str | None) -> KcliError:
    if code == UNKNOWN_TOPIC_OR_PARTITION:
        return unknown_partition(tp)
    return BrokerError(code, f"reassigning {tp}", message=message or "", needs=[on_cluster("ALTER")])


def _listed(
    replicas: Mapping[TopicPartition, Sequence[int] | None], name: str, number: int
) -> list[int] | None:
    found = replicas[TopicPartition(name, number)]
    return None if found is None else list(found)
