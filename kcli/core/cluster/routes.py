"""Where a request about a key is sent: to a partition's leader, a key's coordinator, or a given broker.

A route groups keys by broker and knows what to look up again when a broker has refused a key. Runs in the loop's
thread; a lookup may wait in its poll.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Generic, Protocol, TypeVar

from kcli.core.cluster.cluster import ANY, CONTROLLER, Cluster
from kcli.core.cluster.metadata import no_leader, no_partition, topic_missing, topic_refused, unknown_topic
from kcli.core.error_codes import NONE
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.types import TopicPartition

K = TypeVar("K")

Nodes = dict[K, int | KcliError]
"""Key → node id (or ANY), or why there is none at the moment. NotFoundError may be resolved within a second."""


class Route(Protocol[K]):
    """How ``fan_out`` finds the brokers of its keys."""

    def find_nodes(self, keys: Collection[K], deadline: float) -> Nodes[K]:
        """The broker of each key."""

    def renew(self, errors: Mapping[K, KcliError], deadline: float) -> None:
        """Looks up what the errors show to be stale, before these keys are sent again."""


class ToLeader:
    """Routes partitions to their leaders, as metadata names them."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def find_nodes(self, keys: Collection[TopicPartition], deadline: float) -> Nodes[TopicPartition]:
        """Waits for metadata of topics that it does not have yet."""
        self._cluster.ensure_topics({tp.topic for tp in keys}, deadline)
        return {tp: self._find_node(tp) for tp in keys}

    def renew(self, errors: Mapping[TopicPartition, KcliError], deadline: float) -> None:  # noqa: ARG002
        """Returns when metadata has been refreshed."""
        self._cluster.wait_refreshed(deadline)

    def _find_node(self, tp: TopicPartition) -> int | KcliError:
        leader = self._cluster.view.leader(tp)
        return leader.id if leader is not None else _no_leader(self._cluster, tp)


class ToBroker(Generic[K]):
    """Routes keys to the broker whose id ``number`` returns for each; ANY for keys that any broker can serve."""

    def __init__(self, cluster: Cluster, number: Callable[[K], int]) -> None:
        self._cluster = cluster
        self._number: Callable[[K], int] = number

    def find_nodes(self, keys: Collection[K], deadline: float) -> Nodes[K]:  # noqa: ARG002
        """NotFoundError for a broker that metadata does not list."""
        return {key: self._find_node(self._number(key)) for key in keys}

    def renew(self, errors: Mapping[K, KcliError], deadline: float) -> None:  # noqa: ARG002
        """Returns when metadata has been refreshed: a broker may have joined, or left."""
        self._cluster.wait_refreshed(deadline)

    def _find_node(self, number: int) -> int | KcliError:
        if number == ANY or number in self._cluster.view.nodes:
            return number
        return NotFoundError(
            f"the cluster has no broker {number}",
            why=f"it has {_listed(self._cluster.view.nodes)}",
            do="`kcli cluster describe` lists the brokers",
        )


class ToController(Generic[K]):
    """Routes all keys to the controller that metadata names; with KRaft to a broker, which forwards."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def find_nodes(self, keys: Collection[K], deadline: float) -> Nodes[K]:  # noqa: ARG002
        """The controller; which broker it is, is found when the request is sent."""
        return dict.fromkeys(keys, CONTROLLER)

    def renew(self, errors: Mapping[K, KcliError], deadline: float) -> None:  # noqa: ARG002
        """Returns when metadata has been refreshed: the controller may have moved."""
        self._cluster.wait_refreshed(deadline)


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(str(number) for number in sorted(numbers)) or "none"


def _no_leader(cluster: Cluster, tp: TopicPartition) -> KcliError:
    topic = cluster.view.topics.get(tp.topic)
    if topic_missing(topic):
        return unknown_topic(tp.topic, ())
    if topic is not None and topic.error != NONE:
        return topic_refused(tp.topic, topic.error)
    if topic is not None and topic.partitions and topic.partition(tp.partition) is None:
        return no_partition(tp, len(topic.partitions))
    part = topic.partition(tp.partition) if topic is not None else None
    return no_leader(tp, code=part.error) if part is not None else no_leader(tp)
