"""Small parts on their own: deadlines, and the embedded bytes of the consumer protocol."""

import pytest

from kcli.core.types import TopicPartition
from tests.fake.groups import asks, embedded
from tests.fake.groups.deadlines import Deadlines


def test_deadlines_run_in_order_and_once():
    deadlines, ran = Deadlines(), []
    deadlines.set(("x", "g"), 2, lambda: ran.append("x"))
    deadlines.set(("y", "g"), 1, lambda: ran.append("y"))
    deadlines.run(0.5)
    assert ran == []
    deadlines.run(2)
    deadlines.run(3)
    assert ran == ["y", "x"]


def test_a_deadline_may_cancel_move_and_set_others():
    deadlines, ran = Deadlines(), []

    def first() -> None:
        deadlines.cancel("gone", "g")
        deadlines.set(("moved", "g"), 9, lambda: ran.append("moved"))
        deadlines.set(("new", "g"), 0, lambda: ran.append("new"))

    deadlines.set(("first", "g"), 1, first)
    deadlines.set(("gone", "g"), 1, lambda: ran.append("gone"))
    deadlines.set(("moved", "g"), 2, lambda: ran.append("moved"))
    deadlines.run(5)
    assert ran == []
    deadlines.run(5)
    assert ran == ["new"]


def test_deadlines_of_a_group_are_forgotten_with_it():
    deadlines, ran = Deadlines(), []
    for group in ("g", "h"):
        deadlines.set(("session", group, "m"), 1, lambda group=group: ran.append(group))
    deadlines.cancel_group("g")
    deadlines.run(1)
    assert ran == ["h"]


def test_embedded_bytes():
    assert embedded.subscribed_topics(asks.subscription("a", "ü")) == {"a", "ü"}
    assert embedded.assigned_partitions(asks.assignment({"a": [1, 2]})) == {
        TopicPartition("a", 1),
        TopicPartition("a", 2),
    }
    assert embedded.assigned_partitions(b"") == frozenset()


@pytest.mark.parametrize(
    "data", [b"", b"\0", b"\0\0\0\0\0\x09", b"\0\0\xff\xff\xff\xff", b"\0\0\0\0\0\1\0\7a"]
)
def test_embedded_bytes_that_are_malformed(data):
    with pytest.raises(ValueError, match=r"it ends too early|an array of|a string of"):
        embedded.subscribed_topics(data)
