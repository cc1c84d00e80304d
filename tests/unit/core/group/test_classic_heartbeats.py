"""Heartbeats of a classic group, without a clock: what is said when, and what the answers do."""

from typing import Any

import pytest

from kcli.core.errors import BrokerError, MembershipError
from kcli.core.group.classic_heartbeats import ClassicHeartbeats
from kcli.core.group.membership import MemberEvent, Membership, MemberState
from kcli.core.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kcli.core.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from tests.each import each
from tests.fake.codes import Code

S, E = MemberState, MemberEvent
NEVER = float("inf")


def member_in(state: MemberState, *, instance_id: str | None = None) -> tuple[Membership, ClassicHeartbeats]:
    member = Membership("g", instance_id, 10.0, member_id="m", generation=3)
    member.cell.state = state
    return member, ClassicHeartbeats(member, 1.0, 0.1)


def beat(heartbeats: ClassicHeartbeats, now: float = 0.0) -> HeartbeatRequest:
    request = heartbeats.request(now)
    assert isinstance(request, HeartbeatRequest)
    return request


def answer(heartbeats: ClassicHeartbeats, code: str, request: Any, now: float = 0.0) -> Any:
    kind = HeartbeatResponse if isinstance(request, HeartbeatRequest) else LeaveGroupResponse
    return heartbeats.handle_response(request, kind(error_code=Code[code]), now)


@pytest.mark.parametrize("state", [S.STABLE, S.REJOIN, S.JOINING])
def test_a_member_beats_at_once_and_then_every_interval(state: MemberState) -> None:
    """Also while it joins: the coordinator waits for others, or its leader learns of topics."""
    _, heartbeats = member_in(state)
    assert heartbeats.tick(0.0) <= 0.0
    request = beat(heartbeats, 0.0)
    assert (request.group_id, request.member_id, request.generation_id) == ("g", "m", 3)
    assert heartbeats.tick(0.0) == 1.0
    answer(heartbeats, "NONE", request)
    assert heartbeats.tick(0.5) == 1.0


@pytest.mark.parametrize("state", [S.OUT, S.LATE, S.FENCED, S.GONE])
def test_a_client_that_is_no_member_sends_no_heartbeats(state: MemberState) -> None:
    _, heartbeats = member_in(state)
    assert heartbeats.tick(100.0) == NEVER
    assert heartbeats.request(100.0) is None


def test_a_member_without_an_id_sends_nothing_until_it_is_late() -> None:
    member, heartbeats = member_in(S.JOINING)
    member.member_id, member.generation = "", -1
    assert heartbeats.tick(0.0) == member.late_at
    assert heartbeats.request(0.0) is None


@pytest.mark.case("G2")
@pytest.mark.parametrize("state", [S.STABLE, S.REJOIN, S.JOINING])
def test_a_late_poll_leaves_the_group(state: MemberState) -> None:
    """And nothing is committed any more, since there is no generation."""
    member, heartbeats = member_in(state)
    assert heartbeats.tick(9.99) <= 10.0
    assert member.state is state
    assert heartbeats.tick(10.0) <= 10.0
    assert (member.state, member.member_id, member.generation) == (S.LATE, "", -1)
    request = heartbeats.request(10.0)
    assert isinstance(request, LeaveGroupRequest)
    assert (request.member_id, [m.member_id for m in request.members]) == ("m", ["m"])
    answer(heartbeats, "NONE", request, 10.0)
    assert heartbeats.tick(10.1) == NEVER


@pytest.mark.case("G2")
def test_a_late_static_member_stays_in_the_group() -> None:
    """KIP-345: whoever comes under its instance id takes it over."""
    member, heartbeats = member_in(S.STABLE, instance_id="i")
    heartbeats.tick(10.0)
    assert member.state is S.LATE
    assert heartbeats.request(10.0) is None


def test_a_member_that_joins_again_has_its_old_id_removed_first() -> None:
    member, heartbeats = member_in(S.STABLE)
    heartbeats.tick(10.0)
    member.polled_at = 11.0
    member.happened(E.JOIN)
    member.member_id, member.generation = "n", 4
    assert isinstance(heartbeats.request(11.0), LeaveGroupRequest)
    heartbeats.handle_no_response(None, 11.0)
    again = heartbeats.request(11.2)
    assert isinstance(again, LeaveGroupRequest)
    assert again.member_id == "m"
    answer(heartbeats, "UNKNOWN_MEMBER_ID", again, 11.2)
    assert beat(heartbeats, 11.2).member_id == "n"


def test_leaving_says_so_and_ends() -> None:
    member, heartbeats = member_in(S.STABLE)
    member.happened(E.LEAVE)
    member.leave_by = 5.0
    assert heartbeats.tick(0.0) <= 0.0
    request = heartbeats.request(0.0)
    assert isinstance(request, LeaveGroupRequest)
    answer(heartbeats, "NONE", request)
    heartbeats.tick(0.1)
    assert member.state is S.GONE


def test_leaving_does_not_wait_longer_than_it_may() -> None:
    member, heartbeats = member_in(S.STABLE)
    member.happened(E.LEAVE)
    member.leave_by = 5.0
    heartbeats.tick(0.0)
    heartbeats.handle_no_response(heartbeats.request(0.0), 0.0)
    assert heartbeats.tick(4.9) == 0.1
    assert member.state is S.LEAVING
    heartbeats.tick(5.0)
    assert member.state is S.GONE


@pytest.mark.parametrize(("instance_id", "member_id"), [("i", "m"), (None, "")])
def test_static_members_and_those_without_an_id_leave_silently(
    instance_id: str | None, member_id: str
) -> None:
    member, heartbeats = member_in(S.STABLE, instance_id=instance_id)
    member.member_id, member.leave_by = member_id, 5.0
    member.happened(E.LEAVE)
    heartbeats.tick(0.0)
    assert member.state is S.GONE


STABLE_OUTCOMES = {
    "NONE": (S.STABLE, "m", 3),
    "REBALANCE_IN_PROGRESS": (S.REJOIN, "m", 3),
    "ILLEGAL_GENERATION": (S.OUT, "m", -1),
    "UNKNOWN_MEMBER_ID": (S.OUT, "", -1),
    "MEMBER_ID_REQUIRED": (S.OUT, "", -1),
    "FENCED_INSTANCE_ID": (S.FENCED, "m", -1),
    "GROUP_AUTHORIZATION_FAILED": (S.STABLE, "m", 3),
    "UNKNOWN_SERVER_ERROR": (S.STABLE, "m", 3),
    "COORDINATOR_LOAD_IN_PROGRESS": (S.STABLE, "m", 3),
    "NOT_COORDINATOR": (S.STABLE, "m", 3),
}


@pytest.mark.case("G5")
@pytest.mark.parametrize(("code", "outcome"), STABLE_OUTCOMES.items())
def test_heartbeat_errors_of_a_stable_member(code: str, outcome: tuple[MemberState, str, int]) -> None:
    """Each code and what becomes of the member."""
    member, heartbeats = member_in(S.STABLE)
    answer(heartbeats, code, beat(heartbeats))
    assert (member.state, member.member_id, member.generation) == outcome


@pytest.mark.case("G5")
@pytest.mark.parametrize("code", STABLE_OUTCOMES)
def test_heartbeat_errors_of_a_joining_member(code: str) -> None:
    """They are about the generation before; only what concerns its ids, and not a generation, is still true."""
    member, heartbeats = member_in(S.STABLE)
    request = beat(heartbeats)
    member.happened(E.JOIN)
    answer(heartbeats, code, request)
    outcomes = {"FENCED_INSTANCE_ID": (S.FENCED, "m"), "UNKNOWN_MEMBER_ID": (S.OUT, "")}
    assert (member.state, member.member_id) == outcomes.get(code, (S.JOINING, "m"))


@pytest.mark.case("G5")
@pytest.mark.parametrize("code", STABLE_OUTCOMES)
@pytest.mark.parametrize(("member_id", "generation"), [("m", 4), ("n", 3)])
def test_a_response_to_a_former_membership_changes_nothing(
    code: str, member_id: str, generation: int
) -> None:
    """The member has joined again before the answer came."""
    member, heartbeats = member_in(S.STABLE)
    request = beat(heartbeats)
    member.member_id, member.generation = member_id, generation
    answer(heartbeats, code, request)
    assert (member.state, member.member_id, member.generation) == (S.STABLE, member_id, generation)


@pytest.mark.case("G5")
def test_errors_unrelated_to_the_membership_are_raised_by_the_next_poll() -> None:
    """No permission (any more); it may be given again, so that it is not the end."""
    member, heartbeats = member_in(S.STABLE)
    error = answer(heartbeats, "GROUP_AUTHORIZATION_FAILED", beat(heartbeats))
    assert isinstance(error, BrokerError)
    assert error.exit_code == 4
    assert member.error is None


@pytest.mark.case("G5")
@each("code", [one.name for one in Code])
def test_no_code_makes_a_flood_of_heartbeats(code: str) -> None:
    """The next one is later, or for another coordinator, or there is none any more."""
    member, heartbeats = member_in(S.STABLE)
    error = answer(heartbeats, code, beat(heartbeats, 0.5), 0.5)
    assert heartbeats.tick(0.5) > 0.5 or error is not None
    assert member.state in (S.STABLE, S.REJOIN, S.OUT, S.FENCED)


@pytest.mark.case("G5")
def test_a_fenced_member_knows_why() -> None:
    """Exit code 7."""
    member, heartbeats = member_in(S.STABLE, instance_id="i")
    answer(heartbeats, "FENCED_INSTANCE_ID", beat(heartbeats))
    assert isinstance(member.error, MembershipError)
    assert "i" in str(member.error)


@pytest.mark.case("G6")
def test_a_moved_coordinator_is_for_the_link_and_the_heartbeat_is_repeated_at_once() -> None:
    """NOT_COORDINATOR."""
    _, heartbeats = member_in(S.STABLE)
    error = answer(heartbeats, "NOT_COORDINATOR", beat(heartbeats), 0.5)
    assert isinstance(error, BrokerError)
    assert heartbeats.tick(0.5) == 0.5


@pytest.mark.case("G6")
@pytest.mark.parametrize(
    "code", ["COORDINATOR_LOAD_IN_PROGRESS", "REQUEST_TIMED_OUT", "UNKNOWN_SERVER_ERROR"]
)
def test_a_coordinator_that_is_not_ready_is_retried_soon(code: str) -> None:
    """COORDINATOR_LOAD_IN_PROGRESS."""
    _, heartbeats = member_in(S.STABLE)
    assert answer(heartbeats, code, beat(heartbeats), 0.5) is None
    assert heartbeats.tick(0.5) == pytest.approx(0.6)


def test_a_heartbeat_without_an_answer_is_repeated_soon() -> None:
    _, heartbeats = member_in(S.STABLE)
    heartbeats.handle_no_response(beat(heartbeats), 0.5)
    assert heartbeats.tick(0.5) == pytest.approx(0.6)
