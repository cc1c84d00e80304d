"""Which of the members' claims count."""

import pytest

from kcli.core.group.assignors.sticky import Claim, existing, owners
from tests.unit.core.group.assignors.worlds import places

SIZES = {"a": 3, "b": 1}


def owned(**claims: tuple[str, int]) -> dict[str, str]:
    found = owners(
        {member: Claim(places(text), generation) for member, (text, generation) in claims.items()}, SIZES
    )
    return {f"{tp.topic}{tp.partition}": member for tp, member in found.items()}


def test_an_undisputed_claim_counts() -> None:
    assert owned(x=("a0 b0", 4), y=("a2", 4)) == {"a0": "x", "b0": "x", "a2": "y"}


@pytest.mark.case("G7")
def test_the_newer_generation_counts() -> None:
    """A member that missed a rebalance claims what another one has by now."""
    assert owned(x=("a0 a1", 3), y=("a1 a2", 4)) == {"a0": "x", "a1": "y", "a2": "y"}
    assert owned(x=("a0 a1", 4), y=("a1 a2", 3)) == {"a0": "x", "a1": "x", "a2": "y"}


@pytest.mark.case("G7")
def test_of_two_claims_in_one_generation_neither_counts() -> None:
    """Two members say that they own the same partition."""
    assert owned(x=("a0 a1", 4), y=("a1 a2", 4)) == {"a0": "x", "a2": "y"}
    assert owned(x=("a1", -1), y=("a1", -1)) == {}


@pytest.mark.case("G7")
def test_a_newer_claim_resolves_a_dispute_of_older_ones() -> None:
    """Three members claim one partition, in any order."""
    assert owned(x=("a1", 4), y=("a1", 4), z=("a1", 5)) == {"a1": "z"}
    assert owned(x=("a1", 5), y=("a1", 4), z=("a1", 4)) == {"a1": "x"}
    assert owned(x=("a1", 5), y=("a1", 4), z=("a1", 5)) == {}


def test_a_claim_without_a_generation_is_the_oldest() -> None:
    assert owned(x=("a1", -1), y=("a1", 0)) == {"a1": "y"}


@pytest.mark.case("G7")
def test_partitions_that_do_not_exist_are_unassigned() -> None:
    """Negative partitions, partitions beyond the count, unknown topics, repeats."""
    claim = Claim([*places("a2 a3 b1 c0 a0 a0"), *(p._replace(partition=-1) for p in places("a0"))])
    assert existing(claim, SIZES) == places("a0 a2")
