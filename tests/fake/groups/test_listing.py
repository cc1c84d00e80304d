"""ListGroups with its filters, DescribeGroups in its versions, and several coordinators."""

import pytest

from tests.fake.codes import Code
from tests.fake.groups import asks
from tests.fake.groups.asks import G, consumer_describe, consumer_join, delete, describe, list_groups
from tests.fake.groups.driver import Driver


@pytest.fixture
def zoo(driver: Driver) -> Driver:
    """One group of each kind and state."""
    asks.lone(driver, "stable")
    member = asks.lone(driver, "preparing")
    driver.park(asks.join(asks.member_id(driver, "preparing"), "preparing"))
    assert member in driver.groups.members("preparing")
    driver.ask(asks.join(asks.member_id(driver, "completing"), "completing"))
    driver.ask(asks.commit({"a": {0: 1}}, group="simple"))
    driver.ask(consumer_join("m1", group="new"))
    driver.ask(consumer_join("m1", group="left"))
    driver.ask(asks.consumer_heartbeat("m1", -1, "left"))
    return driver


@pytest.mark.parametrize(
    ("states", "types", "names"),
    [
        ([], [], "stable preparing completing simple new left"),
        (["Stable"], [], "stable new"),
        (["stable"], [], "stable new"),
        (["PreparingRebalance", "CompletingRebalance"], [], "preparing completing"),
        (["Empty"], [], "simple left"),
        (["bogus"], [], ""),
        ([], ["classic"], "stable preparing completing simple"),
        ([], ["Consumer"], "new left"),
        ([], ["bogus"], ""),
        (["Empty"], ["consumer"], "left"),
    ],
)
def test_filters(zoo: Driver, states, types, names):
    answer = zoo.ask(list_groups(states, types), 5)
    assert answer.error_code == Code.NONE
    assert [row.group_id for row in answer.groups] == names.split()


@pytest.mark.parametrize(
    ("version", "row"),
    [(0, ("", "")), (3, ("", "")), (4, ("Stable", "")), (5, ("Stable", "classic"))],
)
def test_versions_of_list_groups(driver: Driver, version, row):
    """A version without a filter lists all; states came with v4, types with v5."""
    asks.lone(driver)
    (found,) = driver.ask(
        list_groups(["Empty"] if version < 4 else [], ["consumer"] if version < 5 else []), version
    ).groups
    assert (found.group_id, found.protocol_type, found.group_state, found.group_type) == (G, "consumer", *row)


def test_protocol_types(zoo: Driver):
    kinds = {row.group_id: row.protocol_type for row in zoo.ask(list_groups()).groups}
    assert {name for name, kind in kinds.items() if kind == ""} == {"simple"}


def test_metadata_and_protocol_show_in_state_stable_only(zoo: Driver):
    rows = {
        row.group_id: row for row in zoo.ask(describe("stable", "preparing", "completing", "simple")).groups
    }
    assert {name: (row.group_state, row.protocol_data) for name, row in rows.items()} == {
        "stable": ("Stable", "range"),
        "preparing": ("PreparingRebalance", ""),
        "completing": ("CompletingRebalance", ""),
        "simple": ("Empty", ""),
    }
    (member,) = rows["stable"].members
    assert (member.client_id, member.client_host) == ("test", "/127.0.0.1")
    assert bytes(member.member_metadata) == asks.subscription("a")
    assert bytes(member.member_assignment) == asks.assignment({"a": [0, 1, 2, 3]})
    assert [len(m.member_metadata) for m in rows["preparing"].members] == [0, 0]


@pytest.mark.parametrize("version", range(7))
def test_an_unknown_group_is_dead_and_since_version_6_an_error(driver: Driver, version):
    (row,) = driver.ask(describe("missing"), version).groups
    new = version >= 6
    assert (row.group_state, row.error_code) == ("Dead", Code.GROUP_ID_NOT_FOUND if new else Code.NONE)
    assert row.error_message == ("Group missing not found." if new else None)


def test_operations_are_reported_when_requested(driver: Driver):
    asks.lone(driver)
    told = [driver.ask(describe(operations=wish)).groups[0].authorized_operations for wish in (False, True)]
    assert told == [-2147483648, 3400]


def test_each_coordinator_answers_for_its_groups(zoo: Driver):
    def here(group: str) -> bool:
        return group in ("simple", "new")

    assert [row.group_id for row in zoo.ask(list_groups(), here=here).groups] == ["simple", "new"]
    described = zoo.ask(describe("simple", "stable"), here=here).groups
    assert [row.error_code for row in described] == [Code.NONE, Code.NOT_COORDINATOR]
    described = zoo.ask(consumer_describe("new", "left"), here=here).groups
    assert [row.error_code for row in described] == [Code.NONE, Code.NOT_COORDINATOR]
    deleted = zoo.ask(delete("simple", "left"), here=here).results
    assert {row.group_id: row.error_code for row in deleted} == {"simple": 0, "left": Code.NOT_COORDINATOR}
    assert zoo.groups.state("left") == "Empty"
