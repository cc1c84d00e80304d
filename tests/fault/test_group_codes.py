"""What coordinators say, API by API and code by code, and what becomes of the member (cases G5, G6, G13, G14).

As in Java's client (AbstractCoordinator, ConsumerCoordinator, and the request managers of the new consumer), but for two
things: a heartbeat without permission is reported by a poll, where Java's classic consumer retries silently; and a group
of the new protocol that has gone with its last member is joined anew, where Java's consumer is at its end.
"""

from typing import Any

import pytest

from kcli.core.errors import BrokerError, CommitFailedError, MembershipError
from kcli.core.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kcli.core.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcli.core.protocol.messages.heartbeat import HeartbeatRequest
from kcli.core.protocol.messages.join_group import JoinGroupRequest
from kcli.core.protocol.messages.leave_group import LeaveGroupRequest
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.protocol.messages.offset_fetch import OffsetFetchRequest
from kcli.core.protocol.messages.sync_group import SyncGroupRequest
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.script import FOREVER
from tests.fault.consuming import GROUP, PATIENCE, fill, member, offsets, raised_by, settle, tp, turns
from tests.lasting import Moment, lasted

BOTH = ("classic", "consumer")
NOT_READY = ["NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"]
FORBIDDEN = "GROUP_AUTHORIZATION_FAILED"


def rows(table: dict[str, list[str]], *prefix: Any) -> list[Any]:
    """``table``: outcome → codes."""
    return [
        pytest.param(*prefix, outcome, Code[code], id="-".join([*map(_name, prefix), code, outcome]))
        for outcome, codes in table.items()
        for code in codes
    ]


def _name(part: Any) -> str:
    return part if isinstance(part, str) else part.api_name


# Becoming a member. ``asked again``: nobody hears of it; ``told``: a poll raises it, and the next one tries again;
# ``refused``: the same, as a MembershipError with a remedy; ``the end``: for good, as every poll says.

FINDING = {
    "asked again": [*NOT_READY, "REQUEST_TIMED_OUT"],
    "told": [FORBIDDEN, "INVALID_GROUP_ID", "UNKNOWN_SERVER_ERROR"],
}
JOINING = {
    "asked again": [
        *NOT_READY,
        "REQUEST_TIMED_OUT",
        "REBALANCE_IN_PROGRESS",
        "UNKNOWN_MEMBER_ID",
        "MEMBER_ID_REQUIRED",
        "ILLEGAL_GENERATION",
    ],
    "told": [FORBIDDEN, "INVALID_GROUP_ID", "UNKNOWN_SERVER_ERROR", "UNSUPPORTED_VERSION"],
    "refused": ["INCONSISTENT_GROUP_PROTOCOL", "INVALID_SESSION_TIMEOUT", "GROUP_MAX_SIZE_REACHED"],
    "the end": ["FENCED_INSTANCE_ID"],
}
SYNCING = {
    "asked again": JOINING["asked again"],
    "told": [FORBIDDEN, "UNKNOWN_SERVER_ERROR"],
    "refused": ["INCONSISTENT_GROUP_PROTOCOL"],
    "the end": ["FENCED_INSTANCE_ID"],
}
NEW_JOINING = {
    "asked again": [
        *NOT_READY,
        "REQUEST_TIMED_OUT",
        "UNKNOWN_MEMBER_ID",
        "FENCED_MEMBER_EPOCH",
        "STALE_MEMBER_EPOCH",
    ],
    "told": ["TOPIC_AUTHORIZATION_FAILED"],
    "the end": [
        "FENCED_INSTANCE_ID",
        "UNRELEASED_INSTANCE_ID",
        "UNSUPPORTED_ASSIGNOR",
        "GROUP_MAX_SIZE_REACHED",
        "INVALID_REGULAR_EXPRESSION",
        "INVALID_REQUEST",
        "UNSUPPORTED_VERSION",
        "GROUP_ID_NOT_FOUND",
        "UNKNOWN_SERVER_ERROR",
        FORBIDDEN,
    ],
}


@pytest.mark.case("G5", "G6", "G14")
@pytest.mark.parametrize(
    ("protocol", "api", "outcome", "code"),
    [
        *rows(FINDING, "classic", FindCoordinatorRequest),
        *rows(FINDING, "consumer", FindCoordinatorRequest),
        *rows(JOINING, "classic", JoinGroupRequest),
        *rows(SYNCING, "classic", SyncGroupRequest),
        *rows(NEW_JOINING, "consumer", ConsumerGroupHeartbeatRequest),
    ],
)
def test_error_codes_of_a_joining_member(protocol: str, api: Any, outcome: str, code: Code) -> None:
    """What may pass is asked again, the rest is reported at once and by its name."""
    wishes = {"group_protocol": protocol, "session_timeout_ms": 500}
    with (
        FakeCluster(2, topics={"t": 2}, groups={"consumer_heartbeat_interval": 0.1}) as cluster,
        member(cluster, **wishes) as a,
    ):
        rule = cluster.fail(api, code, times=2 if outcome == "asked again" else 1)
        if outcome != "asked again":
            error = raised_by(a)
            assert code.name in str(error) or isinstance(error, MembershipError) or error.exit_code == 7
            if outcome == "refused":
                assert isinstance(error, MembershipError)
                assert error.do
            if outcome == "the end":
                asked = len(cluster.seen(api))
                assert str(raised_by(a)) == str(error)
                assert len(cluster.seen(api)) == asked
                return
        settle(a, partitions=2)
        assert rule.count == (2 if outcome == "asked again" else 1)
        assert a.events == [("assigned", {tp(0), tp(1)})]
        a.consumer.commit({tp(0): 1}, timeout=PATIENCE)


# Being one. ``nothing``: it stays what it is; ``again``: it gives up its partitions and joins; ``lost``: it has lost
# them, and joins; ``told``: a poll raises it and the member comes back; ``heard``: it is raised, and the member stays.

BEATING = {
    "nothing": [*NOT_READY, "REQUEST_TIMED_OUT", "UNKNOWN_SERVER_ERROR"],
    "again": ["REBALANCE_IN_PROGRESS"],
    "lost": ["UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "MEMBER_ID_REQUIRED"],
    "told": [FORBIDDEN, "INVALID_GROUP_ID"],
    "the end": ["FENCED_INSTANCE_ID"],
}
NEW_BEATING = {
    "nothing": [*NOT_READY, "REQUEST_TIMED_OUT"],
    "lost": ["UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH", "STALE_MEMBER_EPOCH", "GROUP_ID_NOT_FOUND"],
    "heard": ["TOPIC_AUTHORIZATION_FAILED"],
    "the end": [
        "FENCED_INSTANCE_ID",
        "UNRELEASED_INSTANCE_ID",
        "UNSUPPORTED_ASSIGNOR",
        "INVALID_REGULAR_EXPRESSION",
        "INVALID_REQUEST",
        FORBIDDEN,
    ],
}


@pytest.mark.case("G5", "G13")
@pytest.mark.parametrize(
    ("protocol", "api", "outcome", "code"),
    [
        *rows(BEATING, "classic", HeartbeatRequest),
        *rows(NEW_BEATING, "consumer", ConsumerGroupHeartbeatRequest),
    ],
)
def test_error_codes_of_a_stable_member(protocol: str, api: Any, outcome: str, code: Code) -> None:
    """In both protocols."""
    with (
        FakeCluster(2, topics={"t": 2}, groups={"consumer_heartbeat_interval": 0.1}) as cluster,
        member(cluster, group_protocol=protocol, session_timeout_ms=1_000) as a,
    ):
        settle(a, partitions=2)
        generation = cluster.group_generation(GROUP)
        rule = cluster.fail(api, code)
        if outcome in ("told", "heard", "the end"):
            error = raised_by(a)
            assert code.name in str(error) or isinstance(error, MembershipError)
        if outcome == "the end":
            assert str(raised_by(a)) == str(error)
            assert a.told("lost") == [{tp(0), tp(1)}]
            return
        rule.wait()
        beats = len(cluster.seen(api))
        if outcome in ("again", "lost", "told"):
            turns(lambda: len(a.told("assigned")) == 2, a)
            gone = "revoked" if outcome == "again" else "lost"
            assert [what for what, _ in a.events] == ["assigned", gone, "assigned"]
        turns(lambda: len(cluster.seen(api)) >= beats + 3, a)
        settle(a, partitions=2)
        if outcome in ("nothing", "heard"):
            assert cluster.group_generation(GROUP) == generation
            assert [what for what, _ in a.events] == ["assigned"]
        a.consumer.commit({tp(0): 1}, timeout=PATIENCE)


# Committing. ``made``: after all; ``refused``: CommitFailedError names it; ``lost``: so, and the member joins anew.

COMMITTING = {
    "made": [*NOT_READY, "REQUEST_TIMED_OUT", "UNKNOWN_TOPIC_OR_PARTITION"],
    "refused": [
        FORBIDDEN,
        "TOPIC_AUTHORIZATION_FAILED",
        "OFFSET_METADATA_TOO_LARGE",
        "INVALID_COMMIT_OFFSET_SIZE",
        "UNKNOWN_SERVER_ERROR",
        "REBALANCE_IN_PROGRESS",
    ],
    "lost": ["UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "GROUP_ID_NOT_FOUND"],
    "the end": ["FENCED_INSTANCE_ID"],
}
NEW_COMMITTING = {
    "made": [*COMMITTING["made"], "STALE_MEMBER_EPOCH"],
    "refused": COMMITTING["refused"][:-1],
    "lost": ["UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH", "GROUP_ID_NOT_FOUND"],
}


@pytest.mark.case("G5", "O4")
@pytest.mark.parametrize(
    ("protocol", "outcome", "code"), [*rows(COMMITTING, "classic"), *rows(NEW_COMMITTING, "consumer")]
)
def test_error_codes_of_commits(protocol: str, outcome: str, code: Code) -> None:
    """A commit that fails says why, and what to do about it fits."""
    with (
        FakeCluster(2, topics={"t": 2}) as cluster,
        member(cluster, group_protocol=protocol, session_timeout_ms=1_000) as a,
    ):
        settle(a, partitions=2)
        cluster.fail(OffsetCommitRequest, code)
        if outcome == "made":
            a.consumer.commit({tp(0): 1}, timeout=PATIENCE)
            assert offsets(cluster) == {tp(0): 1}
            return
        with pytest.raises(CommitFailedError) as failed:
            a.consumer.commit({tp(0): 1}, timeout=PATIENCE)
        assert code.name in str(failed.value)
        joins = outcome != "refused" or code == Code.REBALANCE_IN_PROGRESS
        assert ("poll to join" in failed.value.do) == joins
        assert offsets(cluster) == {}
        if outcome == "lost":
            turns(lambda: a.told("lost"), a)
        if outcome == "the end":
            assert isinstance(raised_by(a), MembershipError)
            return
        settle(a, partitions=2)
        a.consumer.commit({tp(0): 2}, timeout=PATIENCE)


@pytest.mark.case("G5")
@pytest.mark.parametrize(("outcome", "code"), rows({k: COMMITTING[k] for k in ("made", "refused", "lost")}))
def test_error_codes_of_commits_of_manually_assigned_partitions(outcome: str, code: Code) -> None:
    """Who is in no group cannot join it again; somebody else is in it."""
    with FakeCluster(2, topics={"t": 2}) as cluster, member(cluster, None) as a:
        a.consumer.assign([tp(0)])
        cluster.fail(OffsetCommitRequest, code)
        if outcome == "made":
            a.consumer.commit({tp(0): 1}, timeout=PATIENCE)
            assert offsets(cluster) == {tp(0): 1}
            return
        with pytest.raises(CommitFailedError) as failed:
            a.consumer.commit({tp(0): 1}, timeout=PATIENCE)
        assert "poll" not in failed.value.do
        others = outcome == "lost" or code == Code.REBALANCE_IN_PROGRESS
        assert ("a group.id of its own" in failed.value.do) == others


@pytest.mark.case("G5")
def test_a_group_with_members_refuses_commits_of_other_clients() -> None:
    """``assign`` and ``subscribe`` under one group.id."""
    with FakeCluster(1, topics={"t": 2}) as cluster, member(cluster) as a, member(cluster, None) as b:
        settle(a, partitions=2)
        b.consumer.assign([tp(0)])
        with pytest.raises(CommitFailedError, match="UNKNOWN_MEMBER_ID") as failed:
            b.consumer.commit({tp(0): 1}, timeout=PATIENCE)
        assert "has members" in failed.value.do
        assert offsets(cluster) == {}


# Asking for what is committed.

FETCHING = {
    "asked again": [*NOT_READY, "REQUEST_TIMED_OUT", "UNSTABLE_OFFSET_COMMIT"],
    "told": [FORBIDDEN, "UNKNOWN_SERVER_ERROR", "TOPIC_AUTHORIZATION_FAILED"],
}


@pytest.mark.case("G5", "G8")
@pytest.mark.parametrize(
    ("protocol", "outcome", "code"), [row for one in BOTH for row in rows(FETCHING, one)]
)
def test_error_codes_of_committed_offsets(protocol: str, outcome: str, code: Code) -> None:
    """Never taken for "nothing is committed"."""
    where = tp(0) if code in (Code.UNSTABLE_OFFSET_COMMIT, Code.TOPIC_AUTHORIZATION_FAILED) else None
    with FakeCluster(2, topics={"t": 1}) as cluster:
        fill(cluster, 1)
        with member(cluster, group_protocol=protocol, session_timeout_ms=1_000) as a:
            settle(a, partitions=1)
            a.consumer.commit({tp(0): 5}, timeout=PATIENCE)
        with member(cluster, group_protocol=protocol, session_timeout_ms=1_000) as a:
            which = {} if where is None else {"where": where}
            if outcome == "told":
                cluster.fail(OffsetFetchRequest, code, **which)
                assert code.name in str(raised_by(a))
                a.consumer.seek(tp(0), a.consumer.committed([tp(0)], PATIENCE)[tp(0)].offset)  # type: ignore[union-attr]
            else:
                cluster.fail(OffsetFetchRequest, code, code, code, **which)
            turns(lambda: len(a.read) == 5, a)
            assert a.values == [f"0:{o}".encode() for o in range(5, 10)]


@pytest.mark.case("G5")
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_that_the_broker_does_not_know_has_nothing_committed(protocol: str) -> None:
    """kfake returns GROUP_ID_NOT_FOUND to OffsetFetch where Kafka returns no commits: auto.offset.reset applies."""
    with FakeCluster(2, topics={"t": 1}) as cluster:
        fill(cluster, 1)
        cluster.fail(OffsetFetchRequest, Code.GROUP_ID_NOT_FOUND, times=FOREVER)
        with member(cluster, group_protocol=protocol, session_timeout_ms=1_000) as a:
            turns(lambda: len(a.read) == 10, a)
            assert a.consumer.committed([tp(0)], PATIENCE) == {tp(0): None}


# Leaving: whatever the answer is, it is over soon.


@pytest.mark.case("G5")
@pytest.mark.parametrize(
    ("protocol", "api"),
    [("classic", LeaveGroupRequest), ("consumer", ConsumerGroupHeartbeatRequest)],
    ids=BOTH,
)
@pytest.mark.parametrize(
    "code",
    [
        *NOT_READY,
        FORBIDDEN,
        "UNKNOWN_MEMBER_ID",
        "FENCED_INSTANCE_ID",
        "UNKNOWN_SERVER_ERROR",
        "GROUP_ID_NOT_FOUND",
    ],
)
def test_error_codes_of_leaving(protocol: str, api: Any, code: str) -> None:
    """A failed leave is no error; one that may pass is tried again."""
    with (
        FakeCluster(2, topics={"t": 2}) as cluster,
        member(cluster, group_protocol=protocol, session_timeout_ms=1_000) as a,
    ):
        settle(a, partitions=2)
        leaving = {} if protocol == "classic" else {"when": lambda request: request.member_epoch < 0}
        rule = cluster.fail(api, Code[code], Code[code], **leaving)
        began = Moment.now()
        a.consumer.close()
        assert lasted(began) < 4
        if code in NOT_READY:
            assert rule.count == 2
            assert cluster.group_members(GROUP) == {}


@pytest.mark.case("G14")
def test_every_refusal_of_a_classic_group_is_reported_as_what_it_is() -> None:
    """A broker that does not know static members does not say that it lacks the new protocol."""
    with FakeCluster(1, topics={"t": 2}) as cluster, member(cluster, group_instance_id="i") as a:
        cluster.fail(JoinGroupRequest, Code.UNSUPPORTED_VERSION)
        error = raised_by(a)
        assert error.exit_code == 7
        assert "group.instance.id" in error.do
        assert "848" not in str(error)
        assert not isinstance(error, BrokerError)
