"""Every event to every state of a membership, and what goes with it."""

import pytest

from kcli.core.errors import MembershipError
from kcli.core.group.membership import NO_GENERATION, TABLE, MemberEvent, Membership, MemberState
from kcli.core.types import GroupMetadata

S, E = MemberState, MemberEvent

EXPECTED: dict[MemberState, dict[MemberEvent, MemberState]] = {
    S.OUT: {E.JOIN: S.JOINING, E.FENCE: S.FENCED, E.LEAVE: S.LEAVING},
    S.JOINING: {
        E.JOINED: S.STABLE,
        E.LOST: S.OUT,
        E.LATE: S.LATE,
        E.FENCE: S.FENCED,
        E.LEAVE: S.LEAVING,
    },
    S.STABLE: {
        E.JOIN: S.JOINING,
        E.REBALANCE: S.REJOIN,
        E.LOST: S.OUT,
        E.LATE: S.LATE,
        E.FENCE: S.FENCED,
        E.LEAVE: S.LEAVING,
    },
    S.REJOIN: {
        E.JOIN: S.JOINING,
        E.REBALANCE: S.REJOIN,
        E.LOST: S.OUT,
        E.LATE: S.LATE,
        E.FENCE: S.FENCED,
        E.LEAVE: S.LEAVING,
    },
    S.LATE: {E.JOIN: S.JOINING, E.FENCE: S.FENCED, E.LEAVE: S.LEAVING},
    S.FENCED: {E.LEAVE: S.LEAVING},
    S.LEAVING: {E.LEFT: S.GONE},
    S.GONE: {},
}


def membership(state: MemberState) -> Membership:
    made = Membership("g", None, 1.0, member_id="m", generation=5)
    made.cell.state = state
    return made


@pytest.mark.parametrize("event", E)
@pytest.mark.parametrize("state", S)
def test_every_event_in_every_state(state: MemberState, event: MemberEvent) -> None:
    member = membership(state)
    expected = EXPECTED[state].get(event)
    assert member.happened(event, "why") is (expected is not None)
    assert member.state is (expected or state)


def test_the_table_has_nothing_else() -> None:
    assert {(s, e): t for s, row in EXPECTED.items() for e, t in row.items()} == TABLE


@pytest.mark.parametrize("event", [E.LOST, E.LATE, E.FENCE])
def test_a_membership_that_ends_has_no_generation_to_commit_with(event: MemberEvent) -> None:
    member = membership(S.STABLE)
    member.happened(event)
    assert member.generation == NO_GENERATION
    assert not member.is_member


@pytest.mark.parametrize("event", [E.REBALANCE, E.JOIN, E.LEAVE])
def test_other_events_leave_the_generation(event: MemberEvent) -> None:
    """While others are joining, a member of the old generation may still commit."""
    member = membership(S.STABLE)
    member.happened(event)
    assert member.metadata == GroupMetadata("g", 5, "m", None)


def test_the_reason_of_a_fence_is_kept() -> None:
    member = membership(S.STABLE)
    error = MembershipError("another one")
    member.happened(E.FENCE, "fenced", error=error)
    member.happened(E.LOST, "too late to matter")
    assert member.error is error


def test_changes_are_reported_and_events_that_come_too_late_are_not() -> None:
    told: list[tuple[MemberState, MemberState, str]] = []
    member = membership(S.OUT)
    member.cell.reporting(lambda old, new, why: told.append((old, new, why)))
    member.happened(E.JOIN, "first")
    member.happened(E.REBALANCE, "of the generation before")
    member.happened(E.JOINED, "generation 6")
    assert told == [(S.OUT, S.JOINING, "first"), (S.JOINING, S.STABLE, "generation 6")]


def test_a_poll_is_late_by_the_longest_time_between_polls() -> None:
    member = membership(S.STABLE)
    member.polled_at = 10.0
    assert member.late_at == 11.0
