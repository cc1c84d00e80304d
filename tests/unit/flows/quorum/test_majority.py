"""Which voters are caught up, and how many may fail."""

import pytest

from kcli.core.admin.quorum import Endpoint, QuorumDescription, QuorumReplica
from kcli.flows.quorum.majority import Majority, majority_of
from kcli.flows.quorum.rows import heading, quorum_fields, replica_rows, words

NOW = 1_000_000


def quorum(*late: int, voters: int = 3, observers: int = 1, leader: int = 1) -> QuorumDescription:
    def replica(number: int) -> QuorumReplica:
        at = NOW - (60_000 if number in late else 0)
        return QuorumReplica(number, number <= voters, 100, at, at, f"directory-{number}")

    numbers = range(1, voters + observers + 1)
    listeners = {1: (Endpoint("CONTROLLER", "a", 9093), Endpoint("OTHER", "::1", 9094))}
    return QuorumDescription(
        leader, 7, tuple(range(1, voters + 1)), 90, tuple(map(replica, numbers)), {}, listeners
    )


@pytest.mark.parametrize(
    ("late", "caught_up", "spare"),
    [((), {1, 2, 3}, 1), ((2,), {1, 3}, 0), ((2, 3), {1}, -1), ((4,), {1, 2, 3}, 1)],
)
def test_voters_that_are_behind_do_not_count(late: tuple[int, ...], caught_up: set[int], spare: int) -> None:
    found = majority_of(quorum(*late))
    assert (found.needed, found.caught_up, found.spare) == (2, caught_up, spare)


def test_without_a_leader_nobody_is_known_to_be_caught_up() -> None:
    assert majority_of(quorum(leader=-1)).spare == -2


@pytest.mark.parametrize(
    ("voters", "up", "removed", "spare"),
    [(3, 3, 3, 0), (3, 2, 3, 0), (3, 2, 2, -1), (2, 2, 2, 0), (5, 5, 5, 1), (4, 3, 4, 1), (1, 1, 1, -1)],
)
def test_what_a_removal_leaves(voters: int, up: int, removed: int, spare: int) -> None:
    """Of the voters the first ``up`` are caught up."""
    found = Majority(frozenset(range(1, voters + 1)), frozenset(range(1, up + 1)))
    assert found.without(removed).spare == spare


@pytest.mark.parametrize(
    ("voters", "up", "spare"), [(1, 1, 0), (3, 3, 1), (3, 2, 0), (2, 1, 0), (4, 3, 1), (4, 2, 0)]
)
def test_what_an_addition_makes(voters: int, up: int, spare: int) -> None:
    found = Majority(frozenset(range(1, voters + 1)), frozenset(range(1, up + 1)))
    assert found.with_voter(9).spare == spare


@pytest.mark.parametrize(
    ("late", "text"),
    [
        ((), "a majority is 2, 3 caught up: 1 of these may fail"),
        ((2,), "a majority is 2, 2 caught up: none may fail"),
        ((2, 3), "a majority is 2, 1 caught up: a majority is not caught up"),
    ],
)
def test_it_is_said_how_many_may_fail(late: tuple[int, ...], text: str) -> None:
    assert words(majority_of(quorum(*late))) == text
    assert text in heading("id", quorum(*late), 1)


def test_the_document_has_the_quorum_and_its_replicas() -> None:
    found = quorum_fields(quorum(2), 0)
    assert found == {
        "leader": 1, "leader_epoch": 7, "high_watermark": 90, "kraft_version": 0, "voters": [1, 2, 3],
        "observers": [4], "majority": 2, "caught_up_voters": [1, 3],
    }  # fmt: skip
    rows = replica_rows(quorum(2))
    assert [(row["node"], row["role"], row["state"]) for row in rows] == [
        (1, "voter", "leader"), (2, "voter", "behind"), (3, "voter", "following"), (4, "observer", "following"),
    ]  # fmt: skip
    assert rows[0]["endpoints"] == ["CONTROLLER://a:9093", "OTHER://[::1]:9094"]
    assert rows[3]["directory_id"] == "directory-4"
