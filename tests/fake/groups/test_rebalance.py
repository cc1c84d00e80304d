"""Classic groups from join to leave: barriers, leaders, votes, and who is parked when."""

import pytest

from tests.fake.codes import Code
from tests.fake.groups import asks
from tests.fake.groups.asks import G, heartbeat, join, leave, sync
from tests.fake.groups.driver import Driver


def test_two_members_through_a_whole_rebalance(driver: Driver):
    first = asks.lone(driver)
    assert driver.ask(heartbeat(first, 1)).error_code == Code.NONE
    second = asks.member_id(driver)
    joining = driver.park(join(second))
    assert joining.waits
    assert driver.groups.state(G) == "PreparingRebalance"
    assert driver.ask(heartbeat(first, 1)).error_code == Code.REBALANCE_IN_PROGRESS

    led = driver.ask(join(first))
    followed = joining.answer
    assert (led.leader, led.generation_id, led.protocol_name, led.protocol_type) == (
        first,
        2,
        "range",
        "consumer",
    )
    assert [(m.member_id, bytes(m.metadata)) for m in led.members] == [
        (first, asks.subscription("a")),
        (second, asks.subscription("a")),
    ]
    assert (followed.leader, followed.generation_id, followed.member_id, followed.members) == (
        first,
        2,
        second,
        [],
    )

    syncing = driver.park(sync(second, 2))
    assert syncing.waits
    assert driver.groups.state(G) == "CompletingRebalance"
    mine = driver.ask(
        sync(first, 2, {first: asks.assignment({"a": [0, 1]}), second: asks.assignment({"a": [2]})})
    )
    assert bytes(mine.assignment) == asks.assignment({"a": [0, 1]})
    assert bytes(syncing.answer.assignment) == asks.assignment({"a": [2]})
    assert driver.groups.state(G) == "Stable"
    assert {tp.partition for tp in driver.groups.members(G)[second].partitions} == {2}

    driver.ask(leave(first))
    assert driver.ask(heartbeat(second, 2)).error_code == Code.REBALANCE_IN_PROGRESS
    alone = driver.ask(join(second))
    assert (alone.generation_id, alone.leader, len(alone.members)) == (3, second, 1)
    driver.ask(leave(second))
    assert (driver.groups.state(G), driver.groups.generation(G)) == ("Empty", 4)


def test_sync_without_an_assignment_for_a_member_gives_it_none(driver: Driver):
    member = asks.member_id(driver)
    driver.ask(join(member))
    assert bytes(driver.ask(sync(member, 1)).assignment) == b""


def test_the_same_join_again_gets_the_same_answer(driver: Driver):
    """The answer may have been lost; only a leader that joins in a Stable group wants a rebalance."""
    leader, follower = asks.pair(driver)
    again = driver.ask(join(follower))
    assert (again.generation_id, again.leader, again.error_code) == (2, leader, Code.NONE)
    assert driver.groups.state(G) == "Stable"
    driver.park(join(leader))
    assert driver.groups.state(G) == "PreparingRebalance"


def test_another_subscription_begins_a_rebalance(driver: Driver):
    leader, follower = asks.pair(driver)
    changed = driver.park(join(follower, protocols={"range": asks.subscription("b")}))
    assert changed.waits
    assert driver.ask(join(leader)).generation_id == 3
    assert changed.answer.generation_id == 3
    assert asks.codes(driver.ask(asks.delete_offsets({"b": [0]}))) == {
        ("b", 0): Code.GROUP_SUBSCRIBED_TO_TOPIC
    }


def test_a_join_while_others_sync_sends_them_back(driver: Driver):
    leader, follower = asks.pair(driver)
    driver.groups.force_rebalance(G)
    joining = driver.park(join(follower))
    driver.ask(join(leader))
    assert joining.answer.generation_id == 3
    syncing = driver.park(sync(follower, 3))
    newcomer = driver.park(join(asks.member_id(driver)))
    assert syncing.answer.error_code == Code.REBALANCE_IN_PROGRESS
    assert newcomer.waits


def test_a_leader_that_does_not_come_back_is_replaced(driver: Driver):
    leader, follower = asks.pair(driver, rebalance=3)
    driver.park(join(follower, rebalance=3, protocols={"range": asks.subscription("b")}))
    newcomer = driver.park(join(asks.member_id(driver), rebalance=3))
    driver.advance(3.1)
    assert newcomer.answer.leader == follower
    assert leader not in driver.groups.members(G)


@pytest.mark.parametrize(
    ("preferences", "chosen"),
    [
        pytest.param([["x", "y"], ["y", "x"], ["y", "x"]], "y", id="most votes"),
        pytest.param(
            [["x", "y", "z"], ["z", "y"], ["y", "z"]], "y", id="a favourite that not all have does not count"
        ),
        pytest.param([["x"], ["x", "y"], ["y", "x"]], "x", id="the only common one"),
    ],
)
def test_members_vote_for_the_protocol(driver: Driver, preferences, chosen):
    driver.groups.settings.initial_rebalance_delay = 1
    waiting = [driver.park(join(protocols=dict.fromkeys(names, b"")), 3) for names in preferences]
    driver.advance(2.2)
    assert {one.answer.protocol_name for one in waiting} == {chosen}


def test_members_of_the_first_rebalance_are_waited_for(driver: Driver):
    """``group.initial.rebalance.delay.ms``; each newcomer prolongs it, up to the rebalance timeout."""
    driver.groups.settings.initial_rebalance_delay = 3
    first = driver.park(join(rebalance=8), 3)
    driver.advance(2)
    second = driver.park(join(rebalance=8), 3)
    driver.advance(2)
    assert first.waits
    third = driver.park(join(rebalance=8), 3)
    driver.advance(2.1)
    assert first.waits
    driver.advance(2.2)
    assert [one.answer.generation_id for one in (first, second, third)] == [1, 1, 1]
    assert len(first.answer.members) == 3


def test_an_evicted_member_that_is_parked_learns_it_at_once(driver: Driver):
    leader, follower = asks.pair(driver)
    joining = driver.park(join(leader))
    driver.ask(leave(leader))
    assert joining.answer.error_code == Code.UNKNOWN_MEMBER_ID
    assert driver.ask(join(follower)).generation_id == 3


def test_sync_of_an_evicted_member_is_never_answered(driver: Driver):
    """A defect of brokers, seen on 4.3.1: only its connection's time-out ends the wait."""
    leader, follower = asks.pair(driver)
    driver.groups.force_rebalance(G)
    driver.park(join(follower))
    driver.ask(join(leader))
    syncing = driver.park(sync(follower, 3))
    driver.ask(leave(follower))
    driver.advance(100)
    assert syncing.waits


def test_a_group_of_another_type_can_use_the_id_once_it_is_empty(driver: Driver):
    driver.ask(leave(asks.lone(driver)))
    asks.lone(driver, "other")
    member = asks.member_id(driver, kind="connect", protocols={"sessioned": b"\0"})
    assert driver.ask(join(member, kind="connect", protocols={"sessioned": b"\0"})).protocol_type == "connect"
    assert driver.groups.members(G)[member].partitions == frozenset()


def test_a_group_whose_members_all_left_still_accepts_members(driver: Driver):
    """While a member id is out the group is not Empty, and has no protocol in common to compare with."""
    member = asks.lone(driver)
    pending = asks.member_id(driver)
    driver.ask(leave(member))
    assert driver.groups.state(G) == "PreparingRebalance"
    other = driver.ask(join(protocols={"other": b""}))
    assert other.error_code == Code.MEMBER_ID_REQUIRED
    assert driver.ask(join(kind="connect")).error_code == Code.INCONSISTENT_GROUP_PROTOCOL
    driver.ask(leave(other.member_id))
    assert driver.ask(join(pending)).generation_id == 2
