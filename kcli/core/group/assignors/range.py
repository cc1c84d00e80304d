"""The ``range`` assignor: each topic is divided into as many ranges as it has subscribers. Pure.

Topics with the same number of partitions and the same subscribers are divided alike, so that the member that reads
partition 3 of one also reads partition 3 of the other (co-partitioning, for joins). Where it does not divide evenly,
the first members get one more partition, and that for every topic: with many small topics they get far more. Racks are
ignored (Kafka's KIP-881 is left out: it needs the rack of every replica).
"""

from collections.abc import Mapping

from kcli.core.group.assignors.assignor import RebalanceProtocol, takers
from kcli.core.group.consumer_protocol import Subscription
from kcli.core.types import TopicPartition


class RangeAssignor:
    """Assigns adjacent partitions of a topic to one member."""

    name = "range"
    protocol: RebalanceProtocol = "EAGER"

    def assign(
        self, members: Mapping[str, Subscription], partitions: Mapping[str, int]
    ) -> dict[str, list[TopicPartition]]:
        """Ranges over partitions and members in their order."""
        given: dict[str, list[TopicPartition]] = {member: [] for member in members}
        for topic, subscribers in takers(members, partitions).items():
            each, more = divmod(partitions[topic], len(subscribers))
            start = 0
            for turn, member in enumerate(subscribers):
                stop = start + each + (turn < more)
                given[member] += [TopicPartition(topic, number) for number in range(start, stop)]
                start = stop
        return given
