"""The arithmetic of the sticky assignors: as even as it can be, and no owner loses more than it must."""

import itertools
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from kcli.core.group.assignors.assignor import takers
from kcli.core.group.assignors.balance import balance
from kcli.core.group.consumer_protocol import Subscription
from kcli.core.types import TopicPartition
from tests.unit.core.group.assignors.worlds import (
    World,
    assert_exact,
    moved,
    places,
    spelled,
    subscribers,
    unevenness,
    worlds,
)


def balanced(
    members: Mapping[str, Subscription],
    partitions: Mapping[str, int],
    owners: Mapping[str, str] | None = None,
) -> dict[str, list[TopicPartition]]:
    had = {tp: member for member, text in (owners or {}).items() for tp in places(text)}
    return balance(sorted(members), takers(members, partitions), partitions, had)


def test_topics_with_few_takers_are_handed_out_first() -> None:
    members = subscribers(x="a", y="a b", z="a b c")
    assert spelled(balanced(members, {"a": 1, "b": 2, "c": 3})) == {"x": "a0", "y": "b0 b1", "z": "c0 c1 c2"}


def test_a_member_with_two_more_gives_one_away() -> None:
    given = balanced(subscribers(x="a", y="a"), {"a": 4}, {"x": "a0 a1 a2 a3"})
    assert spelled(given) == {"x": "a0 a1", "y": "a2 a3"}


def test_a_member_with_one_more_keeps_it() -> None:
    given = balanced(subscribers(x="a", y="a"), {"a": 3}, {"x": "a0 a1", "y": "a2"})
    assert spelled(given) == {"x": "a0 a1", "y": "a2"}


def test_what_cannot_move_directly_moves_hand_over_hand() -> None:
    """x has two more than z, with whom it shares no topic; y stands between. The Java client leaves it at that."""
    members = subscribers(x="a", y="a b", z="b")
    given = balanced(members, {"a": 3, "b": 3}, {"x": "a0 a1 a2", "y": "b0 b1", "z": "b2"})
    assert spelled(given) == {"x": "a0 a1", "y": "a2 b0", "z": "b1 b2"}


def test_no_owner_loses_what_can_be_evened_out_with_the_rest() -> None:
    """Handed out one by one, v gets both of b: then not c1 moves on from v to x, but b1 to w and a1 to x."""
    members = subscribers(v="b c", w="a b", x="a c")
    given = balanced(members, {"a": 2, "b": 2, "c": 2}, {"v": "c1", "w": "a0", "x": "c0"})
    assert spelled(given) == {"v": "b0 c1", "w": "a0 b1", "x": "a1 c0"}


def test_of_one_topic_what_was_not_owned_moves_first() -> None:
    """y is given b1 first; when x has to give, y passes that on and keeps b0."""
    members = subscribers(x="a", y="a b", z="b c")
    given = balanced(members, {"a": 3, "b": 2, "c": 1}, {"x": "a0 a1 a2", "y": "b0"})
    assert spelled(given) == {"x": "a0 a1", "y": "a2 b0", "z": "b1 c0"}


def test_an_owner_that_no_longer_subscribes_loses_its_partitions() -> None:
    given = balanced(subscribers(x="b", y="a"), {"a": 2, "b": 1}, {"x": "a0 a1"})
    assert spelled(given) == {"x": "b0", "y": "a0 a1"}


SMALL = st.builds(
    World,
    st.dictionaries(
        st.sampled_from("wxyz"),
        st.sets(st.sampled_from("abc"), min_size=1).map(lambda topics: Subscription(tuple(sorted(topics)))),
        min_size=1,
    ),
    st.dictionaries(st.sampled_from("abc"), st.integers(1, 3)),
)


def every_spread(world: World) -> list[dict[str, list[TopicPartition]]]:
    wanted = takers(world.members, world.partitions)
    everything = [
        TopicPartition(topic, number) for topic in wanted for number in range(world.partitions[topic])
    ]
    return [
        {m: [tp for tp, taker in zip(everything, choice, strict=True) if taker == m] for m in world.members}
        for choice in itertools.product(*(wanted[tp.topic] for tp in everything))
    ]


@given(SMALL, st.randoms(use_true_random=False))
def test_no_spread_is_more_even(world: World, rng) -> None:
    """Compared with all that there are, from any start."""
    wanted = takers(world.members, world.partitions)
    had = {
        TopicPartition(topic, number): rng.choice(names)
        for topic, names in wanted.items()
        for number in range(world.partitions[topic])
        if rng.random() < 0.7
    }
    spread = balance(sorted(world.members), wanted, world.partitions, had)
    assert_exact(world, spread)
    if sum(world.partitions[topic] for topic in wanted) <= 6:
        assert unevenness(spread) == min(map(unevenness, every_spread(world)))


@given(worlds(), st.randoms(use_true_random=False))
def test_a_balanced_spread_that_lost_partitions_is_filled_up_without_moving_any(world: World, rng) -> None:
    """What cooperative rebalancing rests on: its second round takes nothing away from anybody."""
    order, wanted = sorted(world.members), takers(world.members, world.partitions)
    first = balance(order, wanted, world.partitions, {})
    kept = {member: [tp for tp in row if rng.random() < 0.6] for member, row in first.items()}
    had = {tp: member for member, row in kept.items() for tp in row}
    second = balance(order, wanted, world.partitions, had)
    assert moved(kept, second) == set()
    assert unevenness(second) == unevenness(first)
