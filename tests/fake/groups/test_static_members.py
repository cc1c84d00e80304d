"""group.instance.id (KIP-345): who comes back keeps the place, and whoever used it before is fenced."""

import pytest

from tests.fake.codes import Code
from tests.fake.groups import asks
from tests.fake.groups.asks import G, describe, heartbeat, join, leave, sync
from tests.fake.groups.driver import Driver


def static_pair(driver: Driver, **more) -> tuple[str, str]:
    """Two static members, i1 leads; Stable, generation 2."""
    one = driver.ask(join(instance="i1", **more)).member_id
    driver.ask(sync(one, 1, {one: b"one"}, instance="i1"))
    joining = driver.park(join(instance="i2", **more))
    driver.ask(join(one, instance="i1", **more))
    two = joining.answer.member_id
    syncing = driver.park(sync(two, 2, instance="i2"))
    driver.ask(sync(one, 2, {one: b"one", two: b"two"}, instance="i1"))
    assert syncing.answer.error_code == Code.NONE
    return one, two


def test_a_follower_that_comes_back_keeps_its_assignment_without_a_rebalance(driver: Driver):
    one, two = static_pair(driver)
    back = driver.ask(join(instance="i2"))
    assert back.member_id.startswith("i2-")
    assert (back.member_id != two, back.generation_id, back.leader, back.skip_assignment) == (
        True,
        2,
        one,
        False,
    )
    assert bytes(driver.ask(sync(back.member_id, 2, instance="i2")).assignment) == b"two"
    assert (driver.groups.state(G), driver.groups.generation(G)) == ("Stable", 2)
    assert driver.ask(heartbeat(one, 2, instance="i1")).error_code == Code.NONE


@pytest.mark.parametrize("version", [5, 8, 9])
def test_a_leader_that_comes_back_is_told_not_to_assign(driver: Driver, version):
    """Since v9 it learns so (KIP-814); before, the answer names its former id as the leader."""
    one, two = static_pair(driver)
    back = driver.ask(join(instance="i1"), version)
    new = version >= 9
    assert back.skip_assignment == new
    assert back.leader == (back.member_id if new else one)
    assert [m.member_id for m in back.members] == ([back.member_id, two] if new else [])
    assert bytes(driver.ask(sync(back.member_id, 2, instance="i1")).assignment) == b"one"


def test_another_protocol_is_worth_a_rebalance(driver: Driver):
    static_pair(driver, protocols={"range": b"", "sticky": b""})
    back = driver.park(join(instance="i2", protocols={"sticky": b""}))
    assert back.waits
    assert driver.groups.state(G) == "PreparingRebalance"


def test_another_subscription_alone_is_not(driver: Driver):
    static_pair(driver)
    back = driver.ask(join(instance="i2", protocols={"range": asks.subscription("b")}))
    assert (back.generation_id, driver.groups.state(G)) == (2, "Stable")


def test_two_with_one_instance_id_fence_each_other(driver: Driver):
    member = asks.lone(driver)
    first = driver.park(join(instance="i1"))
    second = driver.park(join(instance="i1"))
    assert first.answer.error_code == Code.FENCED_INSTANCE_ID
    driver.ask(join(member))
    bearer = second.answer.member_id
    syncing = driver.park(sync(bearer, 2, instance="i1"))
    third = driver.park(join(instance="i1"))
    assert syncing.answer.error_code == Code.FENCED_INSTANCE_ID
    assert third.waits
    assert driver.groups.state(G) == "PreparingRebalance"


def test_a_rebalance_does_not_throw_out_static_members_that_are_late(driver: Driver):
    one, two = static_pair(driver, session=10, rebalance=2)
    newcomer = driver.park(join(asks.member_id(driver), rebalance=2))
    driver.advance(2.1)
    assert newcomer.answer.generation_id == 3
    assert {one, two} < driver.groups.members(G).keys()


def test_if_no_static_member_comes_the_rebalance_waits_for_sessions(driver: Driver):
    static_pair(driver, session=5, rebalance=2)
    driver.groups.force_rebalance(G)
    driver.advance(4.5)
    assert (driver.groups.state(G), len(driver.groups.members(G))) == ("PreparingRebalance", 2)
    driver.advance(1)
    assert driver.groups.state(G) == "Empty"


def test_describe_shows_instance_ids(driver: Driver):
    static_pair(driver)
    rows = driver.ask(describe()).groups[0].members
    assert [row.group_instance_id for row in rows] == ["i1", "i2"]
    driver.ask(leave(("", "i1")))
    assert [row.group_instance_id for row in driver.ask(describe()).groups[0].members] == ["i2"]
