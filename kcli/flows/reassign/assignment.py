"""A balanced assignment of replicas to brokers, as near to the present one as it can be. Pure.

Every partition gets its number of replicas on distinct brokers, spread over racks as far as possible. Then replicas
are balanced over the brokers, and preferred leaders over the replicas, both to within 1 where the racks permit it. The
present replicas are kept unless one of these requires a move: the assignment of a balanced cluster is the present one.

Balancing moves along shortest paths of a flow network (broker → partition → rack → broker), from a broker to one that has
at least two fewer; where there is no such path, no assignment is more even.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError
from kcli.core.types import TopicPartition
from kcli.output.progress import counted


class Placement(NamedTuple):
    """A partition: its replicas, the preferred leader first, its ``leader`` (−1: none) and its size in bytes."""

    tp: TopicPartition
    replicas: tuple[int, ...]
    leader: int = -1
    size: int = 0


def assignment(
    partitions: Sequence[Placement], racks: Mapping[int, str | None], factor: int | None = None
) -> dict[TopicPartition, tuple[int, ...]]:
    """The replicas of each partition on the brokers of ``racks``, the preferred leader first.

    Racks count where every broker has one. ``factor``: the number of replicas; None keeps each partition's own.
    ConfigError where there are fewer brokers than replicas.
    """
    for row in partitions:
        wanted = factor or len(row.replicas)
        if wanted > len(racks):
            raise ConfigError(
                f"{row.tp} cannot have {counted(wanted, 'replica')} on {counted(len(racks), 'broker')}",
                why="each replica is on another broker",
                do="name more brokers with --brokers, or fewer replicas with --replication-factor",
            )
    replicas = _Replicas(partitions, racks, factor)
    replicas.keep()
    replicas.fill()
    _level(replicas.on, replicas.may_move, replicas.cost, replicas.move)
    leaders = _Leaders(partitions, replicas.has, racks)
    _level(leaders.on, leaders.may_move, leaders.cost, leaders.move)
    return {
        row.tp: _ordered(row.replicas, replicas.has[index], leaders.leader[index])
        for index, row in enumerate(partitions)
    }


Step = tuple[int, int, int]
"""Partition (by index), the broker that loses it, the broker that gets it."""
Cost = tuple[int, ...]


class _Replicas:
    """Which brokers have which partitions; ``on`` are the partitions of each broker, by index."""

    def __init__(
        self, partitions: Sequence[Placement], racks: Mapping[int, str | None], factor: int | None
    ) -> None:
        aware = all(rack is not None for rack in racks.values())
        self._rack = {broker: str(rack) if aware else f"broker {broker}" for broker, rack in racks.items()}
        self._sizes = {
            rack: sum(found == rack for found in self._rack.values()) for rack in self._rack.values()
        }
        self._rows = partitions
        self._factor = [factor or len(row.replicas) for row in partitions]
        self._ranges: dict[int, dict[str, tuple[int, int]]] = {}
        self._of_topic: dict[tuple[str, int], int] = {}
        self.has: list[list[int]] = [[] for _ in partitions]
        self.on: dict[int, set[int]] = {broker: set() for broker in racks}

    def keep(self) -> None:
        """Keeps present replicas; of those that are too many, drops from the brokers that have most."""
        for index, row in enumerate(self._rows):
            for broker in row.replicas:
                if broker in self.on:
                    self._add(index, broker)
        for index in range(len(self._rows)):
            while surplus := self._surplus(index):
                self._drop(index, max(surplus, key=lambda b: (len(self.on[b]), self.has[index].index(b))))

    def fill(self) -> None:
        """Adds what is missing, to the brokers that have least."""
        for index, row in enumerate(self._rows):
            while len(self.has[index]) < self._factor[index]:
                topic = row.tp.topic
                self._add(
                    index,
                    min(
                        self._eligible(index),
                        key=lambda b: (len(self.on[b]), b not in row.replicas, self._of_topic.get((topic, b), 0), b),
                    ),
                )  # fmt: skip

    def may_move(self, index: int, source: int, target: int) -> bool:
        """Whether the racks permit it, and the target has no replica."""
        if target in self.has[index]:
            return False
        out, into = self._rack[source], self._rack[target]
        if out == into:
            return True
        ranges, counts = self._range(index), self._counts(index)
        return counts.get(out, 0) > ranges[out][0] and counts.get(into, 0) < ranges[into][1]

    def cost(self, index: int, source: int, target: int) -> Cost:
        """How much is copied: nothing to where it is, or from where it would have been copied to."""
        row = self._rows[index]
        copies = (target not in row.replicas) - (source not in row.replicas)
        topic = row.tp.topic
        evener = self._of_topic.get((topic, target), 0) - self._of_topic.get((topic, source), 0)
        return copies, evener, row.size, index

    def move(self, index: int, source: int, target: int) -> None:
        """Replaces a replica by another one at its place."""
        place = self.has[index].index(source)
        self._drop(index, source)
        self._add(index, target)
        self.has[index].insert(place, self.has[index].pop())

    def _add(self, index: int, broker: int) -> None:
        self.has[index].append(broker)
        self.on[broker].add(index)
        key = self._rows[index].tp.topic, broker
        self._of_topic[key] = self._of_topic.get(key, 0) + 1

    def _drop(self, index: int, broker: int) -> None:
        self.has[index].remove(broker)
        self.on[broker].discard(index)
        self._of_topic[self._rows[index].tp.topic, broker] -= 1

    def _surplus(self, index: int) -> list[int]:
        """The replicas of which one has to be dropped: too many in a rack, too many at all, or none left for a rack."""
        ranges, counts = self._range(index), self._counts(index)
        held = self.has[index]
        crowded = [broker for broker in held if counts[self._rack[broker]] > ranges[self._rack[broker]][1]]
        if crowded:
            return crowded
        free = self._factor[index] - len(held)
        if free >= self._missing(index):
            return []
        return [broker for broker in held if counts[self._rack[broker]] > ranges[self._rack[broker]][0]]

    def _eligible(self, index: int) -> list[int]:
        """The brokers that may get a replica; only those of racks that must have one where none may be left over."""
        ranges, counts, held = self._range(index), self._counts(index), self.has[index]
        needy = self._factor[index] - len(held) <= self._missing(index)
        limit = 0 if needy else 1
        return [
            broker
            for broker, rack in self._rack.items()
            if broker not in held and counts.get(rack, 0) < ranges[rack][limit]
        ]

    def _missing(self, index: int) -> int:
        """How many replicas racks must still get."""
        counts = self._counts(index)
        return sum(max(0, low - counts.get(rack, 0)) for rack, (low, _) in self._range(index).items())

    def _counts(self, index: int) -> dict[str, int]:
        found: dict[str, int] = {}
        for broker in self.has[index]:
            rack = self._rack[broker]
            found[rack] = found.get(rack, 0) + 1
        return found

    def _range(self, index: int) -> dict[str, tuple[int, int]]:
        """The least and the greatest number of replicas in each rack, so that they are spread as far as possible."""
        factor = self._factor[index]
        if factor not in self._ranges:
            level = 0
            while sum(min(size, level) for size in self._sizes.values()) < factor:
                level += 1
            self._ranges[factor] = {
                rack: (min(size, level - 1), min(size, level)) for rack, size in self._sizes.items()
            }
        return self._ranges[factor]


class _Leaders:
    """Which replica of each partition is preferred; ``on`` are the partitions that each broker leads, by index."""

    def __init__(
        self, partitions: Sequence[Placement], has: Sequence[Sequence[int]], brokers: Collection[int]
    ) -> None:
        self._rows, self._has = partitions, has
        self.leader = [_kept_leader(row, held) for row, held in zip(partitions, has, strict=True)]
        self.on: dict[int, set[int]] = {broker: set() for broker in brokers}
        for index, broker in enumerate(self.leader):
            self.on[broker].add(index)

    def may_move(self, index: int, source: int, target: int) -> bool:
        """Whether the target has a replica."""
        return target != source and target in self._has[index]

    def cost(self, index: int, source: int, target: int) -> Cost:
        """Preferred leaders stay, then those that lead now; else one that has its data already becomes one."""
        row = self._rows[index]
        first = row.replicas[0] if row.replicas else -1
        return (source == first) - (target == first), source == row.leader, target not in row.replicas, index

    def move(self, index: int, source: int, target: int) -> None:
        """Another replica is preferred."""
        self.on[source].discard(index)
        self.on[target].add(index)
        self.leader[index] = target


def _kept_leader(row: Placement, held: Sequence[int]) -> int:
    for broker in (*row.replicas[:1], row.leader):
        if broker in held:
            return broker
    return held[0]


def _ordered(before: Sequence[int], held: Sequence[int], leader: int) -> tuple[int, ...]:
    kept = [broker for broker in before if broker in held and broker != leader]
    return (leader, *kept, *(broker for broker in held if broker not in before and broker != leader))


def _level(
    on: Mapping[int, Collection[int]],
    may_move: Callable[[int, int, int], bool],
    cost: Callable[[int, int, int], Cost],
    move: Callable[[int, int, int], None],
) -> None:
    """Moves partitions from brokers that have more to those that have at least two fewer, until none can be."""
    while path := _path(on, may_move, cost):
        for step in path:
            move(*step)


def _path(
    on: Mapping[int, Collection[int]],
    may_move: Callable[[int, int, int], bool],
    cost: Callable[[int, int, int], Cost],
) -> list[Step]:
    """The moves of a shortest path; empty if there is none."""

    def cheapest(source: int, target: int) -> Step | None:
        found = [index for index in on[source] if may_move(index, source, target)]
        return (min(found, key=lambda index: cost(index, source, target)), source, target) if found else None

    brokers = sorted(on, key=lambda broker: (len(on[broker]), broker))
    for source in reversed(brokers):
        for target in _lighter(on, brokers, source):
            if step := cheapest(source, target):
                return [step]
    steps: dict[tuple[int, int], Step | None] = {}

    def edge(source: int, target: int) -> Step | None:
        if (source, target) not in steps:
            steps[source, target] = cheapest(source, target)
        return steps[source, target]

    for source in reversed(brokers):
        if path := _search(source, set(_lighter(on, brokers, source)), brokers, edge):
            return path
    return []


def _lighter(on: Mapping[int, Collection[int]], brokers: Sequence[int], source: int) -> Iterator[int]:
    """The brokers that have at least two fewer than ``source``, those that have least first."""
    for target in brokers:
        if len(on[target]) > len(on[source]) - 2:
            return
        yield target


def _search(
    source: int, targets: Collection[int], brokers: Sequence[int], edge: Callable[[int, int], Step | None]
) -> list[Step]:
    """Breadth first from ``source`` to any of ``targets``."""
    came: dict[int, Step] = {}
    queue = [source] if targets else []
    for broker in queue:
        for target in brokers:
            if target == source or target in came:
                continue
            if step := edge(broker, target):
                came[target] = step
                queue.append(target)
                if target in targets:
                    return _walked(came, source, target)
    return []


def _walked(came: Mapping[int, Step], source: int, target: int) -> list[Step]:
    path = []
    while target != source:
        path.append(came[target])
        target = came[target][1]
    return path[::-1]
