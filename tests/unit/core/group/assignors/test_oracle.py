"""An independent implementation: kafka-python's assignors, asked the same.

Where it fails or differs from the Java client it is left alone: it forgets members when static and dynamic ones come
mixed, so it is shown the static ones first; its round robin ends with a KeyError when it has to pass over a member.
"""

import random
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.coordinator.assignors.sticky.user_data import StickyAssignorUserData
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

from kcli.core.group.assignors.assignor import Assignor, in_order
from kcli.core.group.assignors.registry import assignor
from kcli.core.group.assignors.sticky import read_claim
from kcli.core.group.consumer_protocol import Subscription, by_topic, encode_subscription
from kcli.core.types import TopicPartition
from tests.unit.core.group.assignors.worlds import (
    COOPERATIVE,
    STICKY,
    TOPICS,
    Given,
    World,
    after,
    assert_exact,
    moved,
    spelled,
    unevenness,
)

ROUNDS = 150


def world(rng: random.Random, *, same: bool) -> World:
    ids = [f"m{number:02d}" for number in rng.sample(range(100), rng.randint(1, 7))]
    common = tuple(rng.sample(TOPICS, rng.randint(1, 6)))
    members = {}
    for member in ids:
        topics = common if same else tuple(rng.sample(TOPICS, rng.randint(1, 6)))
        members[member] = Subscription(topics, group_instance_id=rng.choice((None, None, f"i-{member}")))
    return World(members, {topic: rng.randint(1, 8) for topic in TOPICS if rng.random() < 0.9})


def theirs(their: Any, world: World, members: dict[str, Subscription]) -> dict[str, list[TopicPartition]]:
    wanted = {topic for one in members.values() for topic in one.topics}
    cluster = SimpleNamespace(
        topics=lambda: sorted(wanted & world.partitions.keys()),
        partitions_for_topic=lambda topic: (
            range(world.partitions[topic]) if topic in world.partitions else None
        ),
    )
    rows = [
        SimpleNamespace(
            member_id=member,
            group_instance_id=members[member].group_instance_id,
            metadata=metadata(members[member]),
        )
        for member in in_order(members)
    ]
    given = their.assign(cluster, rows)
    return {member: sorted(flat(one.assigned_partitions)) for member, one in given.items()}


def metadata(one: Subscription) -> Any:
    """As it reads the bytes; but it expects a version in front of sticky's user data, which the Java client lacks."""
    found = ConsumerProtocolSubscription.decode(encode_subscription(one))
    if one.user_data and not one.owned_partitions and len(one.user_data) > 4:
        claim = read_claim(one)
        groups = [(group.topic, group.partitions) for group in by_topic(claim.partitions)]
        found.user_data = StickyAssignorUserData(previous_assignment=groups, generation=claim.generation)
    return found


def flat(groups: Any) -> list[TopicPartition]:
    pairs = [(one.topic, one.partitions) if hasattr(one, "topic") else one for one in groups]
    return [TopicPartition(topic, number) for topic, numbers in pairs for number in numbers]


@pytest.mark.case("S4-18")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("ours", "their", "same"),
    [
        (assignor("range"), RangePartitionAssignor, True),
        (assignor("range"), RangePartitionAssignor, False),
        (assignor("roundrobin"), RoundRobinPartitionAssignor, True),
    ],
)
def test_range_and_roundrobin_are_equal(ours: Assignor, their: Any, *, same: bool) -> None:
    rng = random.Random(f"{ours.name} {same}")
    for _ in range(ROUNDS):
        one = world(rng, same=same)
        assert spelled(ours.assign(one.members, one.partitions)) == spelled(theirs(their, one, one.members))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("same", [True, False])
def test_sticky_is_as_even_and_moves_no_more(*, same: bool) -> None:
    rng = random.Random(f"sticky {same}")
    ours_moved = theirs_moved = 0
    for _ in range(ROUNDS):
        had, now, members = two_rounds(STICKY, rng, same=same)
        ours = STICKY.assign(members, now.partitions)
        their = theirs(StickyPartitionAssignor(), now, members)
        assert_exact(now, ours)
        assert_exact(now, their)
        assert unevenness(ours) <= unevenness(their)
        if unevenness(ours) == unevenness(their):
            ours_moved += len(moved(had, ours))
            theirs_moved += len(moved(had, their))
    assert 0 < ours_moved <= theirs_moved


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_cooperative_sticky_keeps_and_withholds_as_many() -> None:
    rng = random.Random("cooperative")
    for _ in range(ROUNDS):
        had, now, members = two_rounds(COOPERATIVE, rng, same=True)
        ours = COOPERATIVE.assign(members, now.partitions)
        their = theirs(CooperativeStickyAssignor(), now, members)
        assert moved(had, ours) == moved(had, their) == set()
        assert sum(map(len, ours.values())) == sum(map(len, their.values()))


def two_rounds(
    ours: Assignor, rng: random.Random, *, same: bool
) -> tuple[Given, World, dict[str, Subscription]]:
    """What the members had who are still there, the group by now, and how its members join."""
    before = world(rng, same=same)
    first = ours.assign(before.members, before.partitions)
    members = {member: one for member, one in before.members.items() if rng.random() < 0.7}
    topics = next(iter(before.members.values())).topics
    members |= {f"n{number}": Subscription(topics) for number in range(rng.randint(0 if members else 1, 2))}
    had = {member: first.get(member, []) for member in members}
    return had, World(members, before.partitions), after(ours, members, had, 3)
