"""The state of a cluster: its brokers, controllers, features and partitions. Prints nothing.

``observe`` asks; the classes below are values, and what is derived from them is pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import TopicInfo
from kcli.core.classes import dataclass
from kcli.core.cluster.metadata import PartitionView
from kcli.core.errors import KcliError, UnsupportedError
from kcli.core.types import Node

if TYPE_CHECKING:
    from kcli.core.admin.brokers import ClusterDescription
    from kcli.core.admin.features import BrokerFeatures
    from kcli.core.admin.quorum import QuorumDescription

_CAPPED_SINCE = 10
ONLINE, FENCED, MISSING, UNKNOWN = "online", "fenced", "missing", "unknown"
ASKED = frozenset((ONLINE, UNKNOWN))
"""The states of the brokers that are asked: log directories answer for those that nobody knows to run."""


@dataclass(frozen=True, slots=True)
class BrokerState:
    """A broker and its replicas. ``node`` is None for a ``missing`` one: only replica lists name it.

    ``under_replicated`` counts its replicas that are not in sync.
    """

    number: int
    node: Node | None
    state: str
    leaders: int
    replicas: int
    under_replicated: int


@dataclass(frozen=True, slots=True)
class ClusterState:
    """``quorum`` is None with ZooKeeper, before Kafka 3.3, or if it could not be described.

    ``features`` are those of the brokers that responded, ``topics`` those that this client may describe, ``errors``
    why the rest is unknown.
    """

    description: ClusterDescription
    quorum: QuorumDescription | None
    features: Mapping[int, BrokerFeatures]
    topics: Sequence[TopicInfo]
    errors: Sequence[KcliError]
    controller_known: bool = True

    @property
    def controller(self) -> int | None:
        """The active controller; None while there is none, or if it is unknown."""
        number = self.quorum.leader if self.quorum is not None else self.description.controller
        return number if number >= 0 and self.controller_known else None

    @property
    def finalized(self) -> Mapping[str, int]:
        """The levels of the finalized features, as reported by the broker that is the most up to date."""
        return newest_finalized(self.features.values())

    @property
    def requires_capped(self) -> bool:
        """See the function of this name."""
        return requires_capped(self.features.values())


def newest_finalized(features: Iterable[BrokerFeatures]) -> Mapping[str, int]:
    """The levels of the finalized features, as reported by the broker that is the most up to date."""
    newest = max(features, key=lambda found: found.epoch, default=None)
    return newest.finalized if newest is not None else {}


def finalized_levels(admin: Admin) -> Mapping[str, int]:
    """The same of the brokers that respond; the error of one where none does."""
    found = admin.describe_features()
    good = [one for one in found.values() if not isinstance(one, KcliError)]
    for error in found.values():
        if isinstance(error, KcliError) and not good:
            raise error
    return newest_finalized(good)


def observe(admin: Admin, broker_ids: Collection[int] | None = None) -> ClusterState:
    """Describes the cluster; what could not be described is in ``errors``. Raises if no broker responds.

    ``broker_ids``: the brokers whose features are requested, None for all.
    """
    quorum, by_broker, description, topics = admin.together(
        lambda: _quorum(admin),
        lambda: admin.describe_features(broker_ids=broker_ids),
        lambda: described(admin),
        admin.list_topics,
    )
    errors = [found for found in (quorum, *by_broker.values()) if isinstance(found, KcliError)]
    features = {number: found for number, found in by_broker.items() if not isinstance(found, KcliError)}
    known = not isinstance(quorum, KcliError)
    return ClusterState(
        description, quorum if known else None, features, topics, errors, controller_known=known
    )


def _quorum(admin: Admin) -> QuorumDescription | KcliError | None:
    """None where the controller is the one that metadata names."""
    try:
        return admin.describe_quorum()
    except UnsupportedError:
        return None
    except KcliError as error:
        return error


def described(admin: Admin, *, include_operations: bool = False) -> ClusterDescription:
    """With fenced brokers, which are down as a rule, where the broker that responds can list them (Kafka 4.0)."""
    try:
        return admin.describe_cluster(include_fenced=True, include_operations=include_operations)
    except UnsupportedError:
        return admin.describe_cluster(include_operations=include_operations)


def broker_states(
    description: ClusterDescription, topics: Sequence[TopicInfo], named: Collection[int] = ()
) -> list[BrokerState]:
    """Every broker of the cluster, of its replica lists, and of those ``named`` elsewhere, by id."""
    known = {broker.node.id: broker for broker in description.brokers}
    parts = [part for topic in topics for part in topic.partitions]
    leaders, replicas, lagging = dict[int, int](), dict[int, int](), dict[int, int]()
    for part in parts:
        leaders[part.leader] = leaders.get(part.leader, 0) + 1
        for number in part.replicas:
            replicas[number] = replicas.get(number, 0) + 1
            if number not in part.isr:
                lagging[number] = lagging.get(number, 0) + 1
    found = []
    present = UNKNOWN if description.is_stored else ONLINE
    for number in sorted({*known, *replicas, *named}):
        broker = known.get(number)
        state = MISSING if broker is None else FENCED if broker.is_fenced else present
        counts = leaders.get(number, 0), replicas.get(number, 0), lagging.get(number, 0)
        found.append(BrokerState(number, broker.node if broker else None, state, *counts))
    return found


def is_offline(part: PartitionView) -> bool:
    """Whether the partition has no leader: it can be neither read nor written."""
    return part.leader < 0


def is_under_replicated(part: PartitionView, adding: Collection[int] = ()) -> bool:
    """Whether some of its replicas are not in sync. Those of an offline partition are, in this sense, too.

    ``adding``: the replicas that a reassignment is adding, which do not count.
    """
    return any(number not in part.isr and number not in adding for number in part.replicas)


def leader_is_preferred(part: PartitionView) -> bool:
    """Whether the first replica leads."""
    return not part.replicas or part.leader == part.replicas[0]


def in_sync_required(min_isr: int, replicas: int, *, capped: bool) -> int:
    """How many of as many replicas have to be in sync, so that records with acks=all are not refused.

    ``capped``: see ``requires_capped``.
    """
    return min(min_isr, replicas) if capped else min_isr


def requires_capped(features: Iterable[BrokerFeatures]) -> bool:
    """Whether all of these brokers require no more replicas in sync than there are, whatever min.insync.replicas says:
    since Kafka 3.7 (KAFKA-15583), which was the first to offer Produce 10.
    """
    offered = [found.produce for found in features]
    return bool(offered) and min(offered) >= _CAPPED_SINCE


def caps_requirement(admin: Admin) -> bool:
    """The same of the brokers that respond."""
    return requires_capped(
        found for found in admin.describe_features().values() if not isinstance(found, KcliError)
    )
