"""The leader: what it makes of the members of a JoinGroup answer, and what it sends for them in SyncGroup."""

import pytest

from kcli.core.errors import ConfigError
from kcli.core.group.assignors.leading import assignments, read_members
from kcli.core.group.assignors.registry import assignor
from kcli.core.group.consumer_protocol import Subscription, decode_assignment, encode_subscription
from kcli.core.protocol.messages.join_group import JoinGroupResponseMember
from kcli.core.types import TopicPartition
from tests.unit.core.group.assignors.worlds import EVERY, name_of, places, spelled, subscribers

EACH = pytest.mark.parametrize("assignor", EVERY, ids=name_of)


def joined(member: str, data: bytes, instance: str | None = None) -> JoinGroupResponseMember:
    return JoinGroupResponseMember(member_id=member, group_instance_id=instance, metadata=data)


def decoded(sent: dict[str, bytes]) -> dict[str, str]:
    return spelled({member: decode_assignment(data, member).partitions for member, data in sent.items()})


def test_members_are_read_with_their_instance_ids() -> None:
    said = Subscription(("a", "b"), tuple(places("a1")), 3, "r", b"u")
    found = read_members(
        [joined("x", encode_subscription(said), "i1"), joined("y", encode_subscription(said))]
    )
    assert found.subscriptions["y"] == said
    assert found.subscriptions["x"].group_instance_id == "i1"
    assert found.topics == {"a", "b"}
    assert not found.unreadable


@pytest.mark.case("G7")
@EACH
def test_a_member_that_cannot_be_read_gets_nothing_and_is_reported(assignor) -> None:
    """A malformed subscription; the group continues without it, and its partitions are read."""
    good = encode_subscription(Subscription(("a",)))
    members = read_members([joined("x", good), joined("y", b"\0\1garbage"), joined("z", good)])
    assert members.topics == {"a"}
    assert str(members.unreadable["y"]).startswith("the subscription of member 'y'")
    sent = assignments(assignor, members.subscriptions, {"a": 2})
    assert decoded(sent) == {"x": "a0", "y": "", "z": "a1"}


@pytest.mark.case("G7")
@EACH
def test_members_that_say_version_1_without_its_last_field_get_their_share(assignor) -> None:
    """As kafka-go and @platformatic/kafka do, in a group that a member of kcli's leads."""
    ours = encode_subscription(Subscription(("click",)))
    version_1 = bytes.fromhex("0001000000010005636c69636b")
    members = read_members(
        [joined("x", version_1 + b"\xff" * 4), joined("y", version_1 + bytes(4)), joined("z", ours)]
    )
    assert not members.unreadable
    sent = assignments(assignor, members.subscriptions, {"click": 3})
    assert sorted(decoded(sent).values()) == ["click0", "click1", "click2"]


@pytest.mark.case("G7")
@EACH
def test_no_member_has_a_readable_subscription(assignor) -> None:
    """Even then every member is answered."""
    members = read_members([joined("x", b""), joined("y", b"\xff\xff")])
    assert decoded(assignments(assignor, members.subscriptions, {})) == {"x": "", "y": ""}


@pytest.mark.case("G7")
def test_of_two_rows_with_one_member_id_the_first_counts() -> None:
    """Duplicate ids."""
    rows = [joined("x", encode_subscription(Subscription((topic,)))) for topic in "ab"]
    assert read_members([*rows, joined("x", b"")]).subscriptions == {"x": Subscription(("a",))}


def test_unsubscribed_and_empty_topics_are_not_passed_to_the_assignor() -> None:
    seen = {}
    own = Own({})
    own.assign = lambda members, partitions: seen.update(partitions) or {}
    assignments(own, subscribers(x="a b c"), {"d": 4, "c": 0, "b": -1, "a": 2})
    assert seen == {"a": 2}


def test_a_member_that_the_assignor_left_out_is_sent_nothing() -> None:
    assert decoded(assignments(Own({}), subscribers(x="a"), {"a": 2})) == {"x": ""}


# --- an assignor of an application's own ----------------------------------------------------------------


class Own:
    """Answers what it was made with."""

    name = "own"

    def __init__(self, given, protocol="EAGER") -> None:
        self.given = given
        self.protocol = protocol

    def assign(self, members, partitions):
        return self.given


class OneReader:
    """The example in the documentation of ``Assignor``."""

    name = "one-reader"
    protocol = "EAGER"

    def assign(self, members, partitions):
        given = {member: [] for member in members}
        for topic, count in partitions.items():
            reader = min(member for member in members if topic in members[member].topics)
            given[reader] += [TopicPartition(topic, number) for number in range(count)]
        return given


@pytest.mark.case("S0-35")
def test_an_assignor_object_is_used() -> None:
    sent = assignments(OneReader(), subscribers(x="b", y="a b"), {"a": 2, "b": 2, "c": 2})
    assert decoded(sent) == {"x": "b0 b1", "y": "a0 a1"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"x": "a0", "y": "a0"}, "assigns a-0 twice: to 'x' and to 'y'"),
        ({"x": "a0 a0"}, "assigns a-0 twice: to 'x' and to 'x'"),
        ({"x": "a2"}, "assigns a-2: there is no such partition"),
        ({"x": "c0"}, "assigns c-0: there is no such partition"),
        ({"x": "b0"}, "assigns b-0 to 'x': it did not subscribe to the topic"),
        ({"z": "a0"}, "assigns to 'z': there is no such member"),
    ],
)
def test_a_fault_of_an_assignor_is_named_and_nothing_is_sent(given: dict[str, str], said: str) -> None:
    own = Own({member: places(text) for member, text in given.items()})
    with pytest.raises(ConfigError) as caught:
        assignments(own, subscribers(x="a", y="a b"), {"a": 2, "b": 1})
    assert str(caught.value) == f"the assignor 'own' {said}"


def test_a_cooperative_assignor_must_wait_for_the_owner() -> None:
    members = {"x": Subscription(("a",), tuple(places("a0"))), "y": Subscription(("a",))}
    taken = {"y": places("a0")}
    with pytest.raises(ConfigError, match="assigns a-0 to 'y': its owner has to revoke it first"):
        assignments(Own(taken, "COOPERATIVE"), members, {"a": 2})
    assert decoded(assignments(Own(taken), members, {"a": 2})) == {"x": "", "y": "a0"}
    kept = Own({"x": places("a0"), "y": places("a1")}, "COOPERATIVE")
    assert decoded(assignments(kept, members, {"a": 2})) == {"x": "a0", "y": "a1"}


def test_kafkas_own_assignors_by_name() -> None:
    sent = assignments(assignor("range"), subscribers(x="a", y="a"), {"a": 3})
    assert decoded(sent) == {"x": "a0 a1", "y": "a2"}
