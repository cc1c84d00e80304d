"""Round robin: the examples of Kafka's documentation."""

from kcli.core.group.assignors.roundrobin import RoundRobinAssignor
from kcli.core.group.consumer_protocol import Subscription
from tests.unit.core.group.assignors.worlds import spelled, subscribers


def assigned(partitions: dict[str, int], **topics: str) -> dict[str, str]:
    return spelled(RoundRobinAssignor().assign(subscribers(**topics), partitions))


def test_partitions_of_all_topics_are_dealt_out() -> None:
    assert assigned({"a": 3, "b": 3}, x="a b", y="a b") == {"x": "a0 a2 b1", "y": "a1 b0 b2"}


def test_members_without_the_subscription_are_passed_over() -> None:
    given = assigned({"a": 1, "b": 2, "c": 3}, x="a", y="a b", z="a b c")
    assert given == {"x": "a0", "y": "b0", "z": "b1 c0 c1 c2"}


def test_the_turn_continues_from_topic_to_topic() -> None:
    assert assigned({"a": 1, "b": 1, "c": 1}, x="a b c", y="a b c") == {"x": "a0 c0", "y": "b0"}


def test_static_members_come_first() -> None:
    members = {"a": Subscription(("t",)), "b": Subscription(("t",), group_instance_id="z")}
    assert spelled(RoundRobinAssignor().assign(members, {"t": 1})) == {"a": "", "b": "t0"}
