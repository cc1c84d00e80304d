"""Balanced first, sticky second: the algorithm of both sticky assignors. Pure.

Members keep what they own; unowned partitions go to the member with the fewest; then partitions move from a member to
another that has at least two fewer, directly or along a chain (a gives one to b, which gives another to c), until no
such chain is left. No assignment is more even then: an uneven assignment always has such a chain (Harvey et al.,
"Semi-matchings for bipartite graphs and load balancing"). The Java client stops at the direct moves.

It is done twice: first only with partitions that had no owner, then with all. So an owner loses a partition only where
balance requires it, and a balanced assignment that lost some partitions is completed without any owner losing one: that
is why cooperative rebalancing ends after its second round.
"""

import heapq
from collections.abc import Mapping, Sequence

from kcli.core.types import TopicPartition

_Stock = dict[str, list[int]]
"""Topic → partition numbers; no empty lists."""


def balance(
    members: Sequence[str],
    takers: Mapping[str, Sequence[str]],
    partitions: Mapping[str, int],
    owners: Mapping[TopicPartition, str],
) -> dict[str, list[TopicPartition]]:
    """Each member's partitions, in order. ``takers``: topic → its subscribers; ``owners``: the present owners.

    Ties go to the member that comes first in ``members``. An owner that did not subscribe to the topic is ignored.
    """
    spread = _Spread(members, takers)
    spread.hand_back(owners)
    spread.hand_out(partitions)
    spread.even_out([spread.fresh])
    spread.even_out([spread.fresh, spread.owned])
    return spread.result()


class _Spread:
    """The assignment while it is being balanced. Members are numbers here: their indexes in the given order.

    ``owned`` is what a member had before, ``fresh`` what it is assigned now.
    """

    def __init__(self, members: Sequence[str], takers: Mapping[str, Sequence[str]]) -> None:
        index = {member: number for number, member in enumerate(members)}
        self._members = members
        self._takers = {topic: [index[member] for member in names] for topic, names in takers.items()}
        self._index = index
        self._load = [0] * len(members)
        self.owned: list[_Stock] = [{} for _ in members]
        self.fresh: list[_Stock] = [{} for _ in members]

    def hand_back(self, owners: Mapping[TopicPartition, str]) -> None:
        """Gives every owner back the partitions it had, if it is still subscribed."""
        wanted = {topic: set(numbers) for topic, numbers in self._takers.items()}
        for topic, number in sorted(owners):
            owner = self._index[owners[TopicPartition(topic, number)]]
            if owner in wanted.get(topic, ()):
                self._give(self.owned, owner, topic, number)

    def hand_out(self, partitions: Mapping[str, int]) -> None:
        """The rest goes to the members with the fewest; topics with few subscribers first: the others have choice."""
        kept = {(topic, number) for stock in self.owned for topic in stock for number in stock[topic]}
        for topic in sorted(self._takers, key=lambda topic: len(self._takers[topic])):
            queue = [(self._load[taker], taker) for taker in self._takers[topic]]
            heapq.heapify(queue)
            for number in range(partitions[topic]):
                if (topic, number) in kept:
                    continue
                load, taker = queue[0]
                self._give(self.fresh, taker, topic, number)
                heapq.heapreplace(queue, (load + 1, taker))

    def even_out(self, stocks: list[list[_Stock]]) -> None:
        """Moves partitions of these stocks until no chain of moves improves the balance.

        The member with the most gives first. If it can reach no member with at least two fewer, neither can any member
        it reaches, now or later: their topics are closed, and no search considers them again.
        """
        closed: set[str] = set()
        givers = [(-load, -member) for member, load in enumerate(self._load)]
        heapq.heapify(givers)
        while givers:
            load, member = -givers[0][0], -givers[0][1]
            chain = self._chain(member, stocks, closed) if self._load[member] == load else []
            if not chain:
                heapq.heappop(givers)
                continue
            for giver, topic, taker in chain:
                self._give(self.fresh, taker, topic, self._take(stocks, giver, topic))
            taker = chain[-1][2]
            heapq.heapreplace(givers, (-self._load[member], -member))
            heapq.heappush(givers, (-self._load[taker], -taker))

    def result(self) -> dict[str, list[TopicPartition]]:
        """The partitions of each member."""
        return {
            member: sorted(
                TopicPartition(topic, number)
                for stock in (self.owned[index], self.fresh[index])
                for topic, numbers in stock.items()
                for number in numbers
            )
            for index, member in enumerate(self._members)
        }

    def _chain(self, start: int, stocks: list[list[_Stock]], closed: set[str]) -> list[tuple[int, str, int]]:
        """The shortest chain of moves (giver, topic, taker) from ``start`` to a member with two fewer; empty: none."""
        load, goal = self._load, self._load[start] - 2
        came: dict[int, tuple[int, str]] = {}
        reached, seen = [start], set[str]()
        for giver in reached:  # grows: breadth first
            topics = {t: 0 for stock in stocks for t in stock[giver] if t not in seen and t not in closed}
            for topic in topics:
                taker = min(self._takers[topic], key=load.__getitem__)
                if load[taker] <= goal:
                    came[taker] = giver, topic
                    return _way(start, taker, came)
            seen.update(topics)
            for topic in topics:
                for taker in self._takers[topic]:
                    if taker not in came and taker != start:
                        came[taker] = giver, topic
                        reached.append(taker)
        closed |= seen
        return []

    def _give(self, stock: list[_Stock], member: int, topic: str, number: int) -> None:
        stock[member].setdefault(topic, []).append(number)
        self._load[member] += 1

    def _take(self, stocks: list[list[_Stock]], member: int, topic: str) -> int:
        """Removes a partition of the topic, if possible one that the member did not own before."""
        stock = next(stock[member] for stock in stocks if topic in stock[member])
        number = stock[topic].pop()
        if not stock[topic]:
            del stock[topic]
        self._load[member] -= 1
        return number


def _way(start: int, end: int, came: Mapping[int, tuple[int, str]]) -> list[tuple[int, str, int]]:
    moves = []
    while end != start:
        giver, topic = came[end]
        moves.append((giver, topic, end))
        end = giver
    return moves[::-1]
