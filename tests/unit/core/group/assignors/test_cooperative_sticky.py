"""Cooperative sticky: what moves is withheld until its owner gave it up, and then it comes (KIP-429)."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.group.assignors.cooperative_sticky import read_claim
from kcli.core.group.consumer_protocol import Subscription
from tests.unit.core.group.assignors.worlds import (
    COOPERATIVE,
    STICKY,
    Given,
    World,
    after,
    assert_exact,
    moved,
    places,
    spelled,
    subscribers,
    unevenness,
    worlds,
)


def test_kip_429_a_partition_moves_in_two_rounds() -> None:
    members = subscribers(x="a", y="a")
    alone = COOPERATIVE.assign({"x": members["x"]}, {"a": 4})
    first = COOPERATIVE.assign(after(COOPERATIVE, members, alone), {"a": 4})
    assert spelled(first) == {"x": "a0 a1", "y": ""}
    second = COOPERATIVE.assign(after(COOPERATIVE, members, first, 2), {"a": 4})
    assert spelled(second) == {"x": "a0 a1", "y": "a2 a3"}


def test_kip_429_partitions_of_a_dead_member_are_assigned_at_once() -> None:
    members = subscribers(x="a", y="a", z="a")
    first = COOPERATIVE.assign(members, {"a": 6})
    del members["y"]
    second = COOPERATIVE.assign(after(COOPERATIVE, members, first), {"a": 6})
    assert spelled(second) == {"x": "a0 a1 a3", "z": "a2 a4 a5"}


def round_of(members: Mapping[str, Subscription], had: Given, world: World, generation: int) -> Given:
    """One rebalance; each member gives up at once what it did not get again, as members do."""
    given = COOPERATIVE.assign(after(COOPERATIVE, members, had, generation), world.partitions)
    assert moved({m: had.get(m, []) for m in members}, given) == set(), "owned by two members for a while"
    return given


@given(worlds(), worlds(), st.randoms(use_true_random=False))
def test_a_partition_never_has_two_owners_and_two_rounds_are_enough(was: World, now: World, rng) -> None:
    had = round_of(was.members, {}, was, 1)
    survivors = {m: one for m, one in was.members.items() if rng.random() < 0.7}
    members = {**now.members, **survivors}
    world = World(members, now.partitions)
    first = round_of(members, had, world, 2)
    second = round_of(members, first, world, 3)
    assert_exact(world, second)
    assert unevenness(second) == unevenness(STICKY.assign(members, world.partitions))
    assert round_of(members, second, world, 4) == second


# --- claims that are old or false -----------------------------------------------------------------------


def claims(**told: tuple[str, int]) -> dict[str, Subscription]:
    return {
        member: Subscription(("a",), tuple(places(text)), generation)
        for member, (text, generation) in told.items()
    }


@pytest.mark.case("G7")
def test_a_partition_claimed_twice_stays_unassigned_until_both_revoked_it() -> None:
    """Two members of one generation say that they own a1."""
    members = claims(x=("a0 a1", 5), y=("a1 a2", 5))
    first = COOPERATIVE.assign(members, {"a": 4})
    assert spelled(first) == {"x": "a0", "y": "a2 a3"}
    second = COOPERATIVE.assign(after(COOPERATIVE, members, first, 6), {"a": 4})
    assert spelled(second) == {"x": "a0 a1", "y": "a2 a3"}


@pytest.mark.case("G7")
def test_a_stale_claim_takes_nothing_from_the_owner() -> None:
    """Y missed a generation and still claims what x has by now."""
    assert spelled(COOPERATIVE.assign(claims(x=("a0 a1", 5), y=("a0 a1", 4)), {"a": 2})) == {
        "x": "a0",
        "y": "",
    }
    given = COOPERATIVE.assign(claims(x=("a0 a1", 5), y=("a0 a1", 4)), {"a": 4})
    assert spelled(given) == {"x": "a0 a1", "y": "a2 a3"}


@pytest.mark.case("G7")
def test_partitions_that_a_stale_member_may_still_read_are_withheld() -> None:
    """Y missed a generation; what it claims moves only after it has given it up."""
    members = claims(x=("", 5), y=("a0 a1", 4))
    assert spelled(COOPERATIVE.assign(members, {"a": 2})) == {"x": "", "y": "a0"}


@pytest.mark.case("G7")
def test_claims_of_partitions_that_do_not_exist_withhold_nothing() -> None:
    """Negative partitions and partitions beyond the count."""
    members = claims(x=("a0 a7", 5), y=("", 5))
    odd = tuple(tp._replace(partition=-3) for tp in places("a0"))
    members["x"] = replace(members["x"], owned_partitions=members["x"].owned_partitions + odd)
    assert spelled(COOPERATIVE.assign(members, {"a": 2})) == {"x": "a0", "y": "a1"}


# --- the generation -------------------------------------------------------------------------------------


def test_the_generation_goes_into_the_user_data_too() -> None:
    """As the Java client does, for leaders older than the field."""
    assert COOPERATIVE.user_data((), 7) == bytes.fromhex("00000007")
    assert COOPERATIVE.user_data((), -1) == bytes.fromhex("ffffffff")


def test_the_generation_is_read_from_the_field_first() -> None:
    said = Subscription(("a",), generation=5, user_data=b"\0\0\0\7")
    assert read_claim(said).generation == 5
    assert read_claim(replace(said, generation=-1)).generation == 7
    assert read_claim(replace(said, generation=-1, user_data=b"\7")).generation == -1
