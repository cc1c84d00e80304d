"""What others may do to a KIP-848 group, and what a member that is out gets: kafka-facts 3, row by row."""

import pytest

from tests.fake.codes import Code
from tests.fake.groups import asks
from tests.fake.groups.asks import (
    G,
    code,
    codes,
    commit,
    consumer_describe,
    consumer_heartbeat,
    consumer_join,
    delete,
    delete_offsets,
    describe,
    fetch,
    leave,
)
from tests.fake.groups.driver import Driver

POSITION = {"a": {2: 7}}


@pytest.fixture
def pair(driver: Driver) -> tuple[str, str]:
    """Two members in epoch 3, Stable; ``m1`` has a-0 and a-1, ``m2`` has a-2 and a-3 since this epoch."""
    driver.ask(consumer_join("m1"))
    driver.ask(consumer_join("m2"))
    driver.ask(consumer_heartbeat("m1", 2))
    driver.ask(consumer_heartbeat("m1", 2, owned={"a": [0, 1]}))
    assert asks.given(driver.ask(consumer_heartbeat("m2", 3))) == {"a": [2, 3]}
    assert (driver.groups.state(G), driver.groups.generation(G)) == ("Stable", 3)
    return "m1", "m2"


@pytest.mark.parametrize(
    ("member", "epoch", "version", "answer"),
    [
        pytest.param("", -1, 7, Code.UNKNOWN_MEMBER_ID, id="nobody v7"),
        pytest.param("", -1, 9, Code.UNKNOWN_MEMBER_ID, id="nobody v9"),
        pytest.param("m2", 3, 9, Code.NONE, id="right id and epoch: a stranger may speak as a member"),
        pytest.param("m2", 3, 10, Code.NONE, id="the same by topic id"),
        pytest.param("m2", 2, 9, Code.STALE_MEMBER_EPOCH, id="epoch - 1"),
        pytest.param("m2", 4, 9, Code.STALE_MEMBER_EPOCH, id="epoch + 1"),
        pytest.param("m2", -1, 9, Code.STALE_MEMBER_EPOCH, id="id without an epoch"),
        pytest.param("m2", 3, 7, Code.UNSUPPORTED_VERSION, id="right v7"),
        pytest.param("m2", 3, 8, Code.UNSUPPORTED_VERSION, id="right v8"),
        pytest.param("m9", 3, 9, Code.UNKNOWN_MEMBER_ID, id="unknown member"),
    ],
)
@pytest.mark.usefixtures("pair")
def test_commit_to_a_live_group(driver: Driver, member, epoch, version, answer):
    assert code(driver.ask(commit(POSITION, member, epoch), version)) == answer


@pytest.mark.parametrize(
    ("offsets", "answer"),
    [
        pytest.param({"a": {0: 1, 1: 1}}, Code.NONE, id="had since then"),
        pytest.param(
            {"a": {0: 1, 3: 1}}, Code.STALE_MEMBER_EPOCH, id="one of them came later: all are refused"
        ),
        pytest.param({"b": {0: 1}}, Code.STALE_MEMBER_EPOCH, id="not its own"),
    ],
)
def test_commit_with_a_former_epoch_is_judged_by_partition(driver: Driver, pair, offsets, answer):
    """KIP-1251, seen on 4.3.1: the table's ``epoch -1`` row is about partitions that came with the epoch."""
    driver.ask(leave("m2"))
    assert asks.given(driver.ask(consumer_heartbeat("m1", 3))) == {"a": [0, 1, 2, 3]}
    assert code(driver.ask(commit(offsets, "m1", 3), 9)) == answer
    assert code(driver.ask(commit(offsets, "m1", 4), 9)) == Code.NONE


def test_commit_with_a_former_epoch_while_the_partition_is_revoked(driver: Driver):
    driver.ask(consumer_join("m1"))
    driver.ask(consumer_join("m2"))
    assert asks.given(driver.ask(consumer_heartbeat("m1", 2))) == {"a": [0, 1]}
    assert code(driver.ask(commit({"a": {3: 1}}, "m1", 2), 9)) == Code.NONE


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("instance", [None, "i1"], ids=["dynamic", "static"])
def test_epoch_minus_1_evicts(driver: Driver, version, instance):
    """The instance id is not needed."""
    driver.ask(consumer_join("m1", instance_id=instance))
    answer = driver.ask(consumer_heartbeat("m1", -1), version)
    assert (answer.error_code, answer.member_epoch, answer.member_id) == (Code.NONE, -1, "m1")
    assert driver.groups.state(G) == "Empty"


@pytest.mark.parametrize("epoch", [-1, 1])
@pytest.mark.usefixtures("pair")
def test_an_unknown_member(driver: Driver, epoch):
    assert driver.ask(consumer_heartbeat("m9", epoch)).error_code == Code.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("epoch", [-1, 1])
def test_an_unknown_group(driver: Driver, epoch):
    assert driver.ask(consumer_heartbeat("m1", epoch)).error_code == Code.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.usefixtures("pair")
def test_leave_group_works_too(driver: Driver, version):
    answer = driver.ask(leave("m1", "m9", "m2"), version)
    assert [row.error_code for row in answer.members] == [0, Code.UNKNOWN_MEMBER_ID, 0]
    assert (driver.groups.state(G), driver.groups.generation(G)) == ("Empty", 4)


def test_epoch_minus_2_of_a_static_member_keeps_it_in_the_group(driver: Driver):
    driver.ask(consumer_join("s1", instance_id="i1"))
    assert driver.ask(consumer_heartbeat("s1", -2, instance_id="i1")).member_epoch == -2
    assert len(driver.ask(consumer_describe()).groups[0].members) == 1
    assert code(driver.ask(commit(POSITION), 9)) == Code.UNKNOWN_MEMBER_ID
    assert driver.ask(consumer_heartbeat("s1", 2, instance_id="i1")).error_code == Code.FENCED_MEMBER_EPOCH


@pytest.mark.usefixtures("pair")
def test_a_replaced_static_member_is_fenced_by_every_request(driver: Driver):
    driver.ask(consumer_heartbeat("m1", -1))
    assert driver.ask(consumer_heartbeat("m1", 3)).error_code == Code.UNKNOWN_MEMBER_ID
    assert code(driver.ask(commit(POSITION, "m1", 3), 9)) == Code.UNKNOWN_MEMBER_ID
    (group,) = driver.ask(fetch(member="m1", epoch=3), 9).groups
    assert (group.error_code, group.topics) == (Code.UNKNOWN_MEMBER_ID, [])


@pytest.mark.parametrize(
    ("member", "epoch", "answer"),
    [
        (None, -1, Code.NONE),
        ("m1", 3, Code.NONE),
        ("m1", 2, Code.STALE_MEMBER_EPOCH),
        ("", -1, Code.UNKNOWN_MEMBER_ID),
    ],
)
@pytest.mark.usefixtures("pair")
def test_offset_fetch_checks_the_membership_of_its_sender(driver: Driver, member, epoch, answer):
    assert driver.ask(fetch(member=member, epoch=epoch)).groups[0].error_code == answer


@pytest.mark.usefixtures("pair")
def test_once_it_is_empty_any_client_may_commit(driver: Driver):
    driver.ask(leave("m1", "m2"))
    assert code(driver.ask(commit(POSITION), 7)) == Code.NONE
    assert code(driver.ask(commit(POSITION, "", 3), 9)) == Code.UNKNOWN_MEMBER_ID


@pytest.mark.usefixtures("pair")
def test_describe_groups_knows_no_such_group(driver: Driver):
    (old,) = driver.ask(describe(), 5).groups
    assert (old.group_state, old.error_code) == ("Dead", Code.NONE)
    (new,) = driver.ask(describe(), 6).groups
    assert (new.error_code, new.error_message) == (Code.GROUP_ID_NOT_FOUND, "Group g is not a classic group.")


def test_consumer_group_describe_of_other_groups(driver: Driver):
    asks.lone(driver, "classic")
    rows = driver.ask(consumer_describe("classic", "missing", "")).groups
    assert {row.group_id: (row.error_code, row.error_message) for row in rows} == {
        "classic": (Code.GROUP_ID_NOT_FOUND, "Group classic is not a consumer group."),
        "missing": (Code.GROUP_ID_NOT_FOUND, "Group missing not found."),
        "": (Code.INVALID_GROUP_ID, None),
    }


@pytest.mark.usefixtures("pair")
def test_deletions(driver: Driver):
    assert driver.ask(delete(G)).results[0].error_code == Code.NON_EMPTY_GROUP
    answer = driver.ask(delete_offsets({"a": [0], "b": [0]}))
    assert codes(answer) == {("a", 0): Code.GROUP_SUBSCRIBED_TO_TOPIC, ("b", 0): Code.NONE}


@pytest.mark.usefixtures("pair")
def test_classic_members_are_turned_away_while_it_is_live(driver: Driver):
    """As with group.consumer.migration.policy=disabled."""
    assert driver.ask(asks.join()).error_code == Code.INCONSISTENT_GROUP_PROTOCOL
    assert driver.ask(asks.heartbeat("m1", 3)).error_code == Code.UNKNOWN_MEMBER_ID
    assert driver.ask(asks.sync("m1", 3)).error_code == Code.UNKNOWN_MEMBER_ID


def test_an_empty_group_becomes_one_of_the_other_kind_and_keeps_its_offsets(driver: Driver):
    driver.ask(consumer_join("m1"))
    driver.ask(commit(POSITION, "m1", 2))
    driver.ask(consumer_heartbeat("m1", -1))
    required = driver.ask(asks.join())
    assert required.error_code == Code.MEMBER_ID_REQUIRED
    assert driver.ask(asks.list_groups()).groups[0].group_type == "classic"
    driver.ask(leave(required.member_id))
    assert asks.given(driver.ask(consumer_join("m1"))) == {"a": [0, 1, 2, 3]}
    assert driver.ask(asks.list_groups()).groups[0].group_type == "consumer"
    assert asks.fetched(driver.ask(fetch())) == {("a", 2): (7, 0)}


def test_a_live_classic_group_turns_consumers_away(driver: Driver):
    asks.lone(driver)
    assert driver.ask(consumer_join("m1")).error_code == Code.GROUP_ID_NOT_FOUND
