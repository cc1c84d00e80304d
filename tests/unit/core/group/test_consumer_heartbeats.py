"""Heartbeats of a KIP-848 group, without a clock: what is said when, and what the answers do."""

from typing import Any

import pytest

from kcli.core.errors import BrokerError, MembershipError
from kcli.core.group.consumer_heartbeats import ConsumerGroupHeartbeats
from kcli.core.group.membership import MemberEvent, Membership, MemberState
from kcli.core.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from tests.each import each
from tests.fake.codes import Code

S, E = MemberState, MemberEvent
NEVER = float("inf")
TOPIC = b"t" * 16


def joining(
    *, instance_id: str | None = None, assignor: str = ""
) -> tuple[Membership, ConsumerGroupHeartbeats]:
    member = Membership("g", instance_id, 10.0)
    heartbeats = ConsumerGroupHeartbeats(member, 0.1, assignor=assignor)
    member.happened(E.JOIN)
    heartbeats.begin_join(["t"], 0.0)
    return member, heartbeats


def joined(**options: Any) -> tuple[Membership, ConsumerGroupHeartbeats]:
    member, heartbeats = joining(**options)
    answer(heartbeats, beat(heartbeats), epoch=4, given=[0, 1])
    return member, heartbeats


def beat(heartbeats: ConsumerGroupHeartbeats, now: float = 0.0) -> ConsumerGroupHeartbeatRequest:
    request = heartbeats.request(now)
    assert isinstance(request, ConsumerGroupHeartbeatRequest)
    return request


def answer(
    heartbeats: ConsumerGroupHeartbeats,
    request: Any,
    code: str = "NONE",
    *,
    epoch: int = 4,
    given: list[int] | None = None,
    interval: int = 1_000,
    now: float = 0.0,
) -> Any:
    rows = (
        None
        if given is None
        else Assignment(topic_partitions=[TopicPartitions(topic_id=TOPIC, partitions=given)])
    )
    response = ConsumerGroupHeartbeatResponse(
        error_code=Code[code],
        member_id=request.member_id,
        member_epoch=epoch,
        heartbeat_interval_ms=interval,
        assignment=rows,
    )
    return heartbeats.handle_response(request, response, now)


def test_the_first_heartbeat_joins_and_is_full() -> None:
    member, heartbeats = joining(assignor="range")
    request = beat(heartbeats)
    assert request.member_epoch == 0
    assert request.member_id == member.member_id != ""
    assert request.rebalance_timeout_ms == 10_000
    assert request.subscribed_topic_names == ["t"]
    assert request.topic_partitions == []
    assert request.server_assignor == "range"
    answer(heartbeats, request, epoch=4, given=[1, 0])
    assert (member.state, member.generation) == (S.STABLE, 4)
    assert heartbeats.target == {TOPIC: [0, 1]}


def test_known_states_are_not_repeated_and_changes_are_reported_at_once() -> None:
    _, heartbeats = joined()
    assert heartbeats.tick(0.0) == 1.0
    second = beat(heartbeats, 1.0)
    assert (second.member_epoch, second.subscribed_topic_names, second.topic_partitions) == (4, None, None)
    answer(heartbeats, second, now=1.0)
    heartbeats.owned = {TOPIC: [0, 1]}
    heartbeats.changed()
    assert heartbeats.tick(1.0) <= 1.0
    third = beat(heartbeats, 1.0)
    assert third.topic_partitions is not None
    assert [(row.topic_id, row.partitions) for row in third.topic_partitions] == [(TOPIC, [0, 1])]


def test_a_change_while_a_heartbeat_is_in_flight_is_sent_after_its_response() -> None:
    _, heartbeats = joined()
    request = beat(heartbeats, 1.0)
    heartbeats.changed()
    answer(heartbeats, request, now=1.1)
    assert heartbeats.tick(1.1) <= 1.1


def test_fields_that_may_not_have_arrived_are_sent_again() -> None:
    _, heartbeats = joined()
    heartbeats.handle_no_response(beat(heartbeats, 1.0), 1.5)
    assert heartbeats.tick(1.5) == pytest.approx(1.6)
    request = beat(heartbeats, 1.6)
    assert request.subscribed_topic_names == ["t"]
    assert request.topic_partitions == []
    assert request.member_epoch == 4


@pytest.mark.case("G2")
@pytest.mark.parametrize(("instance_id", "epoch"), [(None, -1), ("i", -2)])
def test_a_late_poll_leaves_the_group(instance_id: str | None, epoch: int) -> None:
    """A static member only says that it is away."""
    member, heartbeats = joined(instance_id=instance_id)
    heartbeats.tick(10.0)
    assert (member.state, member.generation) == (S.LATE, -1)
    request = beat(heartbeats, 10.0)
    assert request.member_epoch == epoch
    answer(heartbeats, request, epoch=epoch, now=10.0)
    assert heartbeats.tick(10.0) == NEVER


@pytest.mark.case("G2")
def test_a_late_poll_leaves_also_while_the_join_is_on_its_way() -> None:
    """The coordinator may have taken it; the answer that comes then makes nobody a member."""
    member, heartbeats = joining()
    join = beat(heartbeats)
    heartbeats.tick(10.0)
    member.polled_at = 10.5
    member.happened(E.JOIN)
    heartbeats.begin_join(["t"], 10.5)
    answer(heartbeats, join, epoch=4, given=[0], now=10.5)
    assert member.state is S.JOINING
    leave = beat(heartbeats, 10.5)
    assert leave.member_epoch == -1
    answer(heartbeats, leave, epoch=-1, now=10.5)
    assert beat(heartbeats, 10.5).member_epoch == 0


@pytest.mark.parametrize("asked", [False, True])
def test_leaving_says_so_if_the_coordinator_may_know_it(asked: bool) -> None:
    member, heartbeats = joining()
    if asked:
        beat(heartbeats)
    member.happened(E.LEAVE)
    member.leave_by = 5.0
    heartbeats.tick(0.0)
    if asked:
        request = beat(heartbeats)
        assert request.member_epoch == -1
        answer(heartbeats, request, epoch=-1)
        heartbeats.tick(0.0)
    assert member.state is S.GONE


def test_leaving_does_not_wait_longer_than_it_may() -> None:
    member, heartbeats = joined()
    member.happened(E.LEAVE)
    member.leave_by = 5.0
    heartbeats.tick(0.0)
    heartbeats.handle_no_response(beat(heartbeats), 0.0)
    heartbeats.tick(5.0)
    assert member.state is S.GONE


SENT_AWAY = ["UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH", "STALE_MEMBER_EPOCH", "ILLEGAL_GENERATION"]


@pytest.mark.case("G13")
@pytest.mark.parametrize("code", SENT_AWAY)
def test_a_removed_member_has_no_partitions_and_rejoins_after_a_growing_pause(code: str) -> None:
    """Bounded retries."""
    member, heartbeats = joined()
    now, pauses = 1.0, []
    for _ in range(8):
        answer(heartbeats, beat(heartbeats, now), code, now=now)
        assert (member.state, member.generation) == (S.OUT, -1)
        assert (heartbeats.target, heartbeats.owned) == (None, {})
        member.polled_at = now
        member.happened(E.JOIN)
        heartbeats.begin_join(["t"], now)
        due = heartbeats.tick(now)
        pauses.append(due - now)
        now = due
    assert pauses == sorted(pauses)
    assert pauses[0] == pytest.approx(0.1)
    assert pauses[-1] == pytest.approx(1.0)


@pytest.mark.case("G13")
@pytest.mark.parametrize("epoch", [-1, 0])
def test_a_negative_epoch_is_ignored(epoch: int) -> None:
    """Said back to the coordinator, it would mean that the member leaves, or joins."""
    member, heartbeats = joined()
    answer(heartbeats, beat(heartbeats, 1.0), epoch=epoch, now=1.0)
    assert (member.state, member.generation) == (S.OUT, -1)


@pytest.mark.case("G13", "G14")
@pytest.mark.parametrize("code", ["UNSUPPORTED_ASSIGNOR", "FENCED_INSTANCE_ID", "GROUP_MAX_SIZE_REACHED"])
def test_refusals_are_permanent(code: str) -> None:
    """With the remedy."""
    member, heartbeats = joining()
    answer(heartbeats, beat(heartbeats), code)
    assert member.state is S.FENCED
    assert isinstance(member.error, MembershipError)
    assert member.error.do
    assert heartbeats.tick(100.0) == NEVER


@pytest.mark.case("G5")
def test_a_topic_that_may_not_be_read_is_reported_and_the_member_stays_what_it_is() -> None:
    """As in Java's client: it continues by itself when the permission is there."""
    for member, heartbeats in (joining(), joined()):
        before = member.state
        answer(heartbeats, beat(heartbeats, 1.0), "TOPIC_AUTHORIZATION_FAILED", now=1.0)
        assert member.state is before
        assert isinstance(member.complaint, BrokerError)
        assert member.complaint.exit_code == 4
        assert heartbeats.tick(1.0) > 1.0
        answer(heartbeats, beat(heartbeats, 9.0), epoch=max(member.generation, 4), given=[0], now=9.0)
        assert member.state is S.STABLE


@pytest.mark.case("G5")
def test_a_group_that_has_gone_with_its_last_member_is_joined_anew() -> None:
    """But no group of another kind."""
    member, heartbeats = joined()
    answer(heartbeats, beat(heartbeats, 1.0), "GROUP_ID_NOT_FOUND", now=1.0)
    assert member.state is S.OUT
    member, heartbeats = joining()
    answer(heartbeats, beat(heartbeats), "GROUP_ID_NOT_FOUND")
    assert member.state is S.FENCED


@pytest.mark.case("G5")
@each("code", [one.name for one in Code])
@pytest.mark.parametrize("begin", [joining, joined])
def test_no_code_makes_a_flood_of_heartbeats(begin: Any, code: str) -> None:
    """The next one is later, or for another coordinator, or there is none any more."""
    member, heartbeats = begin()
    error = answer(heartbeats, beat(heartbeats, 1.0), code, now=1.0)
    assert heartbeats.tick(1.0) > 1.0 or error is not None
    assert member.state in (S.JOINING, S.STABLE, S.OUT, S.FENCED)


@pytest.mark.case("G13")
@pytest.mark.parametrize("interval", [0, -5])
def test_an_interval_of_zero_is_no_flood(interval: int) -> None:
    """Ten a second at most."""
    _, heartbeats = joined()
    answer(heartbeats, beat(heartbeats, 1.0), interval=interval, now=1.0)
    assert heartbeats.tick(1.0) == pytest.approx(1.1)


@pytest.mark.case("G6")
def test_a_moved_coordinator_is_for_the_link_and_the_heartbeat_is_repeated_at_once() -> None:
    """NOT_COORDINATOR."""
    member, heartbeats = joined()
    assert isinstance(answer(heartbeats, beat(heartbeats, 1.0), "NOT_COORDINATOR", now=1.0), BrokerError)
    assert heartbeats.tick(1.0) == 1.0
    assert member.state is S.STABLE


@pytest.mark.case("G6")
def test_a_coordinator_that_is_not_ready_is_retried_soon() -> None:
    """COORDINATOR_LOAD_IN_PROGRESS."""
    member, heartbeats = joining()
    assert answer(heartbeats, beat(heartbeats), "COORDINATOR_LOAD_IN_PROGRESS") is None
    assert heartbeats.tick(0.0) == pytest.approx(0.1)
    assert member.state is S.JOINING


@pytest.mark.case("G5")
@pytest.mark.parametrize("code", ["NONE", *SENT_AWAY, "FENCED_INSTANCE_ID"])
def test_a_response_to_a_former_membership_changes_nothing(code: str) -> None:
    """The member was lost, by a commit say, and joins anew before the answer came."""
    member, heartbeats = joined()
    old = beat(heartbeats, 1.0)
    member.happened(E.LOST)
    member.happened(E.JOIN)
    heartbeats.begin_join(["t"], 1.0)
    answer(heartbeats, old, code, given=[0], now=1.0)
    assert member.state is S.JOINING
    assert heartbeats.target is None


@pytest.mark.parametrize("state", [S.OUT, S.LATE, S.FENCED, S.GONE])
def test_a_client_that_is_no_member_sends_no_heartbeats(state: MemberState) -> None:
    member, heartbeats = joining()
    member.cell.state = state
    assert heartbeats.tick(100.0) == NEVER
    assert heartbeats.request(100.0) is None
