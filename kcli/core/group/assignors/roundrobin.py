"""The ``roundrobin`` assignor: all partitions of all topics, dealt out in turn. Pure.

A member that did not subscribe to a partition's topic is skipped, so the assignment is even only where all members
subscribe to the same topics. Racks are ignored.
"""

from bisect import bisect_left
from collections.abc import Mapping

from kcli.core.group.assignors.assignor import RebalanceProtocol, in_order, takers
from kcli.core.group.consumer_protocol import Subscription
from kcli.core.types import TopicPartition


class RoundRobinAssignor:
    """Assigns one partition after the other to one member after the other."""

    name = "roundrobin"
    protocol: RebalanceProtocol = "EAGER"

    def assign(
        self, members: Mapping[str, Subscription], partitions: Mapping[str, int]
    ) -> dict[str, list[TopicPartition]]:
        """Deals in the order of topics, partitions and members."""
        order = in_order(members)
        seat = {member: number for number, member in enumerate(order)}
        given: dict[str, list[TopicPartition]] = {member: [] for member in members}
        turn = 0
        for topic, subscribers in takers(members, partitions).items():
            seats = [seat[member] for member in subscribers]
            for number in range(partitions[topic]):
                # the next seat from `turn` on; checking each member in between would cost members × partitions
                index = bisect_left(seats, turn) % len(seats)
                given[subscribers[index]].append(TopicPartition(topic, number))
                turn = (seats[index] + 1) % len(order)
        return given
