"""Sticky: the examples of KIP-54, the Java client's user data, and members that come and go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.group.assignors.sticky import Claim, read_claim
from kcli.core.group.consumer_protocol import Subscription
from tests.unit.core.group.assignors.worlds import (
    COOPERATIVE,
    STICKY,
    World,
    after,
    assert_exact,
    loads,
    moved,
    name_of,
    places,
    spelled,
    subscribers,
    worlds,
)

BOTH = pytest.mark.parametrize("assignor", [STICKY, COOPERATIVE], ids=name_of)


def test_kip_54_example_1() -> None:
    partitions = dict.fromkeys("abcd", 2)
    members = subscribers(x="a b c d", y="a b c d", z="a b c d")
    first = STICKY.assign(members, partitions)
    assert spelled(first) == {"x": "a0 b1 d0", "y": "a1 c0 d1", "z": "b0 c1"}
    del members["y"]
    second = STICKY.assign(after(STICKY, members, first), partitions)
    assert spelled(second) == {"x": "a0 b1 c0 d0", "z": "a1 b0 c1 d1"}


def test_kip_54_example_2() -> None:
    partitions = {"a": 1, "b": 2, "c": 3}
    members = subscribers(x="a", y="a b", z="a b c")
    first = STICKY.assign(members, partitions)
    assert spelled(first) == {"x": "a0", "y": "b0 b1", "z": "c0 c1 c2"}
    del members["x"]
    second = STICKY.assign(after(STICKY, members, first), partitions)
    assert spelled(second) == {"y": "a0 b0 b1", "z": "c0 c1 c2"}


@BOTH
@given(world=worlds())
def test_the_same_members_keep_everything(assignor, world: World) -> None:
    first = assignor.assign(world.members, world.partitions)
    assert assignor.assign(after(assignor, world.members, first), world.partitions) == first


@BOTH
@given(world=worlds(same=True), gone=st.randoms(use_true_random=False))
def test_only_the_partitions_of_members_that_leave_move(assignor, world: World, gone) -> None:
    first = assignor.assign(world.members, world.partitions)
    rest = {member: one for member, one in world.members.items() if gone.random() < 0.6}
    second = assignor.assign(after(assignor, rest, first), world.partitions)
    assert moved({member: first[member] for member in rest}, second) == set()
    if rest:
        assert_exact(World(rest, world.partitions), second)


@given(world=worlds(same=True), number=st.integers(1, 4))
def test_newcomers_take_their_share_and_no_more(world: World, number: int) -> None:
    first = STICKY.assign(world.members, world.partitions)
    topics = next(iter(world.members.values())).topics
    members = world.members | {f"new{turn}": Subscription(topics) for turn in range(number)}
    second = STICKY.assign(after(STICKY, members, first), world.partitions)
    given_up = moved(first, second)
    assert len(given_up) == sum(len(row) for member, row in second.items() if member.startswith("new"))
    assert max(loads(second)) - min(loads(second)) <= 1


@BOTH
def test_a_topic_that_grows_moves_nothing(assignor) -> None:
    members = subscribers(x="a b", y="a b")
    first = assignor.assign(members, {"a": 3, "b": 2})
    second = assignor.assign(after(assignor, members, first), {"a": 6, "b": 2})
    assert moved(first, second) == set()
    assert loads(second) == [4, 4]


@BOTH
def test_a_topic_that_vanishes_takes_its_partitions_along(assignor) -> None:
    members = subscribers(x="a b", y="a b")
    first = assignor.assign(members, {"a": 4, "b": 4})
    second = assignor.assign(after(assignor, members, first), {"a": 4})
    assert second == {m: [tp for tp in row if tp.topic == "a"] for m, row in first.items()}


# --- user data ------------------------------------------------------------------------------------------

# what the StickyAssignor of kafka-clients 4.3.1 sends for audit-0, orders-2, orders-0 of generation 7
JAVA = "0000000200056175646974000000010000000000066f726465727300000002000000020000000000000007"


def claimed(data: bytes | None) -> Claim:
    return read_claim(Subscription(("audit", "orders"), user_data=data))


def test_the_user_data_is_the_java_clients() -> None:
    read = claimed(bytes.fromhex(JAVA))
    assert [str(tp) for tp in read.partitions] == ["audit-0", "orders-2", "orders-0"]
    assert read.generation == 7
    data = STICKY.user_data(tuple(read.partitions), 7)
    assert data is not None
    assert len(data) == len(JAVA) // 2
    assert set(claimed(data).partitions) == set(read.partitions)
    assert claimed(data).generation == 7


def test_the_first_version_had_no_generation() -> None:
    read = claimed(bytes.fromhex(JAVA)[:-4])
    assert len(tuple(read.partitions)) == 3
    assert read.generation == -1


def test_a_member_without_previous_partitions_sends_no_user_data() -> None:
    assert STICKY.user_data((), -1) is None


def test_without_user_data_the_fields_are_read() -> None:
    assert read_claim(Subscription(("a",), tuple(places("a1")), 4)) == Claim(tuple(places("a1")), 4)


@pytest.mark.case("G7")
@given(st.binary(min_size=1, max_size=40))
def test_user_data_that_cannot_be_read_claims_nothing(data: bytes) -> None:
    """Whatever a member sends, the others are served, and so is it."""
    members = subscribers(x="a", y="a")
    members["x"] = Subscription(("a",), user_data=data)
    given = STICKY.assign(members, {"a": 4})
    assert loads(given) == [2, 2]
