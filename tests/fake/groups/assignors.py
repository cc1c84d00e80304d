"""Who shall get which partition: the server's assignors ``uniform`` and ``range`` (KIP-848); pure.

``uniform`` is balanced first and keeps what members had second. It is simpler than Kafka's: with different
subscriptions it may stop a step before the best balance.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.fake.groups.topics import Place


@dataclass(frozen=True, slots=True)
class Seat:
    """A member as assignors see it: ids of the topics it wants, and its former target."""

    instance_id: str | None
    topics: frozenset[bytes]
    had: frozenset[Place]


Seats = Mapping[str, Seat]
Targets = dict[str, frozenset[Place]]


def uniform(seats: Seats, sizes: Mapping[bytes, int]) -> Targets:
    """What a member had it keeps, unless somebody who could have it has two less."""
    targets = {
        name: {(t, p) for t, p in seat.had if t in seat.topics and p < sizes.get(t, 0)}
        for name, seat in seats.items()
    }
    taken = set().union(*targets.values())
    for place in [(topic, p) for topic in sizes for p in range(sizes[topic])]:
        takers = [name for name in seats if place[0] in seats[name].topics]
        if takers and place not in taken:
            targets[min(takers, key=lambda name: len(targets[name]))].add(place)
    while move := _move(seats, targets):
        place, giver, taker = move
        targets[giver].remove(place)
        targets[taker].add(place)
    return {name: frozenset(places) for name, places in targets.items()}


def _move(seats: Seats, targets: Mapping[str, set[Place]]) -> tuple[Place, str, str] | None:
    """A partition, from one of those who have most, to who has fewest; None when all is balanced."""
    for giver in sorted(targets, key=lambda name: -len(targets[name])):
        for place in sorted(targets[giver], reverse=True):
            takers = [name for name in seats if place[0] in seats[name].topics]
            taker = min(takers, key=lambda name: len(targets[name]))
            if len(targets[giver]) - len(targets[taker]) > 1:
                return place, giver, taker
    return None


def range_(seats: Seats, sizes: Mapping[bytes, int]) -> Targets:
    """Each topic is cut into ranges, static members first, then by member id."""
    order = sorted(seats, key=lambda name: (seats[name].instance_id is None, seats[name].instance_id or name))
    targets: dict[str, set[Place]] = {name: set() for name in seats}
    for topic, size in sizes.items():
        takers = [name for name in order if topic in seats[name].topics]
        start = 0
        for number, name in enumerate(takers):
            stop = start + size // len(takers) + (number < size % len(takers))
            targets[name] |= {(topic, partition) for partition in range(start, stop)}
            start = stop
    return {name: frozenset(places) for name, places in targets.items()}


ASSIGNORS: dict[str, Callable[[Seats, Mapping[bytes, int]], Targets]] = {"uniform": uniform, "range": range_}
