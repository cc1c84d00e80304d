"""A cluster's metadata: an immutable view, replaced as a whole, readable from any thread without a lock.

A topic that is missing in one response keeps its partitions, and leader epochs never go back while the topic id
stays the same: a broker that lags reports an old state (``tests/unit/core/cluster/test_metadata.py``,
``tests/fault/test_brokers.py``, B5).
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from kcli.core.classes import NamedTuple
from kcli.core.error_codes import (
    INVALID_TOPIC_EXCEPTION,
    LEADER_NOT_AVAILABLE,
    NONE,
    NOT_IN_LOG_DIRS,
    REMEDIES,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from kcli.core.errors import (
    BrokerError,
    KcliError,
    NoLeaderError,
    NotFoundError,
    NotInLogDirsError,
    UnknownPartitionError,
)
from kcli.core.names import is_own_topic
from kcli.core.near_names import near_names
from kcli.core.permissions import on_topic
from kcli.core.protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from kcli.core.protocol.schema import NO_UUID
from kcli.core.types import Node, TopicPartition

OR_HIDDEN = "or none that this client may describe"
"""For empty lists: brokers leave out what a client may not describe, and do not say so."""


class PartitionView(NamedTuple):
    """One partition. ``leader`` is −1 while it has none. ``elr`` are the eligible leader replicas (KIP-966): they have
    every record that is committed, though they are not in sync; ``last_known_elr`` those that were eligible, or led,
    before there was none. None where the broker did not report them.
    """

    partition: int
    leader: int
    leader_epoch: int = -1
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    offline: tuple[int, ...] = ()
    error: int = NONE
    elr: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None


class TopicView(NamedTuple):
    """One topic; ``error`` is its code in the last response, and the partitions are then those known before."""

    name: str
    id: bytes = NO_UUID
    internal: bool = False
    partitions: tuple[PartitionView, ...] = ()
    error: int = NONE

    def partition(self, number: int) -> PartitionView | None:
        """The partition of this number. Brokers list partitions from 0 on, without gaps."""
        if 0 <= number < len(self.partitions):
            found = self.partitions[number]
            if found.partition == number:
                return found
        return next((p for p in self.partitions if p.partition == number), None)


class ClusterView(NamedTuple):
    """Brokers and topics, as of the last metadata response."""

    nodes: Mapping[int, Node] = MappingProxyType({})
    topics: Mapping[str, TopicView] = MappingProxyType({})
    cluster_id: str | None = None
    controller: int = -1
    version: int = 0

    def leader(self, tp: TopicPartition) -> Node | None:
        """The broker that leads the partition; None if there is none or it is not known."""
        if tp.topic not in self.topics:
            return None
        partition = self.topics[tp.topic].partition(tp.partition)
        return self.nodes.get(partition.leader) if partition else None

    def topic_name(self, topic_id: bytes) -> str | None:
        """The name of the topic with this id."""
        return next((t.name for t in self.topics.values() if t.id == topic_id), None)

    def partitions_by_id(self, names: Iterable[str]) -> dict[bytes, list[int]]:
        """Topic id → its partitions, for the topics that are known."""
        topics = (self.topics.get(name) for name in names)
        return {t.id: [p.partition for p in t.partitions] for t in topics if t is not None and t.partitions}


def apply_metadata(
    view: ClusterView, response: MetadataResponse, requested: Iterable[str] | None, keep: Iterable[str] = ()
) -> ClusterView:
    """The view after ``response`` to a request for the topics ``requested`` (None: for all topics).

    A response for all topics drops those that it lacks, except those in ``keep``, which are marked as missing.

    Topics that were not requested are kept. A topic that is briefly missing or in error keeps its partitions, and a
    leader epoch never goes back while the topic id is the same: lagging brokers send old metadata.
    """
    topics = {} if requested is None else dict(view.topics)
    for found in response.topics:
        name = found.name if found.name is not None else view.topic_name(found.topic_id)
        if name is not None:
            topics[name] = _merge(view.topics.get(name), name, found)
    for name in keep:
        if name not in topics:
            topics[name] = view.topics.get(name, TopicView(name))._replace(error=UNKNOWN_TOPIC_OR_PARTITION)
    nodes = {b.node_id: Node(b.node_id, b.host, b.port, b.rack) for b in response.brokers}
    return view._replace(
        nodes=nodes or view.nodes,
        topics=topics,
        cluster_id=response.cluster_id or view.cluster_id,
        controller=response.controller_id,
        version=view.version + 1,
    )


def _merge(old: TopicView | None, name: str, found: MetadataResponseTopic) -> TopicView:
    same = old if old is not None and found.topic_id in (old.id, NO_UUID) else None
    if found.error_code not in (NONE, LEADER_NOT_AVAILABLE) or not found.partitions:
        # The partitions stay: a topic is missing for moments while a broker catches up, and what is queued for
        # it keeps its leaders.
        kept = old or TopicView(name)
        return kept._replace(error=found.error_code)
    partitions = []
    for p in found.partitions:
        new = PartitionView(
            p.partition_index,
            p.leader_id if p.error_code != LEADER_NOT_AVAILABLE else -1,
            p.leader_epoch,
            tuple(p.replica_nodes),
            tuple(p.isr_nodes),
            tuple(p.offline_replicas),
            p.error_code,
        )
        before = same.partition(p.partition_index) if same else None
        # Sequence: broker 1 reports the new leader with epoch 6, the next request goes to broker 2, which lags
        # and reports epoch 5. With it produce and fetch would go back to the old leader, and be refused.
        stale = before is not None and 0 <= new.leader_epoch < before.leader_epoch
        partitions.append(before if stale and before is not None else new)
    listed = {p.partition for p in partitions}
    # Partitions are never removed: a response without some of them is older than what is known.
    partitions.extend(p for p in (same.partitions if same else ()) if p.partition not in listed)
    partitions.sort(key=lambda p: p.partition)
    # Brokers before 2.8, during an upgrade, report no id: that is no other topic.
    topic_id = found.topic_id if found.topic_id != NO_UUID or old is None else old.id
    internal = found.is_internal or is_own_topic(name)
    return TopicView(name, topic_id, internal, tuple(partitions), found.error_code)


def topic_missing(topic: TopicView | None) -> bool:
    """Whether the brokers reported that the topic does not exist."""
    return topic is not None and topic.error == UNKNOWN_TOPIC_OR_PARTITION


CHECK_NAME = "check the topic name; `kcli topics list` lists the topics"
_NO_TOPIC = "the cluster has no topic of that name"


def no_partition(tp: TopicPartition, count: int) -> UnknownPartitionError:
    """The error for a partition that a topic of ``count`` partitions does not have."""
    what = f"topic {tp.topic} has no partition {tp.partition}"
    partitions = "1 partition" if count == 1 else f"{count} partitions"
    return UnknownPartitionError(
        what,
        why=f"the topic has {partitions}, numbered from 0",
        do=f"`kcli topics describe {tp.topic}` shows its partitions",
    )


def unknown_partition(tp: TopicPartition) -> NotFoundError:
    """The error where a broker knows only that there is no such partition, and not whether there is the topic."""
    return NotFoundError(
        f"{tp} does not exist",
        why="the cluster has no such topic, or the topic has fewer partitions",
        do=f"`kcli topics describe {tp.topic}` shows its partitions",
    )


ELECTION_PATIENCE = 1.0
"""How long in seconds to wait for a leader while a live in-sync replica could become leader."""


def may_be_elected(part: PartitionView) -> bool:
    """Whether an in-sync replica is alive: otherwise a leader can only be elected by an unclean election."""
    return any(replica not in part.offline for replica in part.isr)


_NAME_OTHERS = REMEDIES[NOT_IN_LOG_DIRS]


def no_leader(
    tp: TopicPartition, down: Iterable[int] = (), code: int = LEADER_NOT_AVAILABLE
) -> NoLeaderError:
    """The error for a partition without a leader; ``down``: the brokers with its replicas, if none of them can lead.
    ``code``: as metadata reports it.
    """
    if code == NOT_IN_LOG_DIRS:
        return NotInLogDirsError(
            f"{tp} cannot be read", why="it is in none of the log directories", do=_NAME_OTHERS
        )
    brokers = ", ".join(map(str, down))
    return NoLeaderError(
        f"{tp} has no leader",
        why=f"no in-sync replica is alive: broker {brokers} is down"
        if brokers
        else "an election is in progress, or its replicas are down",
        do=_see_replicas(tp.topic),
    )


def no_coordinator(of_what: str, topic: str, parts: Sequence[PartitionView], of: int) -> NoLeaderError:
    """The error for ``of_what`` (groups, transactional ids) that no broker lists, since these of the ``of`` partitions of
    ``topic`` have no leader, which would be their coordinator.
    """
    down = ", ".join(str(number) for number in sorted({number for part in parts for number in part.offline}))
    numbers = ",".join(str(part.partition) for part in parts)
    part = f"{of_what} of {len(parts):,} of {of:,} partitions of {topic}"
    what = f"{part} are not listed"
    if all(one.error == NOT_IN_LOG_DIRS for one in parts):
        where = (
            f"{topic}-{numbers} is in none of the log directories"
            if len(parts) == 1
            else (f"partitions {numbers} of {topic} are in none of the log directories")
        )
        error: NoLeaderError = NotInLogDirsError(what, why=where, do=_NAME_OTHERS)
    else:
        why = f"no leader: broker {down} is down" if down else "no leader"
        error = NoLeaderError(what, why=why, do=_see_replicas(topic))
    error.part, error.place = part, f"{topic}-{numbers}"
    return error


def _see_replicas(topic: str) -> str:
    return f"see which brokers are down: `kcli topics describe {topic}` shows its replicas"


def unknown_topic(name: str, known: Iterable[str]) -> NotFoundError:
    """The error for a topic that does not exist, with the most similar names.

    ``known`` may have the name itself: it is from another response than the one that lacks the topic.
    """
    known = list(known)
    if name in known:
        return NotFoundError(
            f"topic {name} is not known to all brokers",
            why="some list it and others do not, as for a moment after a topic is created or deleted",
            do=f"run it again; `kcli topics describe {name}` shows whether the topic exists",
        )
    near = near_names(name, known, 3)
    hint = f"did you mean {', '.join(near)}?" if near else CHECK_NAME
    return NotFoundError(f"topic {name} does not exist", why=_NO_TOPIC, do=hint)


def topic_error(topic: TopicView) -> KcliError:
    """The error for a topic that metadata reports with an error code."""
    if topic.error == UNKNOWN_TOPIC_OR_PARTITION:
        return unknown_topic(topic.name, ())
    return topic_refused(topic.name, topic.error)


def topic_refused(name: str, code: int, known: Iterable[str] = ()) -> BrokerError:
    """The error for a topic about which brokers respond with ``code`` only; ``known``: the topics that they list.

    Without the permission to describe it, brokers respond the same whether the topic exists or not.
    """
    error = BrokerError(code, f"looking up topic {name}", needs=[on_topic("DESCRIBE", name)])
    if code == TOPIC_AUTHORIZATION_FAILED:
        error.why += ", if it exists: brokers do not say"
        if near := near_names(name, (one for one in known if one != name), 3):
            error.do = f"did you mean {', '.join(near)}? If not, {error.do}"
    elif code == INVALID_TOPIC_EXCEPTION:
        error.do = CHECK_NAME
    return error
