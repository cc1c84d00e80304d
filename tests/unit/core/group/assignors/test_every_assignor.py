"""What holds for each of the four, whatever the group looks like."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.group.assignors.leading import assignments
from kcli.core.group.consumer_protocol import Subscription, decode_assignment
from kcli.core.types import TopicPartition
from tests.unit.core.group.assignors.worlds import (
    EVERY,
    TOPICS,
    World,
    after,
    assert_exact,
    assert_no_faults,
    loads,
    name_of,
    worlds,
)

EACH = pytest.mark.parametrize("assignor", EVERY, ids=name_of)
ALL_BUT_RANGE = pytest.mark.parametrize("assignor", EVERY[1:], ids=name_of)


@EACH
@given(world=worlds())
def test_every_wanted_partition_goes_to_one_subscriber(assignor, world: World) -> None:
    assert_exact(world, assignor.assign(world.members, world.partitions))


@ALL_BUT_RANGE
@given(world=worlds(same=True))
def test_members_with_the_same_topics_differ_by_one_at_most(assignor, world: World) -> None:
    counts = loads(assignor.assign(world.members, world.partitions))
    assert counts[-1] - counts[0] <= 1


@given(world=worlds(same=True))
def test_range_differs_by_one_at_most_in_each_topic(world: World) -> None:
    given = EVERY[0].assign(world.members, world.partitions)
    for topic in world.partitions:
        counts = loads({member: [tp for tp in row if tp.topic == topic] for member, row in given.items()})
        assert counts[-1] - counts[0] <= 1


@EACH
@given(world=worlds(), rng=st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(assignor, world: World, rng) -> None:
    members, partitions = list(world.members.items()), list(world.partitions.items())
    first = assignor.assign(dict(members), dict(partitions))
    rng.shuffle(members)
    rng.shuffle(partitions)
    assert assignor.assign(dict(members), dict(partitions)) == first


@EACH
@pytest.mark.parametrize(
    ("members", "partitions"),
    [
        ({}, {"a": 3}),
        ({"x": Subscription()}, {"a": 3}),
        ({"x": Subscription(("a",))}, {}),
        ({"x": Subscription(("a",))}, {"a": 0}),
        ({"x": Subscription(("a",))}, {"a": -1}),
    ],
)
def test_nothing_to_assign(assignor, members, partitions) -> None:
    assert assignor.assign(members, partitions) == {member: [] for member in members}


# --- members that are wrong -----------------------------------------------------------------------------

ODD_PLACES = st.builds(TopicPartition, st.sampled_from([*TOPICS, "unknown", ""]), st.integers(-2, 12))
ODD_MEMBERS = st.builds(
    Subscription,
    st.lists(st.sampled_from([*TOPICS, "unknown", ""]), max_size=8).map(tuple),
    st.lists(ODD_PLACES, max_size=20).map(tuple),
    st.sampled_from([-1, 0, 4, 4, 5, 2**31 - 1, -(2**31)]),
    st.sampled_from([None, "r"]),
    st.none() | st.binary(max_size=20),
    st.sampled_from([None, None, "", "i1", "i1"]),
)
ODD_SIZES = st.dictionaries(st.sampled_from([*TOPICS, "nobody-wants-it"]), st.integers(-1, 9))


@pytest.mark.case("G7")
@EACH
@given(members=st.dictionaries(st.text(max_size=3), ODD_MEMBERS, max_size=8), partitions=ODD_SIZES)
def test_false_claims_break_nothing(assignor, members, partitions) -> None:
    """Stale, repeated, negative and unknown ones, told in the fields: nothing twice, nothing made up."""
    world = World(members, partitions)
    given = assignor.assign(members, partitions)
    (assert_no_faults if assignor.protocol == "COOPERATIVE" else assert_exact)(world, given)
    assert assignor.assign(dict(reversed(members.items())), partitions) == given
    sent = assignments(assignor, members, partitions)
    assert {m: list(decode_assignment(data, m).partitions) for m, data in sent.items()} == given


@pytest.mark.case("G7")
@pytest.mark.parametrize("assignor", EVERY[2:], ids=name_of)
@given(
    members=st.dictionaries(st.text(max_size=3), ODD_MEMBERS, min_size=1, max_size=8), partitions=ODD_SIZES
)
def test_false_claims_in_user_data_break_nothing(assignor, members, partitions) -> None:
    """The same, told as each assignor's members tell it."""
    claims = {member: one.owned_partitions for member, one in members.items()}
    told = after(assignor, members, claims, 4)
    given = assignor.assign(told, partitions)
    (assert_no_faults if assignor.protocol == "COOPERATIVE" else assert_exact)(World(told, partitions), given)


# --- many members ---------------------------------------------------------------------------------------


@EACH
def test_a_thousand_members_and_ten_thousand_partitions_take_seconds(assignor) -> None:
    """One or two, in fact; the limit is for slow and busy machines."""
    rng = random.Random(1)
    partitions = {f"t{number:03d}": 100 for number in range(100)}
    old = {f"m{number:03d}": Subscription(tuple(rng.sample(sorted(partitions), 50))) for number in range(500)}
    everybody = old | {f"n{number:03d}": Subscription(tuple(partitions)) for number in range(500)}
    start = time.process_time()
    had = assignor.assign(old, partitions)
    given = assignor.assign(after(assignor, everybody, had), partitions)
    assert time.process_time() - start < 20
    assert_no_faults(World(everybody, partitions), given)
