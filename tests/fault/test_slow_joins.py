"""Joins that take long, or get no answer at all: what polls and closes do meanwhile."""

import threading

import pytest

from kcli.core import Admin
from kcli.core.admin.members import GroupMember
from kcli.core.protocol.messages.join_group import JoinGroupRequest
from kcli.core.protocol.messages.sync_group import SyncGroupRequest
from tests.fake.cluster import FakeCluster
from tests.fake.knobs import Hold
from tests.fault.consuming import GROUP, PATIENCE, Member, fill, member, offsets, settle, tp, turns
from tests.lasting import Moment, lasted

COOPERATIVE = {
    "partition_assignment_strategy": "cooperative-sticky",
    "enable_auto_commit": True,
    "auto_commit_interval_ms": 600_000,
}


def rejoining(cluster: FakeCluster, a: Member, b: Member) -> Hold:
    """``a`` keeps its partitions and reads on while it joins anew; the answer to that is held. It has read all."""
    settle(a, partitions=2)
    known = a.consumer.group_metadata.member_id
    answer = cluster.hold(JoinGroupRequest, at="answer", when=lambda request: request.member_id == known)
    b.subscribe("t")
    turns(lambda: answer.count, a, b)
    assert a.partitions == {tp(0), tp(1)}, "a cooperative member keeps its partitions"
    fill(cluster, 2)
    turns(lambda: len(a.read) == 20, a)
    assert a.consumer._group is not None
    assert a.consumer._group.commits.committer.joining, "the join goes on until the test lets it end"
    return answer


def test_a_close_lets_a_join_end_so_that_what_was_handed_out_is_committed() -> None:
    """Until it knows the generation that the group has come to, no commit is taken, and others would read it again."""
    with (
        FakeCluster(1, topics={"t": 2}) as cluster,
        member(cluster, **COOPERATIVE) as a,
        member(cluster, None, **COOPERATIVE) as b,
    ):
        answer = rejoining(cluster, a, b)
        assert offsets(cluster) != {tp(0): 10, tp(1): 10}
        releasing = threading.Timer(0.3, answer.release)
        releasing.start()
        began = Moment.now()
        a.consumer.close(120.0)  # a half of it for the join: no machine is that slow
        assert lasted(began) < 30.0, "it waits for the join, not for its time to be over"
        releasing.join()
        assert offsets(cluster) == {tp(0): 10, tp(1): 10}
        settle(b, partitions=2)
        assert b.read == []


@pytest.mark.parametrize("step", [JoinGroupRequest, SyncGroupRequest], ids=lambda api: api.api_name)
def test_a_close_does_not_wait_for_a_join_that_never_ends(step: type) -> None:
    with (
        FakeCluster(1, topics={"t": 2}) as cluster,
        member(cluster, **COOPERATIVE) as a,
        member(cluster, None, **COOPERATIVE) as b,
    ):
        answer = rejoining(cluster, a, b)
        if step is SyncGroupRequest:
            cluster.swallow(SyncGroupRequest)
            answer.release()
        began = Moment.now()
        a.consumer.close(1.0)
        assert lasted(began) < 4.0, "not for request.timeout.ms"
        assert a.told("revoked")[-1] == {tp(0), tp(1)}
        answer.release()
        done = sum(offsets(cluster).values())
        settle(b, partitions=2)
        turns(lambda: len(b.read) == 20 - done, b)


def test_a_first_join_without_an_answer_holds_up_neither_polls_nor_the_close() -> None:
    """It may be held for the rebalance timeout with every right, here 5 minutes, so that it is waited for."""
    with FakeCluster(1, topics={"t": 2}) as cluster, member(cluster) as a:
        lost = cluster.swallow(JoinGroupRequest, nth=2)
        turns(lambda: lost.count, a)
        for _ in range(20):
            began = Moment.now()
            assert a.poll(0.05) == []
            assert lasted(began) < 1.0
        assert len(cluster.seen(JoinGroupRequest)) == 2, "nobody can tell it from one that takes its time"
        began = Moment.now()
        a.consumer.close(1.0)
        assert lasted(began) < 2.5


def test_a_join_is_asked_again_five_seconds_behind_the_rebalance_timeout() -> None:
    """As in Java, where ``request.timeout.ms`` counts if it is longer."""
    wishes = {"max_poll_interval_ms": 500, "session_timeout_ms": 500, "request_timeout_ms": 1_000}
    with FakeCluster(1, topics={"t": 2}) as cluster, member(cluster, **wishes) as a:
        lost = cluster.swallow(JoinGroupRequest, nth=2)
        turns(lambda: lost.count, a)
        turns(lambda: len(cluster.seen(JoinGroupRequest)) > 2, a)
        second, third = (seen.at for seen in cluster.seen(JoinGroupRequest)[1:3])
        assert 5.3 < third - second < PATIENCE
        settle(a, partitions=2)
        assert list(cluster.group_members(GROUP)) == [a.consumer.group_metadata.member_id]


@pytest.mark.case("G5", "O11")
def test_a_member_that_is_removed_during_its_join_joins_anew() -> None:
    """A broker never answers the SyncGroup of a member that was removed; its heartbeats say that it was."""
    with (
        FakeCluster(1, topics={"t": 2}) as cluster,
        member(cluster, heartbeat_interval_ms=100, session_timeout_ms=6_000, request_timeout_ms=300_000) as a,
        Admin(bootstrap_servers=cluster.bootstrap) as admin,
    ):
        settle(a, partitions=2)
        known = a.consumer.group_metadata.member_id
        lost = cluster.hold(SyncGroupRequest, when=lambda request: request.member_id == known)
        with member(cluster, heartbeat_interval_ms=100) as b:
            turns(lambda: lost.count, a, b)
            removed = GroupMember(known)
            assert admin.remove_members({GROUP: [removed]}) == {GROUP: {removed: None}}
            settle(a, b, partitions=2)
            assert a.consumer.group_metadata.member_id != known
