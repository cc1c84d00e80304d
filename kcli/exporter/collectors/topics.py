"""Topics beyond what the screen shows of them: replicas, the minimum of those in sync, leaders. Pure, with the leader
epochs so far.
"""

from collections.abc import Collection, Iterator, Mapping

from kcli.core.admin.topics import TopicInfo
from kcli.core.classes import NamedTuple
from kcli.exporter.collectors.sample import Sample
from kcli.exporter.metric import COUNTER, GAUGE, Metric
from kcli.flows.cluster_state import in_sync_required, is_offline
from kcli.flows.topics.sizes import TopicSize

_TOPIC, _PARTITION = ("topic",), ("topic", "partition")
REPLICATION = Metric(
    "kcli_topic_replication_factor", GAUGE, _TOPIC, "The largest number of replicas of a partition."
)
UNDER_MIN_ISR = Metric(
    "kcli_topic_under_min_isr_partitions",
    GAUGE,
    _TOPIC,
    "Partitions with fewer replicas in sync than acks=all requires.",
)
AT_MIN_ISR = Metric(
    "kcli_topic_at_min_isr_partitions",
    GAUGE,
    _TOPIC,
    "Partitions with exactly as many, fewer than their replicas.",
)
NOT_PREFERRED = Metric(
    "kcli_topic_not_preferred_leader_partitions",
    GAUGE,
    _TOPIC,
    "Partitions that their first replica does not lead.",
)
LEADER_CHANGES = Metric(
    "kcli_topic_leader_changes",
    COUNTER,
    _TOPIC,
    "Elections of leaders of its partitions since the exporter began.",
)
REPLICA_SIZE = Metric("kcli_topic_replica_size_bytes", GAUGE, _TOPIC, "Bytes of the logs of all replicas.")
LEADER = Metric("kcli_topic_leader", GAUGE, _PARTITION, "Node id of the partition's leader; -1 without one.")
REPLICAS = Metric("kcli_topic_replicas", GAUGE, _PARTITION, "Replicas of the partition.")
IN_SYNC = Metric(
    "kcli_topic_in_sync_replicas", GAUGE, _PARTITION, "Replicas of the partition that are in sync."
)
OF_PARTITION = (LEADER, REPLICAS, IN_SYNC)
OF_TOPIC = (REPLICATION, UNDER_MIN_ISR, AT_MIN_ISR, NOT_PREFERRED, LEADER_CHANGES, REPLICA_SIZE)
METRICS = (*OF_TOPIC, *OF_PARTITION)


class LeaderChanges:
    """Counts elections by the leader epochs of partitions, which grow with each, also between two samples."""

    def __init__(self) -> None:
        self._topics: dict[str, tuple[str, dict[int, int], int]] = {}

    def add(self, topics: Collection[TopicInfo]) -> dict[str, int]:
        """The changes of each topic since it was seen first. One that was made anew begins anew."""
        now: dict[str, tuple[str, dict[int, int], int]] = {}
        for topic in topics:
            topic_id, epochs, changes = self._topics.get(topic.name, (topic.topic_id, {}, 0))
            if topic_id != topic.topic_id:
                epochs, changes = {}, 0
            known = {part.partition: part.leader_epoch for part in topic.partitions if part.leader_epoch >= 0}
            changes += sum(max(0, epoch - epochs.get(number, epoch)) for number, epoch in known.items())
            epochs = {**epochs, **known}
            now[topic.name] = topic.topic_id, epochs, changes
        self._topics = now
        return {name: changes for name, (_, _, changes) in now.items()}


class Required(NamedTuple):
    """How many replicas have to be in sync: ``min_isr`` of topics where it is known, and whether brokers require no more
    than there are.
    """

    min_isr: Mapping[str, int]
    capped: bool


UNKNOWN = Required({}, capped=True)


def samples(
    topics: Collection[TopicInfo],
    required: Required,
    sizes: Mapping[str, TopicSize],
    changes: Mapping[str, int],
) -> Iterator[Sample]:
    for topic in topics:
        name, parts = topic.name, topic.partitions
        at, least, size = (name,), required.min_isr.get(name), sizes.get(name)
        yield Sample(REPLICATION, at, topic.replication_factor, name)
        if least is not None:
            wanted = [in_sync_required(least, len(part.replicas), capped=required.capped) for part in parts]
            pairs = list(zip(parts, wanted, strict=True))
            yield Sample(UNDER_MIN_ISR, at, sum(len(part.isr) < count for part, count in pairs), name)
            at_minimum = sum(len(part.isr) == count < len(part.replicas) for part, count in pairs)
            yield Sample(AT_MIN_ISR, at, at_minimum, name)
        away = sum(
            not is_offline(part) and part.leader != part.replicas[0] for part in parts if part.replicas
        )
        yield Sample(NOT_PREFERRED, at, away, name)
        yield Sample(LEADER_CHANGES, at, changes.get(name), name)
        yield Sample(REPLICA_SIZE, at, None if size is None else size.replicas, name)
        for part in parts:
            place = name, part.partition
            yield Sample(LEADER, place, part.leader, name)
            yield Sample(REPLICAS, place, len(part.replicas), name)
            yield Sample(IN_SYNC, place, len(part.isr), name)
