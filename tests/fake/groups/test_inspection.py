"""What tests may do to groups without a request."""

import pytest

from kcli.core.types import TopicPartition
from tests.fake.codes import Code
from tests.fake.groups import asks
from tests.fake.groups.asks import G, consumer_heartbeat, consumer_join, heartbeat, join
from tests.fake.groups.driver import Driver


def test_an_unknown_group(driver: Driver):
    assert driver.groups.state(G) == "Dead"
    assert driver.groups.generation(G) == -1
    assert driver.groups.members(G) == driver.groups.committed(G) == {}
    for knob in (driver.groups.force_rebalance, lambda group: driver.groups.evict(group, "m")):
        with pytest.raises(KeyError):
            knob(G)


def test_members_of_a_classic_group(driver: Driver):
    leader, follower = asks.pair(driver)
    views = driver.groups.members(G)
    assert list(views) == [leader, follower]
    assert (views[leader].epoch, views[leader].client_id, views[leader].instance_id) == (2, "test", None)
    assert views[follower].partitions == {TopicPartition("a", 2), TopicPartition("a", 3)}


def test_evict_a_classic_member(driver: Driver):
    leader, follower = asks.pair(driver)
    driver.groups.evict(G, follower)
    assert driver.ask(heartbeat(follower, 2)).error_code == Code.UNKNOWN_MEMBER_ID
    assert driver.ask(heartbeat(leader, 2)).error_code == Code.REBALANCE_IN_PROGRESS
    with pytest.raises(KeyError):
        driver.groups.evict(G, follower)


def test_force_a_rebalance_of_classic_members(driver: Driver):
    leader, follower = asks.pair(driver)
    driver.groups.force_rebalance(G)
    driver.groups.force_rebalance(G)
    joining = driver.park(join(follower))
    assert driver.ask(join(leader)).generation_id == joining.answer.generation_id == 3


def test_evict_and_rebalance_consumers(driver: Driver):
    driver.ask(consumer_join("m1"))
    driver.groups.force_rebalance(G)
    assert driver.ask(consumer_heartbeat("m1", 2)).member_epoch == 3
    assert driver.groups.members(G)["m1"].partitions == {TopicPartition("a", p) for p in range(4)}
    driver.groups.evict(G, "m1")
    assert driver.ask(consumer_heartbeat("m1", 3)).error_code == Code.UNKNOWN_MEMBER_ID


def test_settings_may_be_changed_while_it_runs(driver: Driver):
    driver.groups.settings.consumer_heartbeat_interval = 1.5
    assert driver.ask(consumer_join("m1")).heartbeat_interval_ms == 1500
