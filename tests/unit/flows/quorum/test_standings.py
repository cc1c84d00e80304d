"""How far replicas of the metadata log are behind its leader."""

from dataclasses import replace

import pytest

from kcli.core.admin.quorum import QuorumDescription, QuorumReplica
from kcli.flows.quorum.standings import BEHIND, FOLLOWING, LEADER, OBSERVER, UNKNOWN, VOTER, standings

NOW = 1_000_000


def quorum(*others: QuorumReplica, leader: int = 1, end: int = 100) -> QuorumDescription:
    first = QuorumReplica(1, True, end, NOW, NOW)
    return QuorumDescription(leader, 7, (1,), 90, (first, *others), {1: "a:9093"})


@pytest.mark.parametrize(
    ("other", "lag", "behind", "state"),
    [
        (QuorumReplica(2, True, 99, NOW - 500, NOW - 20), 1, 0.5, FOLLOWING),
        (QuorumReplica(2, True, 100, NOW + 30, NOW), 0, 0.0, FOLLOWING),
        (QuorumReplica(2, True, 99, NOW - 4_999, NOW), 1, 4.999, FOLLOWING),
        (QuorumReplica(2, True, 99, NOW - 5_000, NOW), 1, 5.0, BEHIND),
        (QuorumReplica(2, False, 98, NOW - 60_000, NOW - 60_000), 2, 60.0, BEHIND),
        (QuorumReplica(2, True, 99), 1, None, FOLLOWING),
        (QuorumReplica(2, True, -1), None, None, UNKNOWN),
    ],
)
def test_a_replica_is_behind_by_the_clock_of_the_leader(
    other: QuorumReplica, lag: int | None, behind: float | None, state: str
) -> None:
    leader, found = standings(quorum(other))
    assert (leader.state, leader.endpoint, leader.role) == (LEADER, "a:9093", VOTER)
    assert (found.lag, found.behind, found.state, found.endpoint) == (lag, behind, state, "")
    assert found.role == (VOTER if other.is_voter else OBSERVER)


def test_records_count_where_the_leader_tells_no_times() -> None:
    states = [
        standings(quorum(QuorumReplica(2, True, 5_000 - lag), end=5_000))[1].state for lag in (999, 1_000)
    ]
    assert states == [FOLLOWING, BEHIND]


@pytest.mark.parametrize("leader", [-1, 9])
def test_without_a_leader_nothing_is_known_of_any(leader: int) -> None:
    found = standings(quorum(QuorumReplica(2, True, 99, NOW, NOW), leader=leader))
    assert [(one.state, one.lag, one.behind, one.fetched) for one in found] == [
        (UNKNOWN, None, None, None)
    ] * 2


def test_when_it_fetched_last() -> None:
    assert standings(quorum(QuorumReplica(2, True, 1, 0, NOW - 2_500)))[1].fetched == 2.5
    assert replace(QuorumReplica(2, True, 1), fetched_ms=3).fetched_ms == 3
