"""The ``range`` assignor: each topic is cut into as many pieces as it has subscribers. Pure.

Topics with equally many partitions and the same subscribers are cut at the same places, so that whoever reads
partition 3 of one reads partition 3 of the other too (co-partitioning, for joins). The first members get one
partition more where it does not divide, and that for every topic: with many small topics they have much more.
Racks are not looked at (Kafka's KIP-881 is left out: it needs the rack of every replica).
"""

from collections.abc import Mapping

from kcli.core.group.assignors.assignor import RebalanceProtocol
from kcli.core.group.assignors.subscribers import takers
from kcli.core.group.consumer_protocol import Subscription
from kcli.core.types import TopicPartition


class RangeAssignor:
    """Neighbouring partitions of a topic to one member."""

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
