"""What time does to groups: sessions, rebalances, members whose connection is gone. The clock is moved by hand."""

import pytest

from tests.fake.codes import Code
from tests.fake.groups import asks
from tests.fake.groups.asks import G, commit, consumer_heartbeat, consumer_join, heartbeat, join, sync
from tests.fake.groups.driver import Driver


def test_a_member_without_heartbeats_is_put_out(driver: Driver):
    leader, follower = asks.pair(driver, session=6)
    for _ in range(3):
        driver.advance(3)
        driver.ask(heartbeat(leader, 2))
    assert driver.groups.members(G).keys() == {leader}
    assert driver.groups.state(G) == "PreparingRebalance"
    assert driver.ask(heartbeat(follower, 2)).error_code == Code.UNKNOWN_MEMBER_ID


def test_heartbeats_commits_and_syncs_keep_a_member(driver: Driver):
    member = asks.lone(driver, session=6)
    for sign in (
        lambda: driver.ask(heartbeat(member, 1)),
        lambda: driver.ask(commit({"a": {0: 1}}, member, 1)),
        lambda: driver.ask(heartbeat(member, 1)),
    ):
        driver.advance(4)
        sign()
    assert member in driver.groups.members(G)
    driver.advance(6.1)
    assert driver.groups.state(G) == "Empty"


def test_a_heartbeat_during_a_rebalance_counts_although_it_is_refused(driver: Driver):
    leader, follower = asks.pair(driver, session=6)
    driver.groups.force_rebalance(G)
    for _ in range(3):
        driver.advance(4)
        assert driver.ask(heartbeat(leader, 2)).error_code == Code.REBALANCE_IN_PROGRESS
    assert driver.groups.members(G).keys() == {leader}
    assert follower not in driver.groups.members(G)


def test_a_parked_member_needs_no_heartbeat(driver: Driver):
    leader, follower = asks.pair(driver, session=6, rebalance=60)
    joining = driver.park(join(leader, session=6, rebalance=60))
    for _ in range(4):
        driver.advance(5)
        driver.ask(heartbeat(follower, 2))
    assert joining.waits
    driver.ask(join(follower, session=6, rebalance=60))
    assert joining.answer.generation_id == 3


def test_members_that_do_not_rejoin_in_time_are_put_out(driver: Driver):
    leader, follower = asks.pair(driver, session=60, rebalance=4)
    joining = driver.park(join(leader, session=60, rebalance=4))
    driver.advance(3.9)
    assert joining.waits
    driver.advance(0.2)
    assert (joining.answer.generation_id, len(joining.answer.members)) == (3, 1)
    assert driver.ask(heartbeat(follower, 2)).error_code == Code.UNKNOWN_MEMBER_ID


def test_the_longest_rebalance_timeout_counts(driver: Driver):
    short = asks.lone(driver, session=60, rebalance=2)
    long = driver.park(join(asks.member_id(driver), session=60, rebalance=5))
    driver.advance(4)
    assert long.waits
    driver.advance(1.1)
    assert long.answer.leader != short


def test_members_that_do_not_sync_in_time_are_put_out(driver: Driver):
    leader, follower = asks.pair(driver, session=60, rebalance=4)
    driver.groups.force_rebalance(G)
    driver.park(join(follower, session=60, rebalance=4))
    driver.ask(join(leader, session=60, rebalance=4))
    syncing = driver.park(sync(follower, 3))
    driver.advance(4.1)
    assert syncing.answer.error_code == Code.REBALANCE_IN_PROGRESS
    assert driver.groups.members(G).keys() == {follower}


def test_a_member_id_that_is_not_used_is_forgotten(driver: Driver):
    pending = asks.member_id(driver, session=6)
    driver.advance(6.1)
    assert driver.ask(join(pending)).error_code == Code.UNKNOWN_MEMBER_ID


def test_a_rebalance_waits_for_member_ids_that_were_given_out(driver: Driver):
    leader, follower = asks.pair(driver)
    asks.member_id(driver, session=6)
    joining = driver.park(join(leader))
    rejoining = driver.park(join(follower))
    assert rejoining.waits
    driver.advance(6.1)
    assert joining.answer.generation_id == rejoining.answer.generation_id == 3


@pytest.mark.parametrize("is_new", [True, False], ids=["newcomer", "member"])
def test_a_parked_join_whose_connection_died_stays_until_its_session_ends(driver: Driver, is_new):
    """It counts as joined; nobody hears its heartbeats after the barrier opened."""
    leader, follower = asks.pair(driver, session=6)
    if is_new:
        follower = asks.member_id(driver, session=6)
        lost = driver.park(join(follower, session=6))
        driver.park(join(list(driver.groups.members(G))[1], session=6))
    else:
        lost = driver.park(join(follower, session=6, protocols={"range": asks.subscription("b")}))
    lost.disconnect()
    answer = driver.ask(join(leader, session=6))
    assert follower in {m.member_id for m in answer.members}
    driver.advance(6.1)
    assert follower not in driver.groups.members(G)


def test_a_new_member_is_not_held_indefinitely(driver: Driver):
    leader = asks.lone(driver, session=600, rebalance=600)
    newcomer = driver.park(join(asks.member_id(driver), session=600, rebalance=600))
    driver.advance(299)
    assert newcomer.waits
    driver.advance(2)
    assert newcomer.answer.error_code == Code.UNKNOWN_MEMBER_ID
    assert driver.groups.members(G).keys() == {leader}


def test_a_consumer_without_heartbeats_is_put_out(driver: Driver):
    driver.groups.settings.consumer_session_timeout = 6
    driver.ask(consumer_join("m1"))
    driver.ask(consumer_join("m2"))
    driver.advance(4)
    driver.ask(consumer_heartbeat("m1", 2))
    driver.advance(2.1)
    assert driver.groups.members(G).keys() == {"m1"}
    assert driver.ask(consumer_heartbeat("m2", 3)).error_code == Code.UNKNOWN_MEMBER_ID


def test_a_consumer_that_does_not_revoke_its_partitions_is_evicted(driver: Driver):
    driver.ask(consumer_join("m1", rebalance=5))
    driver.ask(consumer_join("m2"))
    everything = {"a": [0, 1, 2, 3]}
    assert asks.given(driver.ask(consumer_heartbeat("m1", 2))) == {"a": [0, 1]}
    for _ in range(4):
        driver.advance(1)
        assert driver.ask(consumer_heartbeat("m1", 2, owned=everything)).error_code == Code.NONE
        assert asks.given(driver.ask(consumer_heartbeat("m2", 3))) is None
    driver.advance(1.1)
    assert driver.ask(consumer_heartbeat("m1", 2, owned=everything)).error_code == Code.UNKNOWN_MEMBER_ID
    assert asks.given(driver.ask(consumer_heartbeat("m2", 3))) == everything


def test_a_static_consumer_keeps_its_partitions_until_its_session_ends(driver: Driver):
    driver.groups.settings.consumer_session_timeout = 6
    driver.ask(consumer_join("s1", instance_id="i1"))
    driver.ask(consumer_heartbeat("s1", -2, instance_id="i1"))
    driver.advance(5)
    assert driver.groups.members(G)["s1"].partitions
    driver.advance(1.1)
    assert driver.groups.state(G) == "Empty"
