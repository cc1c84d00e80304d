"""ConsumerGroupHeartbeat (KIP-848): what a request must say, epochs, static members, subscriptions, assignors."""

import pytest

from tests.fake.codes import Code
from tests.fake.groups.asks import G, consumer_describe, consumer_heartbeat, consumer_join, given
from tests.fake.groups.driver import Driver, FakeTopic

EVERYTHING = {"a": [0, 1, 2, 3]}


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        pytest.param(consumer_join("", "a"), Code.INVALID_REQUEST, id="no member id"),
        pytest.param(consumer_join("m", group=""), Code.INVALID_REQUEST, id="no group id"),
        pytest.param(consumer_join("m", instance_id=""), Code.INVALID_REQUEST, id="empty instance id"),
        pytest.param(consumer_join("m", rack_id=""), Code.INVALID_REQUEST, id="empty rack"),
        pytest.param(consumer_join("m", rebalance=-0.001), Code.INVALID_REQUEST, id="no rebalance timeout"),
        pytest.param(
            consumer_join("m", subscribed_topic_names=None), Code.INVALID_REQUEST, id="no subscription"
        ),
        pytest.param(consumer_join("m", subscribed_topic_names=[]), Code.NONE, id="subscribed to nothing"),
        pytest.param(
            consumer_heartbeat(
                "m", 0, owned={"a": [0]}, rebalance_timeout_ms=5, subscribed_topic_names=["a"]
            ),
            Code.INVALID_REQUEST,
            id="joins and owns",
        ),
        pytest.param(
            consumer_heartbeat("m", 0, rebalance_timeout_ms=5, subscribed_topic_names=["a"]),
            Code.INVALID_REQUEST,
            id="joins without saying that it owns nothing",
        ),
        pytest.param(consumer_heartbeat("m", -2), Code.INVALID_REQUEST, id="-2 without an instance id"),
        pytest.param(consumer_heartbeat("m", -3), Code.INVALID_REQUEST, id="-3"),
        pytest.param(consumer_join("m", server_assignor="sticky"), Code.UNSUPPORTED_ASSIGNOR, id="assignor"),
        pytest.param(consumer_join("m", server_assignor="range"), Code.NONE, id="range"),
        pytest.param(
            consumer_join("m", subscribed_topic_regex="("), Code.INVALID_REGULAR_EXPRESSION, id="bad regex"
        ),
    ],
)
def test_requests(driver: Driver, request_, answer):
    said = driver.ask(request_)
    assert said.error_code == answer
    assert (said.error_message is None) == (answer == Code.NONE)


def test_member_id_comes_from_the_broker_in_version_0(driver: Driver):
    first, second = (driver.ask(consumer_join(""), 0).member_id for _ in range(2))
    assert len({first, second}) == 2
    assert driver.groups.members(G).keys() == {first, second}
    assert driver.ask(consumer_heartbeat("", 2), 0).error_code == Code.INVALID_REQUEST


def test_a_full_group(driver: Driver):
    driver.groups.settings.max_size = 1
    driver.ask(consumer_join("m1"))
    assert driver.ask(consumer_join("m2")).error_code == Code.GROUP_MAX_SIZE_REACHED
    assert driver.ask(consumer_join("m1")).error_code == Code.NONE


@pytest.mark.parametrize(
    ("epoch", "owned", "answer"),
    [
        pytest.param(4, None, Code.NONE, id="its epoch"),
        pytest.param(5, None, Code.FENCED_MEMBER_EPOCH, id="a later one"),
        pytest.param(2, None, Code.FENCED_MEMBER_EPOCH, id="an old one"),
        pytest.param(3, None, Code.FENCED_MEMBER_EPOCH, id="the one before, not telling what it owns"),
        pytest.param(3, {"a": [0, 1]}, Code.NONE, id="the one before, owning no more than it was given"),
        pytest.param(3, {"b": [0]}, Code.FENCED_MEMBER_EPOCH, id="the one before, owning more"),
    ],
)
def test_epochs(driver: Driver, epoch, owned, answer):
    """The one before may come again: the answer that told the new one was lost."""
    for member in ("m1", "m2"):
        driver.ask(consumer_join(member))
    driver.ask(consumer_heartbeat("m1", 2))
    driver.ask(consumer_heartbeat("m1", 2, owned={"a": [0, 1]}))
    driver.ask(consumer_heartbeat("m2", -1))
    assert driver.ask(consumer_heartbeat("m1", 3)).member_epoch == 4
    assert driver.ask(consumer_heartbeat("m1", epoch, owned=owned)).error_code == answer


def test_a_member_that_joins_again_gets_what_it_has(driver: Driver):
    driver.ask(consumer_join("m1"))
    again = driver.ask(consumer_join("m1"))
    assert (again.member_epoch, given(again), driver.groups.generation(G)) == (2, EVERYTHING, 2)


def test_the_owned_partitions_are_sent_when_changed_or_in_a_full_heartbeat(driver: Driver):
    assert given(driver.ask(consumer_join("m1"))) == EVERYTHING
    assert given(driver.ask(consumer_heartbeat("m1", 2))) is None
    assert given(driver.ask(consumer_heartbeat("m1", 2, owned=EVERYTHING))) is None
    full = consumer_heartbeat(
        "m1", 2, owned=EVERYTHING, rebalance_timeout_ms=5000, subscribed_topic_names=["a"]
    )
    assert given(driver.ask(full)) == EVERYTHING


def test_a_static_member_comes_back(driver: Driver):
    driver.ask(consumer_join("s1", instance_id="i1"))
    assert driver.ask(consumer_join("s2", instance_id="i1")).error_code == Code.UNRELEASED_INSTANCE_ID
    fenced = driver.ask(consumer_heartbeat("s2", 2, instance_id="i1"))
    assert fenced.error_code == Code.FENCED_INSTANCE_ID
    assert driver.ask(consumer_heartbeat("s1", 2, instance_id="i9")).error_code == Code.UNKNOWN_MEMBER_ID
    driver.ask(consumer_heartbeat("s1", -2, instance_id="i1"))
    back = driver.ask(consumer_join("s2", instance_id="i1"))
    assert (back.member_epoch, given(back), driver.groups.generation(G)) == (2, EVERYTHING, 2)
    assert driver.ask(consumer_heartbeat("s1", 2, instance_id="i1")).error_code == Code.FENCED_INSTANCE_ID


def test_a_regular_expression_is_looked_up_in_the_background(driver: Driver):
    driver.topics["ab"] = FakeTopic(b"x" * 16, 1)
    joined = driver.ask(consumer_join("m1", subscribed_topic_names=None, subscribed_topic_regex="[ab]"))
    assert given(joined) == {}
    driver.advance(0.05)
    assert given(driver.ask(consumer_heartbeat("m1", 1))) == {"a": [0, 1, 2, 3], "b": [0, 1, 2]}
    (row,) = driver.ask(consumer_describe()).groups[0].members
    assert (row.subscribed_topic_names, row.subscribed_topic_regex) == ([], "[ab]")
    changed = consumer_heartbeat("m1", 2, subscribed_topic_regex="", subscribed_topic_names=["b"])
    assert given(driver.ask(changed)) == {"b": [0, 1, 2]}


def test_new_topics_and_partitions_are_given_out(driver: Driver):
    driver.ask(consumer_join("m1", "a", "c"))
    driver.topics["c"] = FakeTopic(b"c" * 16, 1)
    grown = driver.ask(consumer_heartbeat("m1", 2))
    assert (grown.member_epoch, given(grown)) == (3, {"a": [0, 1, 2, 3], "c": [0]})
    driver.topics["c"] = FakeTopic(b"c" * 16, 2)
    assert given(driver.ask(consumer_heartbeat("m1", 3))) == {"a": [0, 1, 2, 3], "c": [0, 1]}


def test_a_deleted_topic_is_taken_away_and_a_recreated_one_is_another(driver: Driver):
    driver.ask(consumer_join("m1", "a", "b"))
    del driver.topics["b"]
    driver.groups.forget_topic("b")
    assert given(driver.ask(consumer_heartbeat("m1", 2))) == EVERYTHING
    gone = driver.ask(consumer_heartbeat("m1", 2, owned=EVERYTHING))
    assert (gone.member_epoch, driver.groups.state(G)) == (3, "Stable")
    driver.topics["b"] = FakeTopic(b"n" * 16, 1)
    assert given(driver.ask(consumer_heartbeat("m1", 3))) == {"a": [0, 1, 2, 3], "n": [0]}


def test_assignments_are_computed_at_most_once_in_an_interval(driver: Driver):
    """4.3: members wait in state Assigning (kafka-facts 3, procedure H)."""
    driver.groups.settings.assignment_interval = 1
    driver.ask(consumer_join("m1"))
    second = driver.ask(consumer_join("m2"))
    assert (second.member_epoch, given(second), driver.groups.state(G)) == (2, {}, "Assigning")
    driver.advance(0.9)
    assert driver.ask(consumer_heartbeat("m2", 2)).member_epoch == 2
    driver.advance(0.2)
    assert driver.ask(consumer_heartbeat("m2", 2)).member_epoch == 3
    assert driver.groups.state(G) == "Reconciling"


def test_describe_shows_current_and_target(driver: Driver):
    driver.ask(consumer_join("m1", server_assignor="range", rack_id="r1"))
    driver.ask(consumer_join("m2", instance_id="i2"))
    (group,) = driver.ask(consumer_describe()).groups
    assert (group.group_state, group.group_epoch, group.assignment_epoch) == ("Reconciling", 3, 3)
    assert group.assignor_name == "range"

    def places(row):
        return [(t.topic_name, list(t.partitions)) for t in row.topic_partitions]

    assert [
        (m.member_id, m.member_epoch, places(m.assignment), places(m.target_assignment))
        for m in group.members
    ] == [
        ("m1", 2, [("a", [0, 1, 2, 3])], [("a", [2, 3])]),
        ("m2", 3, [], [("a", [0, 1])]),
    ]
    assert [(m.instance_id, m.rack_id, m.member_type) for m in group.members] == [
        (None, "r1", 1),
        ("i2", None, 1),
    ]
    assert [(m.client_id, m.client_host) for m in group.members] == [("test", "/127.0.0.1")] * 2
