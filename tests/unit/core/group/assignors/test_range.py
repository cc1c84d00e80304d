"""Range: the examples of Kafka's documentation, and that equal topics are cut at equal places."""

import pytest
from hypothesis import given

from kcli.core.group.assignors.range import RangeAssignor
from kcli.core.group.consumer_protocol import Subscription
from tests.unit.core.group.assignors.worlds import World, spelled, subscribers, worlds


def assigned(partitions: dict[str, int], **topics: str) -> dict[str, str]:
    return spelled(RangeAssignor().assign(subscribers(**topics), partitions))


@pytest.mark.case("S4-18")
def test_the_first_members_take_the_rest() -> None:
    assert assigned({"a": 3, "b": 3}, x="a b", y="a b") == {"x": "a0 a1 b0 b1", "y": "a2 b2"}
    assert assigned({"a": 8}, x="a", y="a", z="a") == {"x": "a0 a1 a2", "y": "a3 a4 a5", "z": "a6 a7"}


def test_more_members_than_partitions_leave_some_idle() -> None:
    assert assigned({"a": 2}, x="a", y="a", z="a") == {"x": "a0", "y": "a1", "z": ""}


def test_each_topic_is_cut_among_its_own_subscribers() -> None:
    given = assigned({"a": 3, "b": 2}, x="a", y="a b", z="a")
    assert given == {"x": "a0", "y": "a1 b0 b1", "z": "a2"}


def test_a_topic_named_twice_is_wanted_once() -> None:
    assert assigned({"a": 4}, x="a a", y="a") == {"x": "a0 a1", "y": "a2 a3"}


def test_static_members_come_first_and_by_instance_id() -> None:
    members = {
        "a": Subscription(("t",)),
        "c": Subscription(("t",), group_instance_id="2"),
        "d": Subscription(("t",), group_instance_id="1"),
    }
    given = RangeAssignor().assign(members, {"t": 3})
    assert spelled(given) == {"a": "t2", "c": "t1", "d": "t0"}


@given(worlds(same=True))
def test_equal_topics_are_cut_at_equal_partitions(world: World) -> None:
    """Co-partitioning: who reads partition 3 of one reads partition 3 of the other."""
    equal = dict.fromkeys(world.partitions, 5)
    given = RangeAssignor().assign(world.members, equal)
    for row in given.values():
        numbers = [{tp.partition for tp in row if tp.topic == topic} for topic in {tp.topic for tp in row}]
        assert all(one == numbers[0] for one in numbers)
